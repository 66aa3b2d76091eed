package flow

import (
	"math"
	"slices"

	"sim/engine"
)

// fairness bounds the makespan under max-min fair sharing, where transfers cannot give way to each other.
//
// Where two share a link, and nothing but that link and a limit of its own ever binds the one, the other never has more
// than its fair share of the link beside the one alone while both are under way: if it had, the one would have less
// than its share, by the link, where the other then is at a higher level. Whoever else is there only takes from both. So
// the two follow each other, or overlap for so long that they are late (pair.fits). When they begin, and what else slows
// them, is left open: heads and tails are longest paths at full rate. More capacity never raises the bound. Only pairs of
// transfers that no other waits for are looked at, as gradients are: others are many, and rarely meet.
type fairness struct {
	varies []bool           // by resource: its capacity may be another one in a later call
	last   [][]int32        // by resource that varies: its uses by transfers that none waits for
	own    []float64        // by task: its highest rate on the resources that do not vary
	free   map[int32]bool   // by task: of all that it uses, only what varies may bind it below own
	around map[int32][]bool // by task: the tasks that come before and after it
}

// most transfers of a link whose pairs are looked at; beyond it FairBound leaves them out for their cost.
const mostPaired = 256

// PrepareFairBound says which resources may have other capacities in later calls of FairBound. All others keep theirs.
func (e *Evaluator) PrepareFairBound(varying []int32) {
	z := e.z
	f := &fairness{varies: make([]bool, z.resources), own: slices.Clone(z.limit), free: map[int32]bool{}, around: map[int32][]bool{}}
	for _, r := range varying {
		f.varies[r] = true
	}
	f.last = make([][]int32, z.resources)
	before := make([]bool, z.tasks) // a transfer is reachable
	for _, i := range slices.Backward(z.graph.Order()) {
		for e := z.outStart[i]; e < z.outStart[i+1]; e++ {
			to := z.outTo[e]
			before[i] = before[i] || before[to] || z.fixed[to] < 0
		}
	}
	for _, r := range varying {
		for _, u := range z.resUse[z.resStart[r]:z.resStart[r+1]] {
			if !before[z.useTask[u]] {
				f.last[r] = append(f.last[r], u)
			}
		}
	}
	for i := range z.tasks {
		for u := z.useStart[i]; u < z.useStart[i+1]; u++ {
			if r := z.useRes[u]; !f.varies[r] {
				f.own[i] = min(f.own[i], z.best(r)/z.useW[u])
			}
		}
	}
	e.f = nil
	e.fair = f
}

// FairBound returns a lower bound on the makespan at the current capacities that holds under MaxMin, at least Bound; see
// fairness. PrepareFairBound comes before the first call.
func (e *Evaluator) FairBound() engine.Time {
	bound := e.Bound()
	if bound == engine.Never {
		return bound
	}
	z, f := e.z, e.fair
	best := float64(bound)
	for r := range z.resources {
		uses := f.last[r]
		if len(uses) > mostPaired {
			continue
		}
		z.work += len(uses) * len(uses)
		for k, u := range uses {
			for _, v := range uses[k+1:] {
				p := f.pair(z, u, v, z.best(int32(r)))
				if p.fits(best) || f.ordered(z.model, z.useTask[u], z.useTask[v]) {
					continue
				}
				p.slow[0], p.slow[1] = f.slows(z.model, v, p.slow[0]), f.slows(z.model, u, p.slow[1])
				best = p.soonest(best)
			}
		}
	}
	return max(bound, proved(best))
}

// pair is two transfers of a link, in either order.
type pair struct {
	head, tail [2]float64
	tau        [2]float64 // at the full rate that the link and what does not vary allow
	slow       [2]float64 // part of that rate that each loses while both are under way
}

