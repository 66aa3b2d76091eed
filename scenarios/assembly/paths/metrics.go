// This file measures a decision: link loads, bounds and gaps, forwarding tables,
// deadlock freedom, and the effect on a training step.

package paths

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/engine/packet"
	"sim/engine/static"
	"sim/policies/routing"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/assembly/input"
	"sim/scenarios/result"
)

// maxTableNodes limits the nodes of networks for which forwarding tables are
// compiled and the bisection is searched, as parts of every run. The time and memory of
// both grow at least with the square of the number of nodes.
const maxTableNodes = 512

// measurePaths adds the metrics of a decision's paths on network n that need no
// simulation: loads, hops, bounds, forwarding tables and deadlock freedom.
// faultFreeLoad is the maximum link load without faults, or 0.
func (a *routingResult) measurePaths(
	ctx context.Context, n *engine.Network, d *routing.Decision, faultFreeLoad float64,
) error {
	r, m := a.system, a.Row.Metrics
	if err := a.setLoads(ctx, n, d); err != nil {
		return err
	}

	// Loads are integers, unless messages have sizes or are divided over paths.
	loads, maxLoad, hops := a.pathLoads, maxLinkLoad(a.pathLoads), float64(a.pathLoads.SumHops)
	if loads.Weighted != nil {
		hops = loads.WeightedHops
	}
	m["max_link_load"] = maxLoad
	m["diameter"] = float64(loads.MaxHops)
	m["sum_hops"] = hops

	switch {
	case r.s.CoversAllPairs() && r.load.demand == nil:
		// The mean includes the pair of each node with itself.
		nodes := float64(r.Whole.Nodes)
		if r.Torus == nil { // switches do not communicate
			nodes = float64(r.numUpNodes())
		}
		m["average_hops"] = hops / (nodes * nodes)
	case r.totalMessages() > 0:
		m["average_hops"] = hops / r.totalMessages()
	}

	// The fluid completion time is the time in which the bottleneck carries its
	// load.
	weighted := composition.Decision{
		Network: n, Loads: a.linkLoads, ReferenceRate: float64(r.s.Fabric.LinkRate),
	}
	a.bottleneckLoad = weighted.BottleneckLoad()
	if rate := float64(r.s.Fabric.LinkRate) / 8; a.bottleneckLoad > 0 {
		if r.s.trafficKind().IsUniform {
			up := float64(r.numUpNodes())
			m["all_to_all_bytes_per_s"] = rate * (up - 1) / a.bottleneckLoad
		}
		if r.s.HasUniformSize() || r.s.trafficKind().IsListed {
			m["fluid_s"] = a.bottleneckLoad * float64(r.load.parts[0].traffic.Message) / rate
		}
	}

	// The router's own metrics and labels. It leads only some flows of a
	// collective call.
	for name, v := range d.Metrics {
		m[name] = v
	}
	if r.load.call != nil {
		m["max_link_load"] = maxLoad
	}
	for name, v := range d.Labels {
		a.Row.Labels[name] = v
	}

	a.setLoadBounds(d, maxLoad)
	r.ranks.addMetrics(m)

	if faultFreeLoad > 0 {
		m["fault_ratio"] = faultFreeLoad / maxLoad
		a.faultFreeLoad, a.maxLoad = faultFreeLoad, maxLoad
	}

	if r.Whole.Nodes <= maxTableNodes {
		a.measureTables(n, d)
	}

	// A cycle in the dependencies of channels can cause a deadlock.
	channels, cycle, err := a.channelCycle(ctx, n, d)
	if err != nil {
		return err
	}
	m["channels"] = float64(channels)
	if cycle == nil {
		a.Row.Labels["deadlock"] = "none: the channels' dependencies have no cycle"
	} else {
		a.Row.Labels["deadlock"] = "possible: " + cycle.Names(n)
	}

	return nil
}

// setLoads checks the paths of a decision and computes the loads of links.
func (a *routingResult) setLoads(
	ctx context.Context, n *engine.Network, d *routing.Decision,
) (err error) {
	if a.sums == nil { // sums are checked when they are computed
		if err = d.Paths.Check(ctx, withAllChannels(n), a.system.load.flows); err != nil {
			return err
		}
	}
	if a.pathLoads, err = a.system.measureLoads(ctx, n, d, a.sums); err != nil {
		return err
	}

	a.linkLoads = a.pathLoads.Weighted
	if a.linkLoads == nil {
		for _, messages := range a.pathLoads.Link {
			a.linkLoads = append(a.linkLoads, float64(messages))
		}
	}
	return nil
}

// channelCycle returns the number of virtual channels that paths use, and a cycle
// in the dependencies of channels. The cycle is nil if the dependencies are
// acyclic.
func (a *routingResult) channelCycle(
	ctx context.Context, n *engine.Network, d *routing.Decision,
) (channels int, cycle packet.Cycle, err error) {
	if a.sums != nil {
		return a.sums.Channels(ctx, n)
	}
	cycle, err = packet.CheckChannels(ctx, n, d.Paths, a.system.load.flows)
	return d.Paths.Channels(), cycle, err
}

