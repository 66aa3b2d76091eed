package packet

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sim/engine"
)

// ErrStalled is wrapped by RunGraph when tasks remain that can never end, because packets of theirs were dropped.
var ErrStalled = errors.New("packet: nothing can proceed")

// RunGraph simulates g on n to its end: transfers are trains of packets of so many bytes (the last one may be smaller),
// each of which keeps one packet waiting at its source, like Greedy, so that transfers that begin with one link take
// turns there. Task.Flows changes nothing. A transfer ends when the last of its packets has arrived; one
// of no bytes, at once. g must be frozen.
//
// Paths lead flows: transfer i takes those of flow i where flows has every task's source and destination in its place
// (flows of compute tasks are not looked at), else of the first flow with its source and destination. flow.Run
// simulates the same graph as fluid.
//
// The trace has no rates, and Events counts packet hops. It is cut off by Options.Until: what has not begun or ended by
// then does so at engine.Never, and the makespan is of what has. RunGraph fails like Run; where a transfer has no
// paths; and with ErrStalled, naming tasks, when packets are lost.
func RunGraph(g *engine.Graph, n *engine.Network, flows []engine.Flow, paths *engine.Paths, bytes int32, o Options) (*engine.Trace, *Stats, error) {
	return simulate(n, &Work{Flows: flows, Paths: paths}, g, bytes, o)
}

// withStarts returns work and options by task of a graph without starts as those of the graph with starts, which send
// nothing.
func withStarts(s *engine.MessageStarts, w *Work, o Options) (*Work, Options) {
	more := len(s.Graph.Tasks) - s.Tasks
	longer := func(k *engine.Paths) *engine.Paths {
		by := *k
		by.Class = append(slices.Clone(k.Class), make([]int32, more)...)
		return &by
	}
	o.Rewire = slices.Clone(o.Rewire)
	for i := range o.Rewire {
		o.Rewire[i].Paths = longer(o.Rewire[i].Paths)
	}
	if o.TaskRank != nil {
		o.TaskRank = append(slices.Clone(o.TaskRank), make([]int32, more)...)
	}
	return &Work{Flows: append(slices.Clone(w.Flows), make([]engine.Flow, more)...), Paths: longer(w.Paths)}, o
}

// byTask returns work whose flow i is task i, and options for it.
func byTask(g *engine.Graph, w *Work, o Options) (*Work, Options, error) {
	same := len(w.Flows) == len(g.Tasks)
	first := make(map[engine.Flow]int32, len(w.Flows))
	for f := len(w.Flows) - 1; f >= 0; f-- {
		first[w.Flows[f]] = int32(f)
	}
	flows, of := make([]engine.Flow, len(g.Tasks)), make([]int32, len(g.Tasks))
	for i, t := range g.Tasks {
		if t.Kind != engine.Transfer {
			continue
		}
		flows[i] = engine.Flow{Src: t.Src, Dst: t.Dst}
		f, ok := first[flows[i]]
		if of[i] = f; !ok {
			return nil, o, fmt.Errorf("%w: no path leads %s from node %d to %d", ErrWork, g.Name(int32(i)), t.Src, t.Dst)
		}
		same = same && w.Flows[i] == flows[i]
	}
	class := func(k *engine.Paths) *engine.Paths {
		by := *k
		by.Class = make([]int32, len(of))
		for i, f := range of {
			if same {
				f = int32(i)
			}
			if g.Tasks[i].Kind == engine.Transfer {
				by.Class[i] = k.ClassOf(f)
			}
		}
		return &by
	}
	rewire := o.Rewire
	o.Rewire = nil
	for _, r := range rewire {
		r.Paths = class(r.Paths)
		o.Rewire = append(o.Rewire, r)
	}
	return &Work{Flows: flows, Paths: class(w.Paths)}, o, nil
}

// job is a task graph being simulated.
type job struct {
	g         *engine.Graph
	need      []int32 // tasks that it waits for
	ready     []engine.Time
	transfers []transfer // indexed by task
	ended     int
	trace     engine.Trace

	contest   *engine.ContentionState // nil if the graph has no contention
	competes  []bool                  // by task: it is ready and waits for the contention
	resolving bool                    // the event of resolve is in the calendar
	moved     bool                    // since it was put there a task has become ready at the same time
}

// transfer is the packets of a task.
type transfer struct {
	train
	sent int64 // packets injected
	left int64 // bytes to arrive
}

// sentBytes returns the bytes of the packets that were injected.
func (t *transfer) sentBytes() int64 {
	if t.sent == t.count {
		return (t.count-1)*int64(t.bytes) + int64(t.last)
	}
	return t.sent * int64(t.bytes)
}

