package topology

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"sim/engine"
	"sim/internal/random"
)

const (
	// maxPairWork limits the work of enumerating the sequences of two topologies, in
	// units of flow.Evaluator.Work. It is about one second on one processor, because
	// bounds exclude most pairs. Larger jobs use local search only.
	maxPairWork = 175_000_000
	// maxPolishWork limits the work of one call of polish, in the same units.
	maxPolishWork = 700_000
	// maxPolished is the number of enumerated sequences that are improved further.
	maxPolished = 6
	// maxListedTopologies limits the topologies that are listed before topologies with
	// unused ports are removed.
	maxListedTopologies = 20_000

	// maxAnnealedWork is the maximum work of one simulated iteration for which annealing
	// is used. At this limit one annealing run takes about a tenth of a second.
	maxAnnealedWork = 2_000
	// annealShare is the number of evaluations of one annealing run per permitted
	// evaluation of the search.
	annealShare = 4
	// finalTemperature is the mean increase that annealing accepts at its end, relative
	// to the static makespan.
	finalTemperature = 0.0002
)

// listTopologies returns all topologies that fit the ports with at most useful[e]
// circuits of bundle e. Bundles may have no circuit. It returns nil if there are more
// than limit.
func (b *portBudget) listTopologies(useful []int, limit int) [][]int {
	var all [][]int
	x, free := make([]int, len(useful)), slices.Clone(b.Ports)
	var place func(e int) bool
	place = func(e int) bool {
		if e == len(x) {
			all = append(all, slices.Clone(x))
			return len(all) <= limit
		}
		n := min(useful[e], b.maxAdditional(free, e))
		for x[e] = n; x[e] >= 0; x[e]-- {
			b.allocate(free, e, x[e])
			more := place(e + 1)
			b.allocate(free, e, -x[e])
			if !more {
				return false
			}
		}
		return true
	}

	if !place(0) {
		return nil
	}
	return all
}

// isFull reports whether no useful circuit can be added to x.
func (b *portBudget) isFull(x, useful []int) bool {
	free := b.freePorts(x)
	for e := range x {
		if x[e] < useful[e] && b.maxAdditional(free, e) > 0 {
			return false
		}
	}
	return true
}

// initialTemperatures are the mean increases that annealing accepts at its start,
// relative to the static makespan. Gains differ from job to job, so successive runs use
// them in turn.
var initialTemperatures = [...]float64{0.02, 0.004}

// stepMoments returns a step, without circuits, for each possible event: bundle e has
// completed k of its transfers.
func (s *duringSearch) stepMoments() (all []Step) {
	for e, n := range s.numTransfers {
		for k := range n {
			all = append(all, Step{Bundle: e, Count: k + 1})
		}
	}
	return all
}

// Values of the parameter onlyFull of pairTopologies.
const (
	fullTopologies = true
	allTopologies  = false
)

// pairTopologies returns the topologies from which all sequences of two are enumerated.
// These are all topologies if that is affordable, else the full ones (isFull), else none. If
// onlyFull is true, only full topologies are considered.
func (s *duringSearch) pairTopologies(onlyFull bool) [][]int {
	if !s.isSmall() {
		return nil
	}
	all := s.p.listTopologies(s.maxCircuits, maxListedTopologies)
	moments := 0
	for _, n := range s.numTransfers {
		moments += n
	}

	// eachPair visits about moments*(moments+1) sequences for each ordered pair of topologies.
	affordable := func() bool {
		return float64(len(all))*float64(len(all)-1)*float64(moments*(moments+1))*float64(s.iterationWork) <= maxPairWork
	}
	if !onlyFull && affordable() {
		return all
	}
	if all = slices.DeleteFunc(all, func(x []int) bool { return !s.p.isFull(x, s.maxCircuits) }); affordable() {
		return all
	}
	return nil
}

// sequenceCandidate is a sequence and the makespan of its iteration.
type sequenceCandidate struct {
	q        *Sequence
	makespan engine.Time
}

// isSmall reports whether the job is small enough for annealing and enumeration.
func (s *duringSearch) isSmall() bool { return s.iterationWork <= maxAnnealedWork }

