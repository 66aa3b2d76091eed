package pack

import (
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// Paths are the paths of chunks through one topology. Path i crosses links
// Link[Start[i]:Start[i+1]] in this order. A link is the index of an edge of the topology.
// A path may be empty.
type Paths struct {
	// Start has one entry more than there are paths. It increases from 0 to len(Link).
	Start []int32
	Link  []int32
	// Rank is the priority of each path at a link: the smallest rank first, and at equal
	// ranks the smaller path number. nil ranks paths by number. An example is the chunk
	// index of the paper (Sec. 5.1).
	Rank []int32
}

// pathsPerCheck is the number of paths after which a loop over all paths polls its stop.
const pathsPerCheck = 1 << 10

// Len returns the number of paths.
func (w *Paths) Len() int { return max(0, len(w.Start)-1) }

// Reset removes all paths and keeps the memory.
func (w *Paths) Reset() {
	w.Start = w.Start[:0]
	w.Link = w.Link[:0]
	w.Rank = w.Rank[:0]
}

// Bound returns a lower bound on the slots of any schedule: the largest number of crossings
// of a link or of a path.
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

// AppendTo appends the transmissions of a phase to a plan. slotOf is the slot of each
// crossing, indexed as Link. chunk returns the source, destination and number of the chunk
// of a path.
func (w *Paths) AppendTo(
	out *plan.Plan,
	phase int,
	slotOf []int32,
	stop cancellation.Condition,
	chunk func(path int) (src, dst, number int32),
) {
	edges := out.Topologies[phase]
	for i := range w.Len() {
		if i%pathsPerCheck == 0 {
			stop.Check()
		}
		src, dst, number := chunk(i)
		for j := w.Start[i]; j < w.Start[i+1]; j++ {
			e := edges[w.Link[j]]
			out.Tx = append(out.Tx, plan.Tx{
				Phase: int32(phase),
				Slot:  slotOf[j],
				From:  e.From,
				To:    e.To,
				Src:   src,
				Dst:   dst,
				Chunk: number,
			})
		}
	}
}
