package circuits

import (
	"context"
	"errors"

	"sim/engine"
	"sim/engine/packet"
	"sim/policies/topology"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/result"
)

// simulatePackets simulates a run, whose result is the fluid, packet by packet. It returns the time that packets may need
// beside, 0 if no bound is known, and the moves with the moments at which circuits moved; nil if none do.
func (sys *circuitSystem) simulatePackets(ctx context.Context, d *topology.Decision, run *composition.Run) (slack engine.Time, moves *topology.Moves, err error) {
	var live *topology.LiveController
	react := packet.Reaction(nil)
	if d.Moves.Moving() {
		if live, run.Network, err = sys.newLiveController(ctx, d); err != nil {
			return 0, nil, err
		}
		react = live.React
	}
	run.ToPackets = sys.packetLowering(run.Network, run.Result.Trace, react)
	if run.Result, err = composition.Simulate(ctx, run.Level, &run.Job, &run.Decision); err != nil {
		return 0, nil, err
	}
	if run.End = run.Result.Trace.Makespan; live != nil {
		last, m := d.Moves.Last(), *d.Moves
		m.Runs = append(m.Runs[:last:last], live.Run(run.End))
		return 0, &m, nil
	}
	k := run.Result.Packets
	slack, err = packet.Slack(k.Graph, k.Network, k.Flows, k.Paths, k.Bytes, k.Options.Reference)
	if errors.Is(err, packet.ErrSlack) && sys.innerTiers != nil {
		err = nil // links of a torus or graph inside pods follow each other in circles
	}
	return slack, nil, err
}

// packetLowering returns what lowers jobs to packets that are ordered by the fluid, which is known of the job itself on network n.
// Circuits move as react says; nil if they stay.
func (sys *circuitSystem) packetLowering(n *engine.Network, fluidTrace *engine.Trace, react packet.Reaction) func(context.Context, *composition.Job, *composition.Decision) (*composition.Packets, error) {
	return func(ctx context.Context, j *composition.Job, d *composition.Decision) (*composition.Packets, error) {
		fluid := fluidTrace
		if j.Graph != sys.undelayedGraph || d.Network != n {
			rated := *d
			rated.Flow.Rates = true
			r, err := composition.Simulate(ctx, "flow", j, &rated)
			if err != nil {
				return nil, err
			}
			fluid = r.Trace
		}
		k, err := sys.pods.Packets(j.Graph, sys.optical, d.Network)
		if err != nil {
			return nil, err
		}
		return &composition.Packets{
			Graph: k.Graph, Network: k.Network, Flows: k.Flows, Paths: k.Paths, Bytes: int32(sys.scenario.Workload.Packet),
			Options: packet.Options{Seed: sys.scenario.Seed, Reference: k.Reference(fluid), React: reactToParts(k, len(j.Graph.Tasks), react)},
			Trace:   func(t *engine.Trace) *engine.Trace { return k.Trace(j.Graph, t) },
		}, nil
	}
}

// addPacketMetrics adds how packets compare with the fluid that was decided on, and what became of them.
func (d *allocationResult) addPacketMetrics(row *result.Row) {
	row.Metrics["fluid_s"] = d.Makespan.Seconds()
	if d.packetSlack > 0 {
		row.Metrics["packet_slack_s"] = d.packetSlack.Seconds()
	} else {
		row.Labels["packet_slack_s"] = "no bound is known where circuits move, or links inside pods follow each other in a circle"
	}
	d.Run.Result.MeasurePackets(row)
}
