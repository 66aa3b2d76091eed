package topology

import (
	"context"
	"fmt"

	"sim/engine"
	"sim/engine/flow"
)

// DefaultPortEvaluations is the number of topologies that may be looked at to
// save ports where Options do not say.
const DefaultPortEvaluations = 10000

// portSaving is implemented by allocators that give back circuits which the
// makespan does not need.
type portSaving interface{ savesPorts() }

func (fast) savesPorts()  {}
func (topo) savesPorts()  {}
func (joint) savesPorts() {}

// SavesPorts reports whether the allocator of that name gives back circuits
// which the makespan does not need, so that ports are left over.
func SavesPorts(name string) bool {
	p, err := ByName(name)
	_, saves := p.(portSaving)
	return err == nil && saves
}

// keeping is the condition under which circuits may be taken away.
type keeping struct {
	limit engine.Time // that the makespan must not exceed
	// exact says that the play under the one service decides whether a topology
	// keeps the limit; otherwise rates are ours to choose: any rule will do, and
	// a better schedule than theirs might, unless the bound excludes it too.
	exact bool
}

// portSaver finds the fewest ports with which the makespan stays within a
// limit (DELTA, Eq. 4).
type portSaver struct {
	keeping
	p       *Problem
	service flow.Service
	tails   []float64 // as Decision.Tails
	budget  int64     // as SearchOptions.MaxEvaluations
	// search and ctx may end the work early.
	search SearchOptions
	ctx    context.Context

	w           *player
	began       int64 // work of w before
	circuits    []int
	makespan    engine.Time
	bound       int // ports that every topology within the limit needs
	evaluations int64
	effort      int64 // in plays from a common beginning
}

// newSaver returns a saver of ports under a condition, with the budget of o.
func (p *Problem) newSaver(ctx context.Context, k keeping, service flow.Service, o *Options, search SearchOptions) *portSaver {
	return &portSaver{keeping: k, p: p, service: service, budget: budgetOf(o), search: search, ctx: ctx}
}

// budgetOf returns the evaluations that may be spent on ports.
func budgetOf(o *Options) int64 {
	if o.PortEvaluations == 0 {
		return DefaultPortEvaluations
	}
	return o.PortEvaluations
}

// save lets the saver go to work on a decision.
func (s *portSaver) save(d *Decision) {
	s.tails = d.Tails
	s.run(d.Circuits)
	d.Circuits, d.Makespan, d.Service, d.PortsBound = s.circuits, s.makespan, s.service, s.bound
	d.Evaluations += s.evaluations
	d.Limit, d.FreeRates = s.limit, !s.exact
	if d.Stopped == "" && s.search.late() {
		d.Stopped = fmt.Sprintf("after the time limit of %v, ports being saved", s.search.TimeLimit)
	}
}

// SavePorts takes from a decision the circuits that its makespan, grown by
// o.PortTolerance, does not need, and sets how few could do.
func (p *Problem) SavePorts(ctx context.Context, d *Decision, o Options) {
	k := keeping{limit: grown(d.Makespan, o.PortTolerance), exact: d.Service == flow.MaxMin || o.Service != nil}
	p.newSaver(ctx, k, d.Service, &o, o.Joint.started()).save(d)
}

// filled returns x with what ports are free given to the bundles that can use
// them, in turn. Where rates are chosen more circuits do no harm.
func (p *Problem) filled(x []int) []int {
	x = append([]int(nil), x...)
	p.clip(x)
	p.fill(x, p.everyBundle())
	return x
}

// run starts from a topology within the limit.
func (s *portSaver) run(x []int) {
	s.w = s.p.player(s.ctx, s.service)
	s.began = s.w.Work()
	defer s.p.done(s.w)
	_ = s.w.SetTails(s.tails) // one a task: it cannot fail
	s.circuits = append([]int(nil), x...)
	s.p.clip(s.circuits)
	s.makespan, _ = s.w.play(s.circuits, never)
	s.shave()
	s.prove()
}

// within plays x and reports whether it keeps the limit.
func (s *portSaver) within(x []int) (engine.Time, bool) {
	s.spend(forksAPlay)
	s.w.SetService(s.service)
	c, ok := s.w.play(x, s.limit+1)
	if ok || s.exact {
		return c, ok
	}
	for _, rule := range rules {
		if rule == s.service {
			continue
		}
		s.spend(forksAPlay)
		s.w.SetService(rule)
		if c, ok := s.w.play(x, s.limit+1); ok {
			s.service = rule
			return c, true
		}
	}
	return 0, false
}

// bounded reports whether the bound of x keeps the limit.
func (s *portSaver) bounded(x []int) bool {
	s.spend(forksAPlay)
	return s.w.bound(x) <= s.limit
}

// spend counts an evaluation that costs as much as n plays from a common
// beginning.
func (s *portSaver) spend(n int64) {
	s.evaluations++
	s.effort += n * s.p.cost()
}

// over reports whether the work must end.
func (s *portSaver) over() bool {
	return s.effort >= forksAPlay*s.budget || s.search.late() || s.ctx.Err() != nil || s.search.work > 0 && s.w.Work()-s.began >= s.search.work
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

// prove searches for fewer ports, until none are left that could do or the
// budget ends.
func (s *portSaver) prove() {
	q := s.seek(wantOne, s.p.portsOfReplica(s.circuits)-1)
	defer q.close()
	q.run()
	if len(q.found) > 0 {
		s.circuits, s.makespan, s.service = q.found[0].circuits, q.found[0].makespan, q.found[0].service
	}
	s.bound = min(s.p.portsOfReplica(s.circuits), q.floor) * s.p.Fabric.Copies
}

// portsOfReplica returns the ports that x takes at both ends in what the
// problem holds, which stands for Copies of it.
func (p *Problem) portsOfReplica(x []int) int { return p.PortsUsed(x) / p.Fabric.Copies }
