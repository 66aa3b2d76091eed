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
func (in *instance) simulatePackets(ctx context.Context, d *topology.Decision, run *composition.Run) (slack engine.Time, moves *topology.Moves, err error) {
	var live *topology.LiveController
	react := packet.Reaction(nil)
	if d.Moves.Moving() {
		if live, run.Network, err = in.movePackets(ctx, d); err != nil {
			return 0, nil, err
		}
		react = live.React
	}
	run.ToPackets = in.lower(run.Network, run.Result.Trace, react)
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
	if errors.Is(err, packet.ErrSlack) && in.tiers != nil {
		err = nil // links of a torus or graph inside pods follow each other in circles
	}
	return slack, nil, err
}

// lower returns what lowers jobs to packets that are ordered by the fluid, which is known of the job itself on network n.
// Circuits move as react says; nil if they stay.
func (in *instance) lower(n *engine.Network, known *engine.Trace, react packet.Reaction) func(context.Context, *composition.Job, *composition.Decision) (*composition.Packets, error) {
	return func(ctx context.Context, j *composition.Job, d *composition.Decision) (*composition.Packets, error) {
		fluid := known
		if j.Graph != in.plain || d.Network != n {
			rated := *d
			rated.Flow.Rates = true
			r, err := composition.Simulate(ctx, "flow", j, &rated)
			if err != nil {
				return nil, err
			}
			fluid = r.Trace
		}
		k, err := in.pods.Packets(j.Graph, in.optical, d.Network)
		if err != nil {
			return nil, err
		}
		return &composition.Packets{
			Graph: k.Graph, Network: k.Network, Flows: k.Flows, Paths: k.Paths, Bytes: int32(in.s.Workload.Packet),
			Options: packet.Options{Seed: in.s.Seed, Reference: k.Reference(fluid), React: asPackets(k, len(j.Graph.Tasks), react)},
			Trace:   func(t *engine.Trace) *engine.Trace { return k.Trace(j.Graph, t) },
		}, nil
	}
}

// measurePackets adds how packets compare with the fluid that was decided on, and what became of them.
func (d *decided) measurePackets(row *result.Row) {
	row.Metrics["fluid_s"] = d.Makespan.Seconds()
	if d.slack > 0 {
		row.Metrics["packet_slack_s"] = d.slack.Seconds()
	} else {
		row.Labels["packet_slack_s"] = "no bound is known where circuits move, or links inside pods follow each other in a circle"
	}
	d.Run.Result.MeasurePackets(row)
}
