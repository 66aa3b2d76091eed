package rounds

import (
	"fmt"
	"math"
	"slices"

	"sim/fabric/scaleup"
	"sim/internal/numbers"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/pack"
	"sim/policies/reconfigure/plan"
)

// made is one schedule of chunks on a scheme.
type made struct {
	d     int
	slots int64
	// remake returns the scheme, which is not kept where it is quickly made again.
	remake func() *scheme
	label  []int32
	// origin of the scheme; indexed, if the chunks run by index and not round by round.
	origin  string
	indexed bool
}

// start is what every plan of this scheme has.
func (m *made) start(p *plan.Problem, s *scheme) *plan.Plan {
	out := &plan.Plan{Name: m.origin, GPUs: s.n, Degree: s.k, Chunks: slices.Clone(p.Chunks)}
	out.Topologies = make([]scaleup.Topology, s.phases())
	for i := range out.Topologies {
		out.Topologies[i] = s.topology(i).Relabel(m.label)
	}
	out.Slots = make([]int32, s.phases())
	return out
}

// build writes the plan.
func (m *made) build(p *plan.Problem, stop halt.When) (*plan.Plan, error) {
	s := m.remake()
	out := m.start(p, s)
	for phase, flows := range s.byPhase(p.Chunks, m.label) {
		var slots int64
		if m.indexed {
			slots = writeIndexed(out, s, phase, flows, stop)
		} else {
			slots = writeRounds(out, s, phase, flows, stop)
		}
		if slots > math.MaxInt32 {
			return nil, fmt.Errorf("rounds: topology %d takes %d slots; a plan counts up to %d", phase, slots, math.MaxInt32)
		}
		out.Slots[phase] = int32(slots)
	}
	return out, nil
}

// writeRounds sends chunk 0 of every flow round by round, then chunk 1 of those that have one, and so on: every round
// takes as many slots as the most hops of its flows that are left.
func writeRounds(out *plan.Plan, s *scheme, phase int, flows []flow, stop halt.When) (slots int64) {
	slices.SortStableFunc(flows, s.byRound)
	edges := out.Topologies[phase]
	var links []int32
	for chunk := int32(0); len(flows) > 0; chunk++ {
		for i := 0; i < len(flows); {
			stop.Check()
			round, most := s.round[flows[i].unit], int32(0)
			for ; i < len(flows) && s.round[flows[i].unit] == round; i++ {
				f := &flows[i]
				links = s.walk(links[:0], int(f.unit), f.src)
				most = max(most, int32(len(links)))
				for step, l := range links {
					out.Tx = append(out.Tx, plan.Tx{Phase: int32(phase), Slot: int32(slots) + int32(step),
						From: edges[l].From, To: edges[l].To, Src: f.gpu, Dst: f.to, Chunk: chunk})
				}
			}
			slots += int64(most)
		}
		flows = slices.DeleteFunc(flows, func(f flow) bool { return f.chunks <= chunk+1 })
	}
	return slots
}

// walks lists the ways of a phase's chunks, by chunk index and then by flow, with the flow of each in of if that is not
// nil. It reuses w's memory.
func (s *scheme) walks(w *pack.Paths, flows []flow, of *[]int32) {
	w.Reset()
	w.Start = append(w.Start, 0)
	left := numbers.Below(int32(len(flows)))
	for chunk := int32(0); len(left) > 0; chunk++ {
		kept := left[:0]
		for _, i := range left {
			f := &flows[i]
			if chunk == 0 {
				f.from = int32(len(w.Link))
				w.Link = s.walk(w.Link, int(f.unit), f.src)
				f.at = int32(len(w.Link))
			} else {
				w.Link = append(w.Link, w.Link[f.from:f.at]...)
			}
			w.Start = append(w.Start, int32(len(w.Link)))
			if of != nil {
				*of = append(*of, i)
			}
			if f.chunks > chunk+1 {
				kept = append(kept, i)
			}
		}
		left = kept
	}
}

// writeIndexed starts all flows together; every link sends the chunk of the smallest index first, then of the smallest
// flow (Sec. 5.1).
func writeIndexed(out *plan.Plan, s *scheme, phase int, flows []flow, stop halt.When) int64 {
	var w pack.Paths
	var of []int32
	s.walks(&w, flows, &of)
	at := make([]int32, len(w.Link))
	slots := (&pack.Scheduler{Stop: stop}).Schedule(len(out.Topologies[phase]), &w, pack.ByRank, at)
	sent := make([]int32, len(flows))
	w.AppendTo(out, phase, at, stop, func(walk int) (src, dst, chunk int32) {
		f := of[walk]
		sent[f]++
		return flows[f].gpu, flows[f].to, sent[f] - 1
	})
	return int64(slots)
}
