package topology

import (
	"cmp"
	"context"
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/internal/numbers"
)

// never is the makespan of a topology that has not been simulated or cannot end.
const never = engine.Never

// relTol is the relative difference below which two makespans count as equal: more than
// the errors of ticks and floating point, much less than a relevant difference.
const relTol = 1e-9

// isFaster reports whether makespan a is shorter than b by more than rounding errors. The
// tolerance is a tenth of relTol, so that a search may improve in steps below relTol.
func isFaster(a, b engine.Time) bool { return float64(a) < float64(b)*(1-relTol/10) }

// tickTolerance is the maximum difference, in ticks, between a makespan and a bound that
// it meets. It covers the rounding of task ends to ticks.
const tickTolerance = 16

// jointAllocator is delta-joint: it chooses circuits and rates together (DELTA-Joint,
// Eqs. 3 to 18) without an MILP solver. For given circuits, transfers are served by level
// priority; bounds that hold for any service certify the result. Circuits are searched by
// branch and bound over boxes of topologies: the topologies with lo[e] to hi[e] circuits of each
// bundle e (boxes.go). A box is bounded by its upper corner, the topology hi, because more
// capacity never increases the bound.
//
// If a gap remains, the search is repeated with sharper bounds (joint_queuebound.go,
// joint_pathmean.go). If Options.Tails permits it, a local search then improves the rates
// (joint_priorities.go).
type jointAllocator struct{}

func (jointAllocator) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	// p.sharedSearch is not used although it may have a result: its time would not be
	// charged to this allocator.
	search := o.newBudget(o.Joint)
	best := solveJoint(ctx, p, search)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if best.circuits == nil {
		return nil, errNoEnd
	}
	if best.stopped != "" {
		if err := best.improveGenetically(ctx, p, o, &search); err != nil {
			return nil, err
		}
	}

	if o.Tails && o.Service == "" {
		if err := best.searchPriorities(ctx, p, o.Seed, &search); err != nil {
			return nil, err
		}
	}

	d := best.decision()
	// If the key "service" fixes the rates, only the circuits of best are used.
	if d.Service = o.serviceOr(best.service); d.Service != best.service {
		j, err := p.Evaluate(ctx, best.circuits, d.Service)
		if err != nil {
			return nil, err
		}
		d.Makespan = j.Makespan
	} else if o.KeepPorts {
		d.Circuits = p.withFreePortsFilled(d.Circuits)
	}
	return p.minimisePorts(ctx, d, makespanLimit{limit: withTolerance(d.Makespan, o.PortTolerance),
		fixedService: o.Service != ""}, &o, search)
}

// decision returns the result as a decision with its bound.
func (best *jointResult) decision() *Decision {
	return &Decision{
		Circuits: best.circuits, Service: best.service, Tails: best.tails, Makespan: best.makespan,
		Bound: best.bound, BoundModel: AnyService, Evaluations: best.evaluations, Searched: true,
		Stopped: best.stopped,
	}
}

// improveGenetically runs the genetic search after branch and bound had to stop: once
// under fair sharing and once under level priority. Each result is simulated with
// servicesToTry.
func (best *jointResult) improveGenetically(ctx context.Context, p *Problem, o Options, search *searchBudget) error {
	w := p.acquire(ctx, flow.LevelPriority)
	defer p.release(w)
	for _, service := range []flow.Service{flow.MaxMin, flow.LevelPriority} {
		d, err := p.geneticFallback(ctx, o, search, service, o.Joint.MaxEvaluations/2)
		if d == nil || err != nil {
			return err
		}
		best.evaluations += d.Evaluations
		for _, rule := range servicesToTry {
			best.evaluations++
			w.SetService(rule)
			if c, ok := w.simulate(d.Circuits, best.makespan); ok {
				best.circuits, best.makespan, best.service = d.Circuits, c, rule
			}
		}
	}

	return nil
}

// withTolerance returns the largest makespan that exceeds t by at most the given
// fraction, up to rounding.
func withTolerance(t engine.Time, fraction float64) engine.Time {
	return engine.Time(float64(t) * (1 + fraction + relTol))
}

// jointResult is the result of the search over topologies.
type jointResult struct {
	circuits    []int
	service     flow.Service
	tails       []float64 // see Decision.Tails
	makespan    engine.Time
	bound       engine.Time // lower bound on the makespan of every topology under any service
	evaluations int64
	stopped     string // see Decision.Stopped
}

// boxBound is the lower bound of a box.
type boxBound struct {
	bound        engine.Time
	isQueueBound bool      // bound includes flow.Evaluator.QueueBound
	pathMean     *pathMean // mean of paths whose bound is included; nil if none
}

// compare orders bounds, the lowest first.
func (v boxBound) compare(o boxBound) int { return cmp.Compare(v.bound, o.bound) }

