package topology

import (
	"cmp"
	"context"
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/internal/numbers"
)

const never = engine.Never

// relTol is the relative difference below which two makespans count as one: above what ticks and floating point
// leave, far below what matters.
const relTol = 1e-9

// tickTolerance is what the rounding of ends to ticks may leave between a makespan and a bound that it meets.
const tickTolerance = 16

// jointAllocator chooses circuits and rates together (DELTA-Joint, Eqs. 3..18) without an MILP solver. For fixed circuits
// transfers are served by level; bounds that hold for any service certify the result. Over circuits it branches and
// bounds: a box of topologies is bounded by its upper corner, as capacity never lowers a bound. Where that leaves a gap
// it looks again with sharper bounds (joint_sharp.go) and, if it may, for better rates (joint_bend.go).
type jointAllocator struct{}

func (jointAllocator) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	// not p.joint, which may have been solved before: its time counts as ours
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
	if d.Service = o.serviceOr(best.service); d.Service != best.service { // rates are not ours to choose: only the circuits are
		j, err := p.Judge(ctx, best.circuits, d.Service)
		if err != nil {
			return nil, err
		}
		d.Makespan = j.Makespan
	} else if o.KeepPorts {
		d.Circuits = p.withFreePortsFilled(d.Circuits)
	}
	return p.minimisePorts(ctx, d, makespanLimit{limit: withTolerance(d.Makespan, o.PortTolerance), fixedService: o.Service != ""}, &o, search)
}

// decision is what was found, with its proof.
func (best *jointResult) decision() *Decision {
	return &Decision{
		Circuits: best.circuits, Service: best.service, Tails: best.tails, Makespan: best.makespan,
		Bound: best.bound, BoundModel: AnyService, Evaluations: best.evaluations, Searched: true, Stopped: best.stopped,
	}
}

// improveGenetically looks for a better topology by genetic search where branch and bound had to stop: among topologies simulated
// by level, and with the best of those that share fairly.
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

// withTolerance returns the largest makespan that counts as t grown by a fraction.
func withTolerance(t engine.Time, fraction float64) engine.Time {
	return engine.Time(float64(t) * (1 + fraction + relTol))
}

// jointResult is what the search over topologies found.
type jointResult struct {
	circuits    []int
	service     flow.Service
	tails       []float64 // as Decision.Tails
	makespan    engine.Time
	bound       engine.Time // on the makespan of every topology under any service
	evaluations int64
	stopped     string
}

// boxBound is what the search knows of a box.
type boxBound struct {
	bound        engine.Time
	isQueueBound bool      // bound knows of queues
	pathMean     *pathMean // of paths, where bound knows of one
}

func (v boxBound) compare(o boxBound) int { return cmp.Compare(v.bound, o.bound) }

// jointSearch is best-first branch and bound over boxes.
type jointSearch struct {
	budgetMeter
	p           *Problem
	best        jointResult
	open        *openBoxes[boxBound]
	replicaRank []int       // of the replicas, the slowest first
	closedBound engine.Time // lowest bound of the topologies that were simulated

	isFair bool // rates are those of fair sharing, under which no topology stands for those with fewer circuits

	useQueueBound, triedQueueBound bool        // bounds know of queues; one was tried
	provedBound                    engine.Time // by the search without

	meanBounder *meanBounder // nil until boxes have had the bounds of means
	parentMean  *pathMean    // that of the box that is split, nil where there are none
}

func newJointSearch(ctx context.Context, p *Problem, o searchBudget, service flow.Service) *jointSearch {
	s := &jointSearch{budgetMeter: newBudgetMeter(ctx, o, p.acquire(ctx, service)), p: p, closedBound: never}
	s.open = newOpenBoxes(boxBound.compare)
	s.best.makespan = never
	return s
}

