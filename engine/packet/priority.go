package packet

import (
	"fmt"
	"slices"

	"sim/engine"
)

// priorityQueues replaces the queues of links if packets are ordered by Options.TaskRank
// or Options.Reference. The rank of a packet is a task rank, or the time at which its
// last byte is sent at the flow level. Smaller ranks are sent first.
type priorityQueues struct {
	rank     []int32         // indexed by task; nil with a reference trace
	fluid    *engine.Trace   // the reference trace; nil with task ranks
	progress []fluidProgress // indexed by task: position of its packets in the reference trace
	queues   []priorityQueue // indexed by link

	currentRank   []int64   // indexed by link: rank of the packet being sent
	inFlightRanks [][]int64 // indexed by link: ranks of the packets in flight, in order
	arrivalRank   int64     // rank of the packet that has just arrived over a link
}

// fluidProgress is a position in the rate steps of a task.
type fluidProgress struct {
	step        int32   // index in the rate steps of the task
	bytesBefore float64 // bytes sent before that step
}

// newPriorityQueues creates empty queues for the given numbers of links and tasks.
func newPriorityQueues(o *Options, links, tasks int) *priorityQueues {
	z := &priorityQueues{rank: o.TaskRank, fluid: o.Reference, queues: make([]priorityQueue, links), currentRank: make([]int64, links), inFlightRanks: make([][]int64, links)}
	if z.fluid != nil {
		z.progress = make([]fluidProgress, tasks)
	}
	return z
}

// packetRank returns the rank of the packet that completes the first sent bytes of a
// task. With a reference trace this is the time at which the task has sent them at the
// flow level. Calls for one task must have ascending values of sent.
func (z *priorityQueues) packetRank(task int32, sent int64) int64 {
	if z.fluid == nil {
		return int64(z.rank[task])
	}
	steps, p := z.fluid.Rates(task), &z.progress[task]
	for int(p.step)+1 < len(steps) {
		s := steps[p.step]
		stepBytes := s.Rate / 8 * (steps[p.step+1].At - s.At).Seconds()
		if bytes := float64(sent) - p.bytesBefore; bytes <= stepBytes {
			return int64(s.At) + int64(bytes*8/s.Rate*float64(engine.Second))
		}
		p.bytesBefore += stepBytes
		p.step++
	}
	return int64(z.fluid.End[task])
}

// endSending moves the rank of the packet that a link has sent to the ranks in flight. If
// the link has no latency, the packet arrives at once, and its rank stays in arrivalRank.
func (z *priorityQueues) endSending(link int32, hasLatency bool) {
	if z.arrivalRank = z.currentRank[link]; hasLatency {
		z.inFlightRanks[link] = append(z.inFlightRanks[link], z.arrivalRank)
	}
}

// endFlight moves the first rank in flight on a link to arrivalRank.
func (z *priorityQueues) endFlight(link int32) {
	z.arrivalRank, z.inFlightRanks[link] = z.inFlightRanks[link][0], z.inFlightRanks[link][1:]
}

// priorityQueue is a binary heap of packets. Equal ranks are ordered by arrival.
type priorityQueue struct {
	heap       []priorityRecord
	numArrived int64 // packets pushed so far
	numThrough int32 // packets in the heap that are not at their source
	maxThrough int32 // maximum of numThrough
}

// priorityRecord is a packet with its sort key.
type priorityRecord struct {
	record       // the packet
	arrivalOrder int64
	rank         int64
}

// before reports whether r is sent before s.
func (r *priorityRecord) before(s *priorityRecord) bool {
	return r.rank < s.rank || r.rank == s.rank && r.arrivalOrder < s.arrivalOrder
}

// hasRanks reports whether packets are ordered by task ranks or a reference trace.
func (o *Options) hasRanks() bool { return o.TaskRank != nil || o.Reference != nil }

// checkRanks returns an error if ranks or the reference trace do not fit the graph or the
// other options.
func checkRanks(g *engine.Graph, n *engine.Network, o *Options) error {
	switch {
	case !o.hasRanks():
		return nil
	case g == nil:
		return fmt.Errorf("%w: there are task ranks, but no tasks", ErrWork)
	case o.Reference != nil && (o.TaskRank != nil || len(o.Reference.StepStart) != len(g.Tasks)+1):
		return fmt.Errorf("%w: the reference trace has rates of %d tasks, but there are %d tasks and %d task ranks; want either rates or ranks of all tasks", ErrWork, len(o.Reference.StepStart)-1, len(g.Tasks), len(o.TaskRank))
	case o.Reference == nil && len(o.TaskRank) != len(g.Tasks):
		return fmt.Errorf("%w: %d ranks for %d tasks", ErrWork, len(o.TaskRank), len(g.Tasks))
	case o.Control != DropTail || len(o.Rewire) > 0 || slices.ContainsFunc(n.Changes, func(c engine.Change) bool { return !c.Planned }):
		return fmt.Errorf("%w: task ranks with credits, failing links or new paths; want none of these", ErrWork)
	}
	return nil
}

// push adds a packet.
func (q *priorityQueue) push(r *record, rank int64) {
	if !isHeldBySource(r.origin) {
		q.numThrough++
		q.maxThrough = max(q.maxThrough, q.numThrough)
	}

	q.heap = append(q.heap, priorityRecord{record: *r, arrivalOrder: q.numArrived, rank: rank})
	q.numArrived++

	w := q.heap
	for i := len(w) - 1; i > 0; {
		parent := (i - 1) / 2
		if !w[i].before(&w[parent]) {
			return
		}
		w[i], w[parent] = w[parent], w[i]
		i = parent
	}
}

// pop removes the packet that is sent first from a queue that is not empty, and returns
// it with its rank.
func (q *priorityQueue) pop() (record, int64) {
	w := q.heap
	first, rank := w[0].record, w[0].rank
	if !isHeldBySource(first.origin) {
		q.numThrough--
	}

	last := len(w) - 1
	w[0] = w[last]
	w = w[:last]
	q.heap = w

	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return first, rank
		}
		if child+1 < last && w[child+1].before(&w[child]) {
			child++
		}
		if !w[child].before(&w[i]) {
			return first, rank
		}
		w[i], w[child] = w[child], w[i]
		i = child
	}
}
