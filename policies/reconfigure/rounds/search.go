package rounds

import (
	"sim/internal/numbers"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// Search is Candidates for one number of topologies at a time. The result for a number does
// not depend on earlier requests. Two limits on the work therefore differ from Candidates: the
// chunks of each schedule may be simulated, and GenKautz is used for up to maxKautzTopologies
// topologies. A Search is not safe for concurrent use.
type Search struct {
	evaluator scheduleEvaluator
	bases     []baseSearch
	results   map[int]countResult    // by number of topologies
	stop      cancellation.Condition // polled during the current call of At
}

// baseSearch has the schedules so far that start from one base topology.
type baseSearch struct {
	// nextSchedule returns the schedule with one more topology, or nil at the end. The field is nil
	// after the end.
	nextSchedule  func() *roundSchedule
	schedules     []*roundSchedule // indexed by the number of topologies - 1
	labels        [][]int32        // GPU of each node, indexed as schedules
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
		var shifts *shiftSequence // nil before the first schedule
		nextSchedule := func() *roundSchedule {
			if shifts == nil {
				shifts = newShiftSequence(p.GPUs)
			} else if !shifts.addShift() {
				return nil
			}
			return shifts.schedule()
		}
		s.bases = []baseSearch{{maxTopologies: p.GPUs - 1, nextSchedule: nextSchedule}}

	default:
		for _, base := range baseNames(o) {
			b := baseSearch{maxTopologies: p.GPUs}
			if base == GenKautz {
				b.maxTopologies = maxKautzTopologies
			}
			var chain *contractionChain // nil before the first schedule
			b.nextSchedule = func() *roundSchedule {
				if chain == nil {
					chain = s.evaluator.newChain(base)
				} else if !chain.addTopology() {
					return nil
				}
				return chain.current
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
	// A stored result answers the request if it has a candidate, or none below a limit that is at
	// least as large.
	if result, ok := s.results[d]; ok && (result.best != nil || result.limit >= limit) {
		if result.best != nil && result.best.Slots < limit {
			return result.best, nil
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
		schedule := b.schedules[d-1]
		if m := s.evaluator.best(schedule, b.labels[d-1], best.slots); m.slots < best.slots {
			best = m
			best.topologies = d
			best.rebuild = func() *roundSchedule { return schedule }
		}
	}

	result := countResult{limit: limit}
	if best.rebuild != nil {
		c := best.candidate(s.evaluator.problem)
		result.best = &c
	}
	s.results[d] = result
	return result.best, nil
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
		maxTopologies := (n-2)/k + 1 // with this number, all flows may take one hop
		b.schedules = append(b.schedules, next)
		b.labels = append(b.labels, s.evaluator.labels(next, maxTopologies))
		b.relabeller = s.evaluator.relabeller
	}
}
