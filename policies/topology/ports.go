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

// makespanLimit is the condition under which circuits may be taken away.
type makespanLimit struct {
	limit engine.Time // that the makespan must not exceed
	// fixedService says that the simulation under the one service decides whether a topology keeps the limit; otherwise rates
	// are ours to choose: any rule will do, and a better schedule than theirs might, unless the bound excludes it too.
	fixedService bool
}

// portMinimiser finds the fewest ports with which the makespan stays within a limit (DELTA, Eq. 4).
type portMinimiser struct {
	makespanLimit
	budgetMeter
	p       *Problem
	service flow.Service
	tails   []float64 // as Decision.Tails
	groups  [][]int   // bundles that have circuits taken together; nil is each by itself

	circuits []int
	makespan engine.Time
	bound    int // ports that every topology within the limit needs
}

// newPortMinimiser returns a saver of ports under a condition, with the budget of o. A search may end the work early.
func (p *Problem) newPortMinimiser(ctx context.Context, k makespanLimit, service flow.Service, o *Options, search searchBudget) *portMinimiser {
	search.MaxEvaluations = portEvaluationsOf(o)
	if p.oneHop != nil && search.maxWork == 0 {
		search.maxWork = min(search.MaxEvaluations, math.MaxInt64/oneHopPortWork) * oneHopPortWork
	}
	return &portMinimiser{makespanLimit: k, p: p, service: service, budgetMeter: budgetMeter{searchBudget: search, ctx: ctx}}
}

// oneHopPortWork limits the work of saving ports per evaluation that it may spend, as flow.Evaluator.Work counts it, if
// demand is one-hop: all transfers are then under way together, so that a simulation takes long.
const oneHopPortWork = 5_000

// minCircuits returns a topology that each one within the limit has all circuits of.
func (s *portMinimiser) minCircuits() []int {
	if s.p.oneHop != nil {
		return s.p.oneHop.minCircuits(s.limit)
	}
	return s.p.ones()
}

// portEvaluationsOf returns the evaluations that may be spent on ports.
func portEvaluationsOf(o *Options) int64 { return cmp.Or(o.PortEvaluations, DefaultPortEvaluations) }

// apply lets the saver go to work on a decision.
func (s *portMinimiser) apply(d *Decision) {
	s.tails = d.Tails
	s.run(d.Circuits)
	d.Circuits, d.Makespan, d.Service, d.PortsBound = s.circuits, s.makespan, s.service, s.bound
	d.Evaluations += s.evaluations
	d.Limit, d.FreeRates = s.limit, !s.fixedService
	if d.Stopped == "" && s.expired() {
		d.Stopped = fmt.Sprintf("after the time limit of %v, ports being saved", wallClock(s.TimeLimit))
	}
}

// minimisePorts is a decision from which the circuits that a condition does not need are taken, unless ports are kept.
func (p *Problem) minimisePorts(ctx context.Context, d *Decision, k makespanLimit, o *Options, search searchBudget) (*Decision, error) {
	if !o.KeepPorts {
		p.newPortMinimiser(ctx, k, d.Service, o, search).apply(d)
	}
	return d, ctx.Err()
}

// SavePorts takes from a decision the circuits that its makespan, grown by o.PortTolerance, does not need, and sets how
// few could do.
func (p *Problem) SavePorts(ctx context.Context, d *Decision, o Options) {
	p.newPortMinimiser(ctx, makespanLimitOf(d.Makespan, d.Service, &o), d.Service, &o, o.newBudget(o.Joint)).apply(d)
}

// SaveTogether is SavePorts where all bundles of a group have a circuit taken at once. It starts from a topology of fewer
// circuits if that is as fast, and does not seek how few could do.
func (p *Problem) SaveTogether(ctx context.Context, d *Decision, o Options, fewer []int, groups [][]int) {
	s := p.newPortMinimiser(ctx, makespanLimitOf(d.Makespan, d.Service, &o), d.Service, &o, o.newBudget(o.Joint))
	s.groups = groups
	w := p.acquire(ctx, d.Service)
	defer p.release(w)
	d.Evaluations++
	if c, ok := w.simulate(fewer, s.limit+1); ok {
		d.Circuits, d.Makespan = fewer, c
	}
	s.apply(d)
}

