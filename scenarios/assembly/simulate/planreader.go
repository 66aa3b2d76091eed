package simulate

import (
	"cmp"
	"fmt"
	"slices"

	"sim/engine"
	"sim/policies/reconfigure/plan"
)

// planReader goes through the transmissions of a plan phase by phase.
type planReader struct {
	plan         *plan.Plan
	firstChunk   []int32 // by flow: the number of its first chunk
	gpuOfChunk   []int32 // by chunk: its GPU
	next         int     // transmission
	indexOfChunk []int32 // by chunk: its place in the current phase, if that place is its own
}

// planPhase is a phase: its transmissions, the link of each, and the ports of its topology.
type planPhase struct {
	tx          []plan.Tx
	slots       int32
	chunkNumber []int32 // of the chunk, by transmission
	link        []int32 // by transmission
	degree      int
	linkOfPort  []int32 // by GPU and port: the link
	steps       []engine.Step
}

func newPlanReader(p *plan.Plan) (*planReader, error) {
	first, err := p.ChunkNumbers()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSimulate, err)
	}
	total := first[len(first)-1]
	u := &planReader{plan: p, firstChunk: first, gpuOfChunk: make([]int32, total),
		indexOfChunk: make([]int32, total)}
	for f := range p.Chunks {
		for c := first[f]; c < first[f+1]; c++ {
			u.gpuOfChunk[c] = int32(f / p.GPUs)
		}
	}
	return u, nil
}

// readPhase returns phase i. It fails where a transmission is out of order, has no link, or its chunk is elsewhere; that
// links carry one chunk a slot is left to the simulate.
func (u *planReader) readPhase(i int) (*planPhase, error) {
	p, t := u.plan, u.plan.Topologies[i]
	n := p.GPUs
	s := &planPhase{slots: p.Slots[i], steps: make([]engine.Step, len(t))}
	out := make([]int, n)
	for e, edge := range t {
		if edge.From < 0 || int(edge.From) >= n || edge.To < 0 || int(edge.To) >= n {
			return nil, fmt.Errorf("%w: topology %d: edge %d->%d leaves GPUs 0..%d",
				ErrSimulate, i,
				edge.From, edge.To, n-1)
		}
		s.steps[e] = engine.MakeStep(out[edge.From], 0)
		out[edge.From]++
	}

	s.degree = max(1, slices.Max(out))
	s.linkOfPort = make([]int32, n*s.degree)
	for j := range s.linkOfPort {
		s.linkOfPort[j] = -1
	}
	for e, edge := range t {
		s.linkOfPort[int(edge.From)*s.degree+s.steps[e].Port()] = int32(e)
	}
	last := make([]int32, len(t)) // slot+1 in which a link was last used
	begin := u.next
	for ; u.next < len(p.Tx) && int(p.Tx[u.next].Phase) == i; u.next++ {
		x := p.Tx[u.next]
		invalid := func(format string, args ...any) error {
			return fmt.Errorf("%w: %v: %s", ErrSimulate, x, fmt.Sprintf(format, args...))
		}
		switch {
		case x.Slot < 0 || x.Slot >= p.Slots[i] || u.next > begin && x.Slot < p.Tx[u.next-1].Slot:
			return nil, invalid("no such slot, or out of order")
		case min(x.From, x.To, x.Src, x.Dst) < 0 || int(max(x.From, x.To, x.Src, x.Dst)) >= n:
			return nil, invalid("a GPU outside 0..%d", n-1)
		case x.Chunk < 0 || x.Chunk >= p.Chunks[int(x.Src)*n+int(x.Dst)]:
			return nil, invalid("no such chunk")
		}
		c := u.firstChunk[int(x.Src)*n+int(x.Dst)] + x.Chunk
		if u.gpuOfChunk[c] != x.From {
			return nil, invalid("the chunk is at GPU %d", u.gpuOfChunk[c])
		}
		link := int32(-1) // the first that is free in the slot, or the first
		for _, e := range s.linkOfPort[int(x.From)*s.degree : int(x.From+1)*s.degree] {
			if e >= 0 && t[e].To == x.To && (link < 0 || last[link] == x.Slot+1) {
				if link < 0 || last[e] <= x.Slot {
					link = e
				}
			}
		}
		if link < 0 {
			return nil, invalid("there is no such link")
		}
		last[link] = x.Slot + 1
		u.gpuOfChunk[c] = x.To
		s.link, s.chunkNumber = append(s.link, link), append(s.chunkNumber, c)
	}

	s.tx = p.Tx[begin:u.next]
	return s, nil
}

// checkDelivered fails where transmissions are left over or a chunk is not at its destination.
func (u *planReader) checkDelivered() error {
	if u.next < len(u.plan.Tx) {
		return fmt.Errorf("%w: %v: no such phase, or out of order", ErrSimulate,
			u.plan.Tx[u.next])
	}
	for f := range u.plan.Chunks {
		for c := u.firstChunk[f]; c < u.firstChunk[f+1]; c++ {
			if int(u.gpuOfChunk[c]) != f%u.plan.GPUs {
				return fmt.Errorf("%w: chunk %d of %d->%d ends at GPU %d", ErrSimulate,
					c-u.firstChunk[f], f/u.plan.GPUs, f%u.plan.GPUs, u.gpuOfChunk[c])
			}
		}
	}
	return nil
}

// chunkPath is the way of a chunk in a phase: links path[from:to] of legs.
type chunkPath struct {
	tx       int32 // its first transmission
	from, to int32
}

// chunkPaths gathers the ways of the chunks of a phase, in the order of their first transmission.
func (u *planReader) chunkPaths(s *planPhase) (list []chunkPath, path []int32) {
	for i := range s.tx {
		c := s.chunkNumber[i]
		if k := u.indexOfChunk[c]; int(k) >= len(list) || s.chunkNumber[list[k].tx] != c {
			u.indexOfChunk[c] = int32(len(list))
			list = append(list, chunkPath{tx: int32(i)})
		}
		list[u.indexOfChunk[c]].to++
	}

	at := int32(0)
	for k := range list {
		list[k].from, at = at, at+list[k].to
		list[k].to = list[k].from
	}

	path = make([]int32, at)
	for i, link := range s.link {
		l := &list[u.indexOfChunk[s.chunkNumber[i]]]
		path[l.to] = link
		l.to++
	}

	return list, path
}

// newPaths are paths over the links of the stage, none as yet.
func (s *planPhase) newPaths() *engine.Paths {
	return &engine.Paths{Degree: s.degree, Link: s.linkOfPort}
}

// sortByChunk orders legs by the number of their chunk in its flow, then as they were.
func sortByChunk(s *planPhase, list []chunkPath) {
	slices.SortStableFunc(list, func(a, b chunkPath) int { return cmp.Compare(s.tx[a.tx].Chunk, s.tx[b.tx].Chunk) })
}
