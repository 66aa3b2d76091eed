package topology

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// topoAllocator is delta-topo: it searches for the best topology under fair sharing
// (DELTA-Topo).
//
// With fair sharing, fewer circuits can shorten the iteration (docs/model.md), so no
// topology represents a box. Every topology whose bound, for any service, is below the
// incumbent must be simulated. Two groups of bundles make this affordable. Inner bundles
// carry transfers that others wait for; they are searched by branch and bound over boxes,
// as in delta-joint. The outer bundles (gradient synchronisation) matter only at the end
// of the iteration. For each choice of inner circuits, all choices of outer circuits are
// simulated from a common prefix. If the search completes within its budget, the result
// is proved optimal by exhaustion.
type topoAllocator struct{}

func (topoAllocator) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	s := newTopoSearch(ctx, p, o.newBudget(o.Topo), o.serviceOr(flow.MaxMin))
	defer s.close()
	if d, _ := p.solveOneHop(ctx, s.service); d != nil {
		return p.minimisePorts(ctx, d, makespanLimit{limit: withTolerance(d.Makespan, o.PortTolerance),
			fixedService: true}, &o, s.searchBudget)
	}

	// The search starts from the circuits of delta-joint, and its bound from the shared
	// bound.
	shared, err := p.sharedResultWithin(ctx, &s.searchBudget)
	if err != nil {
		return nil, err
	}
	s.trySeeds(shared.circuits)
	s.search(shared.bound)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.bound = min(s.bound, s.best)
	if s.stopped != "" {
		// The budget is used: the result must be at least as good as delta-fast's.
		d, err := p.geneticFallback(ctx, o, &s.searchBudget, s.service, s.MaxEvaluations)
		if err != nil {
			return nil, err
		}
		if d != nil {
			s.evaluations += d.Evaluations
			if d.Makespan < s.best {
				s.best, s.circuits = d.Makespan, d.Circuits
			}
		}
	}

	if s.circuits == nil {
		return nil, errNoEnd
	}
	d := &Decision{Service: s.service, Bound: max(s.bound, shared.bound), BoundModel: s.boundModel(),
		Searched: true, Stopped: cmp.Or(s.stopped, shared.stopped)}
	d.Circuits, d.Makespan, d.Evaluations = s.circuits, s.best, s.evaluations
	return p.minimisePorts(ctx, d, makespanLimit{limit: withTolerance(s.best, o.PortTolerance),
		fixedService: true}, &o, s.searchBudget)
}

// innerBundles reports, for each bundle, whether another transfer waits for one of its
// transfers.
func (p *Problem) innerBundles() []bool {
	g := p.Graph
	before := make([]bool, len(g.Tasks)) // a transfer is reachable from the task
	for _, i := range slices.Backward(g.Order()) {
		for _, e := range g.Out(i) {
			before[i] = before[i] || before[e.To] || g.Tasks[e.To].Kind == engine.Transfer
		}
	}

	// Links that carry a transfer from which another transfer is reachable.
	onLink := make([]bool, len(p.Fabric.Network.Links))
	for i := range g.Tasks {
		for _, u := range p.Fabric.Routes.Of(int32(i)) {
			if before[i] && int(u.Resource) < len(onLink) {
				onLink[u.Resource] = true
			}
		}
	}

	inner := make([]bool, len(p.Fabric.Bundles))
	for e, b := range p.Fabric.Bundles {
		inner[e] = slices.ContainsFunc(b.Links, func(l int32) bool { return onLink[l] })
	}
	return inner
}

// linksOf returns the links of the bundles for which selects returns true.
func (p *Problem) linksOf(selects func(e int) bool) (links []int32) {
	for e := range p.Fabric.Bundles {
		if selects(e) {
			links = append(links, p.Fabric.Bundles[e].Links...)
		}
	}
	return links
}

