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
)

// solve sweeps over the sources until the bracket is slightly narrower than required, or the
// budget is spent.
func (b *bushAssignment) solve(o CongestionOptions) *Congestion {
	b.best = Congestion{Load: math.Inf(1)}
	b.steepness = initialSteepness
	before, last := math.Inf(1), o.Iterations
	for {
		mean, bound := b.evaluate()
		gap := (b.best.Load - b.best.Bound) / b.best.Bound
		if gap <= o.Gap && !b.best.Certified {
			b.best.Certified = true
			last = min(last, b.best.Iterations*3/2)
		}

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
				best[e] = x
			}
			b.bestLoad[e] += best[e]
		}
	}

	b.best.Load = b.maxLoad(0)
	return mean, bound
}

// bestMix returns the share, in 0..1, of the present flows that minimises the maximum load when
// the best flows so far make up the rest. It is 0 if no share is better.
func (b *bushAssignment) bestMix() float64 {
	minLoad, share := b.best.Load, 0.0
	if x := b.maxLoad(1); x < minLoad {
		minLoad, share = x, 1
	}
	if math.IsInf(b.best.Load, 1) {
		return 1
	}

	lo, hi := 0.0, 1.0 // golden-section search: the maximum load is convex in the share
	for range 20 {
		p, q := lo+0.382*(hi-lo), lo+0.618*(hi-lo)
		if b.maxLoad(p) < b.maxLoad(q) {
			hi = q
		} else {
			lo = p
		}
	}

	if b.maxLoad((lo+hi)/2) < minLoad*(1-1e-12) {
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
	maxLoad, total := b.maxLoad(1), 0.0
	for e, p := range b.price {
		total += b.capacity[e] * p
	}
	if b.best.Iterations > 2 && mean-bound > maxBoundLag*(maxLoad-mean) {
		b.steepness = max(b.steepness/steepnessGrowth, minSteepness)
	} else {
		b.steepness = min(b.steepness*steepnessGrowth, maxSteepness)
	}

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
	p := max(b.length[e]*math.Exp(max(-30, min(power, 30))), minPriceRatio)
	b.price[e], b.slope[e] = p, p*steep
}
