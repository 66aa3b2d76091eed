package trace

import (
	"cmp"
	"slices"

	"sim/engine"
)

// slot is where a task comes among all.
type slot struct {
	order uint32 // its number: of a message the tag, of others that have none the next after the message before
	place
	message int32 // index of sends, -1 of none
}

// tasks makes the tasks of all operations but those that calls expand to: by their numbers, else transfers by their tags,
// and what ranks do between messages behind the one before, by rank. Where several are ready at once packets go in this
// order. Files that this package writes number tasks as those were of what is written.
func (t *building) tasks() error {
	sends, recvs, open, err := t.match()
	if err != nil {
		return err
	}
	var all []slot
	for _, r := range open {
		id := t.task(engine.Task{}, r)
		t.set(r, id, id)
		o := t.op(r)
		t.requests = append(t.requests, keyed[engine.Request]{r, engine.Request{
			Box: r.rank, Task: id, Source: r.rank + o.Peer, Tag: o.Tag, AnySource: o.Peer == Any, AnyTag: o.Tag == AnyTag,
		}})
	}
	for i, s := range sends {
		all = append(all, slot{s.tag &^ noBytes, s.place, int32(i)})
	}
	for rank, ops := range t.Ops {
		before := uint32(0)
		for i := range ops {
			switch o := &ops[i]; o.Kind {
			case Join, Compute, Call:
				all = append(all, slot{cmp.Or(o.Tag, before), place{int32(rank), int32(i)}, -1})
			default:
				if o.Tag < noBytes {
					before = o.Tag + 1
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b slot) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.message>>31, b.message>>31))
	})
	for _, p := range all {
		if p.message >= 0 {
			t.message(sends[p.message], recvs[p.message])
			continue
		}
		o, k := t.op(p.place), engine.Task{} // of a call: what its rank waits for
		if o.Kind != Call {
			k.Duration = o.Dur
		}
		id := t.task(k, p.place)
		t.set(p.place, id, id)
		if o.Kind != Call { // a call holds its servers together
			t.hold(p.place, id, id)
		}
	}
	return nil
}

// sayDone has a send done with the operation that it waits for.
func (t *building) sayDone(s place) int32 {
	t.said = append(t.said, s)
	return int32(-len(t.said))
}

// message makes a transfer of a send and its receive. A receive that is found in the simulation has the rank -1.
func (t *building) message(m message, r place) {
	s := m.place
	o, open := t.op(s), r.rank < 0
	waits, server := !open && len(t.op(r).After) > 0, t.server(s)
	if o.Bytes == 0 && len(o.After) == 1 && !waits && !open && server < 0 {
		at := t.sayDone(s)
		t.set(s, at, -1)
		t.set(r, at, -1)
		return
	}
	eager := o.Bytes <= t.Eager
	begin := int32(-1) // what comes before the transfer and waits for what the send waits for
	if server >= 0 || open && !eager {
		begin = t.task(engine.Task{}, s)
	}
	task := engine.Task{Kind: engine.Transfer, Src: t.node(m.src), Dst: t.node(m.dst), Flows: 1, Bytes: o.Bytes}
	if m.src == m.dst || o.Bytes == 0 {
		task = engine.Task{}
	}
	id := t.task(task, s)
	if o.Turn > 0 {
		t.out.Turn = append(t.out.Turn, make([]int32, int(id)+1-len(t.out.Turn))...)
		t.out.Turn[id] = o.Turn
	}
	done, wait := id, id
	if begin >= 0 {
		t.out.Graph.AddEdge(begin, id, 0)
		wait = begin
	}
	if server >= 0 {
		t.hold(s, begin, t.milestone(s, id))
	}
	if t.Buffered && eager && o.Bytes > 0 {
		switch len(o.After) {
		case 0:
			done = atStart
		case 1:
			done = t.sayDone(s)
		default:
			ready := t.task(engine.Task{}, s)
			t.out.Graph.AddEdge(ready, wait, 0)
			done, wait = ready, ready
		}
	}
	t.set(s, done, wait)
	switch {
	case open:
		first, until := begin, t.milestone(s, id)
		if eager {
			first = until
		}
		t.offers = append(t.offers, keyed[engine.Offer]{s, engine.Offer{Box: m.dst, Task: first, Until: until, Source: m.src, Tag: m.tag}})
	case eager && waits:
		got := t.milestone(r, id)
		t.set(r, got, got)
	default:
		t.set(r, id, id)
	}
}
