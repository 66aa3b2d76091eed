package flow

import (
	"math"
	"slices"

	"sim/engine"
)

// fairShareBound computes a lower bound on the makespan under max-min fair sharing, where
// transfers cannot yield to each other.
//
// Consider two transfers A and B on a link, where only the link and its own limit can bind B.
// While both run, A has at most its max-min fair share of the link shared by the two alone.
// If it had more, B would have less than its fair share on the link while A has a higher
// level there, which contradicts max-min fairness. Additional transfers only reduce the shares
// of both. So A and B either run one after the other, or their overlap delays them (see
// transferPair.canEndBy).
//
// The start times and all other delays are left open: heads and tails are longest paths at
// full rate. More capacity never raises the bound. Only pairs of transfers that precede no
// other transfer are examined, as gradient transfers do: other pairs are numerous and rarely
// overlap.
type fairShareBound struct {
	varies []bool // capacity may differ in later calls, indexed by resource
	// lastUses are the uses by transfers that precede no other transfer, indexed by resource;
	// nil for resources that do not vary.
	lastUses     [][]int32
	constantRate []float64      // highest rate on the resources that do not vary, indexed by task
	isFree       map[int32]bool // cached results of isUnconstrained, by task
	// related caches the direct and indirect predecessors and successors of a task: by task, a
	// set indexed by task.
	related map[int32][]bool
}

// maxPairedTransfers is the maximum number of transfers on a link whose pairs FairBound
// examines. The number of pairs is quadratic: 256 transfers have 32,640.
const maxPairedTransfers = 256

// PrepareFairBound declares the resources whose capacities may change between calls of
// FairBound. All other capacities must stay as they are.
func (e *Evaluator) PrepareFairBound(varying []int32) {
	z := e.sim
	f := &fairShareBound{
		varies: make([]bool, z.resources), constantRate: slices.Clone(z.rateLimit),
		isFree: map[int32]bool{}, related: map[int32][]bool{}}
	for _, r := range varying {
		f.varies[r] = true
	}
	f.lastUses = make([][]int32, z.resources)

	// precedesTransfer: some successor of the task, direct or not, is a transfer.
	precedesTransfer := make([]bool, z.tasks)
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

// FairBound returns a lower bound on the makespan at the current capacities that holds under
// MaxMin. It is at least Bound; see fairShareBound. PrepareFairBound must be called before.
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
				p.rateLoss[0], p.rateLoss[1] =
					f.lossNextTo(z.model, v, p.rateLoss[0]),
					f.lossNextTo(z.model, u, p.rateLoss[1])
				best = p.earliestEnd(best)
			}
		}
	}
	return max(bound, roundDown(best))
}

// transferPair holds two transfers on a link. Arrays are indexed by transfer, times are in
// ticks.
type transferPair struct {
	head, tail [2]float64 // as in criticalPaths
	tau        [2]float64 // duration at the full rate, which the link and the constant resources allow
	rateLoss   [2]float64 // fraction of the full rate that the transfer loses while both run
}

// pair returns the pair of transfers with uses u and v of a link with the given capacity.
func (f *fairShareBound) pair(z *sim, u, v int32, capacity float64) (p transferPair) {
	// level is the common share per weight of progressive filling with only these two, and both
	// is their load per unit of it.
	var full, share [2]float64
	level, both := math.Inf(1), 0.0
	uses := [2]int32{u, v}
	for k, u := range uses {
		i := z.useTask[u]
		p.head[k], p.tail[k] = z.paths.head[i], z.paths.tail[i]
		full[k] = min(f.constantRate[i], capacity/z.useWeight[u])
		p.tau[k] = z.bits[i] / full[k] // makes no assumption about other links that vary
		level = min(level, full[k]/z.weight[i])
		both += z.weight[i] * z.useWeight[u]
	}
	level = min(level, capacity/both)
	for k, u := range uses { // max-min fair shares of the two alone
		other := uses[1-k]
		share[k] = level * z.weight[z.useTask[u]]
		if level*both < capacity { // the other transfer runs at its full rate
			share[k] = max(share[k], (capacity-level*z.weight[z.useTask[other]]*z.useWeight[other])/z.useWeight[u])
		}
		share[k] = min(full[k], share[k])
		p.rateLoss[k] = 1 - share[k]/full[k]
	}
	return p
}

// canEndBy reports whether both transfers and their tails can end by a time. Each transfer
// needs an interval between its head and its latest end. The interval is as long as the
// transfer at full rate plus the loss during the overlap. Two cases suffice: i starts and ends
// first, or j runs entirely within i.
func (p *transferPair) canEndBy(deadline float64) bool {
	deadline += tickTolerance
	for i := range 2 {
		j := 1 - i
		// overlap is the minimum overlap of the intervals if i is first.
		latest, last := deadline-p.tail[i], deadline-p.tail[j]
		overlap := max(0, p.head[i]+p.tau[i]+p.tau[j]-last)
		if overlap > 0 {
			overlap /= max(0, 1-p.rateLoss[0]-p.rateLoss[1])
		}
		if p.head[i]+p.tau[i]+overlap*p.rateLoss[i] <= latest && last-p.tau[j]-overlap*p.rateLoss[j] >= p.head[j] {
			return true
		}
		if p.rateLoss[j] < 1 { // j runs within i
			span := p.tau[j] / (1 - p.rateLoss[j])
			if max(p.head[i], p.head[j])+span <= min(latest, last) && p.head[i]+p.tau[i]+span*p.rateLoss[i] <= latest {
				return true
			}
		}
	}
	return false
}

// earliestEnd returns a lower bound, exact to one tick, on the time by which both transfers
// and their tails can end. The result is at least lower.
func (p *transferPair) earliestEnd(lower float64) float64 {
	if p.canEndBy(lower) {
		return lower
	}

	// Find an upper limit by doubling, and then bisect.
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

// lossNextTo returns the loss of the other transfer of a pair next to the transfer with use u.
// loss is its loss if only the link binds the transfer of u; otherwise nothing is proved.
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

// isUnconstrained reports whether task i uses exactly one resource that varies, while its other
// resources have enough capacity for all transfers that may run at the same time.
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

// isOrdered reports whether one of two tasks is a predecessor of the other, direct or not.
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
