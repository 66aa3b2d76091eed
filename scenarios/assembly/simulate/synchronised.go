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

// minBlock is how many transmissions are simulated at once. Between slots nothing is under way, so a phase can be cut
// there.
const minBlock = 1 << 16

// Synchronised simulates a sealed plan on engine/packet in step with the slots and returns its completion time. A
// transmission is a packet that starts with its slot, or when its chunk has arrived if that is later, and queues for
// its link; phases start R after the end of the last slot of the one before. For a plan without contention the time is
// plan.Plan.Cost, to the tick. Of plans in steps, all messages of a step start when the step before has ended.
//
// Errors: ErrContention, naming link, slot and both chunks, for the first transmission that does not end with its slot;
// ErrSimulate for a plan that does not fit the domain or moves a chunk from where it is not.
func Synchronised(
	ctx context.Context, d *scaleup.Domain, p *plan.Plan, chunk int64,
) (engine.Time, error) {
	if p.Steps != nil {
		return simulateSteps(ctx, p, false, false)
	}
	slot := d.Slot(chunk)
	r, err := simulatePhases(ctx, d, p, chunk, func(u *planReader, n *engine.Network, s *planPhase) (engine.Time, error) {
		for from := 0; from < len(s.tx); {
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
	})

	if err != nil {
		return 0, err
	}
	return r.Completion, nil
}

// simulateBlock simulates transmissions from..to-1 of a phase, all of some slots one after the other.
func (u *planReader) simulateBlock(
	ctx context.Context, n *engine.Network, s *planPhase, from, to int, slot engine.Time,
	chunk int64,
) error {
	count := to - from
	g := &engine.Graph{}
	g.Grow(count+1, 2*count)
	flows, walks := make([]engine.Flow, count+1), s.newPaths()
	walks.Class = make([]int32, count+1)
	for e := range n.Links {
		walks.Add(s.steps[e])
	}

	// The clock is a milestone at the start of the first slot; its flow is not looked at but for being one.
	clock, first := int32(count), s.tx[from].Slot
	for i := range count {
		x := &s.tx[from+i]
		flows[i], walks.Class[i] = engine.Flow{Src: x.From, Dst: x.To}, s.link[from+i]
		g.AddTask(engine.Task{Kind: engine.Transfer, Src: x.From, Dst: x.To, Flows: 1,
			Bytes: chunk})
		g.AddEdge(clock, int32(i), engine.Time(x.Slot-first)*slot)
		c := s.chunkNumber[from+i]
		if k := int(u.indexOfChunk[c]); k < i && s.chunkNumber[from+k] == c {
			g.AddEdge(int32(k), int32(i), 0)
		}
		u.indexOfChunk[c] = int32(i)
	}

	g.AddTask(engine.Task{})
	flows[clock], walks.Class[clock] = flows[0], walks.Class[0]
	if err := g.Freeze(); err != nil {
		return err
	}
	if chunk > maxPacket {
		return fmt.Errorf("%w: chunks of %d B; a packet has at most %d B", ErrSimulate,
			chunk, maxPacket)
	}
	out, err := composition.Simulate(ctx, "packet", &composition.Job{Graph: g},
		composition.NewPathDecision(n, flows, walks, int32(chunk), packet.Options{}))
	if err != nil {
		return err
	}

	// A slot is exact and rounded up to a whole tick; a packet's time is rounded down, from a time per byte that is
	// itself rounded, to 2^-33 ticks and to the 53 bits of a float.
	rounding := slot >> 50
	for i := range count {
		if over := out.Trace.End[i] - engine.Time(s.tx[from+i].Slot-first+1)*slot; over > rounding || over < -2-rounding {
			return s.contentionError(from+i, over)
		}
	}

	return nil
}

// contentionError names a transmission that does not end with its slot, and the one that it shares its link with.
func (s *planPhase) contentionError(i int, over engine.Time) error {
	x := s.tx[i]
	for j, y := range s.tx {
		if j != i && y.Slot == x.Slot && s.link[j] == s.link[i] {
			return fmt.Errorf("%w on link %d->%d in slot %d of phase %d: chunk %d of %d->%d and chunk %d of %d->%d, which ends %v late",
				ErrContention, x.From, x.To, x.Slot, x.Phase, y.Chunk, y.Src, y.Dst,
				x.Chunk, x.Src,
				x.Dst, over)
		}
	}
	return fmt.Errorf("%w: %v ends %v late, for it is not there when the slot starts",
		ErrContention, x, over)
}
