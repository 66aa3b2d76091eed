package flow

import (
	"context"
	"slices"

	"sim/engine"
)

// queueBound sharpens heads and tails by what must be served before and after a task, whatever the service.
//
// A task starts no sooner than all transfers that lead to it have ended and the paths from there have been followed. Of
// those that share a resource the one-machine bound says when that is, with the path to the task as their tail. Taken
// in the order of the graph, each task's head rests on heads that know of the queues before them; tails are the same
// with time reversed. Heads and tails so found make the bounds of every resource sharper.
type queueBound struct {
	forward, backward direction
	start             []int32 // predecessors of task i: from, lag[start[i]:start[i+1]]
	from              []int32
	lag               []engine.Time
	reachingUses      []int32 // uses of a resource that lead to the task looked at
	remainingWork     int64   // work that may still be done
}

// direction is heads, or tails as heads of the graph with time reversed.
type direction struct {
	order    []int32
	position []int32 // by task: its index in order
	start    []int32 // as in queues, or the successors
	from     []int32
	lag      []engine.Time
	head     []float64
	dist     []float64 // by task: longest path from its end to the task looked at; -1 for none
	byHead   [][]int32 // by resource: uses whose task has its head, in order of it
}

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

func (s *direction) init(m *model, order, start, from []int32, lag []engine.Time) {
	s.order, s.start, s.from, s.lag = order, start, from, lag
	s.position = make([]int32, m.tasks)
	for k, i := range order {
		s.position[i] = int32(k)
	}
	s.head, s.dist = make([]float64, m.tasks), make([]float64, m.tasks)
	s.byHead = make([][]int32, m.resources)
	for r := range m.resources {
		s.byHead[r] = make([]int32, 0, m.resStart[r+1]-m.resStart[r])
	}
}

// QueueBound returns a lower bound on the makespan at the current capacities that holds for every way of sharing them,
// at least Bound and sharper where transfers queue one after the other; see queues. It is much dearer: most is the work
// that it may do, in calls of Bound, and it returns what it did. With less than it would need it proves less. It ends
// early, with a bound that holds, when ctx does.
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
	q := e.queueBound
	workPerCall := int64(z.tasks + len(z.outTo) + len(z.useRes))
	budget := max(0, maxWork-1) * workPerCall
	q.remainingWork = budget / 2
	q.computeHeads(ctx, z, b, &q.forward)
	q.remainingWork += budget - budget/2
	q.computeHeads(ctx, z, b, &q.backward)
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

// machine is the larger of the bounds of one resource.
func (b *bounds) machine(z *sim, uses []int32, capacity float64, head, tail []float64) float64 {
	return max(b.oneMachine(z, uses, capacity, head, tail), b.limitedMachine(z, uses, capacity, head, tail))
}

// computeHeads computes the heads of one side. The longest paths at full rate are what it has where no work is left.
func (q *queueBound) computeHeads(ctx context.Context, z *sim, b *bounds, s *direction) {
	for r := range s.byHead {
		s.byHead[r] = s.byHead[r][:0]
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

// insert keeps the uses of a resource in order of their heads.
func (s *direction) insert(z *sim, u int32) {
	r := z.useRes[u]
	uses := append(s.byHead[r], u)
	h := s.head[z.useTask[u]]
	j := len(uses) - 1
	for ; j > 0 && s.head[z.useTask[uses[j-1]]] > h; j-- {
		uses[j] = uses[j-1]
	}
	uses[j] = u
	s.byHead[r] = uses
}

// queueHead returns the largest bound on the start of i that a resource sets by what is served there on the path to i.
// Known is a bound already had.
func (q *queueBound) queueHead(z *sim, b *bounds, s *direction, i int32, head float64) float64 {
	first, last := s.start[i], s.start[i+1]
	if first == last {
		return head
	}
	only := int32(-1) // the one transfer before i
	if last == first+1 {
		// what leads to i leads to its predecessor, whose head knows of it but for the queues that it stands in itself
		if only = s.from[first]; z.fixedDuration[only] >= 0 {
			return head
		}
	}
	q.findLongestPaths(z, s, i)
	if only >= 0 {
		for u := z.useStart[only]; u < z.useStart[only+1]; u++ {
			head = max(head, q.resourceBound(z, b, s, z.useRes[u], head))
		}
		return head
	}
	for r := range int32(z.resources) {
		head = max(head, q.resourceBound(z, b, s, r, head))
	}
	return head
}

// findLongestPaths finds the longest paths to i.
func (q *queueBound) findLongestPaths(z *sim, s *direction, i int32) {
	for k := range s.dist {
		s.dist[k] = -1
	}
	top := int32(-1)
	edges := func(i int32, dist float64) {
		for e := s.start[i]; e < s.start[i+1]; e++ {
			u := s.from[e]
			s.dist[u] = max(s.dist[u], dist+float64(s.lag[e]))
			top = max(top, s.position[u])
		}
		q.charge(z, int(s.start[i+1]-s.start[i]))
	}
	edges(i, 0)
	for k := top; k >= 0; k-- {
		if u := s.order[k]; s.dist[u] >= 0 {
			edges(u, s.dist[u]+z.paths.duration[u])
		}
	}
	q.charge(z, int(s.position[i]))
}

// resourceBound returns the bound that resource r sets on the start of the task that reach was last asked of, or less where
// that is not above known.
func (q *queueBound) resourceBound(z *sim, b *bounds, s *direction, r int32, head float64) float64 {
	uses := s.byHead[r]
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
	if len(q.reachingUses) < 2 || last+sum+dist <= head {
		return 0
	}
	work := z.workSincePoll
	bound := b.machine(z, q.reachingUses, capacity, s.head, s.dist)
	q.remainingWork -= machineWorkFactor * int64(z.workSincePoll-work)
	return bound
}

// machineWorkFactor is what a unit of a machine's work costs, in looks at an edge.
const machineWorkFactor = 2

// charge counts looks at edges and uses.
func (q *queueBound) charge(z *sim, work int) {
	q.remainingWork -= int64(work)
	z.workSincePoll += work
}
