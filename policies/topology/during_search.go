package topology

import (
	"math/rand/v2"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// trySeeds tries the initial sequences of a search: pipeline shapes and the sequences of
// rules.
func (s *duringSearch) trySeeds() {
	s.tryShapes()
	s.tryRules()
}

// tryRules tries the sequences of the rules demand-matched and mixnet-during. Each rule
// is applied under the service of the search and under fair sharing, which is the default
// of the rules as policies. The evaluations are not charged to the budget.
func (s *duringSearch) tryRules() {
	defer s.evaluator.SetService(s.service)
	for _, service := range slices.Compact([]flow.Service{s.service, flow.MaxMin}) {
		for _, rule := range []func(m *ruleInput) (*Sequence, error){demandMatched, mixnet} {
			if s.mustStop() {
				return
			}
			s.evaluator.SetService(service)
			m := &ruleInput{ctx: s.ctx, p: s.p, o: &s.o, static: s.static, maxCircuits: s.maxCircuits,
				evaluator: s.evaluator, simulator: s.simulator}
			q, err := rule(m)
			s.evaluations += m.numSimulated
			s.evaluator.SetService(s.service)
			if err != nil || q == nil { // the rule leaves traffic without a circuit
				continue
			}
			if q.removeUnchanged(); len(q.Steps) > 0 && s.withinChangeLimit(q) {
				s.tryUncharged(q)
			}
		}
	}
}

// tryShapes tries sequences shaped like a pipeline. Inner bundles have many circuits
// first. Each keeps few or none after its last transfer, or earlier by the delay or half
// of it, and the other bundles get the ports. Circuits return at the end of the
// iteration, or when the other bundles at the same pods have completed.
func (s *duringSearch) tryShapes() {
	for _, lead := range []engine.Time{0, s.simulator.Delay / 2, s.simulator.Delay} {
		for retained := range maxRetainedCircuits {
			for maxInner := max(2, retained+1); maxInner < maxRetainedCircuits+2; maxInner++ {
				for _, early := range []bool{false, true} {
					if s.mustStop() {
						return
					}
					s.tryCharged(s.pipelineShape(retained, maxInner, lead, early))
				}
			}
			if lead > 0 && s.simulator.Delay == 0 {
				return
			}
		}
	}
}

// maxRetainedCircuits limits the circuits that inner bundles keep in pipeline shapes.
const maxRetainedCircuits = 5

// pipelineShape returns one sequence of tryShapes. Inner bundles have up to maxInner
// circuits at first, or all useful ones if maxInner exceeds maxRetainedCircuits, and keep
// the retained number. lead is the time before the last transfer at which they lose circuits.
// early returns the circuits before the end of the iteration.
func (s *duringSearch) pipelineShape(retained, maxInner int, lead engine.Time, early bool) *Sequence {
	hasEnded := make([]bool, len(s.maxCircuits)) // inner bundles that have completed

	// topology returns the topology for the current state of hasEnded.
	topology := func() []int {
		x := make([]int, len(s.maxCircuits))
		for e := range x {
			if s.isInner[e] {
				if x[e] = s.maxCircuits[e]; maxInner <= maxRetainedCircuits {
					x[e] = min(x[e], maxInner)
				}
				if hasEnded[e] {
					x[e] = min(retained, x[e])
				}
			}
		}
		s.fitPorts(x)
		return x
	}

	// One change for each inner bundle that ends.
	q := &Sequence{First: topology()}
	for _, e := range s.endOrder {
		if s.isInner[e] {
			hasEnded[e] = true
			q.Steps = append(q.Steps, Step{Bundle: e, Count: s.countBefore(e, lead), Circuits: topology()})
		}
	}

	// Return circuits to inner bundles when the outer bundles at their pods have ended.
	if early {
		for _, e := range s.endOrder {
			if s.isInner[e] {
				continue
			}
			for i := range hasEnded {
				if hasEnded[i] && s.isInner[i] && s.sharePod(i, e) && !s.outlasts(i, e) {
					hasEnded[i] = false
				}
			}
			q.Steps = append(q.Steps, Step{Bundle: e, Count: s.numTransfers[e], Circuits: topology()})
		}
	}

	// Return to the first topology. If there are too many changes, merge the first ones.
	q.Steps = append(q.Steps, Step{Bundle: AtEnd, Circuits: q.First})
	for maxSteps := s.o.Moving.Changes; maxSteps > 0 && len(q.Steps) > maxSteps; {
		q.Steps = q.Steps[1:]
	}
	return q
}

// countBefore returns how many transfers of bundle e have ended at the given time before
// its last one ends, on the static topology; at least one.
func (s *duringSearch) countBefore(e int, lead engine.Time) int {
	n, _ := slices.BinarySearch(s.transferEnds[e], s.lastEnd(e)-lead)
	return min(n+1, len(s.transferEnds[e]))
}

// sharePod reports whether two bundles end at a common pod.
func (s *duringSearch) sharePod(a, b int) bool {
	return s.p.endsAt(a, s.p.endPods[b][0]) || s.p.endsAt(a, s.p.endPods[b][1])
}

// outlasts reports whether an outer bundle at a pod of inner bundle i completes later
// than bundle e.
func (s *duringSearch) outlasts(i, e int) bool {
	for _, o := range s.endOrder[slices.Index(s.endOrder, e)+1:] {
		if !s.isInner[o] && s.sharePod(i, o) {
			return true
		}
	}
	return false
}

// fitPorts removes circuits of the largest bundles until x fits the ports, then gives
// free ports to the outer bundles in turn.
func (s *duringSearch) fitPorts(x []int) {
	p := s.p
	p.removeExcess(x, allPods, func(pod int) int { return s.largestExcept(x, pod, noBundle) })
	free := p.freePorts(x)
	for changed := true; changed; {
		changed = false
		for e := range x {
			if !s.isInner[e] && x[e] < s.maxCircuits[e] && p.maxAdditional(free, e) > 0 {
				x[e]++
				p.allocate(free, e, 1)
				changed = true
			}
		}
	}
}

// noBundle is the bundle to leave out in largestExcept and minLossBundle if none is left out.
const noBundle = -1

// largestExcept returns the bundle with the most circuits at the pod, other than except,
// or -1 if none has any.
func (s *duringSearch) largestExcept(x []int, pod, except int) int {
	best := -1
	for e := range x {
		if e != except && s.p.endsAt(e, pod) && x[e] > 0 && (best < 0 || x[e] > x[best]) {
			best = e
		}
	}
	return best
}

// budgetUsed returns a function that reports whether the given fraction of the budget is
// used.
func (s *duringSearch) budgetUsed(part float64) func() bool {
	return func() bool { return s.usedFraction() >= part }
}

// hillClimb applies random changes to the best sequence, and keeps improvements, until
// over returns true or the search must stop.
func (s *duringSearch) hillClimb(rng *rand.Rand, over func() bool) {
	for s.best != nil && !over() && !s.mustStop() {
		// One to three random changes.
		q := s.best.clone()
		for range 1 + rng.IntN(3) {
			s.mutate(q, rng)
		}
		s.tryCharged(q)
	}
}

// mutate makes one random change to q. Half of the changes concern circuits, a quarter the number
// of transfers before a step, and the others its event or the number of topologies.
func (s *duringSearch) mutate(q *Sequence, rng *rand.Rand) {
	n := len(q.Steps)
	if n == 0 { // one change and the change back
		q.Steps = append(q.Steps, s.randomStep(rng, slices.Clone(q.First)),
			Step{Bundle: AtEnd, Circuits: slices.Clone(q.First)})
		const first, last = 1, 1 // the topology after the first step
		s.exchangeCircuits(q, rng, first, last)
		return
	}

	// k is the step to change.
	switch k := rng.IntN(n); rng.IntN(8) {
	case 0, 1: // another number of transfers
		s.shiftStep(&q.Steps[k], rng)
	case 2: // another event
		if k < n-1 && q.Steps[k].Bundle != AtEnd {
			q.Steps[k] = s.randomStep(rng, q.Steps[k].Circuits)
		} else if q.Steps[k].Bundle == AtEnd {
			e := s.randomStep(rng, q.Steps[k].Circuits)
			e.Count = s.numTransfers[e.Bundle]
			q.Steps[k] = e
		} else {
			q.Steps[k] = Step{Bundle: AtEnd, Circuits: q.Steps[k].Circuits}
		}
	case 3: // one topology less
		if n > 2 {
			q.removeTopology(k)
		}
	case 4: // one topology more
		if k < n-1 || q.Steps[k].Bundle != AtEnd {
			step := s.randomStep(rng, slices.Clone(q.Steps[k].Circuits))
			if rng.IntN(2) == 0 {
				step.Bundle, step.Count = q.Steps[k].Bundle, q.Steps[k].Count
				s.shiftStep(&step, rng)
			}
			q.Steps = slices.Insert(q.Steps, k, step)
			s.exchangeCircuits(q, rng, k+1, k+1)
		}
	default: // other circuits, in one topology or in several consecutive ones
		from := rng.IntN(n)
		to := from
		if rng.IntN(2) == 0 {
			to = from + rng.IntN(n)
		}
		s.exchangeCircuits(q, rng, from, to)
	}

	q.moveEndStepsLast()
}

// moveEndStepsLast turns every step after the first AtEnd step into an AtEnd step.
func (q *Sequence) moveEndStepsLast() {
	end := false
	for i := range q.Steps {
		if end {
			q.Steps[i].Bundle, q.Steps[i].Count = AtEnd, 0
		}
		end = end || q.Steps[i].Bundle == AtEnd
	}
}

// removeTopology removes the topology that step k introduces.
func (q *Sequence) removeTopology(k int) {
	if k == len(q.Steps)-1 { // the first topology of the iteration
		q.Steps = q.Steps[:k]
		q.First = slices.Clone(q.Steps[k-1].Circuits)
		return
	}
	q.Steps = slices.Delete(q.Steps, k, k+1)
}

// randomStep returns a step to topology x at a random event: the end of one of the last four
// transfers of a bundle, or of any transfer.
func (s *duringSearch) randomStep(rng *rand.Rand, x []int) Step {
	e := rng.IntN(len(s.numTransfers))
	n := s.numTransfers[e]
	if rng.IntN(2) == 0 {
		n = max(1, n-rng.IntN(4))
	} else {
		n = 1 + rng.IntN(max(1, n))
	}
	return Step{Bundle: e, Count: n, Circuits: x}
}

// shiftStep changes the number of transfers that a step counts by a small random amount.
func (s *duringSearch) shiftStep(at *Step, rng *rand.Rand) {
	if at.Bundle == AtEnd {
		return
	}
	amount := 1 << rng.IntN(5) // 1 to 16
	if rng.IntN(2) == 0 {
		amount = -amount
	}
	at.Count = min(s.numTransfers[at.Bundle], max(1, at.Count+amount))
}

// exchangeCircuits adds circuits to a random bundle, or removes some, in the topologies
// with cyclic indices from..to; index 0 is the first topology. Other bundles at the same
// pods lose circuits or get the free ports.
func (s *duringSearch) exchangeCircuits(q *Sequence, rng *rand.Rand, from, to int) {
	e := rng.IntN(len(s.maxCircuits))
	amount := 1 << rng.IntN(4) // 1 to 8
	if rng.IntN(2) == 0 {
		amount = -amount
	}

	// Change the topologies and let other bundles at the pods adapt.
	n := len(q.Steps)
	for i := from; i <= to; i++ {
		x := q.First
		if k := i % n; k > 0 {
			x = q.Steps[k-1].Circuits
		}
		x[e] = min(s.maxCircuits[e], max(0, x[e]+amount))
		s.p.removeExcess(x, allPods, func(pod int) int { return s.largestExcept(x, pod, e) })
		if amount < 0 {
			free := s.p.freePorts(x)
			for o := range x {
				for o != e && s.sharePod(o, e) && x[o] < s.maxCircuits[o] && s.p.maxAdditional(free, o) > 0 {
					x[o]++
					s.p.allocate(free, o, 1)
				}
			}
		}
	}

	// The last step returns to the first topology.
	copy(q.Steps[n-1].Circuits, q.First)
}