// refine improves the best sequence of a small job. It anneals and polishes several
// sequences, and enumerates the sequences of two topologies if that is affordable. Its
// evaluations are not charged to the budget.
func (s *duringSearch) refine() {
	if !s.isSmall() || s.goalReached() {
		return
	}
	top := sequenceCandidate{q: s.best, makespan: s.bestTime}

	// Anneal and polish from the best pairs, the incumbent and the initial sequences.
	starts := s.bestFullPairs()
	if s.best != nil {
		starts = append(starts, sequenceCandidate{q: s.best, makespan: s.bestTime})
	}
	starts = append(starts, s.startCandidates()...)
	for i, c := range starts {
		s.best, s.bestTime = c.q, c.makespan
		s.anneal(initialTemperatures[i%len(initialTemperatures)],
			random.Stream(s.o.Seed, fmt.Sprint("anneal ", i)))
		s.polish(maxPolishWork)
		if s.bestTime < top.makespan {
			top = sequenceCandidate{q: s.best, makespan: s.bestTime}
		}
	}

	s.best, s.bestTime = top.q, top.makespan

	// Enumerate the remaining pairs of topologies.
	all := s.pairTopologies(allTopologies)
	if len(all) == len(s.pairTopologies(fullTopologies)) { // bestFullPairs has enumerated them
		return
	}
	s.eachPair(all, func() engine.Time { return min(s.bestTime, s.static.Makespan) }, func(q *Sequence) bool {
		s.tryUncharged(q)
		return !s.goalReached()
	})
}

// bestFullPairs returns up to maxPolished of the fastest sequences of two full
// topologies, in order of makespan. It returns none if the enumeration is not affordable.
func (s *duringSearch) bestFullPairs() (best []sequenceCandidate) {
	// limit is the makespan that a sequence must beat to be among the best.
	limit := func() engine.Time {
		if len(best) < maxPolished {
			return s.static.Makespan
		}
		return best[len(best)-1].makespan
	}

	s.eachPair(s.pairTopologies(fullTopologies), limit, func(q *Sequence) bool {
		s.evaluations++
		c, ok := s.repeatedMakespan(q, limit())
		if !ok || c >= limit() || slices.ContainsFunc(best, func(o sequenceCandidate) bool { return o.makespan == c }) {
			return true
		}
		// Insert the sequence in order, replacing the last one if the list is full.
		if len(best) == maxPolished {
			best = best[:maxPolished-1]
		}
		i, _ := slices.BinarySearchFunc(best, c,
			func(o sequenceCandidate, c engine.Time) int { return cmp.Compare(o.makespan, c) })
		best = slices.Insert(best, i, sequenceCandidate{q: q, makespan: c})
		return true
	})

	return best
}

// startCandidates returns the sequences from which a search at the current delay starts:
// the static topology and the best initial sequence. The state and the budget of the
// search remain unchanged.
func (s *duringSearch) startCandidates() []sequenceCandidate {
	before, spent := sequenceCandidate{q: s.best, makespan: s.bestTime}, s.budgetMeter
	s.best, s.bestTime = nil, never
	s.reset()
	s.trySeeds()
	q, value := s.staticSequence()
	all := []sequenceCandidate{{q: q, makespan: value}}
	if s.best != nil {
		all = append(all, sequenceCandidate{q: s.best, makespan: s.bestTime})
	}

	// Restore the state. Move workAtStart by the work since reset, so that it is not charged.
	s.best, s.bestTime = before.q, before.makespan
	s.charged, s.workAtStart = spent.charged, spent.workAtStart+s.evaluator.Work()-s.workAtStart
	return all
}

// anneal improves the best sequence by simulated annealing. A random change is accepted
// if it slows the current sequence down by at most an exponentially distributed time. The
// mean of this time, relative to the static makespan, falls geometrically from hot to
// finalTemperature.
func (s *duringSearch) anneal(hot float64, rng *rand.Rand) {
	q, value := s.best, s.bestTime
	steps := annealShare * float64(s.o.Moving.MaxEvaluations)
	for n := 0.0; n < steps && !s.goalReached() && s.ctx.Err() == nil; n++ {
		// The temperature falls geometrically.
		mean := hot * math.Pow(finalTemperature/hot, n/steps)
		limit := value + engine.Time(mean*float64(s.static.Makespan)*rng.ExpFloat64())
		o := q.clone()
		for range 1 + rng.IntN(3) {
			s.mutate(o, rng)
		}
		if o.removeUnchanged(); len(o.Steps) == 0 || !s.withinChangeLimit(o) {
			continue
		}
		s.evaluations++
		c, ok := s.repeatedMakespan(o, limit+1)
		if !ok || c > limit {
			continue
		}
		q, value = o, c
		s.updateBest(q, c)
	}
}

