package circuits

import (
	"context"

	"sim/engine"
	"sim/engine/packet"
	"sim/policies/topology"
	"sim/scenarios/assembly/composition"
)

// inject simulates packets at random times on the circuits of a decision: each GPU sends to one of those to which it has
// traffic, drawn for each packet.
func (z *loads) inject(ctx context.Context, d *topology.Decision) error {
	in, w := z.in, &z.in.s.Workload
	n, err := in.optical.Provision(d.Circuits)
	if err != nil {
		return err
	}
	k, err := in.pods.Packets(in.plain, in.optical, n)
	if err != nil {
		return err
	}
	gpus, until := len(in.pods.Nodes), w.Warmup+w.Duration
	each := int32(len(k.Flows) / gpus) // that a GPU has, in the order of GPUs
	job := &composition.Job{Sources: func(float64) (all []packet.Source, err error) {
		for g := range int32(gpus) {
			all = append(all, packet.Source{
				First: g * each, End: (g + 1) * each, Bytes: int32(w.Packet), Seed: in.s.Seed, Process: packet.Poisson, Order: packet.Uniform,
				Every: 8 * float64(w.Packet) / float64(in.s.Fabric.NICBandwidth) * float64(engine.Second) / w.Load, Stop: until,
			})
		}
		return all, nil
	}}
	o := packet.Options{Seed: in.s.Seed, MeasureFrom: w.Warmup, MeasureUntil: until, EndMeasured: true}
	if z.packets, err = composition.Simulate(ctx, "packet", job, composition.NewPathDecision(k.Network, k.Flows, k.Paths, int32(w.Packet), o)); err != nil {
		return err
	}
	z.packets.MeasurePackets(&z.row)
	z.row.Metrics["accepted_load"] = 8 * float64(z.packets.Stats.MeasuredBytes) / (float64(in.s.Fabric.NICBandwidth) * w.Duration.Seconds() * float64(gpus))
	return nil
}
