package scenarios

import (
	"context"
	"errors"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
	"sim/fabric"
	"sim/policies/topology"
	"sim/scenarios/result"
)

// podPackets is a decision on pods, simulated packet by packet.
type podPackets struct {
	packets
	trace *engine.Trace // of the complete DAG
	fluid engine.Time   // when it ends as fluid
	slack engine.Time   // that packets may need beside
}

// packets simulates a decision packet by packet on the complete DAG.
func (in *instance) packets(ctx context.Context, d *topology.Decision) (*podPackets, error) {
	lit, err := in.optical.Light(d.Circuits)
	if err != nil {
		return nil, err
	}
	k, err := in.pods.Packets(in.graph, in.optical, lit)
	if err != nil {
		return nil, err
	}
	o := packet.Options{Stop: func() bool { return ctx.Err() != nil }, Seed: in.s.Seed}
	if d.Service != flow.MaxMin {
		if o.TaskLevel, err = in.levels(d, lit, k); err != nil {
			return nil, err
		}
	}
	bytes := int32(in.s.Workload.Packet)
	trace, stats, err := packet.RunGraph(k.Graph, k.Network, k.Flows, k.Walks, bytes, o)
	if errors.Is(err, packet.ErrStopped) {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	out := &podPackets{packets: packets{stats, k.Network}, trace: k.Trace(in.graph, trace), fluid: d.Makespan}
	out.slack, err = packet.Slack(k.Graph, k.Network, k.Flows, k.Walks, bytes)
	return out, err
}

// levels returns what the priority of a decision goes by, of the tasks that stand for those of the complete DAG.
func (in *instance) levels(d *topology.Decision, lit *engine.Network, k *fabric.Packets) ([]packet.Level, error) {
	e, err := flow.NewEvaluator(in.graph, lit, in.optical.Routes, d.Service)
	if err != nil {
		return nil, err
	}
	spans := e.Spans()
	tail := spans.Tail
	if own := in.tails(d); own != nil {
		tail = own
	}
	levels := make([]packet.Level, len(k.Origin))
	for part, of := range k.Origin {
		levels[part].Tail = tail[of]
		if bytes := k.Graph.Tasks[part].Bytes; bytes > 0 && d.Service == flow.LevelPriority {
			levels[part].PerByte = spans.Tau[of] / float64(bytes)
		}
	}
	return levels, nil
}

// measure adds how packets compare with the fluid that was decided on, and what became of them.
func (p *podPackets) measure(row *result.Row) {
	row.Metrics["fluid_s"], row.Metrics["packet_slack_s"] = p.fluid.Seconds(), p.slack.Seconds()
	if p.fluid > 0 {
		row.Metrics["over_fluid"] = p.trace.Makespan.Seconds() / p.fluid.Seconds()
	}
	p.packets.measure(row)
}
