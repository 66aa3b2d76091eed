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

// rounding is the relative difference below which two makespans count as one: above what ticks and floating point
// leave, far below what matters.
const rounding = 1e-9

// fewTicks is what the rounding of ends to ticks may leave between a makespan and a bound that it meets.
const fewTicks = 16

// joint chooses circuits and rates together (DELTA-Joint, Eqs. 3..18) without an MILP solver. For fixed circuits
// transfers are served by level; bounds that hold for any service certify the result. Over circuits it branches and
// bounds: a box of topologies is bounded by its upper corner, as capacity never lowers a bound. Where that leaves a gap
// it looks again with sharper bounds (joint_sharp.go) and, if it may, for better rates (joint_bend.go).
type joint struct{}

func (joint) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	// not p.joint, which may have been solved before: its time counts as ours
	search := o.allow(o.Joint)
	best := solveJoint(ctx, p, search)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if best.circuits == nil {
		return nil, errNoEnd
	}
	if best.stopped != "" {
		if err := best.improve(ctx, p, o, &search); err != nil {
			return nil, err
		}
	}
	if o.Tails && o.Service == "" {
		if err := best.bend(ctx, p, o.Seed, &search); err != nil {
			return nil, err
		}
	}
	d := best.decision()
	if d.Service = o.service(best.service); d.Service != best.service { // rates are not ours to choose: only the circuits are
		j, err := p.Judge(ctx, best.circuits, d.Service)
		if err != nil {
			return nil, err
		}
		d.Makespan = j.Makespan
	} else if o.KeepPorts {
		d.Circuits = p.filled(d.Circuits)
	}
	return p.saved(ctx, d, keeping{limit: grown(d.Makespan, o.PortTolerance), exact: o.Service != ""}, &o, search)
}

// decision is what was found, with its proof.
func (best *jointOptimum) decision() *Decision {
	return &Decision{
		Circuits: best.circuits, Service: best.service, Tails: best.tails, Makespan: best.makespan,
		Bound: best.bound, BoundModel: AnyService, Evaluations: best.evaluations, Searched: true, Stopped: best.stopped,
	}
}

// improve looks for a better topology by genetic search where branch and bound had to stop: among topologies simulated
// by level, and with the best of those that share fairly.
func (best *jointOptimum) improve(ctx context.Context, p *Problem, o Options, search *allowance) error {
	w := p.evaluator(ctx, flow.LevelPriority)
	defer p.done(w)
	for _, service := range []flow.Service{flow.MaxMin, flow.LevelPriority} {
		d, err := p.fallback(ctx, o, search, service, o.Joint.MaxEvaluations/2)
		if d == nil || err != nil {
			return err
		}
		best.evaluations += d.Evaluations
		for _, rule := range rules {
			best.evaluations++
			w.SetService(rule)
			if c, ok := w.simulate(d.Circuits, best.makespan); ok {
				best.circuits, best.makespan, best.service = d.Circuits, c, rule
			}
		}
	}
	return nil
}

// grown returns the largest makespan that counts as t grown by a fraction.
func grown(t engine.Time, fraction float64) engine.Time {
	return engine.Time(float64(t) * (1 + fraction + rounding))
}

// jointOptimum is what the search over topologies found.
type jointOptimum struct {
	circuits    []int
	service     flow.Service
	tails       []float64 // as Decision.Tails
	makespan    engine.Time
	bound       engine.Time // on the makespan of every topology under any service
	evaluations int64
	stopped     string
}

// jointBound is what the search knows of a box.
type jointBound struct {
	bound engine.Time
	sharp bool  // bound knows of queues
	mean  *mean // of paths, where bound knows of one
}

func (v jointBound) compare(o jointBound) int { return cmp.Compare(v.bound, o.bound) }

