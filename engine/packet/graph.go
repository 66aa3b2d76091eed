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
func RunGraph(g *engine.Graph, n *engine.Network, flows []engine.Flow, paths *engine.Paths, packetBytes int32, o Options) (*engine.Trace, *Stats, error) {
	return simulate(n, &Work{Flows: flows, Paths: paths}, g, packetBytes, o)
}

// withStarts returns work and options by task of a graph without starts as those of the graph with starts, which send
// nothing.
func withStarts(s *engine.Starts, w *Work, o Options) (*Work, Options) {
	numStarts := len(s.Graph.Tasks) - s.Tasks
	extend := func(k *engine.Paths) *engine.Paths {
		extended := *k
		extended.Class = append(slices.Clone(k.Class), make([]int32, numStarts)...)
		return &extended
	}
	o.Rewire = slices.Clone(o.Rewire)
	for i := range o.Rewire {
		o.Rewire[i].Paths = extend(o.Rewire[i].Paths)
	}
	if o.TaskRank != nil {
		o.TaskRank = append(slices.Clone(o.TaskRank), make([]int32, numStarts)...)
	}
	return &Work{Flows: append(slices.Clone(w.Flows), make([]engine.Flow, numStarts)...), Paths: extend(w.Paths)}, o
}

// workByTask returns work whose flow i is task i, and options for it.
func workByTask(g *engine.Graph, w *Work, o Options) (*Work, Options, error) {
	sameFlows := len(w.Flows) == len(g.Tasks)
	firstFlow := make(map[engine.Flow]int32, len(w.Flows))
	for f := len(w.Flows) - 1; f >= 0; f-- {
		firstFlow[w.Flows[f]] = int32(f)
	}
	flows, flowOfTask := make([]engine.Flow, len(g.Tasks)), make([]int32, len(g.Tasks))
	for i, t := range g.Tasks {
		if t.Kind != engine.Transfer {
			continue
		}
		flows[i] = engine.Flow{Src: t.Src, Dst: t.Dst}
		f, ok := firstFlow[flows[i]]
		if flowOfTask[i] = f; !ok {
			return nil, o, fmt.Errorf("%w: no path leads %s from node %d to %d", ErrWork, g.Name(int32(i)), t.Src, t.Dst)
		}
		sameFlows = sameFlows && w.Flows[i] == flows[i]
	}
	remap := func(k *engine.Paths) *engine.Paths {
		remapped := *k
		remapped.Class = make([]int32, len(flowOfTask))
		for i, f := range flowOfTask {
			if sameFlows {
				f = int32(i)
			}
			if g.Tasks[i].Kind == engine.Transfer {
				remapped.Class[i] = k.ClassOf(f)
			}
		}
		return &remapped
	}
	rewire := o.Rewire
	o.Rewire = nil
	for _, r := range rewire {
		r.Paths = remap(r.Paths)
		o.Rewire = append(o.Rewire, r)
	}
	return &Work{Flows: flows, Paths: remap(w.Paths)}, o, nil
}

// taskState is a task graph being simulated.
type taskState struct {
	graph         *engine.Graph
	pendingInputs []int32 // tasks that it waits for
	readyTime     []engine.Time
	transfers     []transfer // indexed by task
	numEnded      int
	trace         engine.Trace

	contest          *engine.Contest // nil if the graph has no contention
	competing        []bool          // by task: it is ready and waits for the contention
	resolveScheduled bool            // the event of resolve is in the calendar
	becameReady      bool            // since it was put there a task has become ready at the same time
}

// transfer is the packets of a task.
type transfer struct {
	packetTrain
	numSent        int64 // packets injected
	remainingBytes int64 // bytes to arrive
}

// sentBytes returns the bytes of the packets that were injected.
func (t *transfer) sentBytes() int64 {
	if t.numSent == t.count {
		return (t.count-1)*int64(t.bytes) + int64(t.lastBytes)
	}
	return t.numSent * int64(t.bytes)
}

func newTaskState(g *engine.Graph, packetBytes int32) *taskState {
	n := len(g.Tasks)
	j := &taskState{
		graph: g, pendingInputs: make([]int32, n), readyTime: make([]engine.Time, n), transfers: make([]transfer, n),
		trace:   engine.Trace{Start: make([]engine.Time, n), End: make([]engine.Time, n)},
		contest: g.NewContest(),
	}
	if j.contest != nil {
		j.competing = make([]bool, n)
	}
	for i, t := range g.Tasks {
		j.pendingInputs[i] = int32(len(g.In(int32(i))))
		j.trace.Start[i], j.trace.End[i] = engine.Never, engine.Never
		if t.Kind == engine.Transfer && t.Bytes > 0 {
			count := (t.Bytes-1)/int64(packetBytes) + 1
			j.transfers[i] = transfer{packetTrain: packetTrain{count, packetBytes, int32(t.Bytes - (count-1)*int64(packetBytes))}, remainingBytes: t.Bytes}
		}
	}
	return j
}