func newJob(g *engine.Graph, bytes int32) *job {
	n := len(g.Tasks)
	j := &job{
		g: g, need: make([]int32, n), ready: make([]engine.Time, n), transfers: make([]transfer, n),
		trace:   engine.Trace{Start: make([]engine.Time, n), End: make([]engine.Time, n)},
		contest: g.NewContentionState(),
	}
	if j.contest != nil {
		j.competes = make([]bool, n)
	}
	for i, t := range g.Tasks {
		j.need[i] = int32(len(g.In(int32(i))))
		j.trace.Start[i], j.trace.End[i] = engine.Never, engine.Never
		if t.Kind == engine.Transfer && t.Bytes > 0 {
			count := (t.Bytes-1)/int64(bytes) + 1
			j.transfers[i] = transfer{train: train{count, bytes, int32(t.Bytes - (count-1)*int64(bytes))}, left: t.Bytes}
		}
	}
	return j
}

// agent returns the id of a task in the calendar.
func (z *sim) agent(task int32) int32 { return z.base + int32(len(z.injectors)) + task }

// task starts a task, sends its next packet, or ends it. The task behind all others resolves the contention.
func (z *sim) task(i int32, now engine.Time) {
	j := z.job
	if int(i) == len(j.g.Tasks) {
		z.resolve(now)
		return
	}
	begins := j.trace.Start[i] == engine.Never
	if begins && j.contest != nil && j.contest.Decides(i) {
		j.competes[i] = true
		j.contest.Arrive(i)
		z.decideLater(now)
		return
	}
	if begins {
		j.trace.Start[i] = now
	}
	switch t := &j.g.Tasks[i]; {
	case t.Kind == engine.Transfer && t.Bytes > 0:
		z.feed(int32(len(z.injectors))+i, now)
	case begins && t.Kind == engine.Compute && t.Duration > 0:
		z.calendar.set(z.agent(i), now+t.Duration)
	default:
		z.ends(i, now)
	}
}

// received tells a transfer that a packet has arrived.
func (z *sim) received(r *record, now engine.Time) {
	j := z.job
	t := &j.transfers[r.flow]
	if t.left -= int64(r.bytes); t.left == 0 {
		z.ends(r.flow, now)
	}
}

// ends ends a task and readies those that wait for it.
func (z *sim) ends(i int32, now engine.Time) {
	j := z.job
	j.ended++
	j.trace.End[i] = now
	j.trace.Makespan = max(j.trace.Makespan, now)
	if z.o.React != nil {
		z.reaction.ended, z.reaction.at = append(z.reaction.ended, i), now
	}
	for _, e := range j.g.Out(i) {
		j.ready[e.To] = max(j.ready[e.To], now+e.Lag)
		if j.need[e.To]--; j.need[e.To] == 0 {
			z.calendar.set(z.agent(e.To), j.ready[e.To])
			j.moved = j.moved || j.ready[e.To] <= now
		}
	}
	if j.contest != nil && j.contest.Involves(i) {
		j.contest.Ended(i, func(request int32) {
			j.trace.Start[request], j.competes[request] = now, false
			z.ends(request, now)
		})
		z.decideLater(now)
	}
}

// decideLater has the contention resolved after the events that the calendar has of this time.
func (z *sim) decideLater(now engine.Time) {
	if j := z.job; !j.resolving && j.contest.Pending() {
		j.resolving, j.moved = true, false
		z.calendar.set(z.agent(int32(len(j.g.Tasks))), now)
	}
}

// resolve starts what the contention grants now, once nothing else happens at this time.
func (z *sim) resolve(now engine.Time) {
	j := z.job
	if j.resolving = false; j.moved {
		z.decideLater(now)
		return
	}
	for _, i := range j.contest.Resolve() {
		j.trace.Start[i], j.competes[i] = now, false
		z.calendar.set(z.agent(i), now+j.g.Tasks[i].Duration)
	}
}

// result returns the trace of the tasks. It fails if no event is left and tasks have not ended.
func (j *job) result(s *Stats, over bool) (*engine.Trace, error) {
	if j.ended < len(j.g.Tasks) && over {
		return nil, j.stalled(s.End)
	}
	j.trace.Events = s.Hops
	if j.contest != nil {
		j.trace.Cause = j.contest.Causes()
	}
	return &j.trace, nil
}

// stalled names tasks that have begun and cannot end, or that wait for the contention.
func (j *job) stalled(at engine.Time) error {
	const most = 3
	var names []string
	lost, behind := 0, 0
	for i := range j.g.Tasks {
		switch {
		case j.contest != nil && j.competes[i]:
			if lost++; lost <= most {
				names = append(names, fmt.Sprintf("%s waits for %s", j.g.Name(int32(i)), j.contest.WaitReason(int32(i))))
			}
		case j.trace.Start[i] == engine.Never:
			behind++
		case j.trace.End[i] == engine.Never:
			if lost++; lost <= most {
				names = append(names, fmt.Sprintf("%s lost %d B", j.g.Name(int32(i)), j.transfers[i].left))
			}
		}
	}
	more := ""
	if lost > most {
		more = fmt.Sprintf(" and %d more", lost-most)
	}
	return fmt.Errorf("%w at %v: %s%s; %d tasks wait behind them", ErrStalled, at, strings.Join(names, ", "), more, behind)
}
