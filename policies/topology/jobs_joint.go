package topology

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// jointJobsAllocator provisions the circuits of all jobs together, rates included, as joint does for one.
//
// A job's bound depends on its own circuits alone and never rises with them, and the objective rises with every job's
// makespan. So the objective of the bounds at the upper corner of a box of all jobs' circuits bounds every decision in
// the box, and best-first branch and bound proves its answer. Each box is first narrowed: by the ports that are left
// beside its lower corner, and by what the best decision known allows: a job that must not take longer than some
// makespan needs so many circuits in each bundle at least.
type jointJobsAllocator struct{}

func (jointJobsAllocator) ChooseAll(ctx context.Context, s *Shared, o JobsOptions) (*JobsDecision, error) {
	best := o.Optimum
	if best == nil {
		var err error
		if best, err = s.Optimise(ctx, o); err != nil {
			return nil, err
		}
	}
	var d *JobsDecision
	if o.PortTolerance > 0 {
		// ports are saved job by job, which may cost this more than others
		for _, other := range []JobsPolicy{evenSplitAllocator{}, aggregateAllocator{}, surplusAllocator{}} {
			one, err := other.ChooseAll(ctx, s, o)
			if err != nil {
				return nil, err
			}
			if d == nil || compareScores(s.score(makespans(one.Jobs)), s.score(makespans(d.Jobs)), s.resolution()) < 0 {
				d = one
			}
		}
	}
	candidates := [][][]int{best.Circuits}
	if o.Service != "" {
		// rates are not ours to choose: the others' circuits may do better
		candidates = append(candidates, best.seedCircuits...)
	}
	o.Single = jointAllocator{} // chooses rates, unless the service is given
	for _, x := range candidates {
		one, err := s.simulateAndRelease(ctx, x, &o)
		if err != nil {
			return nil, err
		}
		if d == nil || compareScores(s.score(makespans(one.Jobs)), s.score(makespans(d.Jobs)), s.resolution()) < 0 {
			d = one
		}
	}
	d.Evaluations += best.Evaluations
	d.Stopped = best.Stopped
	return d, nil
}

// JobsOptimum is what the joint search found.
type JobsOptimum struct {
	Circuits [][]int // by job and bundle
	// Value is the objective there, Bound a lower bound on it for every decision that keeps the port budgets, however
	// capacity is shared.
	Value, Bound float64
	BoundModel   string
	Evaluations  int64
	Stopped      string // why the search ended before its own end; "" if it did not

	seedCircuits [][][]int // what the other multi-job allocators chose
}

// Gap returns (value - bound) / bound of any decision, and false where there is no bound.
func (b *JobsOptimum) Gap(value float64) (float64, bool) {
	if b.Bound <= 0 {
		return 0, false
	}
	return (value - b.Bound) / b.Bound, true
}

// AllDecisions names the model of the joint search's bound.
const AllDecisions = "any way of sharing, all topologies of all jobs within the ports"

// jobsSearch is best-first branch and bound over boxes of all jobs' circuits.
type jobsSearch struct {
	budgetMeter
	shared        *Shared
	jobs          []*jobEvaluator
	resolution    float64
	best          []int             // of all jobs; nil while none is known
	value         score             // of best
	open          *openBoxes[score] // by the bounds at their upper corners
	excludedBound score             // lowest bound of what was simulated or could not improve; nil while there is none
	narrowed      bool              // decisions no better than best were cut from boxes
}

func newJobsSearch(ctx context.Context, s *Shared, o searchBudget) *jobsSearch {
	z := &jobsSearch{shared: s, budgetMeter: budgetMeter{searchBudget: o, ctx: ctx}, resolution: s.resolution(), open: newOpenBoxes(slices.Compare[score])}
	for j := range s.Jobs {
		z.jobs = append(z.jobs, newJobEvaluator(&z.budgetMeter, s.Jobs[j].Problem))
	}
	return z
}

func (z *jobsSearch) close() {
	for _, t := range z.jobs {
		t.p.release(t.w)
	}
}

