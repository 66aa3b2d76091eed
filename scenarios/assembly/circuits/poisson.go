// This file simulates packets from Poisson sources on the circuits of a decision.

package circuits

import (
	"context"

	"sim/engine"
	"sim/engine/packet"
	"sim/policies/topology"
	"sim/scenarios/assembly/composition"
)

// injectPoisson simulates packets from Poisson sources on the circuits of a decision, and
// adds their metrics. Each GPU sends each packet to a random one of the destinations of
// its traffic.
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

	// Each GPU has one source, which chooses among its flows uniformly.
	gpus, until := len(sys.pods.Nodes), w.Warmup+w.Duration
	flowsPerGPU := int32(len(k.Flows) / gpus) // flows are ordered by their source
	rate := float64(sys.scenario.Fabric.NICBandwidth)
	interval := 8 * float64(w.Packet) / rate * float64(engine.Second) / w.Load // in ticks
	// Sources ignores its argument, the maximum link load, because the rates do not adapt.
	job := &composition.Job{Sources: func(float64) (all []packet.Source, err error) {
		for g := range int32(gpus) {
			all = append(all, packet.Source{
				First:   g * flowsPerGPU,
				End:     (g + 1) * flowsPerGPU,
				Bytes:   int32(w.Packet),
				Seed:    sys.scenario.Seed,
				Process: packet.Poisson,
				Order:   packet.Uniform,
				Every:   interval,
				Stop:    until,
			})
		}
		return all, nil
	}}
	o := packet.Options{
		Seed:         sys.scenario.Seed,
		MeasureFrom:  w.Warmup,
		MeasureUntil: until,
		EndMeasured:  true,
	}
	decision := composition.NewPathDecision(k.Network, k.Flows, k.Paths, int32(w.Packet), o)
	if z.packets, err = composition.Simulate(ctx, "packet", job, decision); err != nil {
		return err
	}

	// The accepted load is the delivered rate relative to the capacity of all network
	// interfaces, during the measured time.
	z.packets.MeasurePackets(&z.row)
	capacity := rate * w.Duration.Seconds() * float64(gpus)
	z.row.Metrics["accepted_load"] = 8 * float64(z.packets.Stats.MeasuredBytes) / capacity
	return nil
}
