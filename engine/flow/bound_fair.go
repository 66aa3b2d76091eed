package flow

import (
	"math"
	"slices"

	"sim/engine"
)

// fairShareBound bounds the makespan under max-min fair sharing, where transfers cannot give way to each other.
//
// Where two share a link, and nothing but that link and a limit of its own ever binds the one, the other never has more
// than its fair share of the link beside the one alone while both are under way: if it had, the one would have less
// than its share, by the link, where the other then is at a higher level. Whoever else is there only takes from both. So
// the two follow each other, or overlap for so long that they are late (pair.fits). When they begin, and what else slows
// them, is left open: heads and tails are longest paths at full rate. More capacity never raises the bound. Only pairs of
// transfers that no other waits for are looked at, as gradients are: others are many, and rarely meet.
type fairShareBound struct {
	varies       []bool           // by resource: its capacity may be another one in a later call
	lastUses     [][]int32        // by resource that varies: its uses by transfers that none waits for
	constantRate []float64        // by task: its highest rate on the resources that do not vary
	isFree       map[int32]bool   // by task: of all that it uses, only what varies may bind it below own
	related      map[int32][]bool // by task: the tasks that come before and after it
}

// most transfers of a link whose pairs are looked at; beyond it FairBound leaves them out for their cost.
const maxPairedTransfers = 256

// PrepareFairBound says which resources may have other capacities in later calls of FairBound. All others keep theirs.
func (e *Evaluator) PrepareFairBound(varying []int32) {
	z := e.sim
	f := &fairShareBound{varies: make([]bool, z.resources), constantRate: slices.Clone(z.rateLimit), isFree: map[int32]bool{}, related: map[int32][]bool{}}
	for _, r := range varying {
		f.varies[r] = true
	}
	f.lastUses = make([][]int32, z.resources)
	precedesTransfer := make([]bool, z.tasks) // a transfer is reachable
	for _, i := range slices.Backward(z.graph.Order()) {
		for e := z.outStart[i]; e < z.outStart[i+1]; e++ {
			to := z.outTo[e]
			precedesTransfer[i] = precedesTransfer[i] || precedesTransfer[to] || z.fixedDuration[to] < 0
		}
	}
	for _, r := range varying {
		for _, u := range z.resUse[z.resStart[r]:z.resStart[r+1]] {
			if !precedesTransfer[z.useTask[u]] {
				f.lastUses[r] = append(f.lastUses[r], u)
			}
		}
	}
	for i := range z.tasks {
		for u := z.useStart[i]; u < z.useStart[i+1]; u++ {
			if r := z.useRes[u]; !f.varies[r] {
				f.constantRate[i] = min(f.constantRate[i], z.maxCapacity(r)/z.useWeight[u])
			}
		}
	}
	e.fork = nil
	e.fair = f
}

// FairBound returns a lower bound on the makespan at the current capacities that holds under MaxMin, at least Bound; see
// fairness. PrepareFairBound comes before the first call.
func (e *Evaluator) FairBound() engine.Time {
	bound := e.Bound()
	if bound == engine.Never {
		return bound
	}
	z, f := e.sim, e.fair
	best := float64(bound)
	for r := range z.resources {
		uses := f.lastUses[r]
		if len(uses) > maxPairedTransfers {
			continue
		}
		z.workSincePoll += len(uses) * len(uses)
		for k, u := range uses {
			for _, v := range uses[k+1:] {
				p := f.pair(z, u, v, z.maxCapacity(int32(r)))
				if p.canEndBy(best) || f.isOrdered(z.model, z.useTask[u], z.useTask[v]) {
					continue
				}
				p.rateLoss[0], p.rateLoss[1] = f.lossNextTo(z.model, v, p.rateLoss[0]), f.lossNextTo(z.model, u, p.rateLoss[1])
				best = p.earliestEnd(best)
			}
		}
	}
	return max(bound, roundDown(best))
}

// transferPair is two transfers of a link, in either order.
type transferPair struct {
	head, tail [2]float64
	tau        [2]float64 // at the full rate that the link and what does not vary allow
	rateLoss   [2]float64 // part of that rate that each loses while both are under way
}

