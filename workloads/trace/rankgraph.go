package trace

import (
	"fmt"
	"slices"

	"sim/engine"
)

// RankGraph is a task graph whose tasks are of ranks: what the writers write.
type RankGraph struct {
	Graph *engine.Graph
	Ranks int
	// Rank is by task that of a compute; -1 is one near the ranks that it waits for and that wait for it.
	Rank []int32
	// Messages are those that a transfer stands for, by source and destination, of equal bytes or one more; nil is one
	// between ranks of its nodes' numbers. Of none, and of those of no bytes, none takes time.
	Messages func(task int32) [][2]int32
	// SendOrder is by task the order in which links send packets that wait, the lowest first; nil is as they come.
	SendOrder []int32
}

// MaxWritten bounds the operations of a file that is written: as many as some gigabytes of memory.
const MaxWritten = 1 << 24

// UnwritableError is the error of work that a format does not have, or that is too large: what is wrong; want what would be
// right.
type UnwritableError string

func (r UnwritableError) Error() string { return string(r) }

// unwritable words one.
func unwritable(format string, args ...any) error {
	return UnwritableError(fmt.Sprintf(format, args...))
}

// errTooMany refuses more operations.
var errTooMany = unwritable("it is more than %d operations; want a smaller job", MaxWritten)

// errHasContention refuses work whose order is decided in the simulation.
var errHasContention = unwritable("receives of any source, or computes that overlap on one stream, are ordered while they are simulated, and files that are written say no such order; want a trace without these")

// Locate sets the ranks of the compute tasks that run on one node (engine.ComputeAt). The function
// rank returns the rank on a node.
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

// messages returns those of a transfer.
func (w *RankGraph) messages(task int32) [][2]int32 {
	if w.Messages != nil {
		return w.Messages(task)
	}
	t := &w.Graph.Tasks[task]
	return [][2]int32{{t.Src, t.Dst}}
}

// Job makes the work operations of ranks, which Build makes the same work again: of a compute one of its rank, of a
// transfer a send and a receive. What waits for a task on another rank waits for a message of no bytes from there,
// whose tag has its highest bit set; of others that is clear. It fails (Refused) if there are too many operations, or if
// the graph has a contention.
func (w *RankGraph) Job() (*Job, error) { return w.job(&Job{EagerBytes: MaxMessageBytes}) }

// GOALJob is Job for a format in which small messages are done for their sender when they start: what waits for their
// arrival on the sender's rank waits for word from the receiver.
func (w *RankGraph) GOALJob() (*Job, error) {
	return w.job(&Job{EagerBytes: goalEagerBytes, Buffered: true})
}

