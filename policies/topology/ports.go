package topology

import (
	"context"

	"github.com/emirpasic/gods/queues/priorityqueue"

	"sim/engine"
	"sim/engine/flow"
)

// portSaver finds the fewest ports with which the makespan stays within limit
// (DELTA, Eq. 4). Capacity never lowers a bound, so a box of topologies whose
// upper corner's bound exceeds the limit is empty, and its lower corner is its
// cheapest member.
type portSaver struct {
	p       *Problem
	service flow.Service
	limit   engine.Time
	budget  int64
	// exact says that the play decides whether a topology keeps the limit;
	// otherwise a better schedule than the play's might, unless the bound
	// excludes it too.
	exact bool
	// search and ctx may end the work early.
	search SearchOptions
	ctx    context.Context

	w           *player
	circuits    []int
	makespan    engine.Time
	bound       int // ports that every topology within the limit needs
	evaluations int64
}

// SavePorts takes from a decision the circuits that its makespan, grown by
// o.PortTolerance, does not need. It does not say how few could do.
func (p *Problem) SavePorts(ctx context.Context, d *Decision, o Options) {
	s := portSaver{p: p, service: d.Service, limit: grown(d.Makespan, o.PortTolerance), budget: portBudget,
		exact: d.Service == flow.MaxMin || o.Service != nil, search: o.Joint.started(), ctx: ctx}
	s.run(d.Circuits)
	d.Circuits, d.Makespan, d.Service = s.circuits, s.makespan, s.service
	d.Evaluations += s.evaluations
}

// filled returns x with what ports are free given to the bundles that can use
// them, in turn. Where rates are chosen more circuits do no harm.
func (p *Problem) filled(x []int) []int {
	x = append([]int(nil), x...)
	p.clip(x)
	p.fill(x, p.everyBundle())
	return x
}

// portBox is a box whose lower corner costs ports.
type portBox struct {
	box
	ports int
}

func portOrder(a, b interface{}) int {
	x, y := a.(*portBox), b.(*portBox)
	if x.ports != y.ports {
		return x.ports - y.ports
	}
	return y.id - x.id // depth first among equals: a corner that does is soon found
}

// run starts from a topology within the limit.
func (s *portSaver) run(x []int) {
	s.w = s.p.player(s.service)
	defer s.p.done(s.w)
	s.circuits = append([]int(nil), x...)
	s.p.clip(s.circuits)
	s.makespan, _ = s.w.play(s.circuits, never)
	s.shave()
	s.prove()
}

// within plays x and reports whether it keeps the limit.
func (s *portSaver) within(x []int) (engine.Time, bool) {
	s.evaluations++
	s.w.SetService(s.service)
	c, ok := s.w.play(x, s.limit+1)
	if ok || s.exact {
		return c, ok
	}
	// where rates are ours to choose any rule will do
	for _, rule := range rules {
		if rule == s.service {
			continue
		}
		s.evaluations++
		s.w.SetService(rule)
		if c, ok := s.w.play(x, s.limit+1); ok {
			s.service = rule
			return c, true
		}
	}
	return 0, false
}

// over reports whether the work must end.
func (s *portSaver) over() bool {
	return s.evaluations*s.p.cost() >= s.budget || s.search.late() || s.ctx.Err() != nil
}

// shave takes away circuits one by one, the most ports first, while the limit
// holds.
func (s *portSaver) shave() {
	x := s.circuits
	for changed := true; changed; {
		changed = false
		for e := range x {
			for x[e] > 1 && !s.over() {
				x[e]--
				c, ok := s.within(x)
				if !ok {
					x[e]++
					break
				}
				s.makespan, changed = c, true
			}
		}
	}
}

// prove searches for fewer ports, cheapest first, until none are left that
// could do or the budget ends.
func (s *portSaver) prove() {
	open := priorityqueue.NewWith(portOrder)
	made := 0
	best := s.p.PortsUsed(s.circuits)
	unproved := best // cheapest corner that only its play, not its bound, excludes
	push := func(lo, hi []int) {
		if !s.p.tighten(lo, hi) || !s.raise(lo, hi) {
			return
		}
		if n := s.p.PortsUsed(lo); n < best {
			open.Enqueue(&portBox{box{lo: lo, hi: hi, id: made}, n})
			made++
		}
	}
	push(s.p.ones(), append([]int(nil), s.p.Useful...))
	s.bound = best
	for !open.Empty() {
		v, _ := open.Dequeue()
		b := v.(*portBox)
		if b.ports >= best {
			break
		}
		if s.over() {
			s.bound = min(b.ports, unproved)
			return
		}
		if c, ok := s.within(b.lo); ok {
			s.circuits, s.makespan, best = append([]int(nil), b.lo...), c, b.ports
			break
		}
		if !s.exact {
			s.evaluations++
			if s.w.bound(b.lo) <= s.limit {
				unproved = min(unproved, b.ports)
			}
		}
		e := s.needy(b)
		if e < 0 {
			continue
		}
		mid := b.lo[e]
		lower := append([]int(nil), b.hi...)
		lower[e] = mid
		upper := append([]int(nil), b.lo...)
		upper[e] = mid + 1
		push(append([]int(nil), b.lo...), lower)
		push(upper, append([]int(nil), b.hi...))
	}
	s.bound = min(best, unproved)
}

// raise lifts each bundle of lo to the fewest circuits with which the bound of
// an otherwise full box keeps the limit; false where none does.
func (s *portSaver) raise(lo, hi []int) bool {
	s.evaluations++
	if s.w.bound(hi) > s.limit {
		return false
	}
	x := append([]int(nil), hi...)
	for e := range lo {
		few, many := lo[e], hi[e]
		for few < many {
			mid := (few + many) / 2
			x[e] = mid
			s.evaluations++
			if s.w.bound(x) <= s.limit {
				many = mid
			} else {
				few = mid + 1
			}
		}
		x[e] = hi[e]
		lo[e] = few
	}
	for _, f := range s.p.room(lo) {
		if f < 0 {
			return false
		}
	}
	return true
}

// needy returns the bundle whose full use lowers the bound of the lower corner
// most, -1 where the box is a single topology.
func (s *portSaver) needy(b *portBox) int {
	best, lowest := -1, never
	x := append([]int(nil), b.lo...)
	for e := range x {
		if b.hi[e] == b.lo[e] {
			continue
		}
		x[e] = b.hi[e]
		s.evaluations++
		if c := s.w.bound(x); best < 0 || c < lowest {
			best, lowest = e, c
		}
		x[e] = b.lo[e]
	}
	return best
}
