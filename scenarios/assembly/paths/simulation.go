// This file simulates the work on the paths of a router, at level flow or packet.

package paths

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
	"sim/policies/routing"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/result"
)

// simulate simulates the work at the scenario's level. after holds the paths that
// are used after a fault in mid-run; nil if there is no such fault.
func (a *routingResult) simulate(ctx context.Context, after *routing.Decision) error {
	r, level := a.system, a.system.s.Engine.Level
	if level == "static" {
		return nil
	}

	// All messages have one size, so their completion times follow from the
	// initial rates.
	if a.uniformRates {
		ends, err := flow.UniformEnds(ctx, a.routerNetwork, a.paths, r.load.flows,
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

	// Simulate one task per class of identical messages, if there are such
	// classes.
	job, decision := &run.Job, &run.Decision
	if f := a.classGraph; f != nil {
		job = &composition.Job{Graph: f.Graph}
		decision = composition.NewRouteDecision(f.Network, f.Routes, a.flowOptions())
		decision.ArrivalDelays = a.arrivalDelays
	}

	out, err := composition.Simulate(ctx, level, job, decision)
	if err != nil {
		return err
	}
	a.Result, a.Run = *out, run
	if a.classGraph == nil { // the result describes tasks of the job, not classes
		run.Result = out
	}

	// Store the completion time and the metrics of packets.
	if a.Trace != nil {
		a.setFinishTime(a.Trace.Makespan)
		composition.AddPerturbation(&a.Row, a.Trace.Perturbation)
	}
	if a.Stats != nil {
		a.measureDelays()
	}
	run.End = a.finishTime
	if run.Sources == nil || r.s.Workload.Source != "paced" {
		return nil
	}

	// Paced sources follow the maximum link load. Their delay at another load can
	// be compared with the delays of other routers.
	if a.Stats.Delay.Count > 0 && a.Stats.Hops <= maxRepeatedHops {
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

// newRun returns the workload with the decision in the form that package
// composition simulates. after holds the paths after a fault in mid-run, or nil.
func (a *routingResult) newRun(after *routing.Decision) (*composition.Run, error) {
	r, level := a.system, a.system.s.Engine.Level
	run := &composition.Run{
		Level: level, HardwareInfo: composition.HardwareInfo{Ideal: &r.IdealReference},
	}
	if r.Tiers != nil {
		run.HardwareInfo.Tiers, run.TierOf = r.s.Fabric.Kinds(), r.TierOf
	}

	// The graph of a collective call depends on the latencies of paths.
	run.Job = composition.Job{Graph: r.load.graph, Step: r.iteration, Base: r.originalTasks}
	if c := r.load.call; c != nil {
		run.WithArrivalDelays = func(delays []engine.Time) (*engine.Graph, error) {
			return c.taskGraph(delays, anyOrder)
		}
	}

	// Traffic without dependencies needs a task graph only at level flow, or if
	// the parts of tiers in the completion time are measured.
	var err error
	if run.Graph == nil {
		hasTransport := r.s.Transport.IsUsed()
		if level == "packet" && !hasTransport {
			run.Sources = r.sources
		}
		needsGraph := level == "flow" && a.classGraph == nil || hasTransport ||
			r.Tiers != nil && r.s.HasMessageSizes()
		if needsGraph {
			if run.Graph, err = r.load.parts[0].traffic.Graph(); err != nil {
				return nil, err
			}
		}
	}

	// The decision: paths, and what else the simulation needs to know about them.
	flows, paths := r.load.taskPaths(a.paths)
	d := composition.NewPathDecision(a.routerNetwork, flows, paths, int32(r.s.Workload.Packet),
		a.packetOptions(after))
	d.ArrivalDelays, d.Known = a.arrivalDelays, r.Fair
	d.Flow = a.flowOptions()
	if r.load.rateGroups != nil {
		d.Merge = r.load.mergeRateGroups
	}

	if c := r.load.call; c != nil && c.foldedRoutes != nil {
		d.Routes = func(*engine.Graph) (*engine.Routes, error) { return c.foldedRoutes, nil }
		run.Multiplicity = func(task int32) float64 { return float64(c.ClassSize(task)) }
	}
	if r.quotient != nil {
		routesOf := d.Routes
		d.Routes = func(g *engine.Graph) (*engine.Routes, error) {
			return r.foldRoutes(g, a.routerNetwork, r.tierOfResource(), routesOf)
		}
		run.Multiplicity = r.quotient.Size
		all, _ := r.s.Workload.Work.Tasks()
		a.Row.Labels["folded"] = fmt.Sprintf("%.2g tasks as %.2g: one GPU of each stage stands for all, which do the same at the same time",
			all, float64(len(run.Graph.Tasks)))
	}

	if run.Sources != nil {
		d.ReferenceRate, d.Loads = float64(r.s.Fabric.LinkRate), a.linkLoads
	}
	run.Decision = *d

	if level != "packet" {
		return run, nil
	}

	// At level packet, links have buffers, channels and, unless the router saw a
	// fabric without faults, failures.
	hardware, channels := r.System, a.paths.Channels()
	if after != nil {
		channels = max(channels, after.Paths.Channels())
	}
	if a.routerNetwork == r.Whole && r.s.Fabric.FailAt == 0 {
		hardware.Health = nil // the router saw the fabric without faults, so none occur
	}

	network, err := hardware.Network(&r.s.Fabric.Links, r.s.Workload.Packet, channels)
	if err != nil {
		return nil, err
	}
	run.ToPackets = func(
		ctx context.Context, j *composition.Job, v *composition.Decision,
	) (*composition.Packets, error) {
		p, err := d.ToPackets(ctx, j, v)
		if err == nil {
			p.Network = v.ScaleNetwork(network)
		}
		return p, err
	}

	return run, nil
}

// flowOptions returns the options of the simulation at level flow.
func (a *routingResult) flowOptions() flow.Options {
	return flow.Options{Tolerance: a.system.s.Engine.Tolerance, Workers: max(1, a.workers)}
}

// packetOptions returns the options of the packet simulation. after holds the
// paths after a fault in mid-run, or nil.
func (a *routingResult) packetOptions(after *routing.Decision) packet.Options {
	r, l := a.system, &a.system.s.Fabric
	o := packet.Options{
		Until: r.s.Engine.Until, SampleEvery: r.s.Engine.SampleEvery,
		Seed: r.s.Seed, BitErrorRate: l.BitErrors, Workers: a.workers,
	}
	if after != nil {
		o.Rewire = []packet.Rewire{{At: l.FailAt + l.RerouteAfter, Paths: after.Paths}}
	}

	if l.Queue == "credit" {
		o.Control = packet.Credit
	}

	// Links with credit-based flow control, and hosts with a transport, do not take an order of
	// packets.
	if t := &r.s.Transport; t.IsUsed() {
		o.Transport = t
	} else if r.load.call != nil {
		o.TaskRank = r.load.call.sendOrder
	} else if r.iteration != nil && l.Queue != "credit" {
		o.TaskRank = r.iteration.SendOrder
	}

	// Poisson sources have no end. Measure the packets between warmup and the end
	// of the duration.
	if t := &r.s.Workload.Traffic; t.Source == "poisson" && r.load.graph == nil {
		o.MeasureFrom, o.MeasureUntil, o.EndMeasured = t.Warmup, t.Warmup+t.Duration, true
	}
	return o
}

// setFinishTime stores the completion time of the work and the metrics that follow
// from it.
func (a *routingResult) setFinishTime(end engine.Time) {
	a.finishTime, a.Row.Metrics[a.system.endMetric()] = end, end.Seconds()
	if a.system.iteration != nil {
		a.system.AddExposed(&a.Row, end, "these paths do")
		if a.system.quotient != nil && a.system.Service != flow.MaxMin {
			a.Row.Labels["nct_reference"] = "the ideal fabric serves identical transfers together; one after the other, they may end earlier"
		}
	}
}

// hasLatency reports whether some link has a latency.
func (r *routingSystem) hasLatency() bool {
	return slices.ContainsFunc(r.Whole.Links,
		func(l engine.Link) bool { return l.Latency > 0 })
}

// arrivalDelays returns the time from the departure of the last bit of a transfer
// to its arrival, indexed by task of g. It is the latency of the longest path of
// the transfer. The result is nil if no link has a latency.
func (a *routingResult) arrivalDelays(g *engine.Graph) []engine.Time {
	r := a.system
	if !r.hasLatency() {
		return nil
	}

	delays, flows := make([]engine.Time, len(g.Tasks)), a.taskFlows(g)
	for i := range delays {
		if g.Tasks[i].Kind != engine.Transfer {
			continue
		}
		for _, path := range a.flowPaths(flows[i]) {
			latency := engine.Time(0)
			for _, link := range path {
				latency += r.Whole.Links[link].Latency
			}
			delays[i] = max(delays[i], latency)
		}
	}

	return delays
}

// maxRepeatedHops limits the packet hops of a simulation that is repeated at
// another load. It bounds the additional time to a few seconds.
const maxRepeatedHops = 20_000_000
