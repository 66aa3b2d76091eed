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

// openBoxes are those that a best-first branch and bound has to look at yet: the least first and, among equals, the newest,
// which is the deepest.
type openBoxes[V any] struct {
	*priorityqueue.Queue
	numAdded int
}

func newOpenBoxes[V any](compare func(a, b V) int) *openBoxes[V] {
	return &openBoxes[V]{Queue: priorityqueue.NewWith(func(a, b any) int {
		x, y := a.(*box[V]), b.(*box[V])
		return cmp.Or(compare(x.value, y.value), y.id-x.id)
	})}
}

// add adds a box.
func (q *openBoxes[V]) add(lo, hi []int, value V) {
	q.Enqueue(&box[V]{lo, hi, value, q.numAdded})
	q.numAdded++
}

// explore visits boxes, which may open others, until one is settled or the search over, or not all of one was looked at
// (false), and returns that one: its value bounds what was not looked at. It returns nil when none is left.
func (q *openBoxes[V]) explore(settled func(V) bool, over func() bool, visit func(b *box[V]) bool) *box[V] {
	for !q.Empty() {
		next, _ := q.Dequeue()
		if b := next.(*box[V]); settled(b.value) || over() || !visit(b) {
			return b
		}
	}
	return nil
}

// split calls push with either part of a box: at most so many circuits of bundle e, and more.
func (b *box[V]) split(e, lowerMax int, push func(lo, hi []int)) {
	lower, upper := slices.Clone(b.hi), slices.Clone(b.lo)
	lower[e], upper[e] = lowerMax, lowerMax+1
	push(slices.Clone(b.lo), lower)
	push(upper, slices.Clone(b.hi))
}

// widestBundle returns the bundle with the widest range among those that some function accepts, -1 if none has any.
func (b *box[V]) widestBundle(accept func(e int) bool) int {
	best := -1
	for e := range b.hi {
		if b.hi[e] > b.lo[e] && (best < 0 || b.hi[e]-b.lo[e] > b.hi[best]-b.lo[best]) && accept(e) {
			best = e
		}
	}
	return best
}

func anyBundle(int) bool { return true }

// midpoint returns the number of circuits at which halves of a box part.
func (b *box[V]) midpoint(e int) int { return (b.lo[e] + b.hi[e]) / 2 }

// minFeasible returns the least number from few to many that does, where many does and what is more than one that does does
// too. The first that is tried is given.
func minFeasible(low, high, first int, feasible func(n int) bool) int {
	for n := first; low < high; n = (low + high) / 2 {
		if feasible(n) {
			high = n
		} else {
			low = n + 1
		}
	}
	return low
}

// tightenLower lifts each bundle of lo to the fewest circuits with which an otherwise full box does. It reports whether any
// was lifted. The full box does.
func tightenLower(lo, hi []int, feasible func(x []int) bool) (tightened bool) {
	x := slices.Clone(hi)
	for e := range lo {
		n := minFeasible(lo[e], hi[e], lo[e], func(n int) bool { // most often the first does
			x[e] = n
			return feasible(x)
		})
		tightened = tightened || n > lo[e]
		lo[e], x[e] = n, hi[e]
	}
	return tightened
}

// budgetMeter counts what a search spends, and says when it must end.
type budgetMeter struct {
	searchBudget
	ctx         context.Context
	evaluations int64
	charged     int64 // in simulations from a common beginning

	evaluator   *circuitEvaluator // whose work counts, where that is bounded
	workAtStart int64             // its work before
}

func newBudgetMeter(ctx context.Context, o searchBudget, w *circuitEvaluator) budgetMeter {
	return budgetMeter{searchBudget: o, ctx: ctx, evaluator: w, workAtStart: w.Work()}
}

// forksPerEvaluation is the number of simulations from a common beginning that cost about as much as a whole one, and count as
// one against the budget.
const forksPerEvaluation = 16

// reset gives a search all of its budget again.
func (m *budgetMeter) reset() { m.charged, m.workAtStart = 0, m.evaluator.Work() }

// charge counts evaluations of p.
func (m *budgetMeter) charge(p *Problem, n int64) {
	m.evaluations += n
	m.charged += forksPerEvaluation * n * p.evaluationCost()
}

// chargeFork counts a simulation of p from a common beginning.
func (m *budgetMeter) chargeFork(p *Problem) {
	m.evaluations++
	m.charged += p.evaluationCost()
}

// usedFraction returns how much of the budget is used, of 1: that of evaluations, or of work if more of that is.
func (m *budgetMeter) usedFraction() float64 {
	part := 0.0
	if m.MaxEvaluations > 0 {
		part = float64(m.charged) / float64(forksPerEvaluation*m.MaxEvaluations)
	}
	if m.maxWork > 0 {
		part = max(part, float64(m.evaluator.Work()-m.workAtStart)/float64(m.maxWork))
	}
	return part
}

// interrupted reports whether the search has been cut short, whatever it has spent.
func (m *budgetMeter) interrupted() bool { return m.ctx.Err() != nil || m.expired() }

// stopReason says why the search must end, "" where it need not.
func (m *budgetMeter) stopReason() string {
	switch {
	case m.ctx.Err() != nil:
		return "interrupted"
	case m.usedFraction() >= 1:
		return fmt.Sprintf("after %d evaluations", m.evaluations)
	case m.expired():
		return fmt.Sprintf("after the time limit of %v", wallClock(m.TimeLimit))
	}
	return ""
}
