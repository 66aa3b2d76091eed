package pack

import (
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// Paths are the paths of chunks through the links of one topology. Walk w crosses links Link[Start[w]:Start[w+1]] in
// that order, each the index of an edge of the topology; it may have none.
type Paths struct {
	// Start has one entry more than there are paths, rising from 0 to len(Link).
	Start []int32
	Link  []int32
	// Rank orders the paths where a link must choose: the smallest first, of equals the one of the smaller number. nil
	// ranks them by number. The paper's chunk index is one (Sec. 5.1).
	Rank []int32
}

// Len is the number of paths.
func (w *Paths) Len() int { return max(0, len(w.Start)-1) }

// Reset empties the paths and keeps the memory.
func (w *Paths) Reset() {
	w.Start, w.Link, w.Rank = w.Start[:0], w.Link[:0], w.Rank[:0]
}

// Bound is the larger of the most paths' crossings of one of the links and the most hops of one path: no schedule takes
// fewer slots.
func (w *Paths) Bound(links int) int {
	load := make([]int32, links)
	for _, l := range w.Link {
		load[l]++
	}
	var b int32
	for _, x := range load {
		b = max(b, x)
	}
	for i := range w.Len() {
		b = max(b, w.Start[i+1]-w.Start[i])
	}
	return int(b)
}

// AppendTo writes the paths into a phase of a plan: at has the slot of each crossing, by index into Link, and chunk says of
// what chunk each path is, by source, destination and number.
func (w *Paths) AppendTo(out *plan.Plan, phase int, slotOf []int32, stop halt.When, chunk func(walk int) (src, dst, number int32)) {
	edges := out.Topologies[phase]
	for i := range w.Len() {
		if i&(1<<10-1) == 0 {
			stop.Check()
		}
		src, dst, number := chunk(i)
		for j := w.Start[i]; j < w.Start[i+1]; j++ {
			e := edges[w.Link[j]]
			out.Tx = append(out.Tx, plan.Tx{Phase: int32(phase), Slot: slotOf[j], From: e.From, To: e.To, Src: src, Dst: dst, Chunk: number})
		}
	}
}