// polish improves the best sequence by single changes, then by combinations of another
// event and another topology. It stops when none helps or when the work exceeds the
// limit.
func (s *duringSearch) polish(work int64) {
	began := s.evaluator.Work()
	for again := true; again; {
		again = false
		visit := func(q *Sequence) bool {
			if s.evaluator.Work()-began > work || s.ctx.Err() != nil {
				return false
			}
			q.moveEndStepsLast()
			if q.removeUnchanged(); len(q.Steps) == 0 || !s.withinChangeLimit(q) {
				return true
			}
			again = s.tryUncharged(q)
			return !again
		}
		q := s.best
		if !s.visitExchanges(q, visit) || !s.visitMoments(q, visit) {
			continue
		}
		s.visitMoments(q, func(o *Sequence) bool { return visit(o.clone()) && s.visitExchanges(o, visit) })
		again = again && !s.goalReached()
	}
}

// visitMoments visits the sequences that differ from q in the event of one step, or that
// lack one step. It returns false if visit did.
func (s *duringSearch) visitMoments(q *Sequence, visit func(q *Sequence) bool) bool {
	moments := append(s.stepMoments(), Step{Bundle: AtEnd})
	for k := range q.Steps {
		for _, m := range moments {
			o := q.clone()
			o.Steps[k].Bundle, o.Steps[k].Count = m.Bundle, m.Count
			if !visit(o) {
				return false
			}
		}
		if len(q.Steps) > 2 {
			o := q.clone()
			if o.removeTopology(k); !visit(o) {
				return false
			}
		}
	}

	return true
}

// visitExchanges visits the sequences in which one topology of q is replaced by a
// neighbour (visitNeighbours), and the sequences that have the neighbour as an additional
// topology. It returns false if visit did.
func (s *duringSearch) visitExchanges(q *Sequence, visit func(q *Sequence) bool) bool {
	moments := s.stepMoments()
	for k := range q.Steps {
		if !s.visitNeighbours(q.Steps[k].Circuits, func(x []int) bool {
			o := q.clone()
			o.Steps[k].Circuits = x
			if k == len(q.Steps)-1 {
				o.First = slices.Clone(x)
			}
			if !visit(o) {
				return false
			}
			for _, m := range moments {
				o := q.clone()
				m.Circuits = slices.Clone(x)
				o.Steps = slices.Insert(o.Steps, k, m)
				if !visit(o) {
					return false
				}
			}
			return true
		}) {
			return false
		}
	}

	return true
}

// visitNeighbours visits the topologies that have one circuit of a bundle more or less
// than x, with or without the opposite change of another bundle. It returns false if
// visit did.
func (s *duringSearch) visitNeighbours(x []int, visit func(x []int) bool) bool {
	for e := range x {
		for _, d := range []int{1, -1} {
			for o := range x {
				y := slices.Clone(x)
				y[e] += d
				if o != e {
					y[o] -= d
				}
				if y[e] < 0 || y[o] < 0 || y[e] > s.maxCircuits[e] || y[o] > s.maxCircuits[o] ||
					s.p.exceedsPorts(y) {
					continue
				}
				if !visit(y) {
					return false
				}
			}
		}
	}

	return true
}

// eachPair visits the sequences of two topologies, with the change at any event and the
// change back at any other event or at the end. It skips a pair if the bound of one
// topology with the circuits of both reaches limit. It stops if visit returns false.
func (s *duringSearch) eachPair(all [][]int, limit func() engine.Time, visit func(q *Sequence) bool) {
	if s.o.Moving.Changes == 1 {
		return
	}
	moments := s.stepMoments()
	both := make([]int, len(s.maxCircuits))
	for _, first := range all {
		for _, second := range all {
			for e := range both {
				both[e] = max(first[e], second[e])
			}
			s.evaluations++
			if slices.Equal(first, second) || s.evaluator.bound(both) >= limit() {
				continue
			}
			for _, there := range moments {
				there.Circuits = second
				for k := range len(moments) + 1 {
					back := Step{Bundle: AtEnd}
					if k > 0 {
						back = moments[k-1]
					}
					if back.Bundle == there.Bundle && back.Count <= there.Count {
						continue
					}
					back.Circuits = first
					if s.ctx.Err() != nil || !visit(&Sequence{First: first, Steps: []Step{there, back}}) {
						return
					}
				}
			}
		}
	}
}
