package circuits

import (
	"context"
	"errors"

	"sim/engine"
	"sim/engine/packet"
	"sim/fabric"
	"sim/policies/topology"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
)

// podPackets is a decision on pods, simulated packet by packet.
type podPackets struct {
	assembly.Packets
	trace *engine.Trace   // of the complete DAG
	fluid engine.Time     // when it ends as fluid
	slack engine.Time     // that packets may need beside
	moves *topology.Moves // with the moments at which circuits moved; nil where none do
}

// packets simulates a decision packet by packet on the complete DAG, of which fluid is the trace as fluid.
func (in *instance) packets(ctx context.Context, d *topology.Decision, fluid *engine.Trace) (*podPackets, error) {
	if d.Moves.Moving() {
		return in.packetMoves(ctx, d, fluid)
	}
	provisioned, err := in.optical.Provision(d.Circuits)
	if err != nil {
		return nil, err
	}
	out, k, err := in.packetsOn(ctx, d, fluid, provisioned, nil)
	if err != nil {
		return nil, err
	}
	out.slack, err = packet.Slack(k.Graph, k.Network, k.Flows, k.Paths, int32(in.s.Workload.Packet), k.Reference(fluid))
	if errors.Is(err, packet.ErrSlack) && in.tiers != nil {
		err = nil // links of a torus or graph inside pods follow each other in circles
	}
	return out, err
}

// packetsOn simulates a decision packet by packet on circuits as they are provisioned, and as they move when tasks end;
// react is nil where they stay.
func (in *instance) packetsOn(ctx context.Context, d *topology.Decision, fluid *engine.Trace, provisioned *engine.Network, react packet.Reaction) (*podPackets, *fabric.Packets, error) {
	out, k, err := in.packetsOf(ctx, in.plain, fluid, provisioned, react)
	if err != nil {
		return nil, nil, err
	}
	out.fluid = d.Makespan
	return out, k, nil
}

// packetsOf simulates a graph with the tasks of the job packet by packet on a network as it is provisioned, and as react
// moves its circuits. fluid is the graph's trace as fluid, by which packets are ordered.
func (in *instance) packetsOf(ctx context.Context, g *engine.Graph, fluid *engine.Trace, provisioned *engine.Network, react packet.Reaction) (*podPackets, *fabric.Packets, error) {
	k, err := in.pods.Packets(g, in.optical, provisioned)
	if err != nil {
		return nil, nil, err
	}
	o := packet.Options{Stop: func() bool { return ctx.Err() != nil }, Seed: in.s.Seed, Reference: k.Reference(fluid)}
	o.React = asPackets(k, len(g.Tasks), react)
	trace, stats, err := packet.RunGraph(k.Graph, k.Network, k.Flows, k.Paths, int32(in.s.Workload.Packet), o)
	if errors.Is(err, packet.ErrStopped) {
		err = ctx.Err()
	}
	if err != nil {
		return nil, nil, err
	}
	return &podPackets{Packets: assembly.Packets{Stats: stats, Network: k.Network}, trace: k.Trace(g, trace)}, k, nil
}

// measure adds how packets compare with the fluid that was decided on, and what became of them.
func (p *podPackets) measure(row *result.Row) {
	row.Metrics["fluid_s"] = p.fluid.Seconds()
	if p.slack > 0 {
		row.Metrics["packet_slack_s"] = p.slack.Seconds()
	} else {
		row.Labels["packet_slack_s"] = "no bound is known where circuits move, or links inside pods follow each other in a circle"
	}
	p.Packets.Measure(row)
}
