package paths

import (
	"context"
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
	"sim/policies/routing"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/result"
)

// simulate simulates the work at the scenario's level, on other paths after a fault in mid-run.
func (a *routingResult) simulate(ctx context.Context, after *routing.Decision) error {
	r, level := a.system, a.system.s.Engine.Level
	if level == "static" {
		return nil
	}
	if a.uniformRates {
		ends, err := flow.UniformEnds(ctx, a.visible, a.paths, r.load.flows,
			r.load.parts[0].traffic.Message)
		if err == nil {
			a.setFinishTime(slices.Max(ends))
		}
		return err
	}

	run, err := a.newRun(after)
	if err != nil {
		return err
	}
	job, decision := &run.Job, &run.Decision
	if f := a.classGraph; f != nil {
		job = &composition.Job{Graph: f.Graph}
		decision = composition.NewRouteDecision(f.Network, f.Routes, flow.Options{})
		decision.ArrivalDelays = a.arrivalDelays
	}

	out, err := composition.Simulate(ctx, level, job, decision)
	if err != nil {
		return err
	}
	if a.Result, a.Run = *out, run; a.classGraph == nil {
		run.Result = out
	}
	if a.Trace != nil {
		a.setFinishTime(a.Trace.Makespan)
	}
	if a.Stats != nil {
		a.measureDelays()
	}
	if run.End = a.finishTime; run.Sources != nil && r.s.Workload.Source == "paced" &&
		a.Stats.Delay.Count > 0 && a.Stats.Hops <= maxRepeatedHops {
		a.MaxLoad = a.bottleneckLoad
		a.DelayAt = func(load float64) (*result.Delay, error) {
			j := run.Job
			j.Sources = func(float64) ([]packet.Source, error) { return r.sources(load) }
			out, err := composition.Simulate(ctx, level, &j, &run.Decision)
			if err != nil {
				return nil, err
			}
			return composition.DelayOf(out.Stats), nil
		}
	}
	return nil
}

// newRun returns the work under the decision, not simulated yet.
func (a *routingResult) newRun(after *routing.Decision) (*composition.Run, error) {
	r, level := a.system, a.system.s.Engine.Level
	run := &composition.Run{Level: level,
		HardwareInfo: composition.HardwareInfo{Ideal: &r.IdealReference}}
	if r.Tiers != nil {
		run.Tiers, run.TierOf = r.s.Fabric.Kinds(), r.TierOf
	}
	run.Job = composition.Job{Graph: r.load.graph, Step: r.iteration, Base: r.originalTasks}
	if c := r.load.call; c != nil {
		run.WithArrivalDelays = func(late []engine.Time) (*engine.Graph, error) { return c.taskGraph(late, false) }
	}
	var err error
	if run.Graph == nil {
		if level == "packet" {
			run.Sources = r.sources
		}
		if level == "flow" && a.classGraph == nil || r.Tiers != nil && r.s.HasMessageSizes() {
			if run.Graph, err = r.load.parts[0].traffic.Graph(); err != nil {
				return nil, err
			}
		}
	}

	flows, paths := r.load.taskPaths(a.paths)
	d := composition.NewPathDecision(a.visible, flows, paths, int32(r.s.Workload.Packet),
		a.packetOptions(after))
	if d.ArrivalDelays = a.arrivalDelays; r.load.rateGroups != nil {
		d.Merge = r.load.mergeRateGroups
	}
	if run.Sources != nil {
		d.ReferenceRate, d.Loads = float64(r.s.Fabric.LinkRate), a.linkLoads
	}
	run.Decision = *d
	if level != "packet" {
		return run, nil
	}
	hardware, channels := r.System, a.paths.Channels()
	if after != nil {
		channels = max(channels, after.Paths.Channels())
	}
	if a.visible == r.Whole && r.s.Fabric.FailAt == 0 {
		hardware.Health = nil // nothing is down
	}
	network, err := hardware.Network(&r.s.Fabric.Links, r.s.Workload.Packet, channels)
	if err != nil {
		return nil, err
	}
	run.ToPackets = func(ctx context.Context, j *composition.Job, v *composition.Decision) (*composition.Packets, error) {
		p, err := d.ToPackets(ctx, j, v)
		if err == nil {
			p.Network = v.ScaleNetwork(network)
		}
		return p, err
	}

	return run, nil
}

// packetOptions returns how packets are simulated, on other paths after a fault in mid-run.
func (a *routingResult) packetOptions(after *routing.Decision) packet.Options {
	r, l := a.system, &a.system.s.Fabric
	o := packet.Options{Until: r.s.Engine.Until, Seed: r.s.Seed, BitErrorRate: l.BitErrors,
		SampleEvery: r.s.Engine.SampleEvery, Workers: a.workers}
	if after != nil {
		o.Rewire = []packet.Rewire{{At: l.FailAt + l.RerouteAfter, Paths: after.Paths}}
	}
	if l.Queue == "credit" {
		o.Control = packet.Credit
	}
	if r.load.call != nil {
		o.TaskRank = r.load.call.sendOrder
	} else if r.iteration != nil && l.Queue != "credit" { // whose links take no order
		o.TaskRank = r.iteration.SendOrder
	}
	if t := &r.s.Workload.Traffic; t.Source == "poisson" && r.load.graph == nil {
		o.MeasureFrom, o.MeasureUntil, o.EndMeasured = t.Warmup, t.Warmup+t.Duration, true
	}
	return o
}

// setFinishTime measures when the work ends.
func (a *routingResult) setFinishTime(at engine.Time) {
	a.finishTime, a.Row.Metrics[a.system.endMetric()] = at, at.Seconds()
	if a.system.iteration != nil {
		a.system.AddExposed(&a.Row, at, "these paths do")
	}
}

// hasLatency reports whether links have latencies.
func (r *routingSystem) hasLatency() bool {
	return slices.ContainsFunc(r.Whole.Links,
		func(l engine.Link) bool { return l.Latency > 0 })
}

// arrivalDelays returns by task of a graph how long after a transfer's last bit has left it arrives, on the longest of its routes;
// nil where that is at once.
func (a *routingResult) arrivalDelays(g *engine.Graph) []engine.Time {
	r := a.system
	if !r.hasLatency() {
		return nil
	}
	late, flows := make([]engine.Time, len(g.Tasks)), a.taskFlows(g)
	for i := range late {
		if g.Tasks[i].Kind != engine.Transfer {
			continue
		}
		for _, route := range a.flowPaths(flows[i]) {
			sum := engine.Time(0)
			for _, link := range route {
				sum += r.Whole.Links[link].Latency
			}
			late[i] = max(late[i], sum)
		}
	}

	return late
}

// maxRepeatedHops bounds the hops of packets that are simulated again at another load: some seconds.
const maxRepeatedHops = 20_000_000
