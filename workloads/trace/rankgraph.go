package trace

import (
	"fmt"
	"slices"

	"sim/engine"
)

// RankGraph is a task graph with the ranks of its tasks. It is the input of the writers.
type RankGraph struct {
	Graph *engine.Graph
	Ranks int
	// Rank is the rank of each compute, indexed by task. -1 selects a rank close to the
	// tasks before and after it.
	Rank []int32
	// Messages returns the messages that a transfer represents, as pairs of source and
	// destination rank. They have equal bytes, up to one byte. nil means one message
	// between the ranks with the numbers of its nodes. A transfer without messages or
	// bytes takes no time.
	Messages func(task int32) [][2]int32
	// SendOrder is the priority of waiting packets on a link, indexed by task; the lowest
	// value is sent first. nil means the order of arrival.
	SendOrder []int32
}

// MaxWritten bounds the operations of a written file: this many take some gigabytes of
// memory.
const MaxWritten = 1 << 24

// UnwritableError reports that a format cannot represent the work, or that the work is
// too large. Its text contains the problem and the accepted input.
type UnwritableError string

func (r UnwritableError) Error() string { return string(r) }

// unwritable returns an UnwritableError.
func unwritable(format string, args ...any) error {
	return UnwritableError(fmt.Sprintf(format, args...))
}

// errTooMany rejects too many operations.
var errTooMany = unwritable("it is more than %d operations; want a smaller job", MaxWritten)

// errHasContention rejects graphs whose order of operations is determined by the
// simulation.
var errHasContention = unwritable("receives of any source, or computes that overlap on one stream, are ordered while they are simulated, and files that are written say no such order; want a trace without these")

// Locate sets the ranks of the compute tasks that run on one node (engine.ComputeAt). The
// function rank returns the rank on a node.
func (w *RankGraph) Locate(rank func(node int32) int32) {
	if w.Rank == nil {
		w.Rank = slices.Repeat([]int32{-1}, len(w.Graph.Tasks))
	}
	for i := range w.Graph.Tasks {
		if t := &w.Graph.Tasks[i]; t.Kind == engine.Compute && t.IsLocated() {
			w.Rank[i] = rank(t.Src)
		}
	}
}

// messages returns the messages of a transfer.
func (w *RankGraph) messages(task int32) [][2]int32 {
	if w.Messages != nil {
		return w.Messages(task)
	}
	t := &w.Graph.Tasks[task]
	return [][2]int32{{t.Src, t.Dst}}
}

// Job converts the work to operations of ranks. Job.Build converts them back to the same
// work.
//
// A compute becomes an operation of its rank, a transfer a send and a receive. A task
// that waits for a task on another rank waits for a message of 0 bytes from there. The
// tags of these messages have the highest bit set (completionTag); other tags have it
// clear.
//
// Job returns an UnwritableError if there are too many operations or if the graph has a
// contention.
func (w *RankGraph) Job() (*Job, error) {
	return w.job(&Job{EagerBytes: MaxMessageBytes})
}

// GOALJob is Job for GOAL, in which small messages end for their sender when they start.
// A task of the sender's rank that waits for their arrival waits for a message from the
// receiver.
func (w *RankGraph) GOALJob() (*Job, error) {
	return w.job(&Job{EagerBytes: goalEagerBytes, Buffered: true})
}

// job adds the operations to j, whose message rules are set.
func (w *RankGraph) job(j *Job) (*Job, error) {
	g := w.Graph
	if !g.Contention.IsEmpty() {
		return nil, errHasContention
	}
	j.Ranks, j.Ops = w.Ranks, make([][]Op, w.Ranks)
	v := &jobBuilder{RankGraph: w, Job: j, homes: w.homes(), doneOp: map[[2]int32]int32{},
		arrivalOp: map[[2]int32]int32{}, tags: make([]uint32, len(g.Tasks)), nextTag: 1}

	// Number the tasks in their order, with one number per message.
	for id := range g.Tasks { // reading restores this order of tasks
		if v.tags[id], v.nextTag = v.nextTag, v.nextTag+1; g.Tasks[id].Kind == engine.Transfer {
			v.nextTag += uint32(len(v.messages(int32(id))))
		}
	}

	// Add operations in topological order.
	for _, id := range g.Order() {
		t := &g.Tasks[id]
		if messages := v.messages(id); t.Kind == engine.Transfer && len(messages) > 0 {
			v.addTransfer(id, messages)
		} else {
			o := Op{Name: g.Name(id), Duration: t.Duration, Tag: v.tags[id],
				After: v.predecessors(id, v.homes[id])}
			if o.Duration > 0 && t.Kind == engine.Compute {
				o.Kind = Compute
			}
			v.doneOp[[2]int32{id, v.homes[id]}] = v.add(v.homes[id], o)
		}

		if v.ops > MaxWritten {
			return nil, errTooMany
		}
	}

	return j, nil
}

