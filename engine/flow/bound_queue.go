package flow

import (
	"context"
	"slices"

	"sim/engine"
)

// This file computes QueueBound, the sharpest lower bound on the makespan that holds for every
// service. It builds on bounds (bound.go), which has the one-machine bounds of a resource, and on
// sim.paths (criticalpaths.go), which has the durations of transfers at full rate.

// queueBound improves heads and tails by the queues before and after a task. The head of a task is a
// lower bound on its start. Its tail is a lower bound on the time from its end to the end of the
// graph. The results hold for every service.
//
// A task cannot start before all transfers that precede it have ended and the paths from them
// have been followed. For the transfers on one resource, the one-machine bound gives this
// time; their tail is the longest path to the task. Tasks are processed in topological order,
// so the head of each task builds on the improved heads of its predecessors. Tails are
// the heads of the reversed graph. The improved heads and tails sharpen the one-machine
// bound of every resource.
type queueBound struct {
	forward, backward direction     // heads, and tails as heads of the reversed graph
	start             []int32       // the in-edges of task i are start[i] <= e < start[i+1]
	from              []int32       // predecessor, indexed by edge
	lag               []engine.Time // lag, indexed by edge
	// reachingUses is scratch: the uses of a resource by tasks from which a path leads to the
	// current task of findLongestPaths. A use is one resource used by one transfer.
	reachingUses  []int32
	remainingWork int64 // budget left, in edges and uses
}

// direction holds the heads of the graph or of the reversed graph.
type direction struct {
	order    []int32 // topological order of this direction
	position []int32 // index in order, indexed by task
	start    []int32 // in-edges of this direction: as in queueBound, or the out-edges of the model
	from     []int32
	lag      []engine.Time
	head     []float64 // improved heads, indexed by task
	// dist is the longest path from a task's end to the start of the current task of
	// findLongestPaths, indexed by the first task; -1 if no path exists.
	dist       []float64
	usesByHead [][]int32 // uses of processed tasks in order of their heads, indexed by resource
}

// init copies the in-edges of the graph and prepares both directions.
func (q *queueBound) init(m *model) {
	order := m.graph.Order()
	q.start = make([]int32, 1, m.tasks+1)
	q.from, q.lag = make([]int32, 0, len(m.outTo)), make([]engine.Time, 0, len(m.outTo))
	for i := range int32(m.tasks) {
		for _, e := range m.graph.In(i) {
			q.from, q.lag = append(q.from, e.From), append(q.lag, e.Lag)
		}
		q.start = append(q.start, int32(len(q.from)))
	}

	reversed := slices.Clone(order)
	slices.Reverse(reversed)
	q.forward.init(m, order, q.start, q.from, q.lag)
	q.backward.init(m, reversed, m.outStart, m.outTo, m.outLag)
}

// init prepares a direction with the given topological order and in-edges.
func (s *direction) init(m *model, order, start, from []int32, lag []engine.Time) {
	s.order, s.start, s.from, s.lag = order, start, from, lag
	s.position = make([]int32, m.tasks)
	for k, i := range order {
		s.position[i] = int32(k)
	}
	s.head, s.dist = make([]float64, m.tasks), make([]float64, m.tasks)
	s.usesByHead = make([][]int32, m.resources)
	for r := range m.resources {
		s.usesByHead[r] = make([]int32, 0, m.resStart[r+1]-m.resStart[r])
	}
}

// QueueBound returns a lower bound on the makespan at the current capacities that holds for
// every service. It is at least Bound, and sharper if transfers queue one after the other; see
// queueBound. It is much more expensive than Bound. maxWork limits its work, in calls of Bound,
// and work is the work done. A limited call returns a valid but weaker bound, and so does a
// call whose ctx is cancelled.
func (e *Evaluator) QueueBound(ctx context.Context, maxWork int64) (bound engine.Time, work int64) {
	bound = e.Bound()
	if bound == engine.Never {
		return bound, 1
	}
	z, b := e.sim, &e.bounds
	if e.queueBound == nil {
		e.queueBound = &queueBound{}
		e.queueBound.init(z.model)
	}

	// One half of the budget is for heads; tails get the rest.
	q := e.queueBound
	workPerCall := int64(z.tasks + len(z.outTo) + len(z.useRes))
	budget := max(0, maxWork-1) * workPerCall
	q.remainingWork = budget / 2
	q.computeHeads(ctx, z, b, &q.forward)
	q.remainingWork += budget - budget/2
	q.computeHeads(ctx, z, b, &q.backward)

	// The bounds of Bound, with the improved heads and tails. b.byHead lists the uses of each
	// resource. Bound and this last part count as one call of Bound each.
	head, tail := q.forward.head, q.backward.head
	best := 0.0
	for i := range z.tasks {
		best = max(best, head[i]+z.paths.duration[i]+tail[i])
	}

	for r := range z.resources {
		if uses := b.byHead[r]; len(uses) > 1 {
			b.sortByHead(z, uses, head)
			best = max(best, b.machine(z, uses, z.maxCapacity(int32(r)), head, tail))
		}
	}
	return max(bound, roundDown(best)), 2 + (budget-q.remainingWork)/workPerCall
}

