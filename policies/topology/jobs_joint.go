package topology

import (
	"context"
	"fmt"
	"slices"

	"github.com/emirpasic/gods/queues/priorityqueue"

	"sim/engine"
	"sim/engine/flow"
)

// jointly lights the circuits of all jobs together, rates included, as joint
// does for one.
//
// A job's bound depends on its own circuits alone and never rises with them,
// and the objective rises with every job's makespan. So the objective of the
// bounds at the upper corner of a box of all jobs' circuits bounds every
// decision in the box, and best-first branch and bound proves its answer. Each
// box is first narrowed: by the ports that are left beside its lower corner,
// and by what the best decision known allows: a job that must not take longer
// than some makespan needs so many circuits in each bundle at least.
type jointly struct{}

func (jointly) Arbitrate(ctx context.Context, s *Shared, o JobsOptions) (*JobsDecision, error) {
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
		for _, other := range []Arbiter{evenSplit{}, aggregate{}, surplus{}} {
			one, err := other.Arbitrate(ctx, s, o)
			if err != nil {
				return nil, err
			}
			if d == nil || compare(s.score(makespans(one.Jobs)), s.score(makespans(d.Jobs)), s.resolution()) < 0 {
				d = one
			}
		}
	}
	candidates := [][][]int{best.Circuits}
	if o.Service != nil {
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
	// Value is the objective there, Bound a lower bound on it for every
	// decision that keeps the port budgets, however capacity is shared.
	Value, Bound float64
	BoundModel   string
	Evaluations  int64
	Stopped      string // why the search ended before its own end; "" if it did not

	seeds [][][]int // what the other arbiters chose
}

// Gap returns (value - bound) / bound of any decision, and false where there
// is no bound.
func (b *JobsOptimum) Gap(value float64) (float64, bool) {
	if b.Bound <= 0 {
		return 0, false
	}
	return (value - b.Bound) / b.Bound, true
}

// AllDecisions names the model of the joint search's bound.
const AllDecisions = "any way of sharing, all topologies of all jobs within the ports"

// jobsBox is a set of decisions: at least lo and at most hi circuits a bundle.
type jobsBox struct {
	lo, hi []int
	score  score // of the bounds at hi
	id     int
}

// jobsOrder takes the lowest bound first and, among equals, the newest.
func jobsOrder(a, b interface{}) int {
	x, y := a.(*jobsBox), b.(*jobsBox)
	if c := slices.Compare(x.score, y.score); c != 0 {
		return c
	}
	return y.id - x.id
}

// jobsSearch is best-first branch and bound over boxes of all jobs' circuits.
type jobsSearch struct {
	ctx      context.Context
	s        *Shared
	o        SearchOptions
	tenants  []*tenant
	eps      float64
	best     []int // of all jobs; nil while none is known
	value    score // of best
	open     *priorityqueue.Queue
	made     int
	leafs    score // lowest bound of what was played or could not improve; nil while there is none
	narrowed bool  // decisions no better than best were cut from boxes
}