// topoSearch is one search of delta-topo. A box is the set of topologies with lo[e] to hi[e]
// circuits of each bundle e (boxes.go).
type topoSearch struct {
	budgetMeter // counts evaluations and work; has evaluator, which simulates topologies
	p           *Problem
	service     flow.Service
	bounder     *circuitEvaluator       // second evaluator, so that bounds do not disturb a forked simulation
	isInner     []bool                  // see Problem.innerBundles
	open        *openBoxes[engine.Time] // by their lower bounds

	circuits    []int                  // the incumbent; nil before the first one
	best        engine.Time            // makespan of circuits
	makespans   map[string]engine.Time // makespans of simulated topologies by topologyKey; never if cut off
	bound       engine.Time            // lower bound on every topology under service
	boundIsFair bool                   // bound holds under fair sharing only
	stopped     string                 // reason why the search stopped early
}

// newTopoSearch returns a search without open boxes. The caller releases it with close.
func newTopoSearch(ctx context.Context, p *Problem, o searchBudget, service flow.Service) *topoSearch {
	return &topoSearch{budgetMeter: newBudgetMeter(ctx, o, p.acquire(ctx, service)), p: p,
		service: service, bounder: p.acquire(ctx, service),
		isInner: p.innerBundles(), open: newOpenBoxes(cmp.Compare[engine.Time]), best: never,
		makespans: map[string]engine.Time{}}
}

// close releases the evaluators.
func (s *topoSearch) close() {
	s.p.release(s.evaluator)
	s.p.release(s.bounder)
}

// boundModel returns the BoundModel of the decision.
func (s *topoSearch) boundModel() string {
	switch {
	case s.stopped != "" && !s.boundIsFair:
		return AnyService
	case s.service == flow.MaxMin:
		return FairService
	}
	return s.service.String() + ", all topologies"
}