// taskID returns the id of a task in the calendar.
func (z *sim) taskID(task int32) int32 { return z.senderBase + int32(len(z.injectors)) + task }

// runTask starts a task, sends its next packet, or ends it. The task behind all others resolves the contention.
func (z *sim) runTask(i int32, now engine.Time) {
	j := z.tasks
	if int(i) == len(j.graph.Tasks) {
		z.resolveContention(now)
		return
	}
	isStart := j.trace.Start[i] == engine.Never
	if isStart && j.contest != nil && j.contest.Decides(i) {
		j.competing[i] = true
		j.contest.Arrive(i)
		z.scheduleResolve(now)
		return
	}
	if isStart {
		j.trace.Start[i] = now
	}
	switch t := &j.graph.Tasks[i]; {
	case t.Kind == engine.Transfer && t.Bytes > 0:
		z.injectNext(int32(len(z.injectors))+i, now)
	case isStart && t.Kind == engine.Compute && t.Duration > 0:
		z.calendar.schedule(z.taskID(i), now+t.Duration)
	default:
		z.endTask(i, now)
	}
}

// receiveForTask tells a transfer that a packet has arrived.
func (z *sim) receiveForTask(r *record, now engine.Time) {
	j := z.tasks
	t := &j.transfers[r.flow]
	if t.remainingBytes -= int64(r.bytes); t.remainingBytes == 0 {
		z.endTask(r.flow, now)
	}
}

// endTask ends a task and readies those that wait for it.
func (z *sim) endTask(i int32, now engine.Time) {
	j := z.tasks
	j.numEnded++
	j.trace.End[i] = now
	j.trace.Makespan = max(j.trace.Makespan, now)
	if z.options.React != nil {
		z.reaction.ended, z.reaction.endTime = append(z.reaction.ended, i), now
	}
	for _, e := range j.graph.Out(i) {
		j.readyTime[e.To] = max(j.readyTime[e.To], now+e.Lag)
		if j.pendingInputs[e.To]--; j.pendingInputs[e.To] == 0 {
			z.calendar.schedule(z.taskID(e.To), j.readyTime[e.To])
			j.becameReady = j.becameReady || j.readyTime[e.To] <= now
		}
	}
	if j.contest != nil && j.contest.Involves(i) {
		j.contest.Ended(i, func(request int32) {
			j.trace.Start[request], j.competing[request] = now, false
			z.endTask(request, now)
		})
		z.scheduleResolve(now)
	}
}

// scheduleResolve has the contention resolved after the events that the calendar has of this time.
func (z *sim) scheduleResolve(now engine.Time) {
	if j := z.tasks; !j.resolveScheduled && j.contest.Pending() {
		j.resolveScheduled, j.becameReady = true, false
		z.calendar.schedule(z.taskID(int32(len(j.graph.Tasks))), now)
	}
}

// resolveContention starts what the contention grants now, once nothing else happens at this time.
func (z *sim) resolveContention(now engine.Time) {
	j := z.tasks
	if j.resolveScheduled = false; j.becameReady {
		z.scheduleResolve(now)
		return
	}
	for _, i := range j.contest.Resolve() {
		j.trace.Start[i], j.competing[i] = now, false
		z.calendar.schedule(z.taskID(i), now+j.graph.Tasks[i].Duration)
	}
}

// result returns the trace of the tasks. It fails if no event is left and tasks have not ended.
func (j *taskState) result(s *Stats, isOver bool) (*engine.Trace, error) {
	if j.numEnded < len(j.graph.Tasks) && isOver {
		return nil, j.stalledError(s.End)
	}
	j.trace.Events = s.Hops
	if j.contest != nil {
		j.trace.Cause = j.contest.Causes()
	}
	return &j.trace, nil
}

// stalledError names tasks that have begun and cannot end, or that wait for the contention.
func (j *taskState) stalledError(now engine.Time) error {
	const maxNames = 3
	var names []string
	numStalled, numBehind := 0, 0
	for i := range j.graph.Tasks {
		switch {
		case j.contest != nil && j.competing[i]:
			if numStalled++; numStalled <= maxNames {
				names = append(names, fmt.Sprintf("%s waits for %s", j.graph.Name(int32(i)), j.contest.Waits(int32(i))))
			}
		case j.trace.Start[i] == engine.Never:
			numBehind++
		case j.trace.End[i] == engine.Never:
			if numStalled++; numStalled <= maxNames {
				names = append(names, fmt.Sprintf("%s lost %d B", j.graph.Name(int32(i)), j.transfers[i].remainingBytes))
			}
		}
	}
	suffix := ""
	if numStalled > maxNames {
		suffix = fmt.Sprintf(" and %d more", numStalled-maxNames)
	}
	return fmt.Errorf("%w at %v: %s%s; %d tasks wait behind them", ErrStalled, now, strings.Join(names, ", "), suffix, numBehind)
}
