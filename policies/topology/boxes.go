package topology

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/emirpasic/gods/queues/priorityqueue"
)

// box is the set of all topologies with at least lo and at most hi circuits per bundle.
// The search visits boxes in the order of value, for example a lower bound on the
// makespan of all its topologies.
type box[V any] struct {
	lo, hi []int // indexed by bundle
	value  V
	id     int // order of creation
}

// openBoxes is the priority queue of the boxes that a best-first branch and bound has not
// visited. The box with the smallest value comes first. Among equal values the newest
// comes first, which is the deepest in the search tree.
type openBoxes[V any] struct {
	*priorityqueue.Queue
	numAdded int
}

// newOpenBoxes returns an empty queue that is ordered by compare.
func newOpenBoxes[V any](compare func(a, b V) int) *openBoxes[V] {
	return &openBoxes[V]{Queue: priorityqueue.NewWith(func(a, b any) int {
		x, y := a.(*box[V]), b.(*box[V])
		return cmp.Or(compare(x.value, y.value), y.id-x.id)
	})}
}

// add inserts a box.
func (q *openBoxes[V]) add(lo, hi []int, value V) {
	q.Enqueue(&box[V]{lo: lo, hi: hi, value: value, id: q.numAdded})
	q.numAdded++
}

// explore visits the boxes in order; visit may add further boxes. It stops at the first
// box that is settled by its value, at which over returns true, or for which visit
// returns false. It returns that box, whose value bounds everything that was not visited.
// It returns nil if all boxes were visited.
func (q *openBoxes[V]) explore(settled func(V) bool, over func() bool, visit func(b *box[V]) bool) *box[V] {
	for !q.Empty() {
		next, _ := q.Dequeue()
		if b := next.(*box[V]); settled(b.value) || over() || !visit(b) {
			return b
		}
	}
	return nil
}

// split calls push for the two parts of a box: topologies with at most lowerMax circuits
// of bundle e, and topologies with more.
func (b *box[V]) split(e, lowerMax int, push func(lo, hi []int)) {
	lower, upper := slices.Clone(b.hi), slices.Clone(b.lo)
	lower[e], upper[e] = lowerMax, lowerMax+1
	push(slices.Clone(b.lo), lower)
	push(upper, slices.Clone(b.hi))
}

// widestBundle returns the bundle with the largest range hi - lo among the bundles that
// accept permits, or -1 if all their ranges are empty.
func (b *box[V]) widestBundle(accept func(e int) bool) int {
	best := -1
	for e := range b.hi {
		if b.hi[e] > b.lo[e] && (best < 0 || b.hi[e]-b.lo[e] > b.hi[best]-b.lo[best]) && accept(e) {
			best = e
		}
	}
	return best
}

// anyBundle accepts every bundle.
func anyBundle(int) bool { return true }

// midpoint returns the number of circuits at which a box is split in halves.
func (b *box[V]) midpoint(e int) int { return (b.lo[e] + b.hi[e]) / 2 }

// minFeasible returns the smallest n in [low, high] for which feasible(n) holds. It uses
// bisection whose first probe is at first. Feasibility must be monotone, and high must be
// feasible.
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

// tightenLower raises each element of lo to the smallest number of circuits for which a
// topology that is hi in all other bundles is feasible. It reports whether any element
// changed. hi itself must be feasible.
func tightenLower(lo, hi []int, feasible func(x []int) bool) (tightened bool) {
	x := slices.Clone(hi)
	for e := range lo {
		n := minFeasible(lo[e], hi[e], lo[e], func(n int) bool { // usually the first probe is feasible
			x[e] = n
			return feasible(x)
		})
		tightened = tightened || n > lo[e]
		lo[e], x[e] = n, hi[e]
	}
	return tightened
}

// budgetMeter counts the evaluations and the work of a search and determines when the
// search must stop. The searches of this package embed it: they call charge for each evaluation
// and end if stopReason returns a reason.
type budgetMeter struct {
	searchBudget // the limits: MaxEvaluations, maxWork, TimeLimit and deadline
	ctx          context.Context
	evaluations  int64 // simulations and bounds, also if they were not charged
	charged      int64 // in units of 1/forksPerEvaluation of an evaluation

	evaluator   *circuitEvaluator // evaluator of the search, if its work is limited; may be nil otherwise
	workAtStart int64             // evaluator.Work() when counting started
}

// newBudgetMeter returns a meter that counts from now on. The work of w is limited if o
// limits work.
func newBudgetMeter(ctx context.Context, o searchBudget, w *circuitEvaluator) budgetMeter {
	return budgetMeter{searchBudget: o, ctx: ctx, evaluator: w, workAtStart: w.Work()}
}

// forksPerEvaluation is the number of resumed simulations that are charged as one
// evaluation, because they take about as long as one complete simulation.
const forksPerEvaluation = 16

// reset restores the full budget.
func (m *budgetMeter) reset() { m.charged, m.workAtStart = 0, m.evaluator.Work() }

// charge counts n evaluations of p.
func (m *budgetMeter) charge(p *Problem, n int64) {
	m.evaluations += n
	m.charged += forksPerEvaluation * n * p.evaluationCost()
}

// chargeFork counts one simulation of p that was resumed from a common prefix.
func (m *budgetMeter) chargeFork(p *Problem) {
	m.evaluations++
	m.charged += p.evaluationCost()
}

// usedFraction returns the used fraction of the budget, in [0, 1] or slightly above: the
// larger one of evaluations and work.
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

// interrupted reports whether the context was cancelled or the deadline has passed,
// whatever budget remains.
func (m *budgetMeter) interrupted() bool { return m.ctx.Err() != nil || m.expired() }

// stopReason returns why the search must stop, or "" if it can continue.
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