// pair returns two transfers of a link as what FairBound compares, by their uses of the link and its capacity. Their
// full rates are those that the link and the resources that do not vary allow.
func (f *fairShareBound) pair(z *sim, u, v int32, capacity float64) (p transferPair) {
	var full, share [2]float64
	level, both := math.Inf(1), 0.0
	uses := [2]int32{u, v}
	for k, u := range uses {
		i := z.useTask[u]
		p.head[k], p.tail[k] = z.paths.head[i], z.paths.tail[i]
		full[k] = min(f.constantRate[i], capacity/z.useWeight[u])
		p.tau[k] = z.bits[i] / full[k] // of other links that vary nothing is assumed
		level = min(level, full[k]/z.weight[i])
		both += z.weight[i] * z.useWeight[u]
	}
	level = min(level, capacity/both)
	for k, u := range uses { // max-min fair of the two alone
		other := uses[1-k]
		share[k] = level * z.weight[z.useTask[u]]
		if level*both < capacity { // the other has all that it can
			share[k] = max(share[k], (capacity-level*z.weight[z.useTask[other]]*z.useWeight[other])/z.useWeight[u])
		}
		share[k] = min(full[k], share[k])
		p.rateLoss[k] = 1 - share[k]/full[k]
	}
	return p
}

// canEndBy reports whether both can end, with what comes after them, by a time: whether there are spans from their heads to
// their latest ends, each as long as the transfer at full rate and what it loses where they overlap. The first begins
// and ends before the other, or one is under way all the time that the other is.
func (p *transferPair) canEndBy(deadline float64) bool {
	deadline += tickTolerance
	for i := range 2 {
		j := 1 - i
		latest, last := deadline-p.tail[i], deadline-p.tail[j]
		overlap := max(0, p.head[i]+p.tau[i]+p.tau[j]-last)
		if overlap > 0 {
			overlap /= max(0, 1-p.rateLoss[0]-p.rateLoss[1])
		}
		if p.head[i]+p.tau[i]+overlap*p.rateLoss[i] <= latest && last-p.tau[j]-overlap*p.rateLoss[j] >= p.head[j] {
			return true
		}
		if p.rateLoss[j] < 1 { // j within i
			span := p.tau[j] / (1 - p.rateLoss[j])
			if max(p.head[i], p.head[j])+span <= min(latest, last) && p.head[i]+p.tau[i]+span*p.rateLoss[i] <= latest {
				return true
			}
		}
	}
	return false
}

// earliestEnd returns the time by which both can end, or known if that is later.
func (p *transferPair) earliestEnd(lower float64) float64 {
	if p.canEndBy(lower) {
		return lower
	}
	upper := lower
	for step := max(p.tau[0], p.tau[1]); !p.canEndBy(upper); step *= 2 {
		lower, upper = upper, upper+step
	}
	for upper-lower > 1 {
		if half := lower + (upper-lower)/2; p.canEndBy(half) {
			upper = half
		} else {
			lower = half
		}
	}
	return lower
}

// lossNextTo returns how much of its rate a transfer beside use u loses, of what it does where nothing but their link binds
// that.
func (f *fairShareBound) lossNextTo(m *model, u int32, loss float64) float64 {
	i := m.useTask[u]
	isFree, isCached := f.isFree[i]
	if !isCached {
		isFree = f.isUnconstrained(m, i)
		f.isFree[i] = isFree
	}
	if !isFree {
		return 0
	}
	return loss
}

// isUnconstrained reports whether i uses one resource that varies, and all others have room for it beside all that may be under
// way with it.
func (f *fairShareBound) isUnconstrained(m *model, i int32) bool {
	varying := 0
	for u := m.useStart[i]; u < m.useStart[i+1]; u++ {
		r := m.useRes[u]
		if f.varies[r] {
			varying++
			continue
		}
		demand := 0.0
		for _, v := range m.resUse[m.resStart[r]:m.resStart[r+1]] {
			if j := m.useTask[v]; j == i || !f.isOrdered(m, i, j) {
				demand += f.constantRate[j] * m.useWeight[v]
			}
		}
		if demand > m.net.Rate(r)*perTick*(1+relTol) {
			return false
		}
	}
	return varying == 1 && len(m.net.Changes) == 0
}

// isOrdered reports whether one of two tasks waits for the other.
func (f *fairShareBound) isOrdered(m *model, i, j int32) bool {
	related, isCached := f.related[i]
	if !isCached {
		related = make([]bool, m.tasks)
		for _, next := range []func(k int32) []engine.Edge{m.graph.Out, m.graph.In} {
			for todo := []int32{i}; len(todo) > 0; {
				k := todo[len(todo)-1]
				todo = todo[:len(todo)-1]
				for _, e := range next(k) {
					if to := e.To + e.From - k; !related[to] {
						related[to] = true
						todo = append(todo, to)
					}
				}
			}
		}
		f.related[i] = related
	}
	return related[j]
}
