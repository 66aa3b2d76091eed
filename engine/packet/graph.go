package packet

// This file simulates task graphs with packets. Each transfer is a sender, like a source
// (source.go), and the event loop (sim.runEvents) calls it through runSender.

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sim/engine"
)

// ErrStalled is wrapped by the error of RunGraph if tasks can never end because packets
// were dropped.
var ErrStalled = errors.New("packet: nothing can proceed")

// RunGraph simulates the task graph g on n until all tasks have ended. g must be frozen.
//
// A transfer is a train of packets of packetBytes; the last one may be smaller. It keeps
// one packet queued at its source, like a Greedy source, so transfers with the same first
// link take turns. Task.Flows has no effect. A transfer ends when its last packet has
// arrived. Transfers without bytes end immediately.
//
// If flows has one entry per task, and each transfer has the source and destination of
// its entry, transfer i takes the paths of flow i. Entries of compute tasks are ignored.
// Otherwise a transfer takes the paths of the first flow with the same source and
// destination. flow.Run simulates the same graph at the flow level.
//
// The trace has no rates, and its Events counts hops of packets. Options.Until truncates
// the trace: later starts and ends are engine.Never, and the makespan covers only the
// tasks that ended. RunGraph fails like Run, if a transfer has no paths, and with
// ErrStalled, naming tasks, if packets are lost.
func RunGraph(g *engine.Graph, n *engine.Network, flows []engine.Flow, paths *engine.Paths, packetBytes int32, o Options) (*engine.Trace, *Stats, error) {
	return simulate(n, &Work{Flows: flows, Paths: paths}, g, packetBytes, o)
}

// withStarts extends work and options, indexed by task, to a graph to which
// engine.Graph.WithStarts has added tasks. The added tasks send nothing.
func withStarts(s *engine.MessageStarts, w *Work, o Options) (*Work, Options) {
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

// workByTask returns work in which flow i belongs to task i, with matching options.
func workByTask(g *engine.Graph, w *Work, o Options) (*Work, Options, error) {
	sameFlows := len(w.Flows) == len(g.Tasks) // flow i already belongs to task i
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
			return nil, o, fmt.Errorf("%w: %s has no path from node %d to %d", ErrWork, g.Name(int32(i)), t.Src, t.Dst)
		}
		sameFlows = sameFlows && w.Flows[i] == flows[i]
	}

	// Paths have a class per flow; remap gives each task the class of its flow.
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

// taskState is the state of a task graph during a run. A task is a sender of the event
// loop (sim): its events are its start, the injections of its packets, and its end.
//
// If compute tasks compete for servers or messages, engine.ContentionState decides which
// of the ready tasks start. Its decision is one more event, which follows the other events
// of the same time and has the id of task number len(Tasks).
type taskState struct {
	graph         *engine.Graph
	pendingInputs []int32       // indexed by task: predecessors that have not ended
	readyTime     []engine.Time // indexed by task: earliest start allowed by the predecessors that have ended
	transfers     []transfer    // indexed by task
	numEnded      int
	trace         engine.Trace

	contest          *engine.ContentionState // nil if the graph has no contention
	competing        []bool                  // indexed by task: it is ready and waits for the contention
	resolveScheduled bool                    // the event of resolveContention is in the calendar
	becameReady      bool                    // a task has become ready for the current time since that event was scheduled
}

// transfer is the packets of a task.
type transfer struct {
	packetTrain          // numbers and sizes of its packets
	numSent        int64 // packets injected
	remainingBytes int64 // bytes that have not arrived
}

// sentBytes returns the bytes of the injected packets.
func (t *transfer) sentBytes() int64 {
	if t.numSent == t.count {
		return (t.count-1)*int64(t.bytes) + int64(t.lastBytes)
	}
	return t.numSent * int64(t.bytes)
}

