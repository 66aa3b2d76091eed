package packet

import (
	"fmt"
	"slices"

	"sim/engine"
)

// priorityQueues is the queues before links that send packets in the order of Options.TaskRank or Reference: a binary heap
// each.
type priorityQueues struct {
	rank     []int32 // by task
	fluid    *engine.Trace
	progress []fluidProgress // by task: how far its packets have come in fluid
	queues   []priorityQueue

	currentRank   []int64   // by link: rank of the packet that it sends
	inFlightRanks [][]int64 // by link: ranks of the packets behind it, that its latency holds
	arrivalRank   int64     // rank of the packet that has come over a link
}

// fluidProgress is a place in a task's rates.
type fluidProgress struct {
	step        int32   // of the task
	bytesBefore float64 // bytes before it
}

func newPriorityQueues(o *Options, links, tasks int) *priorityQueues {
	z := &priorityQueues{rank: o.TaskRank, fluid: o.Reference, queues: make([]priorityQueue, links), currentRank: make([]int64, links), inFlightRanks: make([][]int64, links)}
	if z.fluid != nil {
		z.progress = make([]fluidProgress, tasks)
	}
	return z
}

// packetRank returns the rank of a task's packet with which so many bytes of it are sent: with a fluid, the time at which it
// has sent them.
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

// endSending takes the rank of a packet that a link has sent along: over its latency, or to its end.
func (z *priorityQueues) endSending(link int32, hasLatency bool) {
	if z.arrivalRank = z.currentRank[link]; hasLatency {
		z.inFlightRanks[link] = append(z.inFlightRanks[link], z.arrivalRank)
	}
}

// endFlight brings the first packet behind a link to its end.
func (z *priorityQueues) endFlight(link int32) {
	z.arrivalRank, z.inFlightRanks[link] = z.inFlightRanks[link][0], z.inFlightRanks[link][1:]
}

type priorityQueue struct {
	heap       []priorityRecord
	numArrived int64 // packets so far
	numThrough int32 // of those that wait, they that are not at their source
	maxThrough int32
}

type priorityRecord struct {
	record
	arrivalOrder int64
	rank         int64
}

func (r *priorityRecord) before(s *priorityRecord) bool {
	return r.rank < s.rank || r.rank == s.rank && r.arrivalOrder < s.arrivalOrder
}

// hasRanks reports whether packets go by ranks of their tasks.
func (o *Options) hasRanks() bool { return o.TaskRank != nil || o.Reference != nil }

// checkRanks fails where ranks do not fit the rest of a graph's run.
func checkRanks(g *engine.Graph, n *engine.Network, o *Options) error {
	switch {
	case !o.hasRanks():
		return nil
	case g == nil:
		return fmt.Errorf("%w: it has no tasks, but ranks of tasks", ErrWork)
	case o.Reference != nil && (o.TaskRank != nil || len(o.Reference.StepStart) != len(g.Tasks)+1):
		return fmt.Errorf("%w: rates of %d tasks for %d, beside %d ranks; want those of each, or a rank", ErrWork, len(o.Reference.StepStart)-1, len(g.Tasks), len(o.TaskRank))
	case o.Reference == nil && len(o.TaskRank) != len(g.Tasks):
		return fmt.Errorf("%w: %d ranks for %d tasks", ErrWork, len(o.TaskRank), len(g.Tasks))
	case o.Control != DropTail || len(o.Rewire) > 0 || slices.ContainsFunc(n.Changes, func(c engine.Change) bool { return !c.Planned }):
		return fmt.Errorf("%w: ranks of tasks beside credits, failing links or new paths; want none of these", ErrWork)
	}
	return nil
}

// push puts a packet before a link.
func (q *priorityQueue) push(r *record, rank int64) {
	if r.origin > originWindow {
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

// pop takes the packet to be sent first out of a queue that is not empty, with its rank.
func (q *priorityQueue) pop() (record, int64) {
	w := q.heap
	first, rank := w[0].record, w[0].rank
	if first.origin > originWindow {
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
