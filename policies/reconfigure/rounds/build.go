package rounds

import (
	"fmt"
	"math"
	"slices"

	"sim/fabric/scaleup"
	"sim/internal/numbers"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/pack"
	"sim/policies/reconfigure/plan"
)

// candidateSchedule is a round schedule (roundSchedule: the round and the path of each flow) with
// labels and an order of chunks. scheduleEvaluator makes it, and buildPlan writes it as a plan.
type candidateSchedule struct {
	topologies int
	slots      int64
	rebuild    func() *roundSchedule // returns the round schedule, which may be computed only then
	label      []int32               // GPU at each node of the round schedule
	origin     string                // name of the construction in results
	isByIndex  bool                  // chunks are sent ByIndex, otherwise ByRound
}

// newPlan returns a plan with the topologies of the schedule, without transmissions.
func (m *candidateSchedule) newPlan(p *plan.Problem, s *roundSchedule) *plan.Plan {
	out := &plan.Plan{Name: m.origin, GPUs: s.n, Degree: s.k, Chunks: slices.Clone(p.Chunks)}
	out.Topologies = make([]scaleup.Topology, s.numPhases())
	for i := range out.Topologies {
		out.Topologies[i] = s.topology(i).Relabel(m.label)
	}
	out.Slots = make([]int32, s.numPhases())
	return out
}

// buildPlan writes the plan: it lists the transmissions of each phase, and sets its slots.
func (m *candidateSchedule) buildPlan(p *plan.Problem, stop cancellation.Condition) (*plan.Plan, error) {
	s := m.rebuild()
	out := m.newPlan(p, s)
	for phase, flows := range s.flowsByPhase(p.Chunks, m.label) {
		var slots int64
		if m.isByIndex {
			slots = writeByIndex(out, s, phase, flows, stop)
		} else {
			slots = writeByRound(out, s, phase, flows, stop)
		}
		if slots > math.MaxInt32 {
			return nil, fmt.Errorf("rounds: topology %d takes %d slots; at most %d are possible", phase,
				slots, math.MaxInt32)
		}
		out.Slots[phase] = int32(slots)
	}

	return out, nil
}

// writeByRound sends chunk 0 of each flow round by round, then chunk 1 of the flows that
// have one, and so on. A round takes as many slots as the largest number of hops of its
// flows that still have chunks.
func writeByRound(out *plan.Plan, s *roundSchedule, phase int, flows []chunkFlow, stop cancellation.Condition) (slots int64) {
	slices.SortStableFunc(flows, s.compareRounds)
	edges := out.Topologies[phase]
	var links []int32 // path of the current flow, as indices into edges
	for chunk := int32(0); len(flows) > 0; chunk++ {
		// One iteration per round with this chunk. All its flows start in slot slots.
		for i := 0; i < len(flows); {
			stop.Check()
			round := s.round[flows[i].class]
			maxHops := int32(0)
			for ; i < len(flows) && s.round[flows[i].class] == round; i++ {
				f := &flows[i]
				links = s.appendLinks(links[:0], int(f.class), f.node)
				maxHops = max(maxHops, int32(len(links)))
				for step, l := range links {
					out.Tx = append(out.Tx, plan.Tx{
						Phase: int32(phase),
						Slot:  int32(slots) + int32(step),
						From:  edges[l].From,
						To:    edges[l].To,
						Src:   f.src,
						Dst:   f.dst,
						Chunk: chunk,
					})
				}
			}

			slots += int64(maxHops)
		}

		flows = slices.DeleteFunc(flows, func(f chunkFlow) bool { return f.chunks <= chunk+1 })
	}

	return slots
}

// listPaths stores the paths of a phase's chunks in w, ordered by chunk index and then by
// flow. flowOf, if not nil, receives the flow (index in flows) of each path. It reuses the
// memory of w.
func (s *roundSchedule) listPaths(w *pack.Paths, flows []chunkFlow, flowOf *[]int32) {
	w.Reset()
	w.Start = append(w.Start, 0)
	remaining := numbers.Below(int32(len(flows))) // flows that have the current chunk
	for chunk := int32(0); len(remaining) > 0; chunk++ {
		longer := remaining[:0]
		for _, i := range remaining {
			f := &flows[i]
			// All chunks of a flow take the same path. Copy it from chunk 0.
			if chunk == 0 {
				f.pathStart = int32(len(w.Link))
				w.Link = s.appendLinks(w.Link, int(f.class), f.node)
				f.pathEnd = int32(len(w.Link))
			} else {
				w.Link = append(w.Link, w.Link[f.pathStart:f.pathEnd]...)
			}

			w.Start = append(w.Start, int32(len(w.Link)))
			if flowOf != nil {
				*flowOf = append(*flowOf, i)
			}
			if f.chunks > chunk+1 {
				longer = append(longer, i)
			}
		}

		remaining = longer
	}
}

// writeByIndex starts all flows together. Each link sends the chunk with the smallest index
// first, then the one with the smallest flow number (Sec. 5.1). This is the order of listPaths,
// and pack.ByRank takes paths without ranks in their order.
func writeByIndex(out *plan.Plan, s *roundSchedule, phase int, flows []chunkFlow, stop cancellation.Condition) int64 {
	var w pack.Paths
	var flowOf []int32
	s.listPaths(&w, flows, &flowOf)
	slotOf := make([]int32, len(w.Link))
	slots := (&pack.Scheduler{Stop: stop}).Schedule(len(out.Topologies[phase]), &w, pack.ByRank, slotOf)
	numSent := make([]int32, len(flows))
	w.AppendTo(out, phase, slotOf, stop, func(path int) (src, dst, chunk int32) {
		f := flowOf[path]
		numSent[f]++
		return flows[f].src, flows[f].dst, numSent[f] - 1
	})
	return int64(slots)
}
