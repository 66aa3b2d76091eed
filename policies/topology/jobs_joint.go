package topology

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// jointly provisions the circuits of all jobs together, rates included, as joint does for one.
//
// A job's bound depends on its own circuits alone and never rises with them, and the objective rises with every job's
// makespan. So the objective of the bounds at the upper corner of a box of all jobs' circuits bounds every decision in
// the box, and best-first branch and bound proves its answer. Each box is first narrowed: by the ports that are left
// beside its lower corner, and by what the best decision known allows: a job that must not take longer than some
// makespan needs so many circuits in each bundle at least.
type jointly struct{}

func (jointly) ChooseAll(ctx context.Context, s *Shared, o JobsOptions) (*JobsDecision, error) {
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
		for _, other := range []JobsPolicy{evenSplit{}, aggregate{}, surplus{}} {
			one, err := other.ChooseAll(ctx, s, o)
			if err != nil {
				return nil, err
			}
			if d == nil || compare(s.score(makespans(one.Jobs)), s.score(makespans(d.Jobs)), s.resolution()) < 0 {
				d = one
			}
		}
	}
	candidates := [][][]int{best.Circuits}
	if o.Service != "" {
		// rates are not ours to choose: the others' circuits may do better
		candidates = append(candidates, best.seeds...)
	}
	o.Single = joint{} // chooses rates, unless the service is given
	for _, x := range candidates {
		one, err := s.settle(ctx, x, &o)
		if err != nil {
			return nil, err
		}
		if d == nil || compare(s.score(makespans(one.Jobs)), s.score(makespans(d.Jobs)), s.resolution()) < 0 {
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

	seeds [][][]int // what the other multi-job allocators chose
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
	meter
	s        *Shared
	jobs     []*jobEvaluator
	eps      float64
	best     []int         // of all jobs; nil while none is known
	value    score         // of best
	open     *boxes[score] // by the bounds at their upper corners
	leafs    score         // lowest bound of what was simulated or could not improve; nil while there is none
	narrowed bool          // decisions no better than best were cut from boxes
}

func newJobsSearch(ctx context.Context, s *Shared, o allowance) *jobsSearch {
	z := &jobsSearch{s: s, meter: meter{allowance: o, ctx: ctx}, eps: s.resolution(), open: newBoxes(slices.Compare[score])}
	for j := range s.Jobs {
		z.jobs = append(z.jobs, newJobEvaluator(&z.meter, s.Jobs[j].Problem))
	}
	return z
}

func (z *jobsSearch) close() {
	for _, t := range z.jobs {
		t.p.done(t.w)
	}
}

// Optimise searches for the best circuits of all jobs. It starts from what the other multi-job allocators choose with
// the same options, so it is no worse than any of them when circuits are simulated by the rules of delta-joint.
func (s *Shared) Optimise(ctx context.Context, o JobsOptions) (*JobsOptimum, error) {
	z := newJobsSearch(ctx, s, o.allow(o.Search))
	defer z.close()
	out := &JobsOptimum{BoundModel: AllDecisions}
	o.PortTolerance = 0
	for _, by := range []JobsPolicy{evenSplit{}, aggregate{}, surplus{}} {
		d, err := by.ChooseAll(ctx, s, o)
		if err != nil {
			return nil, err
		}
		out.Evaluations += d.Evaluations
		out.seeds = append(out.seeds, d.Circuits())
		z.improve(s.joined(d.Circuits()))
	}
	z.improve(z.descent())
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
	z.push(z.s.ones(), slices.Clone(z.s.Useful))
	over := func() bool {
		stopped = z.over()
		return stopped != ""
	}
	left := z.open.explore(z.settled, over, func(b *box[score]) bool {
		if !z.leaf(b) {
			e := z.dearest(b.lo, b.hi)
			b.split(e, b.middle(e), z.push)
		}
		return true
	})
	if z.best == nil {
		return 0, stopped
	}
	bound = z.value[0]
	if z.narrowed {
		bound -= z.eps
	}
	if left != nil {
		bound = min(bound, left.value[0])
	}
	if z.leafs != nil {
		bound = min(bound, z.leafs[0])
	}
	return bound, stopped
}

// leaf reports whether the upper corner of b fits, which then is the best of its box by its bound, and simulates it.
func (z *jobsSearch) leaf(b *box[score]) bool {
	if z.s.overrun(b.hi) {
		return false
	}
	z.keep(b.hi)
	z.exclude(b.value)
	return true
}

// exclude notes the bound of decisions that are not looked at any more.
func (z *jobsSearch) exclude(s score) {
	if z.leafs == nil || slices.Compare(s, z.leafs) < 0 {
		z.leafs = s
	}
}

// settled reports whether nothing with that bound can improve on the best.
func (z *jobsSearch) settled(s score) bool {
	return z.best != nil && compare(s, z.value, z.eps) >= 0
}

// push opens a box if it can hold a decision that is better.
func (z *jobsSearch) push(lo, hi []int) {
	if s, ok := z.narrow(lo, hi); ok {
		z.open.open(lo, hi, s)
	}
}

// dearest returns the bundle to split on at the pod that hi overruns most: the one whose lower half costs most, and of
// those the widest.
func (z *jobsSearch) dearest(lo, hi []int) int {
	free := z.s.room(hi)
	pod := slices.Index(free, slices.Min(free))
	best := -1
	var highest score
	x := slices.Clone(hi)
	for e := range hi {
		if !z.s.meets(e, pod) || hi[e] == lo[e] {
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

// narrow cuts from a box what does not fit the ports beside its lower corner and what cannot be better than the best
// known, and returns the score of its bounds; false where nothing is left.
func (z *jobsSearch) narrow(lo, hi []int) (score, bool) {
	s := z.s
	least := make([]engine.Time, len(s.Jobs))
	for {
		if !s.tighten(lo, hi) {
			return nil, false
		}
		parts := s.split(hi)
		for j, t := range z.jobs {
			least[j] = t.bound(parts[j])
		}
		value := s.score(least)
		if z.settled(value) {
			z.exclude(value)
			return nil, false
		}
		if z.best == nil {
			return value, true
		}
		raised := false
		for j, t := range z.jobs {
			limit, ok := s.limit(j, least, z.value, z.eps)
			possible, grew := ok, false
			if ok {
				grew, possible = t.raise(s.split(lo)[j], parts[j], limit)
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

// keep simulates x and keeps it if it is better than the best known.
func (z *jobsSearch) keep(x []int) {
	c := make([]engine.Time, len(z.jobs))
	for j, part := range z.s.split(x) {
		var ok bool
		if c[j], ok = z.jobs[j].simulate(part); !ok {
			return
		}
	}
	if value := z.s.score(c); z.best == nil || compare(value, z.value, z.eps) < 0 {
		z.best, z.value = slices.Clone(x), value
	}
}

// jobEvaluator evaluates one job's topologies and remembers what it found.
type jobEvaluator struct {
	*meter
	p      *Problem
	w      *evaluator
	bounds map[string]engine.Time
	ends   map[string]engine.Time // never where it cannot be simulated to its end
}

func newJobEvaluator(m *meter, p *Problem) *jobEvaluator {
	return &jobEvaluator{meter: m, p: p, w: p.evaluator(m.ctx, flow.LevelPriority), bounds: map[string]engine.Time{}, ends: map[string]engine.Time{}}
}

// bound returns a lower bound on the makespan of x under any service.
func (t *jobEvaluator) bound(x []int) engine.Time {
	k := key(x)
	b, ok := t.bounds[k]
	if !ok {
		t.spend(t.p, 1)
		b = t.w.bound(x)
		t.bounds[k] = b
	}
	return b
}

// simulate returns the best makespan of x by the rules of delta-joint, false where it cannot be simulated to its end.
func (t *jobEvaluator) simulate(x []int) (engine.Time, bool) {
	k := key(x)
	c, ok := t.ends[k]
	if !ok {
		c = never
		if d, err := t.p.judge(t.ctx, x, rules); err == nil {
			c = d.Makespan
			t.spend(t.p, d.Evaluations)
		}
		t.ends[k] = c
	}
	return c, c < never
}

// raise lifts each bundle of lo to the fewest circuits with which the bound of an otherwise full box keeps the limit.
// It reports whether any was lifted, and whether any topology may be left.
func (t *jobEvaluator) raise(lo, hi []int, limit engine.Time) (raised, possible bool) {
	if t.bound(hi) > limit {
		return false, false
	}
	return raise(lo, hi, func(x []int) bool { return t.bound(x) <= limit }), true
}
