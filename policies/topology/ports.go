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

// DefaultPortEvaluations is the maximum number of topologies evaluated to minimise ports
// if Options.PortEvaluations is 0.
const DefaultPortEvaluations = 10000

// makespanLimit is the condition under which circuits may be removed.
type makespanLimit struct {
	limit engine.Time // maximum makespan
	// fixedService means that the simulation under one service decides whether a topology
	// keeps the limit. Otherwise rates are free: any of servicesToTry may keep it, and
	// only the bound proves that no schedule does.
	fixedService bool
}

// portMinimiser finds the minimum ports with which the makespan stays within a limit
// (DELTA, Eq. 4).
type portMinimiser struct {
	makespanLimit // the condition: limit and fixedService
	budgetMeter   // counts evaluations; has evaluator, which simulates and bounds topologies
	p             *Problem
	service       flow.Service
	tails         []float64 // see Decision.Tails
	groups        [][]int   // bundles from which circuits are removed together; nil means each bundle separately

	circuits []int
	makespan engine.Time
	bound    int // lower bound on the ports of every topology within the limit
}

// newPortMinimiser returns a portMinimiser with the budget of o. The deadline and the
// work limit of search apply also.
func (p *Problem) newPortMinimiser(ctx context.Context, k makespanLimit, service flow.Service, o *Options, search searchBudget) *portMinimiser {
	search.MaxEvaluations = portEvaluationsOf(o)
	if p.oneHop != nil && search.maxWork == 0 {
		search.maxWork = min(search.MaxEvaluations, math.MaxInt64/oneHopPortWork) * oneHopPortWork
	}
	return &portMinimiser{makespanLimit: k, p: p, service: service,
		budgetMeter: budgetMeter{searchBudget: search, ctx: ctx}}
}

// oneHopPortWork is the work per permitted evaluation of minimising ports under one-hop
// demand, in units of flow.Evaluator.Work. All transfers then overlap, so a simulation
// takes long.
const oneHopPortWork = 5_000

// minCircuits returns a topology whose circuits are included in every topology within the
// limit.
func (s *portMinimiser) minCircuits() []int {
	if s.p.oneHop != nil {
		return s.p.oneHop.minCircuits(s.limit)
	}
	return s.p.ones()
}

// portEvaluationsOf returns the maximum number of evaluations for ports.
func portEvaluationsOf(o *Options) int64 { return cmp.Or(o.PortEvaluations, DefaultPortEvaluations) }

// apply minimises the ports of a decision.
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

// minimisePorts removes the circuits of d that the condition does not need, unless
// o.KeepPorts is set, and returns d.
func (p *Problem) minimisePorts(ctx context.Context, d *Decision, k makespanLimit, o *Options, search searchBudget) (*Decision, error) {
	if !o.KeepPorts {
		p.newPortMinimiser(ctx, k, d.Service, o, search).apply(d)
	}
	return d, ctx.Err()
}

// MinimisePorts removes the circuits of d that its makespan, increased by o.PortTolerance,
// does not need. It also sets the lower bound on ports.
func (p *Problem) MinimisePorts(ctx context.Context, d *Decision, o Options) {
	p.newPortMinimiser(ctx, makespanLimitOf(d.Makespan, d.Service, &o), d.Service, &o,
		o.newBudget(o.Joint)).apply(d)
}

// MinimisePortsInGroups is MinimisePorts in which all bundles of a group lose a circuit
// together. It starts from the topology fewer if its makespan is within the limit, and it
// computes no lower bound on ports.
func (p *Problem) MinimisePortsInGroups(ctx context.Context, d *Decision, o Options, fewer []int, groups [][]int) {
	s := p.newPortMinimiser(ctx, makespanLimitOf(d.Makespan, d.Service, &o), d.Service, &o,
		o.newBudget(o.Joint))
	s.groups = groups
	w := p.acquire(ctx, d.Service)
	defer p.release(w)
	d.Evaluations++
	if c, ok := w.simulate(fewer, s.limit+1); ok {
		d.Circuits, d.Makespan = fewer, c
	}
	s.apply(d)
}

// makespanLimitOf returns the condition that a makespan under a service increases by at
// most o.PortTolerance.
func makespanLimitOf(makespan engine.Time, service flow.Service, o *Options) makespanLimit {
	return makespanLimit{limit: withTolerance(makespan, o.PortTolerance),
		fixedService: service == flow.MaxMin || o.Service != ""}
}

// withFreePortsFilled returns x with its free ports given to the bundles that can use
// them, in turn. If rates are free, more circuits do no harm.
func (p *Problem) withFreePortsFilled(x []int) []int {
	x = slices.Clone(x)
	p.clipToUseful(x)
	p.fillFreePorts(x, numbers.Below(len(x)))
	return x
}

// run minimises the ports of topology x, which must keep the limit.
func (s *portMinimiser) run(x []int) {
	s.budgetMeter = newBudgetMeter(s.ctx, s.searchBudget, s.p.acquire(s.ctx, s.service))
	defer s.p.release(s.evaluator)
	_ = s.evaluator.SetTails(s.tails) // one tail per task, so it cannot fail
	s.circuits = slices.Clone(x)
	s.p.clipToUseful(s.circuits)
	s.makespan, _ = s.evaluator.simulate(s.circuits, never)
	if s.groups != nil {
		s.removeGreedily(s.groups)
		return
	}

	if s.p.oneHop != nil {
		minimum := s.minCircuits()
		if c, ok := s.keepsLimit(minimum); ok {
			s.circuits, s.makespan, s.bound = minimum, c, s.p.portsOf(minimum)*s.p.Fabric.Copies
			return
		}
	}

	const bundlesPerGroup = 1
	s.removeGreedily(slices.Collect(slices.Chunk(numbers.Below(len(x)), bundlesPerGroup)))
	s.prove()
}

// keepsLimit simulates x. It returns the makespan, and true if it is within the limit.
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

// boundKeepsLimit reports whether the lower bound of x is within the limit.
func (s *portMinimiser) boundKeepsLimit(x []int) bool {
	s.charge(s.p, 1)
	return s.evaluator.bound(x) <= s.limit
}

// mustStop reports whether the work must end.
func (s *portMinimiser) mustStop() bool { return s.budgetMeter.stopReason() != "" }

// removeGreedily removes circuits one by one, from all bundles of a group at once, while
// the makespan is within the limit.
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

// prove searches for topologies with fewer ports until none can exist or the budget is
// used, and sets the bound.
func (s *portMinimiser) prove() {
	q := s.newSearch(oneMinimum, s.p.portsOf(s.circuits)-1)
	defer q.close()
	q.run()
	if len(q.solutions) > 0 {
		s.circuits, s.makespan, s.service = q.solutions[0].circuits, q.solutions[0].makespan,
			q.solutions[0].service
	}
	s.bound = min(s.p.portsOf(s.circuits), q.floor) * s.p.Fabric.Copies
}
