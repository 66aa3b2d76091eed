package topology

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// jointJobsAllocator chooses the circuits and rates of all jobs together, as delta-joint
// does for one job.
//
// The bound of a job depends on its own circuits only and does not increase with more
// circuits. The objective increases with the makespan of every job. A box is the set of
// topologies with lo[e] to hi[e] circuits of each bundle e. The objective at the bounds of its
// upper corner, hi, is therefore a lower bound for the box, and best-first branch and bound
// proves optimality. Each box is first narrowed by the ports that its
// lower corner leaves free, and by the incumbent. A job that must not exceed some
// makespan to improve on the incumbent needs a minimum number of circuits in each bundle.
type jointJobsAllocator struct{}

func (jointJobsAllocator) ChooseAll(ctx context.Context, s *SharedPods, o JobsOptions) (*JobsDecision, error) {
	best := o.Optimum
	if best == nil {
		var err error
		if best, err = s.Optimise(ctx, o); err != nil {
			return nil, err
		}
	}

	var d *JobsDecision // the best decision so far
	keepBetter := func(one *JobsDecision) {
		if d == nil || compareScores(s.score(makespans(one.Jobs)), s.score(makespans(d.Jobs)),
			s.resolution()) < 0 {
			d = one
		}
	}
	if o.PortTolerance > 0 {
		// Ports are minimised job by job, which can lengthen the joint decision more than
		// other decisions.
		for _, other := range []JobsPolicy{evenSplitAllocator{}, aggregateAllocator{}, surplusAllocator{}} {
			one, err := other.ChooseAll(ctx, s, o)
			if err != nil {
				return nil, err
			}
			keepBetter(one)
		}
	}

	candidates := [][][]int{best.Circuits}
	if o.Service != "" {
		// Rates are fixed by the key "service", so the circuits of other allocators may
		// be better.
		candidates = append(candidates, best.seedCircuits...)
	}

	o.Single = jointAllocator{} // chooses rates unless the service is given
	for _, x := range candidates {
		one, err := s.simulateAndRelease(ctx, x, &o)
		if err != nil {
			return nil, err
		}
		keepBetter(one)
	}

	d.Evaluations += best.Evaluations
	d.Stopped = best.Stopped
	return d, nil
}

// JobsOptimum is the result of the joint search.
type JobsOptimum struct {
	Circuits [][]int // indexed by job and bundle
	// Value is the objective of Circuits. Bound is a lower bound on the objective of
	// every decision that fits the ports, for any sharing of capacity.
	Value, Bound float64
	BoundModel   string
	Evaluations  int64
	Stopped      string // reason why the search ended early; "" if it completed

	seedCircuits [][][]int // topologies of the other multi-job allocators
}

// Gap returns (value - bound) / bound for a value of the objective. It returns false if
// there is no bound.
func (b *JobsOptimum) Gap(value float64) (float64, bool) {
	if b.Bound <= 0 {
		return 0, false
	}
	return (value - b.Bound) / b.Bound, true
}

// AllDecisions is the BoundModel of the joint search.
const AllDecisions = "any way of sharing, all topologies of all jobs within the ports"

// jobsSearch is a best-first branch and bound over boxes of the circuits of all jobs.
type jobsSearch struct {
	budgetMeter
	shared        *SharedPods
	jobs          []*jobEvaluator
	resolution    float64 // see SharedPods.resolution
	best          []int   // topology of all jobs; nil if none is known
	value         score
	open          *openBoxes[score] // by the bounds of their upper corners
	excludedBound score             // minimum bound of simulated or excluded boxes; nil before the first
	narrowed      bool              // the incumbent narrowed boxes: the bound holds up to resolution
}

// newJobsSearch returns a search without open boxes. The caller releases it with close.
func newJobsSearch(ctx context.Context, s *SharedPods, o searchBudget) *jobsSearch {
	z := &jobsSearch{shared: s, budgetMeter: budgetMeter{searchBudget: o, ctx: ctx},
		resolution: s.resolution(), open: newOpenBoxes(slices.Compare[score])}
	for j := range s.Jobs {
		z.jobs = append(z.jobs, newJobEvaluator(&z.budgetMeter, s.Jobs[j].Problem))
	}
	return z
}

