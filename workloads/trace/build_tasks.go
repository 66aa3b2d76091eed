package trace

import (
	"cmp"
	"slices"

	"sim/engine"
)

// orderedTask is an operation or message with its position in the order of tasks.
type orderedTask struct {
	// order is the tag of a message, or the number of an operation. An operation without
	// a number follows the previous message of its rank.
	order   uint32
	opRef         // the operation
	message int32 // index in sends; -1 if it is not a message
}

// addTasks adds the tasks of all operations. Expanded calls add their own.
//
// The order of tasks determines the order of packets that are ready at the same time.
// Operations with numbers are in that order. Otherwise transfers are ordered by tag, and
// the operations between messages follow the previous message, by rank. The writers of
// this package number operations such that a written file reproduces the original order.
func (t *graphBuilder) addTasks() error {
	sends, recvs, open, err := t.match()
	if err != nil {
		return err
	}
	var all []orderedTask

	// Receives that the simulation matches.
	for _, r := range open {
		// The task of such a receive ends when the simulation matches it.
		id := t.addTask(engine.Task{}, r)
		t.setTasks(r, id, id)
		o := t.op(r)
		t.requests = append(t.requests, opValue[engine.Request]{opRef: r, value: engine.Request{
			Box: r.rank, Task: id, Source: r.rank + o.Peer, Tag: o.Tag,
			AnySource: o.Peer == AnySource, AnyTag: o.Tag == AnyTag,
		}})
	}

	// Collect messages and other operations and sort them.
	for i, s := range sends {
		all = append(all, orderedTask{order: s.tag &^ completionTag, opRef: s.opRef, message: int32(i)})
	}
	for rank, ops := range t.Ops {
		// before is the number after the previous message of the rank.
		before := uint32(0)
		for i := range ops {
			switch o := &ops[i]; o.Kind {
			case Join, Compute, Call:
				all = append(all, orderedTask{
					order: cmp.Or(o.Tag, before), opRef: opRef{int32(rank), int32(i)}, message: -1,
				})
			default:
				if o.Tag < completionTag {
					before = o.Tag + 1
				}
			}
		}
	}

	// At equal positions, operations precede messages: the sign bit of message yields -1 for
	// operations and 0 for messages.
	slices.SortStableFunc(all, func(a, b orderedTask) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.message>>31, b.message>>31))
	})

	// Add their tasks.
	for _, p := range all {
		if p.message >= 0 {
			t.addMessage(sends[p.message], recvs[p.message])
			continue
		}
		o := t.op(p.opRef)
		k := engine.Task{} // for a call: the task that waits for its predecessors
		if o.Kind != Call {
			k.Duration = o.Duration
		}
		id := t.addTask(k, p.opRef)
		t.setTasks(p.opRef, id, id)
		if o.Kind != Call { // addCalls holds the servers of calls
			t.holdServer(p.opRef, id, id)
		}
	}

	return nil
}

// relay lets send s end with its predecessor and returns its value of done: -1-k, where
// relays[k] is s.
func (t *graphBuilder) relay(s opRef) int32 {
	k := int32(len(t.relays))
	t.relays = append(t.relays, s)
	return -1 - k
}

// addMessage adds the tasks of message m and its receive r. r has rank -1 if the
// simulation matches it.
//
// The main task is the transfer, or a task of no duration if no data moves. Further tasks
// of no duration are added if necessary:
//
//   - before the transfer, if the operation occupies a server, or if a message that is not eager is
//     matched by the simulation: begin waits for the predecessors of the send;
//   - for a buffered eager send with several predecessors: the send ends with this task;
//   - for an eager message whose receive has predecessors: the receive ends with this task.
func (t *graphBuilder) addMessage(m message, r opRef) {
	s := m.opRef
	o, isOpen := t.op(s), r.rank < 0
	recvWaits := !isOpen && len(t.op(r).After) > 0
	server := t.server(s)

	// A message that only reports the end of an operation needs no task.
	if o.Bytes == 0 && len(o.After) == 1 && !recvWaits && !isOpen && server < 0 {
		relayed := t.relay(s)
		t.setTasks(s, relayed, -1)
		t.setTasks(r, relayed, -1)
		return
	}

	// The transfer, or a task of no duration if no data moves.
	eager := o.Bytes <= t.EagerBytes

	// Task before the transfer that waits for the predecessors of the send.
	begin := int32(-1)
	if server >= 0 || isOpen && !eager {
		begin = t.addTask(engine.Task{}, s)
	}

	task := engine.Task{Kind: engine.Transfer, Src: t.node(m.src), Dst: t.node(m.dst), Flows: 1,
		Bytes: o.Bytes}
	if m.src == m.dst || o.Bytes == 0 {
		task = engine.Task{}
	}
	id := t.addTask(task, s)
	if o.SendOrder > 0 {
		t.out.SendOrder = append(t.out.SendOrder, make([]int32, int(id)+1-len(t.out.SendOrder))...)
		t.out.SendOrder[id] = o.SendOrder
	}

	// When the send ends for its rank.
	done, wait := id, id
	if begin >= 0 {
		t.out.Graph.AddDependency(begin, id)
		wait = begin
	}

	if server >= 0 {
		t.holdServer(s, begin, t.addMilestone(s, id))
	}

	// A buffered eager send ends for its rank when it starts.
	if t.Buffered && eager && o.Bytes > 0 {
		switch len(o.After) {
		case 0:
			done = atStart
		case 1:
			done = t.relay(s)
		default:
			ready := t.addTask(engine.Task{}, s)
			t.out.Graph.AddDependency(ready, wait)
			done, wait = ready, ready
		}
	}

	// When the receive ends.
	t.setTasks(s, done, wait)
	switch {
	case isOpen:
		// The offer exists from the start of the message until its data is received.
		first := begin
		until := t.addMilestone(s, id)
		if eager {
			first = until
		}
		offer := engine.Offer{Box: m.dst, Task: first, Until: until, Source: m.src, Tag: m.tag}
		t.offers = append(t.offers, opValue[engine.Offer]{opRef: s, value: offer})

	case eager && recvWaits:
		got := t.addMilestone(r, id)
		t.setTasks(r, got, got)
	default:
		t.setTasks(r, id, id)
	}
}
