package topology

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/emirpasic/gods/queues/priorityqueue"
)

// box is a set of topologies: at least lo and at most hi circuits a bundle. Its value is what boxes are looked at by,
// such as a bound on the makespan that none of the topologies goes below.
type box[V any] struct {
	lo, hi []int
	value  V
	id     int
}

// boxes are those that a best-first branch and bound has to look at yet: the least first and, among equals, the newest,
// which is the deepest.
type boxes[V any] struct {
	*priorityqueue.Queue
	made int
}

func newBoxes[V any](compare func(a, b V) int) *boxes[V] {
	return &boxes[V]{Queue: priorityqueue.NewWith(func(a, b any) int {
		x, y := a.(*box[V]), b.(*box[V])
		return cmp.Or(compare(x.value, y.value), y.id-x.id)
	})}
}

// open adds a box.
func (q *boxes[V]) open(lo, hi []int, value V) {
	q.Enqueue(&box[V]{lo, hi, value, q.made})
	q.made++
}

// explore visits boxes, which may open others, until one is settled or the search over, or not all of one was looked at
// (false), and returns that one: its value bounds what was not looked at. It returns nil when none is left.
func (q *boxes[V]) explore(settled func(V) bool, over func() bool, visit func(b *box[V]) bool) *box[V] {
	for !q.Empty() {
		next, _ := q.Dequeue()
		if b := next.(*box[V]); settled(b.value) || over() || !visit(b) {
			return b
		}
	}
	return nil
}

// split calls push with either part of a box: at most so many circuits of bundle e, and more.
func (b *box[V]) split(e, most int, push func(lo, hi []int)) {
	lower, upper := slices.Clone(b.hi), slices.Clone(b.lo)
	lower[e], upper[e] = most, most+1
	push(slices.Clone(b.lo), lower)
	push(upper, slices.Clone(b.hi))
}

// widest returns the bundle with the widest range among those that some function accepts, -1 if none has any.
func (b *box[V]) widest(in func(e int) bool) int {
	best := -1
	for e := range b.hi {
		if b.hi[e] > b.lo[e] && (best < 0 || b.hi[e]-b.lo[e] > b.hi[best]-b.lo[best]) && in(e) {
			best = e
		}
	}
	return best
}

func anyBundle(int) bool { return true }

// middle returns the number of circuits at which halves of a box part.
func (b *box[V]) middle(e int) int { return (b.lo[e] + b.hi[e]) / 2 }

// fewest returns the least number from few to many that does, where many does and what is more than one that does does
// too. The first that is tried is given.
func fewest(few, many, first int, does func(n int) bool) int {
	for n := first; few < many; n = (few + many) / 2 {
		if does(n) {
			many = n
		} else {
			few = n + 1
		}
	}
	return few
}

// raise lifts each bundle of lo to the fewest circuits with which an otherwise full box does. It reports whether any
// was lifted. The full box does.
func raise(lo, hi []int, does func(x []int) bool) (raised bool) {
	x := slices.Clone(hi)
	for e := range lo {
		few := fewest(lo[e], hi[e], lo[e], func(n int) bool { // most often the first does
			x[e] = n
			return does(x)
		})
		raised = raised || few > lo[e]
		lo[e], x[e] = few, hi[e]
	}
	return raised
}

// meter counts what a search spends, and says when it must end.
type meter struct {
	allowance
	ctx         context.Context
	evaluations int64
	effort      int64 // in simulations from a common beginning

	w     *evaluator // whose work counts, where that is bounded
	began int64      // its work before
}

func newMeter(ctx context.Context, o allowance, w *evaluator) meter {
	return meter{allowance: o, ctx: ctx, w: w, began: w.Work()}
}

// forksAPlay is the number of simulations from a common beginning that cost about as much as a whole one, and count as
// one against the budget.
const forksAPlay = 16

// restart gives a search all of its budget again.
func (m *meter) restart() { m.effort, m.began = 0, m.w.Work() }

// spend counts evaluations of p.
func (m *meter) spend(p *Problem, n int64) {
	m.evaluations += n
	m.effort += forksAPlay * n * p.cost()
}

// fork counts a simulation of p from a common beginning.
func (m *meter) fork(p *Problem) {
	m.evaluations++
	m.effort += p.cost()
}

// spent returns how much of the budget is used, of 1: that of evaluations, or of work if more of that is.
func (m *meter) spent() float64 {
	part := 0.0
	if m.MaxEvaluations > 0 {
		part = float64(m.effort) / float64(forksAPlay*m.MaxEvaluations)
	}
	if m.work > 0 {
		part = max(part, float64(m.w.Work()-m.began)/float64(m.work))
	}
	return part
}

// cut reports whether the search has been cut short, whatever it has spent.
func (m *meter) cut() bool { return m.ctx.Err() != nil || m.late() }

// over says why the search must end, "" where it need not.
func (m *meter) over() string {
	switch {
	case m.ctx.Err() != nil:
		return "interrupted"
	case m.spent() >= 1:
		return fmt.Sprintf("after %d evaluations", m.evaluations)
	case m.late():
		return fmt.Sprintf("after the time limit of %v", wall(m.TimeLimit))
	}
	return ""
}
