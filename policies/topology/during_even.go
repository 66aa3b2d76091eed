package topology

import "sim/engine"

const (
	// evenShare is the part of the evaluations, one in so many, that a delay may take where the break-even is sought.
	evenShare = 4
	// evenWithin is the ratio of two delays between which the break-even is not sought any further.
	evenWithin = 1.02
	// evenLeast is the least delay that is looked at.
	evenLeast = engine.Microsecond
)

// breakEven seeks the longest delay at which changes pay, by bisection: the best sequence at any delay is as good at
// shorter ones. What is found there pays, what lies above was searched in vain, which is no proof.
func (s *duringSearch) breakEven(m *Moves) {
	m.Sought = true
	delay, kept, value, bound, spent := s.play.Delay, s.best, s.value, s.bound, s.meter
	s.enough = s.pays
	defer func() {
		s.play.Delay, s.best, s.value, s.bound, s.enough = delay, kept, value, bound, nil
		spent.evaluations = s.evaluations
		s.meter = spent
	}()
	var known *Sequence // that paid last
	from := engine.Time(0)
	if m.Moving() {
		from = delay
	}
	m.BreakEven, _ = bisect(s.static.Makespan, from, func(d engine.Time) (bool, error) {
		s.play.Delay = d
		s.MaxEvaluations = max(1, s.o.Moving.MaxEvaluations/evenShare)
		s.effort = 0
		if s.best, s.value, s.bound = nil, never, s.held.quick(s.static, d); s.stays() {
			return false, nil
		}
		if known != nil {
			s.try(known.clone())
		}
		if !s.done() {
			s.seed()
		}
		s.climb(1)
		if !s.pays() {
			return false, s.ctx.Err()
		}
		if known = s.best; d < from {
			known = kept
		}
		return true, s.ctx.Err()
	})
}
