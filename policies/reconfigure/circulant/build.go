package circulant

import (
	"fmt"
	"math"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// buildPlan writes the plan for all sources. Chunk (s, s+D) is at each time s positions
// after chunk (0, D).
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

	position := make([]int, len(t.chunks))
	for phase, from := range t.order {
		p.Topologies = append(p.Topologies, scaleup.Circulant(t.n, t.phases[from]...))
		p.Slots = append(p.Slots, int32(t.slots[from]))
		for _, m := range t.hops[phase] {
			stop.Check()
			to := (position[m.chunk] + t.phases[from][int(m.gen)%t.k]) % t.n
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

// appendRotations appends a hop of a chunk and its rotations for all sources.
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
