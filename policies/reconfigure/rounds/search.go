package rounds

import (
	"sim/internal/numbers"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// Steps makes the construction of Candidates one number of topologies after another, as it is asked for them. What it
// has of a number does not depend on what it was asked before. So its limits are others than those of Candidates: each
// scheme may be simulated, and of GenKautz there are those of up to mostKautz topologies.
type Steps struct {
	e     evaluator
	bases []steps
	known map[int]known
	stop  halt.When // of who asks
}

// steps are the schemes of a base so far, by one less than their topologies, and labels that suit them.
type steps struct {
	next       func() *scheme // nil where there is none
	schemes    []*scheme
	labels     [][]int32
	relabeller *relabeller
	most       int
}

// known is what is known of a number of topologies: the best candidate, or that none takes fewer slots than below.
type known struct {
	best  *plan.Candidate
	below int64
}

// mostKautz is as many as Candidates has at least; each takes memory of GPUs^2.
const mostKautz = 8

// NewSteps begins. Of o, Below and Stop are not looked at. Errors: those of Candidates.
func NewSteps(p *plan.Problem, o Options) (*Steps, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if err := o.check(p.Degree); err != nil {
		return nil, err
	}
	s := &Steps{known: map[int]known{}}
	o.Stop = func() bool { return s.stop != nil && s.stop() }
	s.e = evaluator{p: p, o: o, none: numbers.Below(int32(p.GPUs))}
	s.e.player.Stop = o.Stop
	s.e.each, _ = p.Uniform()
	switch {
	case p.Degree == 1:
		all := newShifts(p.GPUs)
		first, more := true, true
		s.bases = []steps{{most: p.GPUs - 1, next: func() *scheme {
			if !first {
				more = all.add()
			}
			if first = false; !more {
				return nil
			}
			return all.scheme()
		}}}
	default:
		for _, base := range bases(o) {
			b := steps{most: p.GPUs}
			if base == GenKautz {
				b.most = mostKautz
			}
			var c *chain
			b.next = func() *scheme {
				if c == nil {
					c = s.e.begin(base)
				} else if !c.next() {
					return nil
				}
				return c.cur
			}
			s.bases = append(s.bases, b)
		}
	}
	return s, nil
}

// At returns the best candidate of d topologies if it takes fewer slots than below; nil else. Error: halt.ErrHalted,
// after which s must not be asked again.
func (s *Steps) At(d int, below int64, stop halt.When) (_ *plan.Candidate, err error) {
	defer halt.Caught(&err)
	if k, ok := s.known[d]; ok && (k.best != nil || k.below >= below) {
		if k.best != nil && k.best.Slots < below {
			return k.best, nil
		}
		return nil, nil
	}
	s.stop = stop
	defer func() { s.stop = nil }()
	best := made{slots: below}
	for i := range s.bases {
		b := &s.bases[i]
		s.reach(b, d)
		if d > len(b.schemes) {
			continue
		}
		s.e.played = 0
		if m := s.e.best(b.schemes[d-1], b.labels[d-1], best.slots); m.slots < best.slots {
			made := b.schemes[d-1]
			best = m
			best.d, best.remake = d, func() *scheme { return made }
		}
	}
	k := known{below: below}
	if best.remake != nil {
		c := best.candidate(s.e.p)
		k.best = &c
	}
	s.known[d] = k
	return k.best, nil
}

// reach makes the schemes of a base of up to d topologies.
func (s *Steps) reach(b *steps, d int) {
	n, k := s.e.p.GPUs, s.e.p.Degree
	for len(b.schemes) < min(d, b.most) && b.next != nil {
		s.e.o.Stop.Check()
		next := b.next()
		if next == nil {
			b.next = nil
			return
		}
		s.e.relabeller = b.relabeller
		b.schemes, b.labels = append(b.schemes, next), append(b.labels, s.e.renamed(next, (n-2)/k+1))
		b.relabeller = s.e.relabeller
	}
}