// jointSearch is a best-first branch and bound over boxes of topologies.
type jointSearch struct {
	budgetMeter // counts evaluations and work; has evaluator, which simulates and bounds topologies
	p           *Problem
	best        jointResult
	open        *openBoxes[boxBound]
	replicaRank []int       // rank of each replica; the slowest has rank 0
	closedBound engine.Time // minimum bound of the boxes that were simulated or excluded

	// isFair means that transfers share fairly. Fewer circuits can then be faster, so the
	// upper corner does not represent its box.
	isFair bool

	// useQueueBound is true after the restart with queue bounds. triedQueueBound is true
	// after one was computed to decide on the restart. provedBound is the bound of the
	// searches before.
	useQueueBound, triedQueueBound bool
	provedBound                    engine.Time

	meanBounder *meanBounder // nil until boxes are bounded by means of paths
	parentMean  *pathMean    // mean of the box being split; nil if boxes have no means
}

// newJointSearch returns a search without open boxes. The caller releases its evaluator.
func newJointSearch(ctx context.Context, p *Problem, o searchBudget, service flow.Service) *jointSearch {
	s := &jointSearch{budgetMeter: newBudgetMeter(ctx, o, p.acquire(ctx, service)), p: p, closedBound: never}
	s.open = newOpenBoxes(boxBound.compare)
	s.best.makespan = never
	return s
}

// solveJoint searches for the best topology and rates, with a proved bound. One-hop
// demand is solved in closed form if one of servicesToTry reaches its optimum.
func solveJoint(ctx context.Context, p *Problem, o searchBudget) jointResult {
	d, floor := p.solveOneHop(ctx, servicesToTry...)
	if d != nil {
		return jointResult{circuits: d.Circuits, service: d.Service, makespan: d.Makespan,
			bound: d.Bound, evaluations: d.Evaluations}
	}
	s := newJointSearch(ctx, p, o, flow.LevelPriority)
	defer p.release(s.evaluator)
	for _, rule := range matrixRules {
		x := rule(p)
		s.p.clipToUseful(x)
		s.tryTopology(x)
	}
	s.push(p.ones(), slices.Clone(p.Useful), floor)
	s.greedyStart()
	return s.solve()
}

// solve visits the open boxes until none can improve on the incumbent or the budget is
// used.
func (s *jointSearch) solve() jointResult {
	s.rankReplicas()
	over := func() bool {
		s.best.stopped = s.stopReason()
		return s.best.stopped != ""
	}
	for s.best.stopped == "" && (s.open.Size() > 0 || s.searchAgain()) {
		if unfinished := s.open.explore(func(v boxBound) bool { return s.cannotImprove(v.bound) }, over, s.visitBox); unfinished != nil {
			s.closedBound = min(s.closedBound, unfinished.value.bound)
		}
		s.open.Clear()
	}
	s.best.bound = min(max(s.provedBound, s.closedBound), s.best.makespan)
	s.best.evaluations = s.evaluations
	return s.best
}

// visitBox simulates the upper corner of a box if it fits the ports; the corner has the
// smallest bound of the box. Otherwise, or under fair sharing, it splits the box.
func (s *jointSearch) visitBox(b *box[boxBound]) bool {
	fits := s.p.Feasible(b.hi)
	switch {
	case s.parentMean == nil && (s.proveByPathMeans(b) || s.applyQueueBound(b)):
		return true
	case fits:
		s.tryTopology(b.hi)
	case s.parentMean != nil:
		s.tryCheapest(b)
	}

	switch {
	case fits && !s.isFair:
		s.closedBound = min(s.closedBound, b.value.bound)
		return true
	case fits && b.widestBundle(anyBundle) < 0:
		return true // a single topology, which was simulated
	}

	e, lowerMax := s.branch(b, fits)
	s.parentMean = b.value.pathMean
	b.split(e, lowerMax, func(lo, hi []int) { s.push(lo, hi, b.value.bound) })
	return true
}

// branch returns the bundle at which to split a box, and the maximum number of its
// circuits in the lower part.
func (s *jointSearch) branch(b *box[boxBound], fits bool) (e, lowerMax int) {
	switch {
	case b.value.pathMean != nil:
		return s.branchByMean(b)
	case fits:
		e = b.widestBundle(anyBundle)
	default:
		e = s.branchBundle(b)
	}
	return e, b.midpoint(e)
}

// cannotImprove reports whether no topology with this bound can improve on the incumbent.
func (s *jointSearch) cannotImprove(bound engine.Time) bool {
	return float64(bound) >= float64(s.best.makespan)*(1-relTol/10) || s.best.makespan-bound <= tickTolerance
}