// topologyKey encodes a topology as a map key.
func topologyKey(x []int) string {
	b := make([]byte, 0, 4*len(x))
	for _, n := range x {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	return string(b)
}

// simulate returns the makespan of x, or never if it is no better than the incumbent.
func (s *topoSearch) simulate(x []int) engine.Time {
	k := topologyKey(x)
	if c, ok := s.makespans[k]; ok {
		return c
	}
	s.charge(s.p, 1)
	c, ok := s.evaluator.simulate(x, s.best)
	if !ok {
		c = never
	}
	s.makespans[k] = c
	if c < s.best {
		s.best, s.circuits = c, slices.Clone(x)
	}
	return c
}

// mustStop reports whether the search must stop, and records the reason.
func (s *topoSearch) mustStop() bool {
	s.stopped = s.budgetMeter.stopReason()
	return s.stopped != ""
}

// trySeeds simulates the initial topologies, x of delta-joint and the results of
// matrixRules, and runs a local search from each.
func (s *topoSearch) trySeeds(x []int) {
	starts := [][]int{x}
	for _, rule := range matrixRules {
		starts = append(starts, rule(s.p))
	}
	for _, x := range starts {
		if x == nil || s.circuits != nil && s.mustStop() {
			continue
		}
		s.simulate(x)
		y := slices.Clone(x)
		s.p.clipToUseful(y)
		s.localSearch(y)
	}
}

// search searches for the best topology. With several replicas or long ones, the choices
// of outer circuits multiply, so it first attempts a proof by boxes of all bundles
// (topo_boxes.go). floor is a known lower bound.
func (s *topoSearch) search(floor engine.Time) {
	s.push(s.p.ones(), slices.Clone(s.p.Useful))
	if (s.p.hasReplicas() || s.p.hasLongReplicas()) && s.proveByBoxes(floor) {
		return
	}
	s.searchBoxes()
}

// searchBoxes visits boxes of inner circuits in the order of their bounds.
func (s *topoSearch) searchBoxes() {
	unfinished := s.open.explore(func(bound engine.Time) bool { return bound >= s.best }, s.mustStop, func(b *box[engine.Time]) bool {
		if e := b.widestBundle(func(e int) bool { return s.isInner[e] }); e >= 0 {
			b.split(e, b.midpoint(e), s.push)
			return true
		}
		s.completeBox(b)
		return !s.mustStop()
	})
	if unfinished != nil {
		s.bound, s.boundIsFair = max(s.bound, unfinished.value), s.boundIsFair && s.bound > unfinished.value
	}
	if !s.mustStop() {
		s.bound = s.best
	}
}

// push adds a box if its bound permits an improvement.
func (s *topoSearch) push(lo, hi []int) {
	if !s.p.tightenUpper(lo, hi) {
		return
	}
	s.charge(s.p, 1)
	if bound := s.bounder.bound(hi); bound < s.best {
		s.open.add(lo, hi, bound)
	}
}

// completeBox simulates all topologies of a box with a single choice of inner circuits
// that its bound does not exclude.
func (s *topoSearch) completeBox(b *box[engine.Time]) {
	// Raise the minimum of each outer bundle as far as the bound permits.
	lo := slices.Clone(b.lo)
	var ends []int    // outer bundles with several choices
	var links []int32 // their links
	x := slices.Clone(b.hi)
	for e := range x {
		if s.isInner[e] || b.hi[e] == b.lo[e] {
			continue
		}
		ends = append(ends, e)
		links = append(links, s.p.Fabric.Bundles[e].Links...)
		lo[e] = minFeasible(b.lo[e], b.hi[e], b.midpoint(e), func(n int) bool {
			x[e] = n
			s.charge(s.p, 1)
			return s.bounder.bound(x) < s.best
		})
		x[e] = b.hi[e]
	}

	if s.p.exceedsPorts(lo) {
		return // each minimum alone is necessary, but together they do not fit
	}

	// Simulate the common prefix, then all combinations.
	forked := s.service == flow.MaxMin
	if forked {
		s.charge(s.p, 1)
		s.evaluator.provision(b.hi)
		s.evaluator.Fork(links, s.best)
	}

	copy(x, lo)
	s.completeBundles(x, b.hi, ends, s.p.freePorts(lo), forked)
}

// completeBundles enumerates the circuits of the bundles ends, from x[e] to hi[e], the
// maximum first, and simulates each topology.
func (s *topoSearch) completeBundles(x, hi, ends []int, free []int, forked bool) {
	if s.mustStop() {
		return
	}
	if len(ends) == 0 {
		s.simulateCompletion(x, forked)
		return
	}

	e, low := ends[0], x[ends[0]]
	highest := min(hi[e], low+s.p.maxAdditional(free, e))
	s.p.allocate(free, e, highest-low)
	for x[e] = highest; x[e] >= low; x[e]-- {
		s.completeBundles(x, hi, ends[1:], free, forked)
		s.p.allocate(free, e, -1)
	}

	s.p.allocate(free, e, 1)
	x[e] = low
}

// simulateCompletion simulates one enumerated topology.
func (s *topoSearch) simulateCompletion(x []int, forked bool) {
	if !forked {
		s.simulate(x)
		return
	}
	s.chargeFork(s.p)
	s.evaluator.provision(x)
	// The evaluator must run nothing else between Fork and Resume, because its cutoffs
	// depend on the capacities that it was last given.
	if c, ok := s.evaluator.Resume(s.best); ok {
		s.best, s.circuits = c, slices.Clone(x)
	}
}

// localSearch changes x while the makespan decreases: one or two circuits of one bundle
// more or less, with neighbour adapting the others.
func (s *topoSearch) localSearch(x []int) {
	here := s.simulate(x)
	for improved := true; improved && !s.mustStop(); {
		improved = false
		for e := range x {
			for d := -2; d <= 2 && !s.mustStop(); d++ {
				y := s.neighbour(x, e, d)
				if y == nil {
					continue
				}
				if c := s.simulate(y); c < here {
					copy(x, y)
					here, improved = c, true
				}
			}
		}
	}
}

// neighbour returns x with d more circuits of bundle e. If a pod then uses too many
// ports, its largest other bundle loses circuits. Ports that become free go to bundles
// that can use them. It returns nil if there is no such topology.
func (s *topoSearch) neighbour(x []int, e, d int) []int {
	n := x[e] + d
	if d == 0 || n < 1 || n > s.p.Useful[e] {
		return nil
	}
	y := slices.Clone(x)
	y[e] = n
	others := func(o int) bool { return o != e }
	if !s.p.removeExcess(y, allPods, func(pod int) int { return s.p.largestBundle(y, pod, others) }) {
		return nil
	}
	if d < 0 {
		free := s.p.freePorts(y)
		for o := range y {
			for others(o) && y[o] < s.p.Useful[o] && s.p.maxAdditional(free, o) > 0 {
				y[o]++
				s.p.allocate(free, o, 1)
			}
		}
	}

	return y
}