// solveJoint searches for the best topology and rates, and for a bound that proves how good they
// are. One-hop demand is solved in closed form if one of the rules reaches the optimum.
func solveJoint(ctx context.Context, p *Problem, o searchBudget) jointResult {
	d, least := p.solveOneHop(ctx, servicesToTry...)
	if d != nil {
		return jointResult{circuits: d.Circuits, service: d.Service, makespan: d.Makespan, bound: d.Bound, evaluations: d.Evaluations}
	}
	s := newJointSearch(ctx, p, o, flow.LevelPriority)
	defer p.release(s.evaluator)
	for _, rule := range matrixRules {
		x := rule(p)
		s.p.clipToUseful(x)
		s.tryTopology(x)
	}
	s.push(p.ones(), slices.Clone(p.Useful), least)
	s.greedyStart()
	return s.solve()
}

// solve looks at all open boxes.
func (s *jointSearch) solve() jointResult {
	s.rankReplicas()
	over := func() bool {
		s.best.stopped = s.stopReason()
		return s.best.stopped != ""
	}
	for s.best.stopped == "" && (s.open.Size() > 0 || s.searchAgain()) {
		if left := s.open.explore(func(v boxBound) bool { return s.cannotImprove(v.bound) }, over, s.visitBox); left != nil {
			s.closedBound = min(s.closedBound, left.value.bound)
		}
		s.open.Clear()
	}
	s.best.bound = min(max(s.provedBound, s.closedBound), s.best.makespan)
	s.best.evaluations = s.evaluations
	return s.best
}

// visitBox simulates the upper corner of a box if it fits, which then is the best by its bound, and else splits the box at
// a bundle of its most overrun pod.
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
		return true // one topology, of which all is known
	}
	e, most := s.branch(b, fits)
	s.parentMean = b.value.pathMean
	b.split(e, most, func(lo, hi []int) { s.push(lo, hi, b.value.bound) })
	return true
}

// branch returns the bundle to split a box at, and the most circuits of its lesser half.
func (s *jointSearch) branch(b *box[boxBound], fits bool) (e, most int) {
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

// cannotImprove reports whether nothing with that bound can improve on the best.
func (s *jointSearch) cannotImprove(bound engine.Time) bool {
	return float64(bound) >= float64(s.best.makespan)*(1-relTol/10) || s.best.makespan-bound <= tickTolerance
}

// push opens a box if it can hold a feasible topology that is better. Floor is a bound that is known of it.
func (s *jointSearch) push(lo, hi []int, floor engine.Time) {
	if !s.p.tightenUpper(lo, hi) {
		return
	}
	s.charge(s.p, 1)
	bound := max(floor, s.evaluator.bound(hi))
	if s.isFair {
		bound = max(bound, s.evaluator.FairBound())
	}
	// a box that cannot improve still limits what is proved, if only by the value found: it need not be kept
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

// rankReplicas ranks the replicas by the bound that each sets alone, under the best topology known with all that is useful
// elsewhere.
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

// branchBundle returns the bundle to branch on: the one with the largest range at the pod that hi overruns most. Pods of the
// slowest replica in which one is overrun come first: the iteration is as long as its slowest replica's, so what one of
// them alone cannot do is a proof for all, and it pays to settle one after the other.
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

// servicesToTry are the services that topologies are tried with: by level; where that does not meet the bound Jackson's rule
// and fair sharing get a chance.
var servicesToTry = []flow.Service{flow.LevelPriority, flow.TailPriority, flow.MaxMin}

// tryTopology simulates x by the rules and keeps it if it is better.
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

func (s *jointSearch) updateBest(x []int, c engine.Time, service flow.Service) {
	if s.isFair && c < s.best.makespan || float64(c) < float64(s.best.makespan)*(1-relTol/10) {
		s.best.circuits, s.best.makespan, s.best.service = slices.Clone(x), c, service
	}
}

// greedyStart finds a first good topology: from all circuits that could be useful, it takes away, pod by pod where one is
// overrun, the one whose loss raises the bound least; when half of the budget is gone, the largest.
func (s *jointSearch) greedyStart() {
	x := slices.Clone(s.p.Useful)
	if s.p.removeExcess(x, nil, func(pod int) int {
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