// newTaskState returns the state of graph g before its start.
func newTaskState(g *engine.Graph, packetBytes int32) *taskState {
	n := len(g.Tasks)
	j := &taskState{
		graph: g, pendingInputs: make([]int32, n), readyTime: make([]engine.Time, n), transfers: make([]transfer, n),
		trace:   engine.Trace{Start: make([]engine.Time, n), End: make([]engine.Time, n)},
		contest: g.NewContentionState(),
	}
	if j.contest != nil {
		j.competing = make([]bool, n)
	}

	for i, t := range g.Tasks {
		j.pendingInputs[i] = int32(len(g.In(int32(i))))
		j.trace.Start[i], j.trace.End[i] = engine.Never, engine.Never
		if t.Kind == engine.Transfer && t.Bytes > 0 {
			count := (t.Bytes-1)/int64(packetBytes) + 1
			lastBytes := int32(t.Bytes - (count-1)*int64(packetBytes))
			train := packetTrain{count: count, bytes: packetBytes, lastBytes: lastBytes}
			j.transfers[i] = transfer{packetTrain: train, remainingBytes: t.Bytes}
		}
	}
	return j
}

// taskID returns the event id of a task.
func (z *sim) taskID(task int32) int32 { return z.senderBase + int32(len(z.injectors)) + task }

// runTask simulates an event of a task: it starts the task, injects its next packet, or
// ends it. The number after the last task is the event of resolveContention.
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
	case t.Kind == engine.Transfer && t.Bytes > 0 && z.transport != nil:
		z.transport.start(i, now)
	case t.Kind == engine.Transfer && t.Bytes > 0:
		sender := int32(len(z.injectors)) + i // the injectors of sources have the lower numbers
		z.injectNext(sender, now)
	case isStart && t.Kind == engine.Compute && t.Duration > 0:
		z.calendar.schedule(z.taskID(i), now+t.Duration)
	default:
		z.endTask(i, now)
	}
}

// receiveForTask counts a packet that has arrived and ends its transfer if it was the
// last one.
func (z *sim) receiveForTask(r *record, now engine.Time) {
	j := z.tasks
	t := &j.transfers[r.flow]
	if t.remainingBytes -= int64(r.bytes); t.remainingBytes == 0 {
		z.endTask(r.flow, now)
	}
}

// endTask ends a task and schedules the tasks that become ready.
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

// scheduleResolve schedules resolveContention after the events of the current time that
// are in the calendar, if tasks are competing.
func (z *sim) scheduleResolve(now engine.Time) {
	if j := z.tasks; !j.resolveScheduled && j.contest.Pending() {
		j.resolveScheduled, j.becameReady = true, false
		z.calendar.schedule(z.taskID(int32(len(j.graph.Tasks))), now)
	}
}

// resolveContention starts the tasks that win the contention. It postpones itself if more
// tasks have become ready at the current time.
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

// result returns the trace of the tasks. isOver means that no event is left; result then
// fails if tasks have not ended.
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

// stalledError names up to three tasks that have started and cannot end, or that wait for
// the contention.
func (j *taskState) stalledError(now engine.Time) error {
	const maxNames = 3
	var names []string
	numStalled, numBehind := 0, 0
	for i := range j.graph.Tasks {
		switch {
		case j.contest != nil && j.competing[i]:
			if numStalled++; numStalled <= maxNames {
				names = append(names, fmt.Sprintf("%s waits for %s", j.graph.Name(int32(i)), j.contest.WaitReason(int32(i))))
			}
		case j.trace.Start[i] == engine.Never:
			numBehind++
		case j.trace.End[i] == engine.Never:
			if numStalled++; numStalled <= maxNames {
				names = append(names, fmt.Sprintf("%s lost %d B", j.graph.Name(int32(i)), j.transfers[i].remainingBytes))
			}
		}
	}

	// numBehind tasks have not become ready.
	suffix := ""
	if numStalled > maxNames {
		suffix = fmt.Sprintf(" and %d more", numStalled-maxNames)
	}
	return fmt.Errorf("%w at %v: %s%s; %d tasks wait behind them", ErrStalled, now, strings.Join(names, ", "), suffix, numBehind)
}