// jointSearch is best-first branch and bound over boxes.
type jointSearch struct {
	meter
	p     *Problem
	best  jointOptimum
	open  *boxes[jointBound]
	rank  []int       // of the replicas, the slowest first
	leafs engine.Time // lowest bound of the topologies that were simulated

	fair bool // rates are those of fair sharing, under which no topology stands for those with fewer circuits

	sharp, tried bool        // bounds know of queues; one was tried
	proved       engine.Time // by the search without

	means *means // nil until boxes have had the bounds of means
	mean  *mean  // that of the box that is split, nil where there are none
}

func newJointSearch(ctx context.Context, p *Problem, o allowance, service flow.Service) *jointSearch {
	s := &jointSearch{meter: newMeter(ctx, o, p.evaluator(ctx, service)), p: p, leafs: never}
	s.open = newBoxes(jointBound.compare)
	s.best.makespan = never
	return s
}

// solveJoint searches for the best topology and rates, and for a bound that proves how good they
// are. One-hop demand is solved in closed form if one of the rules reaches the optimum.
func solveJoint(ctx context.Context, p *Problem, o allowance) jointOptimum {
	d, least := p.solveOneHop(ctx, rules...)
	if d != nil {
		return jointOptimum{circuits: d.Circuits, service: d.Service, makespan: d.Makespan, bound: d.Bound, evaluations: d.Evaluations}
	}
	s := newJointSearch(ctx, p, o, flow.LevelPriority)
	defer p.done(s.w)
	for _, rule := range matrixRules {
		x := rule(p)
		s.p.clip(x)
		s.try(x)
	}
	s.push(p.ones(), slices.Clone(p.Useful), least)
	s.descend()
	return s.solve()
}

// solve looks at all open boxes.
func (s *jointSearch) solve() jointOptimum {
	s.order()
	over := func() bool {
		s.best.stopped = s.over()
		return s.best.stopped != ""
	}
	for s.best.stopped == "" && (s.open.Size() > 0 || s.again()) {
		if left := s.open.explore(func(v jointBound) bool { return s.settled(v.bound) }, over, s.visit); left != nil {
			s.leafs = min(s.leafs, left.value.bound)
		}
		s.open.Clear()
	}
	s.best.bound = min(max(s.proved, s.leafs), s.best.makespan)
	s.best.evaluations = s.evaluations
	return s.best
}

// visit simulates the upper corner of a box if it fits, which then is the best by its bound, and else splits the box at
// a bundle of its most overrun pod.
func (s *jointSearch) visit(b *box[jointBound]) bool {
	fits := s.p.Feasible(b.hi)
	switch {
	case s.mean == nil && (s.byMeans(b) || s.sharpen(b)):
		return true
	case fits:
		s.try(b.hi)
	case s.mean != nil:
		s.sample(b)
	}
	switch {
	case fits && !s.fair:
		s.leafs = min(s.leafs, b.value.bound)
		return true
	case fits && b.widest(anyBundle) < 0:
		return true // one topology, of which all is known
	}
	e, most := s.branch(b, fits)
	s.mean = b.value.mean
	b.split(e, most, func(lo, hi []int) { s.push(lo, hi, b.value.bound) })
	return true
}

// branch returns the bundle to split a box at, and the most circuits of its lesser half.
func (s *jointSearch) branch(b *box[jointBound], fits bool) (e, most int) {
	switch {
	case b.value.mean != nil:
		return s.influential(b)
	case fits:
		e = b.widest(anyBundle)
	default:
		e = s.widest(b)
	}
	return e, b.middle(e)
}

// settled reports whether nothing with that bound can improve on the best.
func (s *jointSearch) settled(bound engine.Time) bool {
	return float64(bound) >= float64(s.best.makespan)*(1-rounding/10) || s.best.makespan-bound <= fewTicks
}

