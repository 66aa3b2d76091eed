package rounds

import (
	"sim/internal/numbers"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// Search makes the construction of Candidates one number of topologies after another, as it is asked for them. What it
// has of a number does not depend on what it was asked before. So its limits are others than those of Candidates: each
// scheme may be simulated, and of GenKautz there are those of up to mostKautz topologies.
type Search struct {
	evaluator scheduleEvaluator
	bases     []baseSearch
	results   map[int]countResult
	stop      halt.When // of who asks
}

// baseSearch are the schemes of a base so far, by one less than their topologies, and labels that suit them.
type baseSearch struct {
	nextSchedule  func() *roundSchedule // nil where there is none
	schedules     []*roundSchedule
	labels        [][]int32
	relabeller    *relabeller
	maxTopologies int
}

// countResult is what is known of a number of topologies: the best candidate, or that none takes fewer slots than below.
type countResult struct {
	best  *plan.Candidate
	limit int64
}

// maxKautzTopologies is as many as Candidates has at least; each takes memory of GPUs^2.
const maxKautzTopologies = 8

// NewSearch begins. Of o, Below and Stop are not looked at. Errors: those of Candidates.
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

// At returns the best candidate of d topologies if it takes fewer slots than below; nil else. Error: halt.ErrHalted,
// after which s must not be asked again.
func (s *Search) At(d int, limit int64, stop halt.When) (_ *plan.Candidate, err error) {
	defer halt.Caught(&err)
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
		if m := s.evaluator.best(b.schedules[d-1], b.labels[d-1], best.slots); m.slots < best.slots {
			made := b.schedules[d-1]
			best = m
			best.topologies, best.rebuild = d, func() *roundSchedule { return made }
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

// buildSchedules makes the schemes of a base of up to d topologies.
func (s *Search) buildSchedules(b *baseSearch, d int) {
	n, k := s.evaluator.problem.GPUs, s.evaluator.problem.Degree
	for len(b.schedules) < min(d, b.maxTopologies) && b.nextSchedule != nil {
		s.evaluator.options.Stop.Check()
		next := b.nextSchedule()
		if next == nil {
			b.nextSchedule = nil
			return
		}
		s.evaluator.relabeller = b.relabeller
		b.schedules, b.labels = append(b.schedules, next), append(b.labels, s.evaluator.labels(next, (n-2)/k+1))
		b.relabeller = s.evaluator.relabeller
	}
}