// pair returns two transfers of a link as what FairBound compares, by their uses of the link and its capacity. Their
// full rates are those that the link and the resources that do not vary allow.
func (f *fairness) pair(z *sim, u, v int32, capacity float64) (p pair) {
	var full, share [2]float64
	level, both := math.Inf(1), 0.0
	uses := [2]int32{u, v}
	for k, u := range uses {
		i := z.useTask[u]
		p.head[k], p.tail[k] = z.path.head[i], z.path.tail[i]
		full[k] = min(f.own[i], capacity/z.useW[u])
		p.tau[k] = z.bits[i] / full[k] // of other links that vary nothing is assumed
		level = min(level, full[k]/z.weight[i])
		both += z.weight[i] * z.useW[u]
	}
	level = min(level, capacity/both)
	for k, u := range uses { // max-min fair of the two alone
		other := uses[1-k]
		share[k] = level * z.weight[z.useTask[u]]
		if level*both < capacity { // the other has all that it can
			share[k] = max(share[k], (capacity-level*z.weight[z.useTask[other]]*z.useW[other])/z.useW[u])
		}
		share[k] = min(full[k], share[k])
		p.slow[k] = 1 - share[k]/full[k]
	}
	return p
}

// fits reports whether both can end, with what comes after them, by a time: whether there are spans from their heads to
// their latest ends, each as long as the transfer at full rate and what it loses where they overlap. The first begins
// and ends before the other, or one is under way all the time that the other is.
func (p *pair) fits(by float64) bool {
	by += slack
	for i := range 2 {
		j := 1 - i
		latest, last := by-p.tail[i], by-p.tail[j]
		over := max(0, p.head[i]+p.tau[i]+p.tau[j]-last)
		if over > 0 {
			over /= max(0, 1-p.slow[0]-p.slow[1])
		}
		if p.head[i]+p.tau[i]+over*p.slow[i] <= latest && last-p.tau[j]-over*p.slow[j] >= p.head[j] {
			return true
		}
		if p.slow[j] < 1 { // j within i
			span := p.tau[j] / (1 - p.slow[j])
			if max(p.head[i], p.head[j])+span <= min(latest, last) && p.head[i]+p.tau[i]+span*p.slow[i] <= latest {
				return true
			}
		}
	}
	return false
}

// soonest returns the time by which both can end, or known if that is later.
func (p *pair) soonest(known float64) float64 {
	if p.fits(known) {
		return known
	}
	late := known
	for step := max(p.tau[0], p.tau[1]); !p.fits(late); step *= 2 {
		known, late = late, late+step
	}
	for late-known > 1 {
		if half := known + (late-known)/2; p.fits(half) {
			late = half
		} else {
			known = half
		}
	}
	return known
}

// slows returns how much of its rate a transfer beside use u loses, of what it does where nothing but their link binds
// that.
func (f *fairness) slows(m *model, u int32, slow float64) float64 {
	i := m.useTask[u]
	free, known := f.free[i]
	if !known {
		free = f.unbound(m, i)
		f.free[i] = free
	}
	if !free {
		return 0
	}
	return slow
}

// unbound reports whether i uses one resource that varies, and all others have room for it beside all that may be under
// way with it.
func (f *fairness) unbound(m *model, i int32) bool {
	varying := 0
	for u := m.useStart[i]; u < m.useStart[i+1]; u++ {
		r := m.useRes[u]
		if f.varies[r] {
			varying++
			continue
		}
		need := 0.0
		for _, v := range m.resUse[m.resStart[r]:m.resStart[r+1]] {
			if j := m.useTask[v]; j == i || !f.ordered(m, i, j) {
				need += f.own[j] * m.useW[v]
			}
		}
		if need > m.net.Rate(r)*perTick*(1+together) {
			return false
		}
	}
	return varying == 1 && len(m.net.Changes) == 0
}

// ordered reports whether one of two tasks waits for the other.
func (f *fairness) ordered(m *model, i, j int32) bool {
	all, known := f.around[i]
	if !known {
		all = make([]bool, m.tasks)
		for _, next := range []func(k int32) []engine.Edge{m.graph.Out, m.graph.In} {
			for todo := []int32{i}; len(todo) > 0; {
				k := todo[len(todo)-1]
				todo = todo[:len(todo)-1]
				for _, e := range next(k) {
					if to := e.To + e.From - k; !all[to] {
						all[to] = true
						todo = append(todo, to)
					}
				}
			}
		}
		f.around[i] = all
	}
	return all[j]
}