// push opens a box if it can hold a feasible topology that is better. Floor is a bound that is known of it.
func (s *jointSearch) push(lo, hi []int, floor engine.Time) {
	if !s.p.tighten(lo, hi) {
		return
	}
	s.spend(s.p, 1)
	bound := max(floor, s.w.bound(hi))
	if s.fair {
		bound = max(bound, s.w.FairBound())
	}
	// a box that cannot improve still limits what is proved, if only by the value found: it need not be kept
	v := jointBound{bound: bound}
	if s.mean != nil && !s.settled(bound) {
		v.mean = s.mean.clone()
		v.mean.paths = min(v.mean.paths, inherited)
		v.bound = max(bound, s.play(v.mean, lo, hi, morePaths))
	}
	if s.settled(v.bound) {
		s.leafs = min(s.leafs, v.bound)
	} else {
		s.open.open(lo, hi, v)
	}
}

// order ranks the replicas by the bound that each sets alone, under the best topology known with all that is useful
// elsewhere.
func (s *jointSearch) order() {
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
		s.spend(s.p, 1)
		alone[r] = s.w.bound(x)
	}
	ranked := numbers.Below(replicas)
	slices.SortStableFunc(ranked, func(a, b int) int { return cmp.Compare(alone[b], alone[a]) })
	s.rank = make([]int, replicas)
	for k, r := range ranked {
		s.rank[r] = k
	}
}

// widest returns the bundle to branch on: the one with the largest range at the pod that hi overruns most. Pods of the
// slowest replica in which one is overrun come first: the iteration is as long as its slowest replica's, so what one of
// them alone cannot do is a proof for all, and it pays to settle one after the other.
func (s *jointSearch) widest(b *box[jointBound]) int {
	p := s.p
	free := p.room(b.hi)
	pod, first := -1, 0
	for i := range free {
		rank := s.rank[p.Fabric.Pods[i].Replica]
		if free[i] >= 0 || pod >= 0 && rank > first {
			continue
		}
		if pod < 0 || rank < first || free[i] < free[pod] {
			pod, first = i, rank
		}
	}
	return b.widest(func(e int) bool { return p.meets(e, pod) })
}

// rules are the services that topologies are tried with: by level; where that does not meet the bound Jackson's rule
// and fair sharing get a chance.
var rules = []flow.Service{flow.LevelPriority, flow.TailPriority, flow.MaxMin}

// try simulates x by the rules and keeps it if it is better.
func (s *jointSearch) try(x []int) {
	if s.fair {
		s.spend(s.p, 1)
		if c, ok := s.w.simulate(x, s.best.makespan); ok {
			s.keep(x, c, flow.MaxMin)
		}
		return
	}
	for i, rule := range rules {
		s.spend(s.p, 1)
		s.w.SetService(rule)
		c, ok := s.w.simulate(x, s.best.makespan)
		if ok {
			s.keep(x, c, rule)
		}
		if i == 0 && ok {
			s.spend(s.p, 1)
			if float64(c) <= float64(s.w.bound(x))*(1+rounding) {
				break
			}
		}
	}
	s.w.SetService(flow.LevelPriority)
}

func (s *jointSearch) keep(x []int, c engine.Time, service flow.Service) {
	if s.fair && c < s.best.makespan || float64(c) < float64(s.best.makespan)*(1-rounding/10) {
		s.best.circuits, s.best.makespan, s.best.service = slices.Clone(x), c, service
	}
}

// descend finds a first good topology: from all circuits that could be useful, it takes away, pod by pod where one is
// overrun, the one whose loss raises the bound least; when half of the budget is gone, the largest.
func (s *jointSearch) descend() {
	x := slices.Clone(s.p.Useful)
	if s.p.yield(x, nil, func(pod int) int {
		best, lowest := -1, never
		for e := range x {
			switch {
			case !s.p.meets(e, pod) || x[e] == 1:
			case s.spent() >= 0.5 || s.cut():
				if best < 0 || x[e] > x[best] {
					best = e
				}
			default:
				x[e]--
				s.spend(s.p, 1)
				if c := s.w.bound(x); best < 0 || c < lowest {
					best, lowest = e, c
				}
				x[e]++
			}
		}
		return best
	}) {
		s.try(x)
	}
}
