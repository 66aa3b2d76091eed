package packet

import (
	"fmt"

	"sim/engine"
)

// ranked is the queues before links that send packets in the order of
// Options.TaskRank or TaskLevel: a binary heap each.
type ranked struct {
	rank  []int32 // by task
	level []Level // by task, in place of rank
	heaps []rankedQueue
}

// of returns the rank of a packet of a task that has so many bytes left to send.
func (q *ranked) of(task int32, left int64) int64 {
	if q.level == nil {
		return int64(q.rank[task])
	}
	l := &q.level[task]
	return -int64(l.Tail + l.PerByte*float64(left))
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
func (o *Options) ranks() bool { return o.TaskRank != nil || o.TaskLevel != nil }

// checkRanks fails where ranks do not fit the rest of a graph's play.
func checkRanks(g *engine.Graph, n *engine.Network, o *Options) error {
	switch {
	case !o.ranks():
		return nil
	case o.TaskLevel != nil && (o.TaskRank != nil || len(o.TaskLevel) != len(g.Tasks)):
		return fmt.Errorf("%w: %d levels for %d tasks, beside %d ranks; want one a task, or a rank", ErrWork, len(o.TaskLevel), len(g.Tasks), len(o.TaskRank))
	case o.TaskLevel == nil && len(o.TaskRank) != len(g.Tasks):
		return fmt.Errorf("%w: %d ranks for %d tasks", ErrWork, len(o.TaskRank), len(g.Tasks))
	case o.TaskPriority != nil || o.Control != DropTail || len(n.Changes) > 0 || len(o.Rewire) > 0:
		return fmt.Errorf("%w: ranks of tasks beside priorities, credits, changes of links or new ways; want none of these", ErrWork)
	}
	return nil
}

// push puts a packet before a link.
func (q *rankedQueue) push(r *record, rank int64) {
	if r.hold>>3 > fromWindow {
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

// pop takes the packet to be sent first out of a queue that is not empty.
func (q *rankedQueue) pop() record {
	w := q.waits
	first := w[0].record
	if first.hold>>3 > fromWindow {
		q.through--
	}
	last := len(w) - 1
	w[0] = w[last]
	w = w[:last]
	q.waits = w
	for i := 0; ; {
		k := 2*i + 1
		if k >= last {
			return first
		}
		if k+1 < last && w[k+1].before(&w[k]) {
			k++
		}
		if !w[k].before(&w[i]) {
			return first
		}
		w[i], w[k] = w[k], w[i]
		i = k
	}
}
