// This file simulates decisions at level packet. The simulation at level flow, which
// comes first, defines the order in which transfers use shared links. At level packet the
// work ends later by at most the packet slack.

package circuits

import (
	"context"
	"errors"
	"slices"

	"sim/engine"
	"sim/engine/packet"
	"sim/policies/topology"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/result"
)

// simulatePackets simulates a run at level packet, given its result at level flow. It
// returns the packet slack: by how much the work may end later than at level flow; 0 if no
// bound is known. If circuits move, it also returns their moves with the times at which
// packets triggered them.
func (sys *circuitSystem) simulatePackets(
	ctx context.Context, d *topology.Decision, run *composition.Run,
) (slack engine.Time, moves *topology.Moves, err error) {
	// If circuits move, the simulation itself triggers their moves.
	var live *topology.LiveController
	var react packet.Reaction // called for each packet that arrives; nil without moves
	if d.Moves.Moving() {
		if live, run.Network, err = sys.newLiveController(ctx, d); err != nil {
			return 0, nil, err
		}
		react = live.React
	}

	// The trace at level flow defines the order of transfers at shared links.
	run.ToPackets = sys.packetLowering(run.Network, run.Result.Trace, react)
	run.Result, err = composition.Simulate(ctx, run.Level, &run.Job, &run.Decision)
	if err != nil {
		return 0, nil, err
	}
	run.End = run.Result.Trace.Makespan
	if live != nil {
		// In a copy of the moves, the simulated run replaces the last planned one.
		last, m := d.Moves.Last(), *d.Moves
		m.Runs = append(slices.Clone(m.Runs[:last]), live.Run(run.End))
		return 0, &m, nil
	}

	// Circuits stay, so the lateness of packets is bounded, unless links follow each
	// other in a cycle.
	k := run.Result.Packets
	slack, err = packet.Slack(k.Graph, k.Network, k.Flows, k.Paths, k.Bytes, k.Options.Reference)
	if errors.Is(err, packet.ErrSlack) && sys.innerTiers != nil {
		err = nil // paths on a torus or graph inside pods may follow links in a cycle
	}
	return slack, nil, err
}

// packetLowering returns the function composition.Decision.ToPackets. At level packet,
// transfers are ordered by the trace of the same job at level flow. This is fluidTrace
// for the job itself on network n; variants of the job or the network are simulated. If
// circuits move, react moves them.
func (sys *circuitSystem) packetLowering(
	n *engine.Network, fluidTrace *engine.Trace, react packet.Reaction,
) func(context.Context, *composition.Job, *composition.Decision) (*composition.Packets, error) {
	return func(
		ctx context.Context, j *composition.Job, d *composition.Decision,
	) (*composition.Packets, error) {
		fluid := fluidTrace
		if j.Graph != sys.undelayedGraph || d.Network != n {
			// Packets are ordered by the rates at level flow, so the trace must contain
			// them.
			withRates := *d
			withRates.Flow.Rates = true
			r, err := composition.Simulate(ctx, "flow", j, &withRates)
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
			Graph:   k.Graph,
			Network: k.Network,
			Flows:   k.Flows,
			Paths:   k.Paths,
			Bytes:   int32(sys.scenario.Workload.Packet),
			Options: packet.Options{
				Seed:      sys.scenario.Seed,
				Reference: k.Reference(fluid),
				React:     reactToParts(k, len(j.Graph.Tasks), react),
			},
			Trace: func(t *engine.Trace) *engine.Trace { return k.Trace(j.Graph, t) },
		}, nil
	}
}

// addPacketMetrics adds packet statistics, and the makespan at level flow with the bound
// on the difference.
func (d *allocationResult) addPacketMetrics(row *result.Row) {
	row.Metrics["fluid_s"] = d.Makespan.Seconds()
	if d.packetSlack > 0 {
		row.Metrics["packet_slack_s"] = d.packetSlack.Seconds()
	} else {
		row.Labels["packet_slack_s"] = "no bound is known where circuits move, " +
			"or links inside pods follow each other in a circle"
	}
	d.Run.Result.MeasurePackets(row)
}