// jobBuilder is the state of RankGraph.job.
//
// The end of a task is first known on one rank, its home: for a transfer the destination,
// for a compute its rank. If a task on another rank depends on it, a message of 0 bytes
// reports the end there (doneOn). For transfers, the end at the source is a separate
// event (arrivedOn).
type jobBuilder struct {
	*RankGraph // the tasks to convert
	*Job       // the result
	// Rank on which the end of a task is known, indexed by task.
	homes []int32
	// doneOp is the operation after which the end of a task is known on a rank, by task
	// and rank.
	doneOp map[[2]int32]int32
	// arrivalOp is the operation after which the arrival of a transfer is known to its
	// sender, by transfer and sender.
	arrivalOp map[[2]int32]int32
	ops       int
	// tags is the number of each task; of a transfer, the tag of its first message.
	tags    []uint32
	nextTag uint32 // next unused number
}

// add appends an operation of a rank and returns its index.
func (v *jobBuilder) add(rank int32, o Op) int32 {
	slices.Sort(o.After)
	o.After = slices.Compact(o.After)
	v.ops++
	v.Ops[rank] = append(v.Ops[rank], o)
	return int32(len(v.Ops[rank]) - 1)
}

// addMessage adds a message after some operations of the source and returns the
// operations at both ends.
func (v *jobBuilder) addMessage(
	name string,
	src, dst int32,
	bytes int64,
	tag uint32,
	sendOrder int32,
	after []int32,
) (sent, got int32) {
	// Messages without bytes are marked by their tag.
	if bytes == 0 {
		tag |= completionTag
	}
	sent = v.add(src, Op{Name: name, Kind: Send, Bytes: bytes, Peer: dst - src, Tag: tag,
		SendOrder: sendOrder, After: after})
	got = v.add(dst, Op{Name: name, Kind: Recv, Bytes: bytes, Peer: src - dst, Tag: tag})
	return sent, got
}

// notify sends a message that operation op of rank src has ended, and returns the
// operation that receives it on dst.
func (v *jobBuilder) notify(name string, src, dst, op int32) int32 {
	const bytes, sendOrder = 0, 0
	_, got := v.addMessage(name+" is done", src, dst, bytes, v.nextTag, sendOrder, []int32{op})
	v.nextTag++
	return got
}

// completionTag is the tag bit of messages that only report the end of an operation.
const completionTag = 1 << 31

// predecessors returns the operations of a rank for which a task on it waits.
func (v *jobBuilder) predecessors(id, rank int32) (all []int32) {
	for _, e := range v.Graph.In(id) {
		op := int32(0)

		// The end of a send at its source does not imply the arrival.
		if m := v.messages(e.From); v.Graph.Tasks[e.From].Kind == engine.Transfer && len(m) == 1 &&
			m[0][0] == rank && v.Graph.NeedsArrival(e) {
			op = v.arrivedOn(e.From, m[0][1], rank)
		} else {
			op = v.doneOn(e.From, rank)
		}

		// A lag becomes a computation.
		if e.Lag > 0 {
			op = v.add(rank, Op{Name: "after " + v.Graph.Name(e.From), Kind: Compute,
				Duration: e.Lag, After: []int32{op}})
		}
		all = append(all, op)
	}

	return all
}

// doneOn returns the operation after which the end of a task is known on a rank. If
// necessary it adds a message.
func (v *jobBuilder) doneOn(id, rank int32) int32 {
	key := [2]int32{id, rank}
	op, ok := v.doneOp[key]
	if !ok {
		home := v.homes[id]
		op = v.notify(v.Graph.Name(id), home, rank, v.doneOp[[2]int32{id, home}])
		v.doneOp[key] = op
	}
	return op
}

// arrivedOn returns the operation on the sender of a transfer after which its data is
// known to have arrived at its destination. The destination sends a message to the
// sender, because the send itself ends when the last bit has left.
func (v *jobBuilder) arrivedOn(id, dst, src int32) int32 {
	key := [2]int32{id, src}
	op, ok := v.arrivalOp[key]
	if !ok {
		got := v.add(dst, Op{Name: v.Graph.Name(id) + " has arrived", After: []int32{v.doneOn(id, dst)}})
		op = v.notify(v.Graph.Name(id), dst, src, got)
		v.arrivalOp[key] = op
	}
	return op
}