// close releases the evaluators.
func (z *jobsSearch) close() {
	for _, t := range z.jobs {
		t.p.release(t.w)
	}
}

// Optimise searches for the best circuits of all jobs. It starts from the decisions of
// the other multi-job allocators with the same options. It is therefore at least as good
// as each of them if circuits are simulated with the services of delta-joint.
func (s *SharedPods) Optimise(ctx context.Context, o JobsOptions) (*JobsOptimum, error) {
	z := newJobsSearch(ctx, s, o.newBudget(o.Search))
	defer z.close()
	out := &JobsOptimum{BoundModel: AllDecisions}
	o.PortTolerance = 0
	for _, policy := range []JobsPolicy{evenSplitAllocator{}, aggregateAllocator{}, surplusAllocator{}} {
		d, err := policy.ChooseAll(ctx, s, o)
		if err != nil {
			return nil, err
		}
		out.Evaluations += d.Evaluations
		out.seedCircuits = append(out.seedCircuits, d.Circuits())
		z.localSearch(s.join(d.Circuits()))
	}

	z.localSearch(z.greedyStart())
	bound, stopped := z.search()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if z.best == nil {
		return nil, fmt.Errorf("topology: no circuits of these jobs can be simulated to their end")
	}
	out.Circuits, out.Value, out.Bound, out.Stopped = s.split(z.best), z.value[0], bound, stopped
	out.Evaluations += z.evaluations
	return out, nil
}

// search runs the branch and bound until the lowest open bound reaches the incumbent or
// the budget is used. It returns the proved bound.
func (z *jobsSearch) search() (bound float64, stopped string) {
	z.push(z.shared.ones(), slices.Clone(z.shared.Useful))
	over := func() bool {
		stopped = z.stopReason()
		return stopped != ""
	}

	unfinished := z.open.explore(z.cannotImprove, over, func(b *box[score]) bool {
		if !z.simulateLeaf(b) {
			e := z.branchBundle(b.lo, b.hi)
			b.split(e, b.midpoint(e), z.push)
		}
		return true
	})

	if z.best == nil {
		return 0, stopped
	}
	bound = z.value[0]
	if z.narrowed {
		bound -= z.resolution
	}
	if unfinished != nil {
		bound = min(bound, unfinished.value[0])
	}
	if z.excludedBound != nil {
		bound = min(bound, z.excludedBound[0])
	}
	return bound, stopped
}

// simulateLeaf reports whether the upper corner of b fits the ports. If so, it simulates
// the corner, which has the smallest bound of the box.
func (z *jobsSearch) simulateLeaf(b *box[score]) bool {
	if z.shared.exceedsPorts(b.hi) {
		return false
	}
	z.updateBest(b.hi)
	z.noteExcluded(b.value)
	return true
}

// noteExcluded records the bound of a box that is not visited further.
func (z *jobsSearch) noteExcluded(s score) {
	if z.excludedBound == nil || slices.Compare(s, z.excludedBound) < 0 {
		z.excludedBound = s
	}
}

// cannotImprove reports whether no decision with bound s can improve on the incumbent.
func (z *jobsSearch) cannotImprove(s score) bool {
	return z.best != nil && compareScores(s, z.value, z.resolution) >= 0
}

// push adds a box if it can contain a better decision.
func (z *jobsSearch) push(lo, hi []int) {
	if s, ok := z.narrowBox(lo, hi); ok {
		z.open.add(lo, hi, s)
	}
}

// branchBundle returns the bundle at which to split a box, at the pod whose ports hi
// exceeds most. It is the bundle whose lower half has the highest bound; ties go to the
// widest range.
func (z *jobsSearch) branchBundle(lo, hi []int) int {
	free := z.shared.freePorts(hi)
	pod := slices.Index(free, slices.Min(free))
	best := -1
	var highest score
	x := slices.Clone(hi)
	for e := range hi {
		if !z.shared.endsAt(e, pod) || hi[e] == lo[e] {
			continue
		}
		x[e] = (lo[e] + hi[e]) / 2
		v := z.bound(x)
		x[e] = hi[e]
		if best >= 0 {
			c := slices.Compare(v, highest)
			if c < 0 || c == 0 && hi[e]-lo[e] <= hi[best]-lo[best] {
				continue
			}
		}
		best, highest = e, v
	}

	return best
}

