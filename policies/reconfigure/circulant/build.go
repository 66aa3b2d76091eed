package circulant

import (
	"fmt"
	"math"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// buildPlan writes the plan for all sources from the timetable of source 0. The chunk from GPU
// s to GPU s+D is always s GPUs after the chunk from GPU 0 to GPU D.
func (t *timetable) buildPlan(name string, stop cancellation.Condition) (*plan.Plan, error) {
	var hops int64
	for _, moves := range t.hops {
		hops += int64(len(moves))
	}
	if hops*int64(t.n) > math.MaxInt32 {
		return nil, fmt.Errorf("circulant: a plan with %d transmissions cannot be written; at most %d are possible", hops*int64(t.n), math.MaxInt32)
	}
	p := t.newPlan(name)
	p.Tx = make([]plan.Tx, 0, hops*int64(t.n))

	// Phase i of the plan is phase order[i] of the schedule. Generator g is number g%k of its phase.
	position := make([]int, len(t.chunks)) // GPU of each chunk of source 0
	for phase, scheduled := range t.order {
		p.Topologies = append(p.Topologies, scaleup.Circulant(t.n, t.phases[scheduled]...))
		p.Slots = append(p.Slots, int32(t.slots[scheduled]))
		for _, m := range t.hops[phase] {
			stop.Check()
			to := (position[m.chunk] + t.phases[scheduled][int(m.gen)%t.k]) % t.n
			p.Tx = t.appendRotations(p.Tx, int32(phase), m.slot, position[m.chunk], to,
				t.chunks[m.chunk])
			position[m.chunk] = to
		}
	}

	return p, nil
}

// newPlan returns a plan without topologies and transmissions.
func (s *sourceSchedule) newPlan(name string) *plan.Plan {
	return &plan.Plan{Name: name, GPUs: s.n, Degree: s.k, Relay: s.relay,
		Chunks: plan.UniformProblem(s.n, s.k, s.chunks).Chunks}
}

// appendRotations appends a hop of a chunk of source 0, and the same hop of the chunk of each
// other source.
func (s *sourceSchedule) appendRotations(list []plan.Tx, phase, slot int32, from, to int, chunk sourceChunk) []plan.Tx {
	for u := range s.n {
		list = append(list, plan.Tx{
			Phase: phase,
			Slot:  slot,
			From:  int32((u + from) % s.n),
			To:    int32((u + to) % s.n),
			Src:   int32(u),
			Dst:   int32((u + int(chunk.offset)) % s.n),
			Chunk: chunk.number,
		})
	}

	return list
}
