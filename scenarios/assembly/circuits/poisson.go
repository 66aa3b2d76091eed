package circuits

import (
	"context"

	"sim/engine"
	"sim/engine/packet"
	"sim/policies/topology"
	"sim/scenarios/assembly/composition"
)

// injectPoisson simulates packets at random times on the circuits of a decision: each GPU sends to one of those to which it has
// traffic, drawn for each packet.
func (z *circuitLoads) injectPoisson(ctx context.Context, d *topology.Decision) error {
	sys, w := z.system, &z.system.scenario.Workload
	n, err := sys.optical.Provision(d.Circuits)
	if err != nil {
		return err
	}
	k, err := sys.pods.Packets(sys.undelayedGraph, sys.optical, n)
	if err != nil {
		return err
	}
	gpus, until := len(sys.pods.Nodes), w.Warmup+w.Duration
	flowsPerGPU := int32(len(k.Flows) / gpus) // that a GPU has, in the order of GPUs
	job := &composition.Job{Sources: func(float64) (all []packet.Source, err error) {
		for g := range int32(gpus) {
			all = append(all, packet.Source{
				First: g * flowsPerGPU, End: (g + 1) * flowsPerGPU, Bytes: int32(w.Packet), Seed: sys.scenario.Seed, Process: packet.Poisson, Order: packet.Uniform,
				Every: 8 * float64(w.Packet) / float64(sys.scenario.Fabric.NICBandwidth) * float64(engine.Second) / w.Load, Stop: until,
			})
		}
		return all, nil
	}}
	o := packet.Options{Seed: sys.scenario.Seed, MeasureFrom: w.Warmup, MeasureUntil: until, EndMeasured: true}
	if z.packets, err = composition.Simulate(ctx, "packet", job, composition.NewPathDecision(k.Network, k.Flows, k.Paths, int32(w.Packet), o)); err != nil {
		return err
	}
	z.packets.MeasurePackets(&z.row)
	z.row.Metrics["accepted_load"] = 8 * float64(z.packets.Stats.MeasuredBytes) / (float64(sys.scenario.Fabric.NICBandwidth) * w.Duration.Seconds() * float64(gpus))
	return nil
}