// Optimise searches for the best circuits of all jobs. It starts from what the other multi-job allocators choose with
// the same options, so it is no worse than any of them when circuits are simulated by the rules of delta-joint.
func (s *Shared) Optimise(ctx context.Context, o JobsOptions) (*JobsOptimum, error) {
	z := newJobsSearch(ctx, s, o.newBudget(o.Search))
	defer z.close()
	out := &JobsOptimum{BoundModel: AllDecisions}
	o.PortTolerance = 0
	for _, by := range []JobsPolicy{evenSplitAllocator{}, aggregateAllocator{}, surplusAllocator{}} {
		d, err := by.ChooseAll(ctx, s, o)
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

// search branches and bounds until the lowest open bound reaches the best value, and returns the bound that is proved.
func (z *jobsSearch) search() (bound float64, stopped string) {
	z.push(z.shared.ones(), slices.Clone(z.shared.Useful))
	over := func() bool {
		stopped = z.stopReason()
		return stopped != ""
	}
	left := z.open.explore(z.cannotImprove, over, func(b *box[score]) bool {
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
	if left != nil {
		bound = min(bound, left.value[0])
	}
	if z.excludedBound != nil {
		bound = min(bound, z.excludedBound[0])
	}
	return bound, stopped
}

// simulateLeaf reports whether the upper corner of b fits, which then is the best of its box by its bound, and simulates it.
func (z *jobsSearch) simulateLeaf(b *box[score]) bool {
	if z.shared.exceedsPorts(b.hi) {
		return false
	}
	z.updateBest(b.hi)
	z.noteExcluded(b.value)
	return true
}

// noteExcluded notes the bound of decisions that are not looked at any more.
func (z *jobsSearch) noteExcluded(s score) {
	if z.excludedBound == nil || slices.Compare(s, z.excludedBound) < 0 {
		z.excludedBound = s
	}
}

// cannotImprove reports whether nothing with that bound can improve on the best.
func (z *jobsSearch) cannotImprove(s score) bool {
	return z.best != nil && compareScores(s, z.value, z.resolution) >= 0
}

// push opens a box if it can hold a decision that is better.
func (z *jobsSearch) push(lo, hi []int) {
	if s, ok := z.narrowBox(lo, hi); ok {
		z.open.add(lo, hi, s)
	}
}

// branchBundle returns the bundle to split on at the pod that hi overruns most: the one whose lower half costs most, and of
// those the widest.
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

// narrowBox cuts from a box what does not fit the ports beside its lower corner and what cannot be better than the best
// known, and returns the score of its bounds; false where nothing is left.
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
			possible, grew := ok, false
			if ok {
				grew, possible = t.tightenLower(s.split(lo)[j], parts[j], limit)
			}
			if !possible {
				z.narrowed = true
				return nil, false
			}
			raised = raised || grew
		}
		if !raised {
			return value, true
		}
		z.narrowed = true
	}
}

// updateBest simulates x and keeps it if it is better than the best known.
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

// jobEvaluator evaluates one job's topologies and remembers what it found.
type jobEvaluator struct {
	*budgetMeter
	p         *Problem
	w         *circuitEvaluator
	bounds    map[string]engine.Time
	makespans map[string]engine.Time // never where it cannot be simulated to its end
}

func newJobEvaluator(m *budgetMeter, p *Problem) *jobEvaluator {
	return &jobEvaluator{budgetMeter: m, p: p, w: p.acquire(m.ctx, flow.LevelPriority), bounds: map[string]engine.Time{}, makespans: map[string]engine.Time{}}
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

// simulate returns the best makespan of x by the rules of delta-joint, false where it cannot be simulated to its end.
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

// tightenLower lifts each bundle of lo to the fewest circuits with which the bound of an otherwise full box keeps the limit.
// It reports whether any was lifted, and whether any topology may be left.
func (t *jobEvaluator) tightenLower(lo, hi []int, limit engine.Time) (raised, possible bool) {
	if t.bound(hi) > limit {
		return false, false
	}
	return tightenLower(lo, hi, func(x []int) bool { return t.bound(x) <= limit }), true
}
