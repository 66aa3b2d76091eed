package packet

import (
	"fmt"
	"slices"

	"sim/engine"
)

// ranked is the queues before links that send packets in the order of Options.TaskRank or Reference: a binary heap
// each.
type ranked struct {
	rank  []int32 // by task
	fluid *engine.Trace
	at    []fluidPlace // by task: how far its packets have come in fluid
	heaps []rankedQueue

	sending []int64   // by link: rank of the packet that it sends
	wire    [][]int64 // by link: ranks of the packets behind it, that its latency holds
	arrives int64     // rank of the packet that has come over a link
}

// fluidPlace is a place in a task's rates.
type fluidPlace struct {
	step int32   // of the task
	sent float64 // bytes before it
}

func newRanked(o *Options, links, tasks int) *ranked {
	z := &ranked{rank: o.TaskRank, fluid: o.Reference, heaps: make([]rankedQueue, links), sending: make([]int64, links), wire: make([][]int64, links)}
	if z.fluid != nil {
		z.at = make([]fluidPlace, tasks)
	}
	return z
}

// of returns the rank of a task's packet with which so many bytes of it are sent: with a fluid, the time at which it
// has sent them.
func (z *ranked) of(task int32, sent int64) int64 {
	if z.fluid == nil {
		return int64(z.rank[task])
	}
	steps, p := z.fluid.Rates(task), &z.at[task]
	for int(p.step)+1 < len(steps) {
		s := steps[p.step]
		more := s.Rate / 8 * (steps[p.step+1].At - s.At).Seconds()
		if left := float64(sent) - p.sent; left <= more {
			return int64(s.At) + int64(left*8/s.Rate*float64(engine.Second))
		}
		p.sent += more
		p.step++
	}
	return int64(z.fluid.End[task])
}

// leaves takes the rank of a packet that a link has sent along: over its latency, or to its end.
func (z *ranked) leaves(link int32, late bool) {
	if z.arrives = z.sending[link]; late {
		z.wire[link] = append(z.wire[link], z.arrives)
	}
}

// lands brings the first packet behind a link to its end.
func (z *ranked) lands(link int32) {
	z.arrives, z.wire[link] = z.wire[link][0], z.wire[link][1:]
}

type rankedQueue struct {
	waits       []rankedRecord
	came        int64 // packets so far
	through     int32 // of those that wait, they that are not at their source
	mostThrough int32
}

type rankedRecord struct {
	record
	came int64
	rank int64
}

func (r *rankedRecord) before(s *rankedRecord) bool {
	return r.rank < s.rank || r.rank == s.rank && r.came < s.came
}

// ranks reports whether packets go by ranks of their tasks.
func (o *Options) ranks() bool { return o.TaskRank != nil || o.Reference != nil }

// checkRanks fails where ranks do not fit the rest of a graph's run.
func checkRanks(g *engine.Graph, n *engine.Network, o *Options) error {
	switch {
	case !o.ranks():
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
func (q *rankedQueue) push(r *record, rank int64) {
	if r.hold > fromWindow {
		q.through++
		q.mostThrough = max(q.mostThrough, q.through)
	}
	q.waits = append(q.waits, rankedRecord{record: *r, came: q.came, rank: rank})
	q.came++
	w := q.waits
	for i := len(w) - 1; i > 0; {
		up := (i - 1) / 2
		if !w[i].before(&w[up]) {
			return
		}
		w[i], w[up] = w[up], w[i]
		i = up
	}
}

// pop takes the packet to be sent first out of a queue that is not empty, with its rank.
func (q *rankedQueue) pop() (record, int64) {
	w := q.waits
	first, rank := w[0].record, w[0].rank
	if first.hold > fromWindow {
		q.through--
	}
	last := len(w) - 1
	w[0] = w[last]
	w = w[:last]
	q.waits = w
	for i := 0; ; {
		k := 2*i + 1
		if k >= last {
			return first, rank
		}
		if k+1 < last && w[k+1].before(&w[k]) {
			k++
		}
		if !w[k].before(&w[i]) {
			return first, rank
		}
		w[i], w[k] = w[k], w[i]
		i = k
	}
}