// machine returns the larger of two bounds of one resource: of its transfers one after the other, and
// of transfers that are limited by their own full rates.
func (b *bounds) machine(z *sim, uses []int32, capacity float64, head, tail []float64) float64 {
	return max(b.oneMachine(z, uses, capacity, head, tail), b.limitedMachine(z, uses, capacity, head, tail))
}

// computeHeads computes the heads of one direction. Without budget the heads are the longest
// paths at full rate.
func (q *queueBound) computeHeads(ctx context.Context, z *sim, b *bounds, s *direction) {
	for r := range s.usesByHead {
		s.usesByHead[r] = s.usesByHead[r][:0]
	}

	for _, i := range s.order {
		head := 0.0
		for e := s.start[i]; e < s.start[i+1]; e++ {
			u := s.from[e]
			head = max(head, s.head[u]+z.paths.duration[u]+float64(s.lag[e]))
		}
		if q.remainingWork > 0 && ctx.Err() == nil {
			head = max(head, q.queueHead(z, b, s, i, head))
		}
		s.head[i] = head
		for u := z.useStart[i]; u < z.useStart[i+1]; u++ {
			s.insert(z, u)
		}
	}
}

// insert adds a use to the uses of its resource, which are in order of heads.
func (s *direction) insert(z *sim, u int32) {
	r := z.useRes[u]
	uses := append(s.usesByHead[r], u)
	h := s.head[z.useTask[u]]
	j := len(uses) - 1
	for ; j > 0 && s.head[z.useTask[uses[j-1]]] > h; j-- {
		uses[j] = uses[j-1]
	}
	uses[j] = u
	s.usesByHead[r] = uses
}

// queueHead returns the largest bound on the start of task i that a resource implies through
// the transfers that precede i. head is a known bound.
func (q *queueBound) queueHead(z *sim, b *bounds, s *direction, i int32, head float64) float64 {
	first, last := s.start[i], s.start[i+1]
	if first == last {
		return head
	}

	// The head of a single predecessor covers all queues before it, except the queues that the
	// predecessor itself stands in. A task of fixed duration stands in none.
	if last == first+1 {
		only := s.from[first]
		if z.fixedDuration[only] >= 0 {
			return head
		}
		q.findLongestPaths(z, s, i)
		for u := z.useStart[only]; u < z.useStart[only+1]; u++ {
			head = max(head, q.resourceBound(z, b, s, z.useRes[u], head))
		}
		return head
	}

	// With several predecessors, every resource on a path to i can be a bottleneck.
	q.findLongestPaths(z, s, i)
	for r := range int32(z.resources) {
		head = max(head, q.resourceBound(z, b, s, r, head))
	}
	return head
}

// findLongestPaths computes dist, the longest paths to task i. It visits predecessors in
// reverse order, starting at the last one that reaches i.
func (q *queueBound) findLongestPaths(z *sim, s *direction, i int32) {
	for k := range s.dist {
		s.dist[k] = -1
	}
	top := int32(-1)
	visitPredecessors := func(task int32, dist float64) {
		for e := s.start[task]; e < s.start[task+1]; e++ {
			u := s.from[e]
			s.dist[u] = max(s.dist[u], dist+float64(s.lag[e]))
			top = max(top, s.position[u])
		}
		q.charge(z, int(s.start[task+1]-s.start[task]))
	}
	visitPredecessors(i, 0)
	for k := top; k >= 0; k-- {
		if u := s.order[k]; s.dist[u] >= 0 {
			visitPredecessors(u, s.dist[u]+z.paths.duration[u])
		}
	}
	q.charge(z, int(s.position[i]))
}

// resourceBound returns the bound that resource r implies on the start of the current task, the
// task of the last findLongestPaths. If the bound cannot exceed head, it returns 0.
func (q *queueBound) resourceBound(z *sim, b *bounds, s *direction, r int32, head float64) float64 {
	uses := s.usesByHead[r]
	q.charge(z, len(uses))
	capacity := z.maxCapacity(r)
	q.reachingUses = q.reachingUses[:0]

	last, sum, dist := 0.0, 0.0, 0.0
	for _, u := range uses {
		id := z.useTask[u]
		if s.dist[id] < 0 {
			continue
		}
		q.reachingUses = append(q.reachingUses, u)
		last = s.head[id]
		sum += z.paths.duration[id]
		dist = max(dist, s.dist[id])
	}
	// The bound is at most the last head plus all durations plus the longest path.
	if len(q.reachingUses) < 2 || last+sum+dist <= head {
		return 0
	}
	work := z.workSincePoll // machine only adds to it
	bound := b.machine(z, q.reachingUses, capacity, s.head, s.dist)
	q.remainingWork -= machineWorkFactor * int64(z.workSincePoll-work)
	return bound
}

// machineWorkFactor is the cost of one unit of the work that machine counts, in visits of an
// edge. A unit is a step of a heap or a sort.
const machineWorkFactor = 2

// charge charges visits of edges and uses to the budget.
func (q *queueBound) charge(z *sim, work int) {
	q.remainingWork -= int64(work)
	z.workSincePoll += work
}
