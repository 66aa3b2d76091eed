package graph

import "math"

// Measured on n = 64 and 256, Kautz, circulant and random graphs.
const (
	// gentle is the first steep; it grows by hastened a sweep, up to steepest, while flows follow prices well enough
	// for the bound to stay within patience of what the largest load is above the mean by; else it falls, down to
	// flattest.
	gentle   = 20
	hastened = 1.3
	steepest = 2e4
	flattest = 3
	patience = 0.25
	// bottom is the least price, of the mean: without one an arc that has been empty would have to be overloaded for
	// long to be dear again.
	bottom = 1e-4
	// Once the bracket is as narrow as asked, up to half as many sweeps again narrow it to ample of that: results are
	// read as times, not as brackets.
	ample = 0.25
	// From then on they go on only while every epoch of them narrows the bracket to progress of what it was.
	epoch    = 40
	progress = 0.8
)

// solve sweeps over the sources until the bracket is as narrow as asked and a little beyond, or the budget is spent.
func (b *bushes) solve(o CongestionOptions) *Congestion {
	b.best = Congestion{Load: math.Inf(1)}
	b.steep = gentle
	before, last := math.Inf(1), o.Iterations
	for {
		mean, bound := b.measure()
		gap := (b.best.Load - b.best.Bound) / b.best.Bound
		if gap <= o.Gap && !b.best.Certified {
			b.best.Certified = true
			last = min(last, b.best.Iterations*3/2)
		}
		if gap <= ample*o.Gap || b.best.Iterations >= last || !(mean > 0) || math.IsInf(mean, 1) {
			break
		}
		if b.best.Iterations%epoch == 0 {
			if gap > progress*before && b.best.Certified {
				break
			}
			before = gap
		}
		b.best.Iterations++
		b.reprice(mean, bound)
		for i := range b.source {
			b.check()
			b.prune(i)
			b.shift(i)
		}
	}
	return &b.best
}

// measure recomputes loads from flows, keeps the best mix of them with those kept before, and raises the bound. It
// returns the mean load of arcs, weighed by price, and the bound that the prices prove, which meet in the optimum.
func (b *bushes) measure() (mean, bound float64) {
	n, m := b.Nodes(), len(b.To)
	clear(b.load)
	for i := range b.source {
		b.conserve(i)
		for e, x := range b.flow[i*m : (i+1)*m] {
			b.load[e] += x
		}
		b.distances(i)
		row := b.demand[i*n : (i+1)*n]
		for _, v := range b.near[i*n : i*n+b.reach[i]] {
			bound += row[v] * b.low[v]
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
		copy(b.proof, b.price)
	}
	share := b.mix()
	if share == 0 {
		return mean, bound
	}
	clear(b.keptLoad)
	for i := range b.source {
		kept := b.kept[i*m : (i+1)*m]
		for e, x := range b.flow[i*m : (i+1)*m] {
			kept[e] += share * (x - kept[e])
			if share == 1 {
				kept[e] = x
			}
			b.keptLoad[e] += kept[e]
		}
	}
	b.best.Load = b.peak(0)
	return mean, bound
}

// mix returns the share in 0..1 of the present flows that, with those kept as the rest, makes the largest load least.
// Where nothing is better than what is kept it is 0.
func (b *bushes) mix() float64 {
	least, share := b.best.Load, 0.0
	if x := b.peak(1); x < least {
		least, share = x, 1
	}
	if math.IsInf(b.best.Load, 1) {
		return 1
	}
	lo, hi := 0.0, 1.0 // convex in the share
	for range 20 {
		p, q := lo+0.382*(hi-lo), lo+0.618*(hi-lo)
		if b.peak(p) < b.peak(q) {
			hi = q
		} else {
			lo = p
		}
	}
	if b.peak((lo+hi)/2) < least*(1-1e-12) {
		share = (lo + hi) / 2
	}
	return share
}

// peak is the largest load of an arc under the mix of a share.
func (b *bushes) peak(share float64) float64 {
	worst := 0.0
	for e, c := range b.capacity {
		worst = max(worst, (b.keptLoad[e]+share*(b.load[e]-b.keptLoad[e]))/c)
	}
	return worst
}

// reprice makes prices lengths, of mean 1 per unit of capacity, and sets steep and the level for the sweep.
func (b *bushes) reprice(mean, bound float64) {
	worst, total := b.peak(1), 0.0
	for e, p := range b.price {
		total += b.capacity[e] * p
	}
	if b.best.Iterations > 2 && mean-bound > patience*(worst-mean) {
		b.steep = max(b.steep/hastened, flattest)
	} else {
		b.steep = min(b.steep*hastened, steepest)
	}
	b.level = mean
	for e := range b.price {
		b.length[e] = max(b.price[e]*b.capacities/total, bottom)
		b.quote(int32(e))
	}
}

// quote sets the price of an arc at its load, and how fast it rises.
func (b *bushes) quote(e int32) {
	steep := b.steep / (b.level * b.capacity[e])
	power := b.load[e]*steep - b.steep
	p := max(b.length[e]*math.Exp(max(-30, min(power, 30))), bottom)
	b.price[e], b.slope[e] = p, p*steep
}