// Optimise searches for the best circuits of all jobs. It starts from what the
// other arbiters choose with the same options, so it is no worse than any of
// them when circuits are played by the rules of delta-joint.
func (s *Shared) Optimise(ctx context.Context, o JobsOptions) (*JobsOptimum, error) {
	z := &jobsSearch{ctx: ctx, s: s, o: o.Search.started(), eps: s.resolution(), open: priorityqueue.NewWith(jobsOrder)}
	for j := range s.Jobs {
		z.tenants = append(z.tenants, newTenant(ctx, s.Jobs[j].Problem))
	}
	defer func() {
		for _, t := range z.tenants {
			t.close()
		}
	}()
	out := &JobsOptimum{BoundModel: AllDecisions}
	o.PortTolerance = 0
	for _, arbiter := range []Arbiter{evenSplit{}, aggregate{}, surplus{}} {
		d, err := arbiter.Arbitrate(ctx, s, o)
		if err != nil {
			return nil, err
		}
		out.Evaluations += d.Evaluations
		out.seeds = append(out.seeds, d.Circuits())
		z.improve(s.joined(d.Circuits()))
	}
	z.improve(z.descent())
	bound, stopped := z.search(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if z.best == nil {
		return nil, fmt.Errorf("topology: no circuits of these jobs can be played to their end")
	}
	out.Circuits, out.Value, out.Bound, out.Stopped = s.split(z.best), z.value[0], bound, stopped
	for _, t := range z.tenants {
		out.Evaluations += t.evaluations
	}
	return out, nil
}

// search branches and bounds until the lowest open bound reaches the best
// value, and returns the bound that is proved.
func (z *jobsSearch) search(ctx context.Context) (bound float64, stopped string) {
	n := len(z.s.job)
	lo, hi := make([]int, n), make([]int, n)
	for e := range lo {
		lo[e] = 1
		hi[e] = z.s.Jobs[z.s.job[e]].Problem.Useful[e-z.s.first[z.s.job[e]]]
	}
	z.push(lo, hi)
	var lowest score // of what is still open
	for lowest == nil && !z.open.Empty() {
		v, _ := z.open.Dequeue()
		b := v.(*jobsBox)
		switch {
		case z.settled(b.score):
			lowest = b.score
			continue
		case ctx.Err() != nil:
			stopped = "interrupted"
		case z.spent() >= z.o.MaxEvaluations:
			stopped = fmt.Sprintf("after %d evaluations", z.evaluations())
		case z.o.late():
			stopped = fmt.Sprintf("after the time limit of %v", z.o.TimeLimit)
		case z.leaf(b):
			continue
		default:
			z.branch(b)
			continue
		}
		lowest = b.score
	}
	if z.best == nil {
		return 0, stopped
	}
	bound = z.value[0]
	if z.narrowed {
		bound -= z.eps
	}
	for _, s := range []score{lowest, z.leafs} {
		if s != nil {
			bound = min(bound, s[0])
		}
	}
	return bound, stopped
}

// leaf reports whether the upper corner of b fits, which then is the best of
// its box by its bound, and plays it.
func (z *jobsSearch) leaf(b *jobsBox) bool {
	if slices.ContainsFunc(z.s.room(b.hi), func(free int) bool { return free < 0 }) {
		return false
	}
	z.keep(b.hi)
	z.exclude(b.score)
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
	s, ok := z.narrow(lo, hi)
	if !ok {
		return
	}
	z.open.Enqueue(&jobsBox{lo: lo, hi: hi, score: s, id: z.made})
	z.made++
}

// branch splits a box in two at a bundle of its most overrun pod.
func (z *jobsSearch) branch(b *jobsBox) {
	e := z.dearest(b.lo, b.hi)
	mid := (b.lo[e] + b.hi[e]) / 2
	lower, upper := slices.Clone(b.hi), slices.Clone(b.lo)
	lower[e], upper[e] = mid, mid+1
	z.push(slices.Clone(b.lo), lower)
	z.push(upper, slices.Clone(b.hi))
}

// dearest returns the bundle to split on at the pod that hi overruns most: the
// one whose lower half costs most, and of those the widest.
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

// narrow cuts from a box what does not fit the ports beside its lower corner
// and what cannot be better than the best known, and returns the score of its
// bounds; false where nothing is left.
func (z *jobsSearch) narrow(lo, hi []int) (score, bool) {
	s := z.s
	least := make([]engine.Time, len(s.Jobs))
	for {
		free := s.room(lo)
		if slices.ContainsFunc(free, func(f int) bool { return f < 0 }) {
			return nil, false
		}
		for e := range hi {
			hi[e] = min(hi[e], lo[e]+s.fits(free, e))
		}
		parts := s.split(hi)
		for j, t := range z.tenants {
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
		for j, t := range z.tenants {
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

// spent returns how much of the budget is used, evaluations the evaluations
// that it was used for.
func (z *jobsSearch) spent() int64 {
	sum := int64(0)
	for _, t := range z.tenants {
		sum += t.evaluations * t.p.cost()
	}
	return sum
}

func (z *jobsSearch) evaluations() int64 {
	sum := int64(0)
	for _, t := range z.tenants {
		sum += t.evaluations
	}
	return sum
}

// keep plays x and keeps it if it is better than the best known.
func (z *jobsSearch) keep(x []int) {
	c := make([]engine.Time, len(z.tenants))
	for j, part := range z.s.split(x) {
		var ok bool
		if c[j], ok = z.tenants[j].play(part); !ok {
			return
		}
	}
	if value := z.s.score(c); z.best == nil || compare(value, z.value, z.eps) < 0 {
		z.best, z.value = slices.Clone(x), value
	}
}

// tenant evaluates one job's topologies and remembers what it found.
type tenant struct {
	ctx         context.Context
	p           *Problem
	w           *player
	bounds      map[string]engine.Time
	plays       map[string]engine.Time // never where it cannot be played to its end
	evaluations int64
}

func newTenant(ctx context.Context, p *Problem) *tenant {
	return &tenant{ctx: ctx, p: p, w: p.player(ctx, flow.LevelPriority), bounds: map[string]engine.Time{}, plays: map[string]engine.Time{}}
}

func (t *tenant) close() { t.p.done(t.w) }

// bound returns a lower bound on the makespan of x under any service.
func (t *tenant) bound(x []int) engine.Time {
	k := key(x)
	b, ok := t.bounds[k]
	if !ok {
		t.evaluations++
		b = t.w.bound(x)
		t.bounds[k] = b
	}
	return b
}

// play returns the best makespan of x by the rules of delta-joint, false where
// it cannot be played to its end.
func (t *tenant) play(x []int) (engine.Time, bool) {
	k := key(x)
	c, ok := t.plays[k]
	if !ok {
		c = never
		if d, err := t.p.judge(t.ctx, x, rules); err == nil {
			c = d.Makespan
			t.evaluations += d.Evaluations
		}
		t.plays[k] = c
	}
	return c, c < never
}

// raise lifts each bundle of lo to the fewest circuits with which the bound of
// an otherwise full box keeps the limit. It reports whether any was lifted, and
// whether any topology may be left.
func (t *tenant) raise(lo, hi []int, limit engine.Time) (raised, possible bool) {
	if t.bound(hi) > limit {
		return false, false
	}
	x := slices.Clone(hi)
	for e := range lo {
		few, many := lo[e], hi[e]
		for x[e] = few; few < many; x[e] = (few + many) / 2 { // lo itself first: mostly it will do
			if t.bound(x) <= limit {
				many = x[e]
			} else {
				few = x[e] + 1
			}
		}
		raised = raised || few > lo[e]
		lo[e], x[e] = few, hi[e]
	}
	return raised, true
}
