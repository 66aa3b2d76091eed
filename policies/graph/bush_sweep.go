package graph

import "math"

// Parameters of the sweeps, chosen by measurements with n = 64 and 256 on Kautz, circulant and
// random graphs.
const (
	// The steepness starts at initialSteepness and is at most maxSteepness. It grows by
	// steepnessGrowth per sweep while flows follow prices closely. That is, the bound lags behind
	// the mean load by at most maxBoundLag of the maximum minus the mean. Otherwise it falls,
	// down to minSteepness.
	initialSteepness = 20
	steepnessGrowth  = 1.3
	maxSteepness     = 2e4
	minSteepness     = 3
	maxBoundLag      = 0.25
	// minPriceRatio is the minimum price relative to the mean. Without it, an arc that was empty
	// would have to be overloaded for many sweeps before it becomes expensive again.
	minPriceRatio = 1e-4
	// When the bracket is as narrow as required, up to half as many sweeps again narrow it to
	// this ratio of the requirement, because results are used as values, not as brackets.
	extraGapRatio = 0.25
	// These additional sweeps continue only while each epoch narrows the bracket to maxGapRatio
	// of its former width.
	sweepsPerEpoch = 40
	maxGapRatio    = 0.8
	// firstSweeps is the number of sweeps after which the mean and the bound say how closely
	// flows follow prices. Steepness grows until then.
	firstSweeps = 2
)

// Parameters of the golden-section search of bestMix. The two inner points of an interval divide
// it by the golden ratio. The rounds narrow the interval to about 1e-4.
const (
	innerLow   = 0.382
	innerHigh  = 0.618
	mixRounds  = 20
	mixMinGain = 1e-12 // relative gain below which a mix is only a rounding error
)

// Shares of the present flow in maxLoad.
const (
	onlyBest    = 0
	onlyPresent = 1
)

// maxPower limits the exponent of a price in both directions. The powers of e at the limits are
// 1e-13 and 1e13, so sums of prices keep some digits of small ones.
const maxPower = 30

// solve sweeps over the sources until the bracket is slightly narrower than required, or the
// budget is spent.
func (b *bushAssignment) solve(o CongestionOptions) *Congestion {
	b.best = Congestion{Load: math.Inf(1)}
	b.steepness = initialSteepness

	// before is the bracket at the start of the epoch, last the number of the last sweep.
	before, last := math.Inf(1), o.Iterations
	for {
		mean, bound := b.evaluate()
		gap := (b.best.Load - b.best.Bound) / b.best.Bound
		if gap <= o.Gap && !b.best.Certified {
			b.best.Certified = true
			last = min(last, b.best.Iterations*3/2)
		}

		// Stop at a good bracket, at the end of the budget, or if a price has overflowed.
		if gap <= extraGapRatio*o.Gap || b.best.Iterations >= last || !(mean > 0) ||
			math.IsInf(mean, 1) {
			break
		}
		if b.best.Iterations%sweepsPerEpoch == 0 {
			if gap > maxGapRatio*before && b.best.Certified {
				break
			}
			before = gap
		}

		// One sweep over the sources.
		b.best.Iterations++
		b.setPrices(mean, bound)
		for i := range b.source {
			b.check()
			b.updateBush(i)
			b.equaliseAll(i)
		}
	}

	return &b.best
}

// evaluate recomputes loads from flows, keeps the best mix of the flows with the best flows so
// far, and raises the bound. It returns the mean load of arcs, weighted by price, and the bound
// that the prices prove. Both are equal at the optimum.
func (b *bushAssignment) evaluate() (mean, bound float64) {
	// Loads, and the sum of demand times distance for the bound.
	n, m := b.Nodes(), len(b.To)
	clear(b.load)
	for i := range b.source {
		b.conserve(i)
		for e, x := range b.flow[i*m : (i+1)*m] {
			b.load[e] += x
		}
		b.setDistances(i)
		row := b.demand[i*n : (i+1)*n]
		for _, v := range b.byDistance[i*n : i*n+b.numReached[i]] {
			bound += row[v] * b.minPrice[v]
		}
	}

	// Both results are relative to the price of all capacity.
	total := 0.0
	for e, p := range b.price {
		total += b.capacity[e] * p
		mean += b.load[e] * p
	}

	mean /= total
	if bound /= total; bound > b.best.Bound {
		b.best.Bound = bound
		copy(b.bestPrice, b.price)
	}

	// Mix the present flows into the best ones.
	share := b.bestMix()
	if share == 0 {
		return mean, bound
	}
	clear(b.bestLoad)
	for i := range b.source {
		best := b.bestFlow[i*m : (i+1)*m]
		for e, x := range b.flow[i*m : (i+1)*m] {
			best[e] += share * (x - best[e])
			if share == 1 {
				best[e] = x // without a rounding error
			}
			b.bestLoad[e] += best[e]
		}
	}

	b.best.Load = b.maxLoad(onlyBest)
	return mean, bound
}

// bestMix returns the share, in 0..1, of the present flows that minimises the maximum load when
// the best flows so far make up the rest. It is 0 if no share is better.
func (b *bushAssignment) bestMix() float64 {
	// The present flows alone, which are the only ones at first.
	minLoad, share := b.best.Load, 0.0
	if x := b.maxLoad(onlyPresent); x < minLoad {
		minLoad, share = x, 1
	}
	if math.IsInf(b.best.Load, 1) {
		return 1
	}

	// Golden-section search: the maximum load is convex in the share.
	lo, hi := 0.0, 1.0
	for range mixRounds {
		left, right := lo+innerLow*(hi-lo), lo+innerHigh*(hi-lo)
		if b.maxLoad(left) < b.maxLoad(right) {
			hi = right
		} else {
			lo = left
		}
	}

	if b.maxLoad((lo+hi)/2) < minLoad*(1-mixMinGain) {
		share = (lo + hi) / 2
	}
	return share
}

// maxLoad returns the maximum load of an arc if share of the flow is the present one and the rest
// the best one.
func (b *bushAssignment) maxLoad(share float64) float64 {
	maxLoad := 0.0
	for e, c := range b.capacity {
		maxLoad = max(maxLoad, (b.bestLoad[e]+share*(b.load[e]-b.bestLoad[e]))/c)
	}
	return maxLoad
}

// setPrices makes prices the new lengths, with mean 1 per unit of capacity, and sets steepness
// and level for the next sweep.
func (b *bushAssignment) setPrices(mean, bound float64) {
	maxLoad, total := b.maxLoad(onlyPresent), 0.0
	for e, p := range b.price {
		total += b.capacity[e] * p
	}

	// Adapt the steepness to the lag of the bound.
	if b.best.Iterations > firstSweeps && mean-bound > maxBoundLag*(maxLoad-mean) {
		b.steepness = max(b.steepness/steepnessGrowth, minSteepness)
	} else {
		b.steepness = min(b.steepness*steepnessGrowth, maxSteepness)
	}

	// The level of the next sweep is the present mean load.
	b.level = mean
	for e := range b.price {
		b.length[e] = max(b.price[e]*b.totalCapacity/total, minPriceRatio)
		b.setPrice(int32(e))
	}
}

// setPrice sets price and slope of an arc at its present load.
func (b *bushAssignment) setPrice(e int32) {
	steep := b.steepness / (b.level * b.capacity[e])
	power := b.load[e]*steep - b.steepness
	p := max(b.length[e]*math.Exp(max(-maxPower, min(power, maxPower))), minPriceRatio)
	b.price[e], b.slope[e] = p, p*steep
}
