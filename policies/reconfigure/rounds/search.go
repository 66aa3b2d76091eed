package rounds

import (
	"sim/internal/numbers"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// Search is Candidates for one number of topologies at a time. The result for a number does
// not depend on earlier requests. Two limits therefore differ from Candidates: each
// schedule may be simulated, and GenKautz is used for up to maxKautzTopologies topologies.
// A Search is not safe for concurrent use.
type Search struct {
	evaluator scheduleEvaluator
	bases     []baseSearch
	results   map[int]countResult    // by number of topologies
	stop      cancellation.Condition // polled during the current call of At
}

// baseSearch has the schedules of a base so far, and labels that suit them. Both are
// indexed by the number of topologies - 1.
type baseSearch struct {
	nextSchedule  func() *roundSchedule // nil if there are no further schedules
	schedules     []*roundSchedule
	labels        [][]int32
	relabeller    *relabeller
	maxTopologies int
}

// countResult is the result for a number of topologies: the best candidate, or nil if no
// candidate takes fewer slots than limit.
type countResult struct {
	best  *plan.Candidate
	limit int64
}

// maxKautzTopologies limits the schedules of GenKautz, because each takes memory of n^2.
// Candidates evaluates at least this number.
const maxKautzTopologies = 8

// NewSearch returns a search. It ignores Options.Below and Options.Stop. It returns the
// same errors as Candidates.
func NewSearch(p *plan.Problem, o Options) (*Search, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if err := o.check(p.Degree); err != nil {
		return nil, err
	}
	s := &Search{results: map[int]countResult{}}
	o.Stop = func() bool { return s.stop != nil && s.stop() }
	s.evaluator = scheduleEvaluator{problem: p, options: o, identity: numbers.Below(int32(p.GPUs))}
	s.evaluator.scheduler.Stop = o.Stop
	s.evaluator.chunksPerFlow, _ = p.Uniform()

	switch {
	case p.Degree == 1:
		all := newShiftSequence(p.GPUs)
		first, more := true, true
		s.bases = []baseSearch{{maxTopologies: p.GPUs - 1, nextSchedule: func() *roundSchedule {
			if !first {
				more = all.addShift()
			}
			if first = false; !more {
				return nil
			}
			return all.schedule()
		}}}

	default:
		for _, base := range baseNames(o) {
			b := baseSearch{maxTopologies: p.GPUs}
			if base == GenKautz {
				b.maxTopologies = maxKautzTopologies
			}
			var c *contractionChain
			b.nextSchedule = func() *roundSchedule {
				if c == nil {
					c = s.evaluator.newChain(base)
				} else if !c.addTopology() {
					return nil
				}
				return c.current
			}

			s.bases = append(s.bases, b)
		}
	}

	return s, nil
}

// At returns the best candidate with d topologies, or nil if no candidate takes fewer slots
// than limit. The error is cancellation.ErrCancelled, after which s must not be used again.
func (s *Search) At(d int, limit int64, stop cancellation.Condition) (_ *plan.Candidate, err error) {
	defer cancellation.Recover(&err)
	if k, ok := s.results[d]; ok && (k.best != nil || k.limit >= limit) {
		if k.best != nil && k.best.Slots < limit {
			return k.best, nil
		}
		return nil, nil
	}

	s.stop = stop
	defer func() { s.stop = nil }()
	best := candidateSchedule{slots: limit}
	for i := range s.bases {
		b := &s.bases[i]
		s.buildSchedules(b, d)
		if d > len(b.schedules) {
			continue
		}
		s.evaluator.simulatedWork = 0
		if m := s.evaluator.best(b.schedules[d-1], b.labels[d-1],
			best.slots); m.slots < best.slots {
			schedule := b.schedules[d-1]
			best = m
			best.topologies = d
			best.rebuild = func() *roundSchedule { return schedule }
		}
	}

	k := countResult{limit: limit}
	if best.rebuild != nil {
		c := best.candidate(s.evaluator.problem)
		k.best = &c
	}
	s.results[d] = k
	return k.best, nil
}

// buildSchedules builds the schedules of a base with up to d topologies.
func (s *Search) buildSchedules(b *baseSearch, d int) {
	n := s.evaluator.problem.GPUs
	k := s.evaluator.problem.Degree
	for len(b.schedules) < min(d, b.maxTopologies) && b.nextSchedule != nil {
		s.evaluator.options.Stop.Check()
		next := b.nextSchedule()
		if next == nil {
			b.nextSchedule = nil
			return
		}
		s.evaluator.relabeller = b.relabeller
		b.schedules, b.labels = append(b.schedules, next), append(b.labels,
			s.evaluator.labels(next, (n-2)/k+1))
		b.relabeller = s.evaluator.relabeller
	}
}