// makespanLimitOf is the condition that a makespan under a service, grown by o.PortTolerance, is kept.
func makespanLimitOf(makespan engine.Time, service flow.Service, o *Options) makespanLimit {
	return makespanLimit{limit: withTolerance(makespan, o.PortTolerance), fixedService: service == flow.MaxMin || o.Service != ""}
}

// withFreePortsFilled returns x with what ports are free given to the bundles that can use them, in turn. Where rates are chosen
// more circuits do no harm.
func (p *Problem) withFreePortsFilled(x []int) []int {
	x = slices.Clone(x)
	p.clipToUseful(x)
	p.fillFreePorts(x, numbers.Below(len(x)))
	return x
}

// run starts from a topology within the limit.
func (s *portMinimiser) run(x []int) {
	s.budgetMeter = newBudgetMeter(s.ctx, s.searchBudget, s.p.acquire(s.ctx, s.service))
	defer s.p.release(s.evaluator)
	_ = s.evaluator.SetTails(s.tails) // one a task: it cannot fail
	s.circuits = slices.Clone(x)
	s.p.clipToUseful(s.circuits)
	s.makespan, _ = s.evaluator.simulate(s.circuits, never)
	if s.groups != nil {
		s.removeGreedily(s.groups)
		return
	}
	if s.p.oneHop != nil {
		few := s.minCircuits()
		if c, ok := s.keepsLimit(few); ok {
			s.circuits, s.makespan, s.bound = few, c, s.p.portsOf(few)*s.p.Fabric.Copies
			return
		}
	}
	s.removeGreedily(slices.Collect(slices.Chunk(numbers.Below(len(x)), 1)))
	s.prove()
}

// keepsLimit simulates x and reports whether it keeps the limit.
func (s *portMinimiser) keepsLimit(x []int) (engine.Time, bool) {
	s.charge(s.p, 1)
	s.evaluator.SetService(s.service)
	c, ok := s.evaluator.simulate(x, s.limit+1)
	if ok || s.fixedService {
		return c, ok
	}
	for _, rule := range servicesToTry {
		if rule == s.service {
			continue
		}
		s.charge(s.p, 1)
		s.evaluator.SetService(rule)
		if c, ok := s.evaluator.simulate(x, s.limit+1); ok {
			s.service = rule
			return c, true
		}
	}
	return 0, false
}

// boundKeepsLimit reports whether the bound of x keeps the limit.
func (s *portMinimiser) boundKeepsLimit(x []int) bool {
	s.charge(s.p, 1)
	return s.evaluator.bound(x) <= s.limit
}

// mustStop reports whether the work must end.
func (s *portMinimiser) mustStop() bool { return s.budgetMeter.stopReason() != "" }

// removeGreedily takes away circuits one by one, of all bundles of a group at once, while the limit holds.
func (s *portMinimiser) removeGreedily(groups [][]int) {
	x := s.circuits
	for changed := true; changed; {
		changed = false
		for _, group := range groups {
			for !s.mustStop() {
				before := slices.Clone(x)
				for _, e := range group {
					x[e] = max(1, x[e]-1)
				}
				if slices.Equal(x, before) {
					break
				}
				c, ok := s.keepsLimit(x)
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
func (s *portMinimiser) prove() {
	q := s.newSearch(oneMinimum, s.p.portsOf(s.circuits)-1)
	defer q.close()
	q.run()
	if len(q.solutions) > 0 {
		s.circuits, s.makespan, s.service = q.solutions[0].circuits, q.solutions[0].makespan, q.solutions[0].service
	}
	s.bound = min(s.p.portsOf(s.circuits), q.floor) * s.p.Fabric.Copies
}
