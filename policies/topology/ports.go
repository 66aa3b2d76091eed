package topology

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/internal/numbers"
)

// DefaultPortEvaluations is the number of topologies that may be looked at to save ports where Options do not say.
const DefaultPortEvaluations = 10000

// keeping is the condition under which circuits may be taken away.
type keeping struct {
	limit engine.Time // that the makespan must not exceed
	// exact says that the simulation under the one service decides whether a topology keeps the limit; otherwise rates
	// are ours to choose: any rule will do, and a better schedule than theirs might, unless the bound excludes it too.
	exact bool
}

// portSaver finds the fewest ports with which the makespan stays within a limit (DELTA, Eq. 4).
type portSaver struct {
	keeping
	meter
	p       *Problem
	service flow.Service
	tails   []float64 // as Decision.Tails
	groups  [][]int   // bundles that have circuits taken together; nil is each by itself

	circuits []int
	makespan engine.Time
	bound    int // ports that every topology within the limit needs
}

// newSaver returns a saver of ports under a condition, with the budget of o. A search may end the work early.
func (p *Problem) newSaver(ctx context.Context, k keeping, service flow.Service, o *Options, search allowance) *portSaver {
	search.MaxEvaluations = budgetOf(o)
	if p.hop != nil && search.work == 0 {
		search.work = min(search.MaxEvaluations, math.MaxInt64/oneHopPortWork) * oneHopPortWork
	}
	return &portSaver{keeping: k, p: p, service: service, meter: meter{allowance: search, ctx: ctx}}
}

// oneHopPortWork limits the work of saving ports per evaluation that it may spend, as flow.Evaluator.Work counts it, if
// demand is one-hop: all transfers are then under way together, so that a simulation takes long.
const oneHopPortWork = 5_000

// fewest returns a topology that each one within the limit has all circuits of.
func (s *portSaver) fewest() []int {
	if s.p.hop != nil {
		return s.p.hop.circuits(s.limit)
	}
	return s.p.ones()
}

// budgetOf returns the evaluations that may be spent on ports.
func budgetOf(o *Options) int64 { return cmp.Or(o.PortEvaluations, DefaultPortEvaluations) }

// save lets the saver go to work on a decision.
func (s *portSaver) save(d *Decision) {
	s.tails = d.Tails
	s.run(d.Circuits)
	d.Circuits, d.Makespan, d.Service, d.PortsBound = s.circuits, s.makespan, s.service, s.bound
	d.Evaluations += s.evaluations
	d.Limit, d.FreeRates = s.limit, !s.exact
	if d.Stopped == "" && s.late() {
		d.Stopped = fmt.Sprintf("after the time limit of %v, ports being saved", wall(s.TimeLimit))
	}
}

// saved is a decision from which the circuits that a condition does not need are taken, unless ports are kept.
func (p *Problem) saved(ctx context.Context, d *Decision, k keeping, o *Options, search allowance) (*Decision, error) {
	if !o.KeepPorts {
		p.newSaver(ctx, k, d.Service, o, search).save(d)
	}
	return d, ctx.Err()
}

// SavePorts takes from a decision the circuits that its makespan, grown by o.PortTolerance, does not need, and sets how
// few could do.
func (p *Problem) SavePorts(ctx context.Context, d *Decision, o Options) {
	p.newSaver(ctx, keeps(d.Makespan, d.Service, &o), d.Service, &o, o.allow(o.Joint)).save(d)
}

// SaveTogether is SavePorts where all bundles of a group have a circuit taken at once. It starts from a topology of fewer
// circuits if that is as fast, and does not seek how few could do.
func (p *Problem) SaveTogether(ctx context.Context, d *Decision, o Options, fewer []int, groups [][]int) {
	s := p.newSaver(ctx, keeps(d.Makespan, d.Service, &o), d.Service, &o, o.allow(o.Joint))
	s.groups = groups
	w := p.evaluator(ctx, d.Service)
	defer p.done(w)
	d.Evaluations++
	if c, ok := w.simulate(fewer, s.limit+1); ok {
		d.Circuits, d.Makespan = fewer, c
	}
	s.save(d)
}

// keeps is the condition that a makespan under a service, grown by o.PortTolerance, is kept.
func keeps(makespan engine.Time, service flow.Service, o *Options) keeping {
	return keeping{limit: grown(makespan, o.PortTolerance), exact: service == flow.MaxMin || o.Service != ""}
}

// filled returns x with what ports are free given to the bundles that can use them, in turn. Where rates are chosen
// more circuits do no harm.
func (p *Problem) filled(x []int) []int {
	x = slices.Clone(x)
	p.clip(x)
	p.fill(x, numbers.Below(len(x)))
	return x
}

// run starts from a topology within the limit.
func (s *portSaver) run(x []int) {
	s.meter = newMeter(s.ctx, s.allowance, s.p.evaluator(s.ctx, s.service))
	defer s.p.done(s.w)
	_ = s.w.SetTails(s.tails) // one a task: it cannot fail
	s.circuits = slices.Clone(x)
	s.p.clip(s.circuits)
	s.makespan, _ = s.w.simulate(s.circuits, never)
	if s.groups != nil {
		s.shave(s.groups)
		return
	}
	if s.p.hop != nil {
		few := s.fewest()
		if c, ok := s.within(few); ok {
			s.circuits, s.makespan, s.bound = few, c, s.p.used(few)*s.p.Fabric.Copies
			return
		}
	}
	s.shave(slices.Collect(slices.Chunk(numbers.Below(len(x)), 1)))
	s.prove()
}

// within simulates x and reports whether it keeps the limit.
func (s *portSaver) within(x []int) (engine.Time, bool) {
	s.spend(s.p, 1)
	s.w.SetService(s.service)
	c, ok := s.w.simulate(x, s.limit+1)
	if ok || s.exact {
		return c, ok
	}
	for _, rule := range rules {
		if rule == s.service {
			continue
		}
		s.spend(s.p, 1)
		s.w.SetService(rule)
		if c, ok := s.w.simulate(x, s.limit+1); ok {
			s.service = rule
			return c, true
		}
	}
	return 0, false
}

// bounded reports whether the bound of x keeps the limit.
func (s *portSaver) bounded(x []int) bool {
	s.spend(s.p, 1)
	return s.w.bound(x) <= s.limit
}

// over reports whether the work must end.
func (s *portSaver) over() bool { return s.meter.over() != "" }

// shave takes away circuits one by one, of all bundles of a group at once, while the limit holds.
func (s *portSaver) shave(groups [][]int) {
	x := s.circuits
	for changed := true; changed; {
		changed = false
		for _, group := range groups {
			for !s.over() {
				before := slices.Clone(x)
				for _, e := range group {
					x[e] = max(1, x[e]-1)
				}
				if slices.Equal(x, before) {
					break
				}
				c, ok := s.within(x)
				if !ok {
					copy(x, before)
					break
				}
				s.makespan, changed = c, true
			}
		}
	}
}

// prove searches for fewer ports, until none are left that could do or the budget ends.
func (s *portSaver) prove() {
	q := s.seek(wantOne, s.p.used(s.circuits)-1)
	defer q.close()
	q.run()
	if len(q.found) > 0 {
		s.circuits, s.makespan, s.service = q.found[0].circuits, q.found[0].makespan, q.found[0].service
	}
	s.bound = min(s.p.used(s.circuits), q.floor) * s.p.Fabric.Copies
}
