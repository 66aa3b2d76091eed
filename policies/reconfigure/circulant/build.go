package circulant

import (
	"fmt"
	"math"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// plan writes the timetable out for all sources: chunk (s, s+D) is, hop by hop, where chunk (0, D) is, s further on.
func (t *timetable) plan(name string, stop halt.When) (*plan.Plan, error) {
	var hops int64
	for _, moves := range t.moves {
		hops += int64(len(moves))
	}
	if hops*int64(t.n) > math.MaxInt32 {
		return nil, fmt.Errorf("circulant: a plan of %d transmissions is too long to write out; %d is the most", hops*int64(t.n), math.MaxInt32)
	}
	p := t.blank(name)
	p.Tx = make([]plan.Tx, 0, hops*int64(t.n))
	at := make([]int, len(t.jobs))
	for phase, from := range t.order {
		p.Topologies = append(p.Topologies, scaleup.Circulant(t.n, t.phases[from]...))
		p.Slots = append(p.Slots, int32(t.slots[from]))
		for _, m := range t.moves[phase] {
			stop.Check()
			to := (at[m.job] + t.phases[from][int(m.gen)%t.k]) % t.n
			p.Tx = t.rotations(p.Tx, int32(phase), m.slot, at[m.job], to, t.jobs[m.job])
			at[m.job] = to
		}
	}
	return p, nil
}

// blank is a plan without topologies and transmissions.
func (s *scheme) blank(name string) *plan.Plan {
	return &plan.Plan{Name: name, GPUs: s.n, Degree: s.k, Relay: s.relay,
		Chunks: plan.UniformProblem(s.n, s.k, s.chunks).Chunks}
}

// rotations appends the hop of job from at to to, and its rotations.
func (s *scheme) rotations(list []plan.Tx, phase, slot int32, at, to int, j job) []plan.Tx {
	for u := range s.n {
		list = append(list, plan.Tx{Phase: phase, Slot: slot, From: int32((u + at) % s.n), To: int32((u + to) % s.n),
			Src: int32(u), Dst: int32((u + int(j.dest)) % s.n), Chunk: j.chunk})
	}
	return list
}