// job adds the operations to j, whose rules for messages are set.
func (w *RankGraph) job(j *Job) (*Job, error) {
	g := w.Graph
	if !g.Contention.IsEmpty() {
		return nil, errHasContention
	}
	j.Ranks, j.Ops = w.Ranks, make([][]Op, w.Ranks)
	v := &jobBuilder{RankGraph: w, Job: j, homes: w.homes(), doneOp: map[[2]int32]int32{}, arrivalOp: map[[2]int32]int32{}, tags: make([]uint32, len(g.Tasks)), nextTag: 1}
	for id := range g.Tasks { // tasks are in this order again when they are read
		if v.tags[id], v.nextTag = v.nextTag, v.nextTag+1; g.Tasks[id].Kind == engine.Transfer {
			v.nextTag += uint32(len(v.messages(int32(id))))
		}
	}
	for _, id := range g.Order() {
		t := &g.Tasks[id]
		if messages := v.messages(id); t.Kind == engine.Transfer && len(messages) > 0 {
			v.addTransfer(id, messages)
		} else {
			o := Op{Name: g.Name(id), Duration: t.Duration, Tag: v.tags[id], After: v.predecessors(id, v.homes[id])}
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

// jobBuilder is a job under way.
type jobBuilder struct {
	*RankGraph
	*Job
	homes  []int32            // by task the rank where all of it is known to be done
	doneOp map[[2]int32]int32 // by task and rank the operation with which it is known there
	// arrivalOp is by transfer and its sender the operation with which its arrival is known there.
	arrivalOp map[[2]int32]int32
	ops       int
	tags      []uint32 // by task its number: that of the first message of a transfer
	nextTag   uint32   // numbers that are taken
}

func (v *jobBuilder) add(rank int32, o Op) int32 {
	slices.Sort(o.After)
	o.After = slices.Compact(o.After)
	v.ops++
	v.Ops[rank] = append(v.Ops[rank], o)
	return int32(len(v.Ops[rank]) - 1)
}

// addMessage sends some bytes after operations of the source, and returns the operations at both ends.
func (v *jobBuilder) addMessage(name string, src, dst int32, bytes int64, tag uint32, turn int32, after []int32) (sent, got int32) {
	if bytes == 0 {
		tag |= completionTag
	}
	sent = v.add(src, Op{Name: name, Kind: Send, Bytes: bytes, Peer: dst - src, Tag: tag, SendOrder: turn, After: after})
	got = v.add(dst, Op{Name: name, Kind: Recv, Bytes: bytes, Peer: src - dst, Tag: tag})
	return sent, got
}

// notify sends word from a rank to another that an operation is done, and returns the operation at the other end.
func (v *jobBuilder) notify(name string, src, dst, op int32) int32 {
	_, got := v.addMessage(name+" is done", src, dst, 0, v.nextTag, 0, []int32{op})
	v.nextTag++
	return got
}

// completionTag is the bit of the tags of messages that say no more than that something is done.
const completionTag = 1 << 31

// predecessors returns the operations of a rank that a task of it waits for.
func (v *jobBuilder) predecessors(id, rank int32) (all []int32) {
	for _, e := range v.Graph.In(id) {
		op := int32(0)
		if m := v.messages(e.From); v.Graph.Tasks[e.From].Kind == engine.Transfer && len(m) == 1 && m[0][0] == rank && v.Graph.NeedsArrival(e) {
			op = v.arrivedOn(e.From, m[0][1], rank)
		} else {
			op = v.doneOn(e.From, rank)
		}
		if e.Lag > 0 {
			op = v.add(rank, Op{Name: "after " + v.Graph.Name(e.From), Kind: Compute, Duration: e.Lag, After: []int32{op}})
		}
		all = append(all, op)
	}
	return all
}

// doneOn returns the operation with which a task is known to be done on a rank.
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

// arrivedOn returns the operation on the sender of a transfer with which its data is known to have
// arrived at its destination. An operation of the destination tells it, as the send itself is over
// when the last bit has left.
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

// addTransfer sends the messages of a transfer.
func (v *jobBuilder) addTransfer(id int32, messages [][2]int32) {
	name, bytes, n, turn := v.Graph.Name(id), v.Graph.Tasks[id].Bytes, int64(len(messages)), int32(0)
	if v.SendOrder != nil {
		turn = v.SendOrder[id] + 1
	}
	var all []int32
	for k, m := range messages {
		each := bytes / n
		if int64(k) < bytes%n {
			each++
		}
		sent, got := v.addMessage(name, m[0], m[1], each, v.tags[id]+uint32(k), turn, v.predecessors(id, m[0]))
		if n == 1 {
			v.doneOp[[2]int32{id, m[1]}] = got
			if !v.Buffered || each == 0 || each > v.EagerBytes {
				v.doneOp[[2]int32{id, m[0]}] = sent
			}
			return
		}
		if home := v.homes[id]; m[1] != home {
			got = v.notify(name, m[1], home, got)
		}
		all = append(all, got)
	}
	v.doneOp[[2]int32{id, v.homes[id]}] = v.add(v.homes[id], Op{Name: name, Tag: v.tags[id] + uint32(n), After: all})
}

// homes returns by task the rank where it is done: of transfers the destination, of computes that have none the rank
// that most of what they wait for and of what waits for them is of.
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
	var votes []int32
	vote := func(id int32, start bool) {
		if g.Tasks[id].Kind == engine.Transfer {
			for _, m := range w.messages(id) {
				if votes = append(votes, m[0]); !start {
					votes = append(votes, m[1])
				}
			}
		} else if homes[id] >= 0 {
			votes = append(votes, homes[id])
		}
	}
	order := slices.Clone(g.Order())
	for range 2 { // forward, and back for those before which there is nothing
		for _, id := range order {
			if homes[id] >= 0 {
				continue
			}
			votes = votes[:0]
			for _, e := range g.In(id) {
				vote(e.From, false)
			}
			for _, e := range g.Out(id) {
				vote(e.To, true)
			}
			homes[id] = mode(votes)
		}
		slices.Reverse(order)
	}
	for i := range homes {
		homes[i] = max(0, homes[i])
	}
	return homes
}

// mode returns the rank that is most often in a list, the lowest of several, and -1 of none.
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

// assignStreams deals the computes of a rank to streams on which one follows the other, as few as a first fit finds: each
// begins after the one before has ended, whatever takes how long. Others are on -1.
func assignStreams(ops []Op) (streamOf []int32, n int32) {
	streamOf = slices.Repeat([]int32{-1}, len(ops))
	ends := make([][]int32, len(ops)) // by stream the last operation that one comes after or is, and 0 of none
	var lastOp []int32                // by stream its last operation
	for i := range ops {
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
		if ops[i].Kind == Compute && ops[i].Duration > 0 {
			stream := -1
			for s := range lastOp {
				if s < len(reached) && reached[s] == lastOp[s] {
					stream = s
					break
				}
			}
			if stream < 0 {
				stream, lastOp = len(lastOp), append(lastOp, 0)
			}
			lastOp[stream], streamOf[i] = int32(i)+1, int32(stream)
			reached = append(slices.Clone(reached), make([]int32, max(0, stream+1-len(reached)))...)
			reached[stream] = lastOp[stream]
		}
		ends[i] = reached
	}
	return streamOf, int32(len(lastOp))
}