// push adds a box if it can contain a better topology that fits the ports. floor is a
// known lower bound of the box.
func (s *jointSearch) push(lo, hi []int, floor engine.Time) {
	if !s.p.tightenUpper(lo, hi) {
		return
	}
	s.charge(s.p, 1)
	bound := max(floor, s.evaluator.bound(hi))
	if s.isFair {
		bound = max(bound, s.evaluator.FairBound())
	}

	// A box that cannot improve need not be stored, but its bound still limits
	// closedBound.
	v := boxBound{bound: bound}
	if s.parentMean != nil && !s.cannotImprove(bound) {
		v.pathMean = s.parentMean.clone()
		v.pathMean.numPaths = min(v.pathMean.numPaths, inheritedPaths)
		v.bound = max(bound, s.fictitiousPlay(v.pathMean, lo, hi, boxPaths))
	}

	if s.cannotImprove(v.bound) {
		s.closedBound = min(s.closedBound, v.bound)
	} else {
		s.open.add(lo, hi, v)
	}
}

// rankReplicas ranks the replicas by the bound that each sets alone: its own bundles as
// in the incumbent, all others with their useful circuits.
func (s *jointSearch) rankReplicas() {
	replicas := 0
	for _, pod := range s.p.Fabric.Pods {
		replicas = max(replicas, pod.Replica+1)
	}
	alone := make([]engine.Time, replicas)
	for r := range alone {
		if replicas == 1 || s.best.circuits == nil {
			break
		}
		x := slices.Clone(s.p.Useful)
		for e, b := range s.p.Fabric.Bundles {
			if s.p.Fabric.Pods[b.A].Replica == r || s.p.Fabric.Pods[b.B].Replica == r {
				x[e] = min(x[e], s.best.circuits[e])
			}
		}
		s.charge(s.p, 1)
		alone[r] = s.evaluator.bound(x)
	}

	ranked := numbers.Below(replicas)
	slices.SortStableFunc(ranked, func(a, b int) int { return cmp.Compare(alone[b], alone[a]) })
	s.replicaRank = make([]int, replicas)
	for k, r := range ranked {
		s.replicaRank[r] = k
	}
}

// branchBundle returns the bundle with the largest range at the pod whose ports the upper
// corner exceeds most. Pods of the slowest replica with such a pod come first. The
// slowest replica determines the iteration time. A bound proved for one replica alone
// therefore holds for all, and settling replicas one by one avoids combining their
// choices.
func (s *jointSearch) branchBundle(b *box[boxBound]) int {
	p := s.p
	free := p.freePorts(b.hi)
	pod, first := -1, 0
	for i := range free {
		rank := s.replicaRank[p.Fabric.Pods[i].Replica]
		if free[i] >= 0 || pod >= 0 && rank > first {
			continue
		}
		if pod < 0 || rank < first || free[i] < free[pod] {
			pod, first = i, rank
		}
	}
	return b.widestBundle(func(e int) bool { return p.endsAt(e, pod) })
}

// servicesToTry are the services with which a topology is simulated, in this order. The
// later ones (Jackson's rule and fair sharing) are used only if level priority does not
// meet the bound.
var servicesToTry = []flow.Service{flow.LevelPriority, flow.TailPriority, flow.MaxMin}

// tryTopology simulates x with servicesToTry, or with fair sharing if isFair, and updates
// the incumbent.
func (s *jointSearch) tryTopology(x []int) {
	if s.isFair {
		s.charge(s.p, 1)
		if c, ok := s.evaluator.simulate(x, s.best.makespan); ok {
			s.updateBest(x, c, flow.MaxMin)
		}
		return
	}

	for i, rule := range servicesToTry {
		s.charge(s.p, 1)
		s.evaluator.SetService(rule)
		c, ok := s.evaluator.simulate(x, s.best.makespan)
		if ok {
			s.updateBest(x, c, rule)
		}
		if i == 0 && ok {
			s.charge(s.p, 1)
			if float64(c) <= float64(s.evaluator.bound(x))*(1+relTol) {
				break
			}
		}
	}

	s.evaluator.SetService(flow.LevelPriority)
}

// updateBest makes x the incumbent if its makespan c is shorter.
func (s *jointSearch) updateBest(x []int, makespan engine.Time, service flow.Service) {
	if s.isFair && makespan < s.best.makespan || isFaster(makespan, s.best.makespan) {
		s.best.circuits, s.best.makespan, s.best.service = slices.Clone(x), makespan, service
	}
}

// greedyStart finds a first incumbent. It starts from all useful circuits and removes
// circuits pod by pod, each time the one whose loss increases the bound least. After half
// of the budget it removes from the largest bundle.
func (s *jointSearch) greedyStart() {
	x := slices.Clone(s.p.Useful)
	if s.p.removeExcess(x, allPods, func(pod int) int {
		best, lowest := -1, never
		for e := range x {
			switch {
			case !s.p.endsAt(e, pod) || x[e] == 1:
			case s.usedFraction() >= 0.5 || s.interrupted():
				if best < 0 || x[e] > x[best] {
					best = e
				}
			default:
				x[e]--
				s.charge(s.p, 1)
				if c := s.evaluator.bound(x); best < 0 || c < lowest {
					best, lowest = e, c
				}
				x[e]++
			}
		}
		return best
	}) {
		s.tryTopology(x)
	}
}
