package topology

import (
	"math/rand/v2"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// seed tries the sequences that a search begins with: those of a shape that pipelines ask for, and those of rules.
func (s *duringSearch) seed() {
	s.seedShapes()
	s.seedRules()
}

// seedRules tries the sequences of the rules that move circuits by events, as applied under the service of the search
// and under fair sharing, which is how they are applied when they are policies of their own. They do not count against
// the budget of evaluations.
func (s *duringSearch) seedRules() {
	defer s.w.SetService(s.service)
	for _, service := range slices.Compact([]flow.Service{s.service, flow.MaxMin}) {
		for _, rule := range []func(m *movement) (*Sequence, error){demandMatched, mixnet} {
			if s.done() {
				return
			}
			s.w.SetService(service)
			m := &movement{ctx: s.ctx, p: s.p, o: &s.o, static: s.static, high: s.high, w: s.w, play: s.play}
			q, err := rule(m)
			s.evaluations += m.spent
			s.w.SetService(s.service)
			if err != nil || q == nil { // the rule leaves traffic without a circuit
				continue
			}
			if q.tidy(); len(q.Steps) > 0 && s.allowed(q) {
				s.consider(q)
			}
		}
	}
}

// seedShapes tries sequences of the shape that pipelines ask for: circuits that others wait for first, all that are of use, and
// fewer as soon as their last transfers have ended, or sooner by the delay or half of it, when the rest get the ports
// that become free; back at the end of the iteration, or when the rest have ended at either pod.
func (s *duringSearch) seedShapes() {
	for _, lead := range []engine.Time{0, s.play.Delay / 2, s.play.Delay} {
		for keep := range mostKept {
			for most := max(2, keep+1); most < mostKept+2; most++ {
				for _, early := range []bool{false, true} {
					if s.done() {
						return
					}
					s.try(s.shaped(keep, most, lead, early))
				}
			}
			if lead > 0 && s.play.Delay == 0 {
				return
			}
		}
	}
}

// mostKept bounds the circuits that bundles keep in seeds.
const mostKept = 5

// shaped returns such a sequence: inner bundles have most circuits at first, all if that is more than mostKept, and keep
// some.
func (s *duringSearch) shaped(keep, most int, lead engine.Time, early bool) *Sequence {
	left := make([]bool, len(s.high)) // inner bundles that have ended
	topology := func() []int {
		x := make([]int, len(s.high))
		for e := range x {
			if s.inner[e] {
				if x[e] = s.high[e]; most <= mostKept {
					x[e] = min(x[e], most)
				}
				if left[e] {
					x[e] = min(keep, x[e])
				}
			}
		}
		s.fit(x)
		return x
	}
	q := &Sequence{First: topology()}
	for _, e := range s.order {
		if s.inner[e] {
			left[e] = true
			q.Steps = append(q.Steps, Step{Bundle: e, Count: s.before(e, lead), Circuits: topology()})
		}
	}
	if early {
		for _, e := range s.order {
			if s.inner[e] {
				continue
			}
			for i := range left {
				if left[i] && s.inner[i] && s.meet(i, e) && !s.waits(i, e) {
					left[i] = false
				}
			}
			q.Steps = append(q.Steps, Step{Bundle: e, Count: s.total[e], Circuits: topology()})
		}
	}
	q.Steps = append(q.Steps, Step{Bundle: AtEnd, Circuits: q.First})
	for most := s.o.Moving.Changes; most > 0 && len(q.Steps) > most; { // the first ones later, together
		q.Steps = q.Steps[1:]
	}
	return q
}

// before returns how many transfers of a bundle have ended so long before its last one does, on the topology that stays; at
// least one.
func (s *duringSearch) before(e int, lead engine.Time) int {
	n, _ := slices.BinarySearch(s.ends[e], s.last(e)-lead)
	return min(n+1, len(s.ends[e]))
}

// meet reports whether two bundles end at a common pod.
func (s *duringSearch) meet(a, b int) bool {
	return s.p.meets(a, s.p.pods[b][0]) || s.p.meets(a, s.p.pods[b][1])
}

// waits reports whether some bundle of the rest at a pod of inner bundle i ends later than bundle e.
func (s *duringSearch) waits(i, e int) bool {
	for _, o := range s.order[slices.Index(s.order, e)+1:] {
		if !s.inner[o] && s.meet(i, o) {
			return true
		}
	}
	return false
}

// fit has the largest bundles give way where a pod is overrun, and gives what is free to those of the rest that can use
// it, in turn.
func (s *duringSearch) fit(x []int) {
	p := s.p
	p.yield(x, nil, func(pod int) int { return s.widest(x, pod, -1) })
	free := p.room(x)
	for grew := true; grew; {
		grew = false
		for e := range x {
			if !s.inner[e] && x[e] < s.high[e] && p.fits(free, e) > 0 {
				x[e]++
				p.take(free, e, 1)
				grew = true
			}
		}
	}
}

// widest returns the bundle at a pod, another than but, that has most circuits; -1 if none has any.
func (s *duringSearch) widest(x []int, pod, but int) int {
	best := -1
	for e := range x {
		if e != but && s.p.meets(e, pod) && x[e] > 0 && (best < 0 || x[e] > x[best]) {
			best = e
		}
	}
	return best
}

// share returns whether more than a part of the evaluations is spent.
func (s *duringSearch) share(part float64) func() bool {
	return func() bool { return s.spent() >= part }
}

// climb changes the best sequence at random until the search may end.
func (s *duringSearch) climb(rng *rand.Rand, over func() bool) {
	for s.best != nil && !over() && !s.done() {
		q := s.best.clone()
		for range 1 + rng.IntN(3) {
			s.vary(q, rng)
		}
		s.try(q)
	}
}

// vary changes one thing of q.
func (s *duringSearch) vary(q *Sequence, rng *rand.Rand) {
	n := len(q.Steps)
	if n == 0 { // there and back
		q.Steps = append(q.Steps, s.event(rng, slices.Clone(q.First)), Step{Bundle: AtEnd, Circuits: slices.Clone(q.First)})
		s.exchange(q, rng, 1, 1)
		return
	}
	switch k := rng.IntN(n); rng.IntN(8) {
	case 0, 1: // another moment
		s.shift(&q.Steps[k], rng)
	case 2: // another event
		if k < n-1 && q.Steps[k].Bundle != AtEnd {
			q.Steps[k] = s.event(rng, q.Steps[k].Circuits)
		} else if q.Steps[k].Bundle == AtEnd {
			e := s.event(rng, q.Steps[k].Circuits)
			e.Count = s.total[e.Bundle]
			q.Steps[k] = e
		} else {
			q.Steps[k] = Step{Bundle: AtEnd, Circuits: q.Steps[k].Circuits}
		}
	case 3: // one topology less
		if n > 2 {
			q.drop(k)
		}
	case 4: // one more
		if k < n-1 || q.Steps[k].Bundle != AtEnd {
			at := s.event(rng, slices.Clone(q.Steps[k].Circuits))
			if rng.IntN(2) == 0 {
				at.Bundle, at.Count = q.Steps[k].Bundle, q.Steps[k].Count
				s.shift(&at, rng)
			}
			q.Steps = slices.Insert(q.Steps, k, at)
			s.exchange(q, rng, k+1, k+1)
		}
	default:
		from := rng.IntN(n)
		to := from
		if rng.IntN(2) == 0 {
			to = from + rng.IntN(n)
		}
		s.exchange(q, rng, from, to)
	}
	q.last()
}

// last has steps at the end come last.
func (q *Sequence) last() {
	end := false
	for i := range q.Steps {
		if end {
			q.Steps[i].Bundle, q.Steps[i].Count = AtEnd, 0
		}
		end = end || q.Steps[i].Bundle == AtEnd
	}
}

// drop removes the topology that step k leads to.
func (q *Sequence) drop(k int) {
	if k == len(q.Steps)-1 { // that of the beginning
		q.Steps = q.Steps[:k]
		q.First = slices.Clone(q.Steps[k-1].Circuits)
		return
	}
	q.Steps = slices.Delete(q.Steps, k, k+1)
}

// event returns a step at a random moment.
func (s *duringSearch) event(rng *rand.Rand, x []int) Step {
	e := rng.IntN(len(s.total))
	n := s.total[e]
	if rng.IntN(2) == 0 {
		n = max(1, n-rng.IntN(4))
	} else {
		n = 1 + rng.IntN(max(1, n))
	}
	return Step{Bundle: e, Count: n, Circuits: x}
}

// shift moves the moment of a step a little.
func (s *duringSearch) shift(at *Step, rng *rand.Rand) {
	if at.Bundle == AtEnd {
		return
	}
	by := 1 << rng.IntN(5)
	if rng.IntN(2) == 0 {
		by = -by
	}
	at.Count = min(s.total[at.Bundle], max(1, at.Count+by))
}

// exchange gives circuits to a bundle, or takes them, in the topologies from one to another, counted round: 0 is that of
// the beginning.
func (s *duringSearch) exchange(q *Sequence, rng *rand.Rand, from, to int) {
	e := rng.IntN(len(s.high))
	by := 1 << rng.IntN(4)
	if rng.IntN(2) == 0 {
		by = -by
	}
	n := len(q.Steps)
	for i := from; i <= to; i++ {
		x := q.First
		if k := i % n; k > 0 {
			x = q.Steps[k-1].Circuits
		}
		x[e] = min(s.high[e], max(0, x[e]+by))
		s.p.yield(x, nil, func(pod int) int { return s.widest(x, pod, e) })
		if by < 0 {
			free := s.p.room(x)
			for o := range x {
				for o != e && s.meet(o, e) && x[o] < s.high[o] && s.p.fits(free, o) > 0 {
					x[o]++
					s.p.take(free, o, 1)
				}
			}
		}
	}
	copy(q.Steps[n-1].Circuits, q.First)
}