// AllLinks is the model of the load bound that follows from the fabric alone
// (routingSystem.setLoadBound).
const AllLinks = "any routes, over all links as if they were one"

// setLoadBounds adds the lower bounds on the maximum link load, and the gap of
// maxLoad to the best of them. If link rates differ, the bounds and the gap refer
// to loads divided by rates.
func (a *routingResult) setLoadBounds(d *routing.Decision, maxLoad float64) {
	r, m := a.system, a.Row.Metrics
	multiPath := d.Paths.First != nil || d.Paths.Spread != nil
	b := &result.Bounds{GapMetric: "max_link_load", MultiPath: multiPath}
	value := maxLoad
	routerBound, routerModel := d.Bound, d.BoundModel
	model, splitModel := AllLinks, routing.ModelSplitPaths
	if r.Tiers != nil {
		model = "any routes, over all links of a tier as if they were one"
	}

	if r.ratesDiffer {
		const suffix = "; of load over rate"
		model, splitModel = model+suffix, splitModel+suffix
		b.GapMetric, value = "max_load_over_rate", a.bottleneckLoad
		m[b.GapMetric] = value
		routerBound, routerModel = d.Metrics["bound_max_load_over_rate"], d.Labels["gap_model"]
	} else if r.load.demand == nil {
		// Each message takes one path, so loads are integers.
		const rounding = 1e-9 // absorbs rounding errors of the bound
		a.addProof(b, math.Ceil(r.loadBound-rounding), model, forSinglePaths)
	}

	a.addProof(b, r.loadBound, model, forSplitPaths)
	if r.load.call != nil { // the router's bounds hold for the flows that it leads
		routerBound, d.BoundSplit = 0, 0
	}
	a.addProof(b, routerBound, routerModel, b.MultiPath)
	a.addProof(b, d.BoundSplit, splitModel, forSplitPaths)
	a.setGap(b, value)
}

// setMakespanBounds adds the lower bounds on the completion time of a task graph,
// and the gap to the best of them. They replace the gap of loads, because a router
// should minimise the completion time. Without a completed task graph it changes
// nothing.
func (a *routingResult) setMakespanBounds(ctx context.Context, d *routing.Decision) error {
	end, ok := a.Row.Metrics[a.system.endMetric()]
	if a.system.load.graph == nil || a.system.load.call != nil || !ok {
		return nil
	}

	b := a.Row.Bounds
	b.GapMetric = a.system.endMetric()
	if a.system.quotient != nil { // the bounds of links need the transfers of all GPUs
		a.addProof(b, a.system.Bound.Seconds(), routing.TimeModelSplitPaths, forSplitPaths)
		a.setGap(b, end)
		return nil
	}

	bounds, err := a.system.makespanBounds(ctx)
	if err != nil {
		return err
	}
	a.addProof(b, bounds.splitPaths.Seconds(), routing.TimeModelSplitPaths, forSplitPaths)
	if !a.system.s.Mapping.IsSet() { // a mapping sends other transfers than the reference
		// It limits each node tier by tier, while the other bounds take the links of a node together.
		a.addProof(b, a.system.Bound.Seconds(), routing.TimeModelSplitPaths, forSplitPaths)
	}
	a.addProof(b, bounds.singlePath.Seconds(), routing.TimeModelSinglePath, forSinglePaths)
	a.addProof(b, d.MakespanBoundSplit.Seconds(), routing.TimeModelSplitPaths, forSplitPaths)
	a.addProof(b, d.MakespanBound.Seconds(), routing.TimeModelSinglePath, forSinglePaths)
	a.setGap(b, end)
	return nil
}

// Values of the argument multiPath of addProof.
const (
	forSplitPaths  = true  // the bound holds for flows on several paths, and thus for all
	forSinglePaths = false // the bound holds only if each flow uses one path
)

// addProof adds a bound on b.GapMetric to b, if it is positive. multiPath reports
// that the bound also holds if flows use several paths.
func (a *routingResult) addProof(b *result.Bounds, bound float64, model string, multiPath bool) {
	if bound > 0 {
		b.Proofs = append(b.Proofs, result.ProvedBound{
			Metric: b.GapMetric, Bound: bound, Model: model, MultiPath: multiPath,
		})
	}
}

// boundTolerance is the relative difference that the rounding of rates and times
// can cause between a value and a bound that it attains. A larger negative gap
// would show a wrong bound and is not hidden.
const boundTolerance = 1e-9

// setGap sets the best bound of b as a metric, and the gap of value to it.
func (a *routingResult) setGap(b *result.Bounds, value float64) {
	m, name := a.Row.Metrics, "bound_"+b.GapMetric
	a.Row.Bounds, m[name] = b, 0
	for _, p := range b.Proofs { // of equal bounds, the last has the more specific model
		applies := p.Metric == b.GapMetric && (p.MultiPath || !b.MultiPath)
		if !applies || p.Bound < m[name] {
			continue
		}
		m[name], a.Row.Labels["gap_model"] = p.Bound, p.Model
		gap := value/p.Bound - 1
		if b.GapMetric != "max_link_load" && gap > -boundTolerance {
			gap = max(0, gap)
		}
		m["gap"] = gap
	}
}

