// This file reads plans in slots phase by phase, and verifies that chunks follow links
// to their destinations.

package simulate

import (
	"cmp"
	"fmt"
	"slices"

	"sim/engine"
	"sim/policies/reconfigure/plan"
)

// planReader reads the transmissions of a plan in slots phase by phase, and
// follows the chunks. Chunks are numbered over all flows.
type planReader struct {
	plan       *plan.Plan
	firstChunk []int32 // number of the first chunk, by flow
	gpuOfChunk []int32 // current GPU, by chunk number
	next       int     // index of the next transmission

	// indexOfChunk is scratch, indexed by chunk number. An entry is valid only if
	// the element that it refers to belongs to the same chunk.
	indexOfChunk []int32
}

// planPhase is one phase of a plan with its topology.
type planPhase struct {
	tx          []plan.Tx
	slots       int32
	chunkNumber []int32 // by transmission
	link        []int32 // index in the topology, by transmission

	degree     int           // maximum number of outgoing links of a GPU
	linkOfPort []int32       // link, by GPU and port; -1 if the port is not used
	steps      []engine.Step // step of a path over a link, by link
}

// newPlanReader returns a reader at the start of a plan, with each chunk at its
// source.
func newPlanReader(p *plan.Plan) (*planReader, error) {
	first, err := p.ChunkNumbers()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSimulate, err)
	}

	total := first[len(first)-1]
	u := &planReader{
		plan: p, firstChunk: first,
		gpuOfChunk: make([]int32, total), indexOfChunk: make([]int32, total),
	}

	// Flows are numbered by source and destination.
	for f := range p.Chunks {
		for c := first[f]; c < first[f+1]; c++ {
			u.gpuOfChunk[c] = int32(f / p.GPUs)
		}
	}

	return u, nil
}

// readPhase returns phase i. It fails if a transmission is out of order or has no
// link, or if its chunk is on another GPU. It does not check that a link carries
// one chunk per slot; the simulation does.
func (u *planReader) readPhase(i int) (*planPhase, error) {
	p, t := u.plan, u.plan.Topologies[i]
	n := p.GPUs
	s := &planPhase{slots: p.Slots[i], steps: make([]engine.Step, len(t))}

	// Number the outgoing links of each GPU.
	out := make([]int, n)
	for e, edge := range t {
		if edge.From < 0 || int(edge.From) >= n || edge.To < 0 || int(edge.To) >= n {
			return nil, fmt.Errorf("%w: topology %d: edge %d->%d leaves GPUs 0..%d",
				ErrSimulate, i, edge.From, edge.To, n-1)
		}
		s.steps[e] = engine.MakeStep(out[edge.From], onlyChannel)
		out[edge.From]++
	}

	// A GPU has as many ports as the largest number of links of any GPU.
	s.degree = max(1, slices.Max(out))
	s.linkOfPort = make([]int32, n*s.degree)
	for j := range s.linkOfPort {
		s.linkOfPort[j] = -1
	}
	for e, edge := range t {
		s.linkOfPort[int(edge.From)*s.degree+s.steps[e].Port()] = int32(e)
	}

	// Follow the chunks over the links.
	lastUse := make([]int32, len(t)) // 1 + slot of the last use, by link
	begin := u.next
	for ; u.next < len(p.Tx) && int(p.Tx[u.next].Phase) == i; u.next++ {
		x := p.Tx[u.next]
		invalid := func(format string, args ...any) error {
			return fmt.Errorf("%w: %v: %s", ErrSimulate, x, fmt.Sprintf(format, args...))
		}

		outOfOrder := u.next > begin && x.Slot < p.Tx[u.next-1].Slot
		switch {
		case x.Slot < 0 || x.Slot >= p.Slots[i] || outOfOrder:
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

		// Of parallel links, use the first that is free in the slot, or else the
		// first.
		link := int32(-1)
		for _, e := range s.linkOfPort[int(x.From)*s.degree : int(x.From+1)*s.degree] {
			if e >= 0 && t[e].To == x.To && (link < 0 || lastUse[link] == x.Slot+1) {
				if link < 0 || lastUse[e] <= x.Slot {
					link = e
				}
			}
		}
		if link < 0 {
			return nil, invalid("there is no such link")
		}

		lastUse[link] = x.Slot + 1
		u.gpuOfChunk[c] = x.To
		s.link = append(s.link, link)
		s.chunkNumber = append(s.chunkNumber, c)
	}

	s.tx = p.Tx[begin:u.next]
	return s, nil
}

// checkDelivered fails if transmissions remain, or if a chunk is not at its
// destination.
func (u *planReader) checkDelivered() error {
	if u.next < len(u.plan.Tx) {
		return fmt.Errorf("%w: %v: no such phase, or out of order", ErrSimulate, u.plan.Tx[u.next])
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

// chunkPath is the path of a chunk in a phase. Its links are links[from:to] of
// chunkPaths.
type chunkPath struct {
	tx       int32 // first transmission of the chunk
	from, to int32
}

// chunkPaths returns the paths of the chunks of a phase, ordered by first
// transmission, and their links.
func (u *planReader) chunkPaths(s *planPhase) (list []chunkPath, links []int32) {
	// Count the links of each path.
	for i := range s.tx {
		c := s.chunkNumber[i]
		if k := u.indexOfChunk[c]; int(k) >= len(list) || s.chunkNumber[list[k].tx] != c {
			u.indexOfChunk[c] = int32(len(list))
			list = append(list, chunkPath{tx: int32(i)})
		}
		list[u.indexOfChunk[c]].to++
	}

	// Place the paths one after the other, and fill them in the order of
	// transmissions.
	total := int32(0)
	for k := range list {
		list[k].from, total = total, total+list[k].to
		list[k].to = list[k].from
	}

	links = make([]int32, total)
	for i, link := range s.link {
		path := &list[u.indexOfChunk[s.chunkNumber[i]]]
		links[path.to] = link
		path.to++
	}

	return list, links
}

// newPaths returns an empty set of paths over the links of the phase.
func (s *planPhase) newPaths() *engine.Paths {
	return &engine.Paths{Degree: s.degree, Link: s.linkOfPort}
}

// sortByChunk sorts paths by the number of the chunk in its flow. The order of
// equal ones does not change.
func sortByChunk(s *planPhase, list []chunkPath) {
	slices.SortStableFunc(list, func(a, b chunkPath) int {
		return cmp.Compare(s.tx[a.tx].Chunk, s.tx[b.tx].Chunk)
	})
}
