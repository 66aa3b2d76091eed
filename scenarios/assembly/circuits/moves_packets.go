package circuits

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/policies/topology"
)

// packetMoves simulates a decision whose circuits move packet by packet: they move as soon as the packets of the
// transfers that they wait for have arrived. When that is follows from the simulation itself, which is therefore made
// again until it is so; the beginning is right first, and each time one change more.
func (in *instance) packetMoves(ctx context.Context, d *topology.Decision, fluid *engine.Trace) (*podPackets, error) {
	m := *d.Moves
	m.Runs = slices.Clone(m.Runs)
	run := &m.Runs[m.Last()]
	run.Fired = slices.Clone(run.Fired)
	for i := range run.Fired { // later than they will be, so that nothing waits for a circuit that has gone
		if m.Steps[i].Bundle >= 0 {
			run.Fired[i] += engine.Time(i+1) * in.Times.Ideal / 50
		}
	}
	moved := *d
	moved.Moves = &m
	for range 2*len(m.Steps) + 3 {
		n, err := in.network(&moved, m.Last())
		if err != nil {
			return nil, err
		}
		in.pauseAtFirst(n)
		out, _, err := in.packetsOn(ctx, d, fluid, n)
		if err != nil {
			return nil, err
		}
		fired := in.fired(m.Sequence, out.trace)
		if slices.Equal(fired, run.Fired) {
			return out, nil
		}
		run.Fired = fired
	}
	return nil, fmt.Errorf("packet by packet the moments at which circuits move do not settle")
}

// pauseAtFirst has links without circuits at the start be ones that wait for them, as packets that come there are not
// lost.
func (in *instance) pauseAtFirst(n *engine.Network) {
	var first []engine.Change
	for l := range n.Links {
		if n.Links[l].Rate > 0 {
			continue
		}
		i := slices.IndexFunc(n.Changes, func(c engine.Change) bool { return int(c.Link) == l && c.Rate > 0 })
		if i >= 0 {
			n.Links[l].Rate = n.Changes[i].Rate
			first = append(first, engine.Change{Link: int32(l), Planned: true})
		}
	}
	n.Changes = append(first, n.Changes...)
}

// fired returns when the steps of a sequence are made where transfers end as in a trace of the complete DAG.
func (in *instance) fired(q *topology.Sequence, t *engine.Trace) []engine.Time {
	bundle := map[int32]int{}
	for e, b := range in.optical.Bundles {
		for _, l := range b.Links {
			bundle[l] = e
		}
	}
	ends := make([][]engine.Time, len(in.optical.Bundles))
	for i := range in.graph.Tasks {
		if id := int32(i); in.crosses(id) && in.graph.Tasks[i].Bytes > 0 {
			e := bundle[in.optical.Routes.Of(id)[0].Resource]
			ends[e] = append(ends[e], t.End[id])
		}
	}
	carried := engine.Time(0) // when all has been
	for _, list := range ends {
		slices.Sort(list)
		if len(list) > 0 {
			carried = max(carried, list[len(list)-1])
		}
	}
	var fired []engine.Time
	now := engine.Time(0)
	over := false // before steps that are not made
	for _, s := range q.Steps {
		at := t.Makespan
		switch s.Bundle {
		case topology.AtEnd:
		case topology.AtTime:
			at = s.Time
			over = over || at >= carried
		default:
			at = ends[s.Bundle][s.Count-1]
		}
		if over && s.Bundle != topology.AtEnd {
			fired = append(fired, engine.Never)
			continue
		}
		now = max(now, at)
		fired = append(fired, now)
	}
	return fired
}