// measureTables adds the sizes of the forwarding tables of the paths. Paths that
// visit a node twice have no tables; a label then gives the reason.
func (a *routingResult) measureTables(n *engine.Network, d *routing.Decision) {
	t, err := routing.Compile(n, a.system.load.flows, d.Paths)
	if err != nil {
		a.Row.Labels["table_entries"] = err.Error()
		return
	}
	m := a.Row.Metrics
	m["table_entries"] = float64(t.Entries)
	m["table_entries_chip"] = float64(t.MaxChipEntries)
	m["tag_bits"] = float64(t.TagBits)
}

// maxLinkLoad returns the maximum link load, in messages.
func maxLinkLoad(loads *static.Loads) float64 {
	if loads.Weighted != nil {
		return loads.MaxWeighted
	}
	return float64(loads.Max)
}

// withAllChannels returns a copy of n in which links have as many virtual channels
// as paths can name. Whether the fabric has the channels is checked separately
// (checkChannels).
func withAllChannels(n *engine.Network) *engine.Network {
	wide := *n
	wide.Links = slices.Clone(n.Links)
	for i := range wide.Links {
		wide.Links[i].Channels = engine.MaxChannel + 1
	}
	return &wide
}

// totalMessages returns the sum of the demands of flows, in messages.
func (r *routingSystem) totalMessages() float64 {
	if r.load.demand == nil {
		return float64(len(r.load.flows))
	}
	sum := 0.0
	for _, d := range r.load.demand {
		sum += d
	}
	return sum
}

// numUpNodes returns the number of nodes that are up.
func (r *routingSystem) numUpNodes() int {
	n := int(r.Whole.Nodes)
	for _, down := range r.Down {
		if down {
			n--
		}
	}
	return n
}

// measureStep adds the effect of a slower collective on a training step that
// contains it. before and after are the durations of the collective without and with the
// fault. The duration of the compute does not change. Compute overlaps the share t.Overlap
// of the collective, but no more than its own duration. Durations below are relative to
// the step without the fault.
func measureStep(row *result.Row, t *input.Step, before, after float64) {
	ratio := after / before
	if t.Share > 0 {
		compute := 1 - t.Share*(1-t.Overlap)
		hidden := min(compute, t.Share*ratio*t.Overlap)
		row.Metrics["step_slowdown"] = compute + t.Share*ratio - hidden - 1
	}

	// The exposed share of the collective that explains the measured slowdown of
	// the step.
	switch {
	case t.Slowdown <= 0:
	case ratio <= 1:
		row.Labels["implied_share"] = "undefined: the fault does not slow the collective down, so " +
			"no share of it explains the measured slowdown of the step"
	default:
		share := t.Slowdown / (ratio - 1)
		row.Metrics["implied_share"] = share
		if share > 1 {
			row.Labels["implied_share"] = "impossible, as no more than the whole step can be the " +
				"collective: the fault slows the collective down by less than the " +
				"measured slowdown of the step, so something else slowed the step down, too"
		}
	}
}

// measureDelays adds the metrics of packets: delays, the completion time, and the
// accepted load of Poisson sources.
func (a *routingResult) measureDelays() {
	a.MeasurePackets(&a.Row)
	a.setCompletionTime()
	if t := &a.system.s.Workload.Traffic; t.Source == "poisson" {
		rate := float64(a.system.s.Fabric.LinkRate) / 8
		maxBytes := rate * t.Duration.Seconds() * float64(a.system.numUpNodes())
		a.Row.Metrics["accepted_load"] = float64(a.Stats.MeasuredBytes) / maxBytes
	}
}

// setCompletionTime sets the completion time of a packet simulation. If packets
// were dropped or not delivered in time, the time is undefined, and a label gives
// the reason. Lost packets would make the network look fast.
func (a *routingResult) setCompletionTime() {
	s, m := a.Stats, a.Row.Metrics
	if a.system.s.Workload.Source == "poisson" && a.system.load.graph == nil {
		return // Poisson sources have no end
	}

	_, hasFluid := m["fluid_s"]
	end := a.system.endMetric()
	_, done := m[end]
	why := ""
	switch {
	case s.Transport != nil && done:
		return
	case s.Dropped > 0 && s.Transport == nil:
		why = fmt.Sprintf("undefined: %d of %d packets were dropped", s.Dropped, s.Injected)
	case s.InFlight() > 0:
		why = fmt.Sprintf("undefined: %d of %d packets were on their way at engine.until",
			s.InFlight(), s.Injected)
	case !done && a.system.load.graph != nil:
		why = "undefined: transfers were left at engine.until"
	default:
		if !done {
			a.finishTime, m[end] = s.End, s.End.Seconds()
		}
		return
	}

	delete(m, end)
	a.Row.Labels[end] = why
	if hasFluid {
		a.Row.Labels["over_fluid"] = why
	}
}