// narrowBox removes from a box the topologies that do not fit the ports or cannot improve
// on the incumbent, until nothing changes. It returns the score of the remaining box's
// bounds, or false if the box is empty.
func (z *jobsSearch) narrowBox(lo, hi []int) (score, bool) {
	s := z.shared
	minMakespans := make([]engine.Time, len(s.Jobs))
	for {
		if !s.tightenUpper(lo, hi) {
			return nil, false
		}
		parts := s.split(hi)
		for j, t := range z.jobs {
			minMakespans[j] = t.bound(parts[j])
		}
		value := s.score(minMakespans)
		if z.cannotImprove(value) {
			z.noteExcluded(value)
			return nil, false
		}
		if z.best == nil {
			return value, true
		}
		raised := false
		for j, t := range z.jobs {
			limit, ok := s.jobLimit(j, minMakespans, z.value, z.resolution)
			possible, tightened := ok, false
			if ok {
				tightened, possible = t.tightenLower(s.split(lo)[j], parts[j], limit)
			}
			if !possible {
				z.narrowed = true
				return nil, false
			}
			raised = raised || tightened
		}
		if !raised {
			return value, true
		}
		z.narrowed = true
	}
}

// updateBest simulates x and makes it the incumbent if it is better.
func (z *jobsSearch) updateBest(x []int) {
	c := make([]engine.Time, len(z.jobs))
	for j, part := range z.shared.split(x) {
		var ok bool
		if c[j], ok = z.jobs[j].simulate(part); !ok {
			return
		}
	}
	if value := z.shared.score(c); z.best == nil || compareScores(value, z.value, z.resolution) < 0 {
		z.best, z.value = slices.Clone(x), value
	}
}

// jobEvaluator evaluates topologies of one job and caches the results by topologyKey.
type jobEvaluator struct {
	*budgetMeter
	p         *Problem
	w         *circuitEvaluator
	bounds    map[string]engine.Time
	makespans map[string]engine.Time // never if the topology cannot be simulated to its end
}

// newJobEvaluator returns an evaluator whose evaluations are charged to m.
func newJobEvaluator(m *budgetMeter, p *Problem) *jobEvaluator {
	return &jobEvaluator{budgetMeter: m, p: p, w: p.acquire(m.ctx, flow.LevelPriority),
		bounds: map[string]engine.Time{}, makespans: map[string]engine.Time{}}
}

// bound returns a lower bound on the makespan of x under any service.
func (t *jobEvaluator) bound(x []int) engine.Time {
	k := topologyKey(x)
	b, ok := t.bounds[k]
	if !ok {
		t.charge(t.p, 1)
		b = t.w.bound(x)
		t.bounds[k] = b
	}
	return b
}

// simulate returns the best makespan of x under servicesToTry, or false if x cannot be
// simulated to its end.
func (t *jobEvaluator) simulate(x []int) (engine.Time, bool) {
	k := topologyKey(x)
	c, ok := t.makespans[k]
	if !ok {
		c = never
		if d, err := t.p.evaluateBest(t.ctx, x, servicesToTry); err == nil {
			c = d.Makespan
			t.charge(t.p, d.Evaluations)
		}
		t.makespans[k] = c
	}
	return c, c < never
}

// tightenLower raises lo to the circuits that every topology of the box needs for a bound
// of at most limit. tightened reports whether lo changed, and possible whether such a
// topology can exist.
func (t *jobEvaluator) tightenLower(lo, hi []int, limit engine.Time) (raised, possible bool) {
	if t.bound(hi) > limit {
		return false, false
	}
	return tightenLower(lo, hi, func(x []int) bool { return t.bound(x) <= limit }), true
}
