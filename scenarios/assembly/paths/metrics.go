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

// maxTableNodes is the most nodes for which forwarding tables are made with results.
const maxTableNodes = 512

// measurePaths measures paths and their loads.
func (a *routingResult) measurePaths(
	ctx context.Context, n *engine.Network, d *routing.Decision, healthy float64,
) error {
	r, m := a.system, a.Row.Metrics
	if err := a.setLoads(ctx, n, d); err != nil {
		return err
	}
	z, top, hops := a.loads, maxLinkLoad(a.loads), float64(a.loads.SumHops)
	if z.Weighted != nil {
		hops = z.WeightedHops
	}
	m["max_link_load"] = top
	m["diameter"] = float64(z.MaxHops)
	m["sum_hops"] = hops
	switch {
	case r.s.CoversAllPairs() && r.load.demand == nil: // with the pairs of a node and itself
		nodes := float64(r.Whole.Nodes)
		if r.Torus == nil { // switches send nothing
			nodes = float64(r.numUpNodes())
		}
		m["average_hops"] = hops / (nodes * nodes)
	case r.totalMessages() > 0:
		m["average_hops"] = hops / r.totalMessages()
	}

	a.bottleneckLoad = (&composition.Decision{Network: n, Loads: a.linkLoads,
		ReferenceRate: float64(r.s.Fabric.LinkRate)}).BottleneckLoad()
	if rate := float64(r.s.Fabric.LinkRate) / 8; a.bottleneckLoad > 0 {
		if r.s.trafficKind().IsUniform {
			live := float64(r.numUpNodes())
			m["all_to_all_bytes_per_s"] = rate * (live - 1) / a.bottleneckLoad
		}
		if r.s.HasUniformSize() || r.s.trafficKind().IsListed {
			m["fluid_s"] = a.bottleneckLoad * float64(r.load.parts[0].traffic.Message) / rate
		}
	}

	for name, v := range d.Metrics {
		m[name] = v
	}
	if r.load.call != nil { // the router chose paths for some of its flows
		m["max_link_load"] = top
	}
	for name, v := range d.Labels {
		a.Row.Labels[name] = v
	}
	a.setLoadBounds(d, top)
	r.ranks.addMetrics(m)
	if healthy > 0 {
		m["fault_ratio"] = healthy / top
		a.faultFreeLoad, a.maxLoad = healthy, top
	}

	if r.Whole.Nodes <= maxTableNodes {
		a.measureTables(n, d)
	}
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

// setLoads checks paths and measures their loads.
func (a *routingResult) setLoads(
	ctx context.Context, n *engine.Network, d *routing.Decision,
) (err error) {
	if a.sums == nil { // else paths were checked one by one
		if err = d.Paths.Check(ctx, withAllChannels(n), a.system.load.flows); err != nil {
			return err
		}
	}
	if a.loads, err = a.system.measureLoads(ctx, n, d, a.sums); err != nil {
		return err
	}
	if a.linkLoads = a.loads.Weighted; a.linkLoads == nil {
		for _, messages := range a.loads.Link {
			a.linkLoads = append(a.linkLoads, float64(messages))
		}
	}
	return nil
}

// channelCycle returns the virtual channels that paths take, and a cycle in their dependencies; nil where there is none.
func (a *routingResult) channelCycle(
	ctx context.Context, n *engine.Network, d *routing.Decision,
) (channels int, cycle packet.Cycle, err error) {
	if a.sums != nil {
		return a.sums.Channels(ctx, n)
	}
	cycle, err = packet.CheckChannels(ctx, n, d.Paths, a.system.load.flows)
	return d.Paths.Channels(), cycle, err
}

// AllLinks is the model of the bound that the fabric has.
const AllLinks = "any routes, over all links as if they were one"

// setLoadBounds holds the load of the most loaded link against what no paths can undercut, where rates of links differ over
// them.
func (a *routingResult) setLoadBounds(d *routing.Decision, top float64) {
	r, m := a.system, a.Row.Metrics
	b := &result.Bounds{GapMetric: "max_link_load", MultiPath: d.Paths.First != nil ||
		d.Paths.Spread != nil}
	own, model := d.Bound, d.BoundModel
	least, split := AllLinks, routing.ModelSplitPaths
	if r.Tiers != nil {
		least = "any routes, over all links of a tier as if they were one"
	}
	if r.ratesDiffer {
		const over = "; of load over rate"
		b.GapMetric, top, least, split = "max_load_over_rate", a.bottleneckLoad,
			least+over, split+over
		own, model = d.Metrics["bound_max_load_over_rate"], d.Labels["gap_model"]
		m[b.GapMetric] = top
	} else if r.load.demand == nil { // whole messages on one way each

		a.addProof(b, math.Ceil(r.loadBound-1e-9), least, false)
	}
	a.addProof(b, r.loadBound, least, true)
	if r.load.call != nil { // the router has led some of the flows
		own, d.BoundSplit = 0, 0
	}
	a.addProof(b, own, model, b.MultiPath)
	a.addProof(b, d.BoundSplit, split, true)
	a.setGap(b, top)
}

// setMakespanBounds holds the end of transfers that wait for each other against what no paths can undercut: routers are to end
// them early, whatever their links carry in all. It is of what takes no time beside that on links.
func (a *routingResult) setMakespanBounds(ctx context.Context, d *routing.Decision) error {
	end, ok := a.Row.Metrics[a.system.endMetric()]
	if a.system.load.graph == nil || a.system.load.call != nil || !ok {
		return nil
	}
	least, err := a.system.makespanBounds(ctx)
	if err != nil {
		return err
	}
	b := a.Row.Bounds
	b.GapMetric = a.system.endMetric()
	a.addProof(b, least.splitPaths.Seconds(), routing.TimeModelSplitPaths, true)
	a.addProof(b, least.singlePath.Seconds(), routing.TimeModelSinglePath, false)
	a.addProof(b, d.MakespanBoundSplit.Seconds(), routing.TimeModelSplitPaths, true)
	a.addProof(b, d.MakespanBound.Seconds(), routing.TimeModelSinglePath, false)
	a.setGap(b, end)
	return nil
}

// addProof adds a bound to those that a row's router proves.
func (a *routingResult) addProof(b *result.Bounds, bound float64, model string, split bool) {
	if bound > 0 {
		b.Proofs = append(b.Proofs, result.ProvedBound{Metric: b.GapMetric, Bound: bound,
			Model: model, MultiPath: split})
	}
}

// boundTolerance is what the rounding of rates and times leaves between a value and a bound that it meets, relative.
// More would be a bound that does not hold, and is shown.
const boundTolerance = 1e-9

// setGap measures what a row reaches against the best of its bounds.
func (a *routingResult) setGap(b *result.Bounds, reached float64) {
	m, name := a.Row.Metrics, "bound_"+b.GapMetric
	a.Row.Bounds, m[name] = b, 0
	for _, p := range b.Proofs { // later ones say more of what they hold for
		if p.Metric == b.GapMetric && (p.MultiPath || !b.MultiPath) && p.Bound >= m[name] {
			m[name], a.Row.Labels["gap_model"] = p.Bound, p.Model
			if m["gap"] = reached/p.Bound - 1; b.GapMetric != "max_link_load" &&
				m["gap"] > -boundTolerance {
				m["gap"] = max(0, m["gap"])
			}
		}
	}
}

// measureTables tells how large forwarding tables of the paths are. Ways that come to a node twice have none.
func (a *routingResult) measureTables(n *engine.Network, d *routing.Decision) {
	t, err := routing.Compile(n, a.system.load.flows, d.Paths)
	if err != nil {
		a.Row.Labels["table_entries"] = err.Error()
		return
	}
	m := a.Row.Metrics
	m["table_entries"], m["table_entries_chip"], m["tag_bits"] = float64(t.Entries),
		float64(t.MaxChipEntries), float64(t.TagBits)
}

// maxLinkLoad returns the load of the most loaded link, in messages.
func maxLinkLoad(z *static.Loads) float64 {
	if z.Weighted != nil {
		return z.MaxWeighted
	}
	return float64(z.Max)
}

// withAllChannels returns n with as many virtual channels as paths can name: which there are is seen when packets are
// simulated.
func withAllChannels(n *engine.Network) *engine.Network {
	wide := *n
	wide.Links = slices.Clone(n.Links)
	for i := range wide.Links {
		wide.Links[i].Channels = engine.MaxChannel + 1
	}
	return &wide
}

// totalMessages returns the sum of the flows' demands.
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

// measureStep says what a collective that takes longer does to a training step of which it is a part: computing goes on for
// as long as before and hides a part of the collective, but no more than there is computing.
func measureStep(row *result.Row, t *input.Step, before, after float64) {
	longer := after / before
	if t.Share > 0 {
		compute := 1 - t.Share*(1-t.Overlap)
		row.Metrics["step_slowdown"] = compute + t.Share*longer - min(compute,
			t.Share*longer*t.Overlap) - 1
	}

	switch {
	case t.Slowdown <= 0:
	case longer <= 1:
		row.Labels["implied_share"] = "undefined: the fault does not slow the collective down, so no share of it explains the measured slowdown of the step"
	default: // exposed share that this slowdown asks for
		share := t.Slowdown / (longer - 1)
		if row.Metrics["implied_share"] = share; share > 1 {
			row.Labels["implied_share"] = "impossible, as no more than the whole step can be the collective: the fault slows the collective down by less than the " +
				"measured slowdown of the step, so something else slowed the step down, too"
		}
	}
}

// measureDelays measures packets.
func (a *routingResult) measureDelays() {
	a.MeasurePackets(&a.Row)
	a.setCompletionTime()
	if t := &a.system.s.Workload.Traffic; t.Source == "poisson" {
		each := float64(a.system.s.Fabric.LinkRate) / 8 * t.Duration.Seconds() * float64(a.system.numUpNodes())
		a.Row.Metrics["accepted_load"] = float64(a.Stats.MeasuredBytes) / each
	}
}

// setCompletionTime measures when all was delivered, and how long after the fluid. Where some was not there is no such time:
// what is lost takes none, and would look fast.
func (a *routingResult) setCompletionTime() {
	s, m := a.Stats, a.Row.Metrics
	if a.system.s.Workload.Source == "poisson" && a.system.load.graph == nil {
		return // which is to go on for ever
	}
	_, hasFluid := m["fluid_s"]
	end := a.system.endMetric()
	_, done := m[end]
	why := ""
	switch {
	case s.Dropped > 0:
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
