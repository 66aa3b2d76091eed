package simulate

import (
	"cmp"
	"fmt"
	"slices"

	"sim/engine"
	"sim/policies/reconfigure/plan"
)

// unpacker goes through the transmissions of a plan phase by phase.
type unpacker struct {
	p     *plan.Plan
	first []int32 // by flow: the number of its first chunk
	at    []int32 // by chunk: its GPU
	next  int     // transmission
	seen  []int32 // by chunk: its place in the current phase, if that place is its own
}

// stage is a phase: its transmissions, the link of each, and the ports of its topology.
type stage struct {
	tx     []plan.Tx
	slots  int32
	number []int32 // of the chunk, by transmission
	link   []int32 // by transmission
	degree int
	ports  []int32 // by GPU and port: the link
	port   []engine.Step
}

func newUnpacker(p *plan.Plan) (*unpacker, error) {
	first, err := p.ChunkNumbers()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSimulate, err)
	}
	total := first[len(first)-1]
	u := &unpacker{p: p, first: first, at: make([]int32, total), seen: make([]int32, total)}
	for f := range p.Chunks {
		for c := first[f]; c < first[f+1]; c++ {
			u.at[c] = int32(f / p.GPUs)
		}
	}
	return u, nil
}

// stage returns phase i. It fails where a transmission is out of order, has no link, or its chunk is elsewhere; that
// links carry one chunk a slot is left to the simulate.
func (u *unpacker) stage(i int) (*stage, error) {
	p, t := u.p, u.p.Topologies[i]
	n := p.GPUs
	s := &stage{slots: p.Slots[i], port: make([]engine.Step, len(t))}
	out := make([]int, n)
	for e, edge := range t {
		if edge.From < 0 || int(edge.From) >= n || edge.To < 0 || int(edge.To) >= n {
			return nil, fmt.Errorf("%w: topology %d: edge %d->%d leaves GPUs 0..%d", ErrSimulate, i, edge.From, edge.To, n-1)
		}
		s.port[e] = engine.MakeStep(out[edge.From], 0)
		out[edge.From]++
	}
	s.degree = max(1, slices.Max(out))
	s.ports = make([]int32, n*s.degree)
	for j := range s.ports {
		s.ports[j] = -1
	}
	for e, edge := range t {
		s.ports[int(edge.From)*s.degree+s.port[e].Port()] = int32(e)
	}
	last := make([]int32, len(t)) // slot+1 in which a link was last used
	begin := u.next
	for ; u.next < len(p.Tx) && int(p.Tx[u.next].Phase) == i; u.next++ {
		x := p.Tx[u.next]
		bad := func(format string, args ...any) error {
			return fmt.Errorf("%w: %v: %s", ErrSimulate, x, fmt.Sprintf(format, args...))
		}
		switch {
		case x.Slot < 0 || x.Slot >= p.Slots[i] || u.next > begin && x.Slot < p.Tx[u.next-1].Slot:
			return nil, bad("no such slot, or out of order")
		case min(x.From, x.To, x.Src, x.Dst) < 0 || int(max(x.From, x.To, x.Src, x.Dst)) >= n:
			return nil, bad("a GPU outside 0..%d", n-1)
		case x.Chunk < 0 || x.Chunk >= p.Chunks[int(x.Src)*n+int(x.Dst)]:
			return nil, bad("no such chunk")
		}
		c := u.first[int(x.Src)*n+int(x.Dst)] + x.Chunk
		if u.at[c] != x.From {
			return nil, bad("the chunk is at GPU %d", u.at[c])
		}
		link := int32(-1) // the first that is free in the slot, or the first
		for _, e := range s.ports[int(x.From)*s.degree : int(x.From+1)*s.degree] {
			if e >= 0 && t[e].To == x.To && (link < 0 || last[link] == x.Slot+1) {
				if link < 0 || last[e] <= x.Slot {
					link = e
				}
			}
		}
		if link < 0 {
			return nil, bad("there is no such link")
		}
		last[link] = x.Slot + 1
		u.at[c] = x.To
		s.link, s.number = append(s.link, link), append(s.number, c)
	}
	s.tx = p.Tx[begin:u.next]
	return s, nil
}

// done fails where transmissions are left over or a chunk is not at its destination.
func (u *unpacker) done() error {
	if u.next < len(u.p.Tx) {
		return fmt.Errorf("%w: %v: no such phase, or out of order", ErrSimulate, u.p.Tx[u.next])
	}
	for f := range u.p.Chunks {
		for c := u.first[f]; c < u.first[f+1]; c++ {
			if int(u.at[c]) != f%u.p.GPUs {
				return fmt.Errorf("%w: chunk %d of %d->%d ends at GPU %d", ErrSimulate, c-u.first[f], f/u.p.GPUs, f%u.p.GPUs, u.at[c])
			}
		}
	}
	return nil
}

// leg is the way of a chunk in a phase: links path[from:to] of legs.
type leg struct {
	tx       int32 // its first transmission
	from, to int32
}

// legs gathers the ways of the chunks of a phase, in the order of their first transmission.
func (u *unpacker) legs(s *stage) (list []leg, path []int32) {
	for i := range s.tx {
		c := s.number[i]
		if k := u.seen[c]; int(k) >= len(list) || s.number[list[k].tx] != c {
			u.seen[c] = int32(len(list))
			list = append(list, leg{tx: int32(i)})
		}
		list[u.seen[c]].to++
	}
	at := int32(0)
	for k := range list {
		list[k].from, at = at, at+list[k].to
		list[k].to = list[k].from
	}
	path = make([]int32, at)
	for i, link := range s.link {
		l := &list[u.seen[s.number[i]]]
		path[l.to] = link
		l.to++
	}
	return list, path
}

// walks are paths over the links of the stage, none as yet.
func (s *stage) walks() *engine.Paths { return &engine.Paths{Degree: s.degree, Link: s.ports} }

// byChunk orders legs by the number of their chunk in its flow, then as they were.
func byChunk(s *stage, list []leg) {
	slices.SortStableFunc(list, func(a, b leg) int { return cmp.Compare(s.tx[a.tx].Chunk, s.tx[b.tx].Chunk) })
}
