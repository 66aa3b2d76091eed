package trace

import (
	"cmp"
	"maps"
	"slices"
)

// This file pairs sends with receives.

// message is a send or receive with the properties that must match.
type message struct {
	src, dst int32
	tag      uint32
	opRef    // the operation
}

func (m message) compare(o message) int {
	return cmp.Or(cmp.Compare(m.src, o.src), cmp.Compare(m.dst, o.dst), cmp.Compare(m.tag, o.tag))
}

// countEqual returns the number of messages with the source, destination and tag of m.
func (m message) countEqual(all []message) (n int) {
	for _, o := range all {
		if m.compare(o) == 0 {
			n++
		}
	}
	return n
}

// wildcard is the set of messages that a wildcard Recv accepts. Properties that may be
// anything are 0. It is a map key.
type wildcard struct {
	src, dst          int32
	tag               uint32
	anySource, anyTag bool
}

// acceptors returns the wildcards that accept m.
func (m message) acceptors() []wildcard {
	return []wildcard{{dst: m.dst, tag: m.tag, anySource: true},
		{src: m.src, dst: m.dst, anyTag: true}, {dst: m.dst, anySource: true, anyTag: true}}
}

// endpoints returns the sends and receives of the job, sorted by source, destination and
// tag and otherwise in order, and the wildcard receives.
func (j *Job) endpoints() (sends, recvs []message, wild []opRef) {
	var counts [len(kindNames)]int
	for _, ops := range j.Ops {
		for i := range ops {
			counts[ops[i].Kind]++
		}
	}

	sends = make([]message, 0, counts[Send])
	recvs = make([]message, 0, counts[Recv])
	for rank, ops := range j.Ops {
		for i := range ops {
			o := &ops[i]
			p := opRef{int32(rank), int32(i)}
			other := p.rank + o.Peer
			switch {
			case o.Kind == Send:
				sends = append(sends, message{src: p.rank, dst: other, tag: o.Tag, opRef: p})
			case o.Kind == Recv && (o.Peer == AnySource || o.Tag == AnyTag):
				wild = append(wild, p)
			case o.Kind == Recv:
				recvs = append(recvs, message{src: other, dst: p.rank, tag: o.Tag, opRef: p})
			}
		}
	}

	slices.SortStableFunc(sends, message.compare)
	slices.SortStableFunc(recvs, message.compare)
	return sends, recvs, wild
}

// match returns the sends and, for each, its receive. If a wildcard Recv may take a send,
// the simulation matches it: its receive has rank -1, and the receives that may take it
// are in open.
//
// Fixed sends and receives are paired in order. match fails if the numbers of sends and
// receives cannot agree for any outcome of the wildcard receives.
func (j *Job) match() (sends []message, recvs, open []opRef, err error) {
	sends, fixedRecvs, wild := j.endpoints()
	recvs = make([]opRef, len(sends))
	accepts := map[wildcard]int{} // number of receives of each kind
	kinds := make([]wildcard, len(wild))

	// tally counts the wildcard receives of a rank, and the sends to it without a fixed
	// receive. first is the index of one of these sends, for messages, or -1.
	type tally struct{ sends, receives, first int }

	openCounts := map[int32]*tally{} // by destination
	countsOf := func(rank int32) *tally {
		if openCounts[rank] == nil {
			openCounts[rank] = &tally{first: -1}
		}
		return openCounts[rank]
	}

	// Classify the wildcard receives.
	for i, w := range wild {
		o := j.op(w)
		k := wildcard{dst: w.rank, anySource: o.Peer == AnySource, anyTag: o.Tag == AnyTag}
		if !k.anySource {
			k.src = w.rank + o.Peer
		}
		if !k.anyTag {
			k.tag = o.Tag
		}
		kinds[i] = k
		accepts[k]++
		countsOf(w.rank).receives++
	}

	// accepted reports whether some wildcard Recv may take m.
	accepted := func(m message) bool {
		return len(wild) > 0 && slices.ContainsFunc(m.acceptors(),
			func(k wildcard) bool { return accepts[k] > 0 })
	}

	// unmatched returns the error of a message without a partner.
	unmatched := func(m message, what string) error {
		return invalid("equal numbers of sends and receives",
			"%s of rank %d (operation %d, %.40q): %d messages from rank %d to rank %d of tag %d, and %d receives",
			what, m.rank, m.op, j.op(m.opRef).Name, m.countEqual(sends), m.src, m.dst, m.tag,
			m.countEqual(fixedRecvs))
	}

	// Number of sends without a fixed receive that each kind of receive accepts.
	surplus := map[wildcard]int{}

	// Merge the sorted sends and fixed receives.
	for i, k := 0, 0; i < len(sends) || k < len(fixedRecvs); {
		switch {
		case k == len(fixedRecvs) || i < len(sends) && sends[i].compare(fixedRecvs[k]) < 0:
			// A send without a fixed receive needs a wildcard receive.
			m := sends[i]
			if !accepted(m) {
				return nil, nil, nil, unmatched(m, "a send")
			}
			t := countsOf(m.dst)
			if t.first < 0 || t.sends == t.receives {
				t.first = i
			}
			t.sends++
			for _, e := range m.acceptors() {
				surplus[e]++
			}
			recvs[i].rank = -1
			i++

		case i == len(sends) || sends[i].compare(fixedRecvs[k]) > 0:
			return nil, nil, nil, unmatched(fixedRecvs[k], "a receive")
		default:
			// A pair. If a wildcard receive could take the send, the simulation decides.
			if recvs[i] = fixedRecvs[k].opRef; accepted(sends[i]) {
				recvs[i].rank = -1
				open = append(open, fixedRecvs[k].opRef)
			}
			i, k = i+1, k+1
		}
	}

	// Every wildcard receive needs a send. There must be enough sends that its kind accepts,
	// and enough sends to its rank.
	for i, w := range wild {
		if t := countsOf(w.rank); surplus[kinds[i]] < accepts[kinds[i]] || t.sends < t.receives {
			return nil, nil, nil, invalid("a send for each receive",
				"a receive of rank %d (operation %d, %.40q) of any source or tag has no send",
				w.rank, w.op, j.op(w).Name)
		}
	}

	// Every message needs a receive, too.
	for _, rank := range slices.Sorted(maps.Keys(openCounts)) {
		if t := openCounts[rank]; t.sends > t.receives {
			m := sends[t.first]
			return nil, nil, nil, invalid("equal numbers of sends and receives",
				"a send of rank %d (operation %d, %.40q): %d messages to rank %d may go to receives of any source or tag, and it has %d of these",
				m.rank, m.op, j.op(m.opRef).Name, t.sends, rank, t.receives)
		}
	}

	return sends, recvs, append(open, wild...), nil
}