// addTransfer adds the messages of a transfer.
func (v *jobBuilder) addTransfer(id int32, messages [][2]int32) {
	name := v.Graph.Name(id)
	bytes := v.Graph.Tasks[id].Bytes
	n := int64(len(messages))
	sendOrder := int32(0) // Op.SendOrder counts from 1; 0 means unspecified
	if v.SendOrder != nil {
		sendOrder = v.SendOrder[id] + 1
	}

	var all []int32
	for k, m := range messages {
		size := bytes / n
		if int64(k) < bytes%n {
			size++
		}
		src, dst := m[0], m[1]
		sent, got := v.addMessage(name, src, dst, size, v.tags[id]+uint32(k), sendOrder,
			v.predecessors(id, src))

		// A single message is known to have arrived at its destination and, unless it is
		// buffered, at its source.
		if n == 1 {
			v.doneOp[[2]int32{id, dst}] = got
			if !v.Buffered || size == 0 || size > v.EagerBytes {
				v.doneOp[[2]int32{id, src}] = sent
			}
			return
		}

		// Report the arrival of each message to the home of the transfer.
		if home := v.homes[id]; dst != home {
			got = v.notify(name, dst, home, got)
		}
		all = append(all, got)
	}

	v.doneOp[[2]int32{id, v.homes[id]}] = v.add(v.homes[id],
		Op{Name: name, Tag: v.tags[id] + uint32(n), After: all})
}

// homes returns the rank on which each task ends, indexed by task. For a transfer it is
// the destination. For a compute without a rank, it is the most frequent rank among the
// tasks before and after it.
func (w *RankGraph) homes() []int32 {
	g := w.Graph
	homes := slices.Repeat([]int32{-1}, len(g.Tasks))
	for i := range g.Tasks {
		if g.Tasks[i].Kind != engine.Transfer {
			if w.Rank != nil {
				homes[i] = w.Rank[i]
			}
		} else if m := w.messages(int32(i)); len(m) > 0 {
			homes[i] = m[0][1]
		}
	}

	// vote adds the ranks of a neighbouring task to votes. numEnds selects the ranks of its
	// messages.
	const sources, sourcesAndDestinations = 1, 2
	var votes []int32
	vote := func(id int32, numEnds int) {
		if g.Tasks[id].Kind == engine.Transfer {
			for _, m := range w.messages(id) {
				votes = append(votes, m[:numEnds]...)
			}
		} else if homes[id] >= 0 {
			votes = append(votes, homes[id])
		}
	}

	order := slices.Clone(g.Order())

	// The second pass, in reverse order, reaches tasks without predecessors.
	for range 2 {
		for _, id := range order {
			if homes[id] >= 0 {
				continue
			}
			votes = votes[:0]
			for _, e := range g.In(id) {
				vote(e.From, sourcesAndDestinations)
			}
			for _, e := range g.Out(id) {
				vote(e.To, sources)
			}
			homes[id] = mode(votes)
		}

		slices.Reverse(order)
	}

	// Tasks without any rank go to rank 0.
	for i := range homes {
		homes[i] = max(0, homes[i])
	}
	return homes
}

// mode returns the most frequent value of a list, the lowest one if there are several,
// and -1 if the list is empty.
func mode(list []int32) int32 {
	slices.Sort(list)
	best, times := int32(-1), 0
	for i := 0; i < len(list); {
		k := i
		for k < len(list) && list[k] == list[i] {
			k++
		}
		if k-i > times {
			best, times = list[i], k-i
		}
		i = k
	}

	return best
}

// assignStreams distributes the computations of a rank to streams such that each depends
// on the previous one of its stream. Each then starts after the previous one has ended
// for any durations. The streams are found by first fit. Other operations have stream -1.
func assignStreams(ops []Op) (streamOf []int32, n int32) {
	streamOf = slices.Repeat([]int32{-1}, len(ops))

	// ends is indexed by operation and stream: 1 plus the last operation of the stream that
	// the operation follows; 0 if it follows none.
	ends := make([][]int32, len(ops))
	var lastOp []int32 // last operation of each stream, plus 1
	for i := range ops {
		// reached is the union of the streams of the predecessors.
		var reached []int32
		for k, a := range ops[i].After {
			if k == 0 {
				reached = ends[a]
				continue
			}
			joined := slices.Clone(reached)
			for s, end := range ends[a] {
				if s >= len(joined) {
					joined = append(joined, end)
				}
				joined[s] = max(joined[s], end)
			}

			reached = joined
		}

		// Use the first stream whose last operation precedes this one, or a new stream.
		if ops[i].Kind == Compute && ops[i].Duration > 0 {
			stream := -1
			for s := range lastOp {
				if s < len(reached) && reached[s] == lastOp[s] {
					stream = s
					break
				}
			}

			if stream < 0 {
				stream = len(lastOp)
				lastOp = append(lastOp, 0)
			}
			lastOp[stream], streamOf[i] = int32(i)+1, int32(stream)
			reached = append(slices.Clone(reached), make([]int32, max(0, stream+1-len(reached)))...)
			reached[stream] = lastOp[stream]
		}

		ends[i] = reached
	}

	return streamOf, int32(len(lastOp))
}
