// This file simulates plans in slots at level packet, in step with their slots.

package simulate

import (
	"context"
	"fmt"

	"sim/engine"
	"sim/engine/packet"
	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/assembly/composition"
)

// minBlock is the minimum number of transmissions that are simulated together. A
// phase can be divided between slots, because nothing is being sent then. Blocks bound
// the memory of the simulation; smaller ones would spend more time on setting it up.
const minBlock = 1 << 16

// Synchronised simulates a plan on engine/packet in step with its slots and
// returns the completion time. The plan must be sealed.
//
// A transmission is a packet. It starts with its slot, or when its chunk has
// arrived if that is later, and queues for its link. Phases start R after the last
// slot of the preceding phase. For a plan without contention, the time equals
// plan.Plan.Cost, to the tick. In plans in steps, all messages of a step start
// when the preceding step has ended.
//
// The error is ErrContention for the first transmission that does not end with its
// slot; it names link, slot and both chunks. It is ErrSimulate if the plan does
// not fit the domain, or moves a chunk from a GPU that does not have it.
func Synchronised(
	ctx context.Context, d *scaleup.Domain, p *plan.Plan, chunk int64,
) (engine.Time, error) {
	if p.Steps != nil {
		return simulateSteps(ctx, p, stepMode{})
	}

	slot := d.Slot(chunk)
	run := func(u *planReader, n *engine.Network, s *planPhase) (engine.Time, error) {
		for from := 0; from < len(s.tx); {
			// A block ends with a slot.
			to := min(from+minBlock, len(s.tx))
			for to < len(s.tx) && s.tx[to].Slot == s.tx[to-1].Slot {
				to++
			}
			if err := u.simulateBlock(ctx, n, s, from, to, slot, chunk); err != nil {
				return 0, err
			}
			from = to
		}
		return engine.Time(s.slots) * slot, nil
	}

	r, err := simulatePhases(ctx, d, p, chunk, run)
	if err != nil {
		return 0, err
	}
	return r.Completion, nil
}

// simulateBlock simulates transmissions from to to-1 of a phase, which are all
// transmissions of consecutive slots. It fails if one of them does not end with
// its slot.
func (u *planReader) simulateBlock(
	ctx context.Context, n *engine.Network, s *planPhase, from, to int, slot engine.Time,
	chunk int64,
) error {
	count := to - from
	g := &engine.Graph{}
	g.Grow(count+1, 2*count)

	flows, paths := make([]engine.Flow, count+1), s.newPaths()
	paths.Class = make([]int32, count+1) // class e uses link e
	for e := range n.Links {
		paths.Add(s.steps[e])
	}

	// The clock is a milestone at the start of the first slot. Each transmission
	// depends on it, and on the preceding transmission of its chunk. Every task
	// needs a flow; the flow of the clock is not used.
	clock, first := int32(count), s.tx[from].Slot
	for i := range count {
		x := &s.tx[from+i]
		flows[i], paths.Class[i] = engine.Flow{Src: x.From, Dst: x.To}, s.link[from+i]
		g.AddTask(engine.Task{
			Kind: engine.Transfer, Src: x.From, Dst: x.To, Flows: 1, Bytes: chunk,
		})

		g.AddEdge(clock, int32(i), engine.Time(x.Slot-first)*slot)
		c := s.chunkNumber[from+i]
		if k := int(u.indexOfChunk[c]); k < i && s.chunkNumber[from+k] == c {
			g.AddDependency(int32(k), int32(i))
		}
		u.indexOfChunk[c] = int32(i)
	}

	// The clock is the last task.
	g.AddTask(engine.Task{})
	flows[clock], paths.Class[clock] = flows[0], paths.Class[0]
	if err := g.Freeze(); err != nil {
		return err
	}

	if chunk > maxPacket {
		return fmt.Errorf("%w: chunks of %d B; a packet has at most %d B", ErrSimulate, chunk, maxPacket)
	}

	job := &composition.Job{Graph: g}
	decision := composition.NewPathDecision(n, flows, paths, int32(chunk), packet.Options{})
	out, err := composition.Simulate(ctx, "packet", job, decision)
	if err != nil {
		return err
	}

	// The duration of a slot is rounded up to a whole tick. The duration of a
	// packet is rounded down; it follows from a time per byte that is rounded to
	// 2^-33 ticks and to the 53 bits of a float. A transmission may therefore end up to
	// 2 ticks early, and in long slots by a fraction of 2^-50 early or late.
	rounding := slot >> 50
	for i := range count {
		slotEnd := engine.Time(s.tx[from+i].Slot-first+1) * slot
		late := out.Trace.End[i] - slotEnd
		if late > rounding || late < -2-rounding {
			return s.contentionError(from+i, late)
		}
	}
	return nil
}

// contentionError returns the error of a transmission that does not end with its
// slot. It names the transmission with which it shares its link. late is the
// difference to the end of the slot.
func (s *planPhase) contentionError(i int, late engine.Time) error {
	x := s.tx[i]
	for j, y := range s.tx {
		if j != i && y.Slot == x.Slot && s.link[j] == s.link[i] {
			return fmt.Errorf("%w on link %d->%d in slot %d of phase %d: chunk %d of %d->%d and chunk %d of %d->%d, which ends %v late",
				ErrContention, x.From, x.To, x.Slot, x.Phase,
				y.Chunk, y.Src, y.Dst, x.Chunk, x.Src, x.Dst, late)
		}
	}
	return fmt.Errorf("%w: %v ends %v late, for it is not there when the slot starts", ErrContention, x, late)
}
