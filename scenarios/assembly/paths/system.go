// This file builds the system of a workload on a fabric of links, with lower bounds
// that hold for all paths.

package paths

import (
	"context"
	"fmt"
	"sync"

	"sim/engine"
	"sim/engine/static"
	"sim/fabric/links"
	"sim/internal/once"
	"sim/policies/routing"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/calls"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/result"
	"sim/workloads/training"
)

// routingSystem is a workload on a fabric of links, for which routers choose
// paths. It implements assembly.System.
type routingSystem struct {
	s *Scenario // the checked input
	// System is the fabric. Whole is its network without faults, and Known its network
	// with the faults that routers see. Torus and Tiers are nil on other fabrics. Health
	// has the state of each link, and Down the nodes that send nothing.
	links.System
	load *trafficLoad
	// ratesDiffer reports that links which routers see at the start have different
	// rates. Loads are then divided by rates.
	ratesDiffer bool
	// loadBound is a lower bound on the maximum link load for any paths, in
	// messages.
	loadBound float64
	// shortestHops is the number of links of the shortest paths of all messages.
	shortestHops float64

	// The following fields describe work of ranks: training steps and traces.

	iteration *training.Iteration // nil for other workloads
	// originalTasks are the tasks of iteration before the calls inside inner tiers
	// lengthened its passes; nil without inner tiers.
	originalTasks []engine.Task
	nodeOfRank    []int32         // indexed by rank; nil if ranks are not placed
	ranks         *rankPlacement  // nil if the scenario names no mapping
	quotient      *calls.Quotient // classes of the transfers of a folded iteration; nil if it is not folded
	// IdealReference holds the times of iteration on the ideal fabric.
	composition.IdealReference

	mu        sync.Mutex                  // guards faultFree
	faultFree map[string]faultFreeRouting // by router

	makespanBoundsOnce  once.Value[makespanBounds]
	faultFreeSystemOnce once.Value[*routingSystem] // see faultFreeSystem
}

// makespanBounds are lower bounds on the completion time of a task graph, for any
// paths.
type makespanBounds struct {
	singlePath engine.Time // if each pair of nodes uses one path
	splitPaths engine.Time // if pairs may split their bytes over several paths
}

// makespanBounds returns the bounds for load.graph. They are computed once.
func (r *routingSystem) makespanBounds(ctx context.Context) (makespanBounds, error) {
	return r.makespanBoundsOnce.Get(ctx, func() (t makespanBounds, err error) {
		p := r.routingProblem(r.visibleNetwork())
		if t.singlePath, err = p.MakespanBound(ctx, forSinglePaths); err == nil {
			t.splitPaths, err = p.MakespanBound(ctx, forSplitPaths)
		}
		return t, err
	})
}

// faultFreeRouting is the decision of a router on the fabric without faults.
type faultFreeRouting struct {
	system  *routingSystem // fabric and flows; the routingSystem itself if faults do not change flows
	paths   *engine.Paths  // empty if sums is set
	sums    routing.Sums   // link loads of paths that are not stored; nil if paths is set
	maxLoad float64        // maximum link load, in messages
}

// New returns the system of a checked scenario. Its reference is simulated with the given number of
// goroutines.
func New(ctx context.Context, s *Scenario, workers int) (assembly.System, error) {
	r, err := build(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := r.setIdeal(ctx, workers); err != nil {
		return nil, err
	}
	return r, ctx.Err()
}

// build returns the system of s without the reference on the ideal fabric. This is
// sufficient for checks.
func build(ctx context.Context, s *Scenario) (*routingSystem, error) {
	hardware, err := s.Fabric.Build()
	if err != nil {
		return nil, err
	}
	r := &routingSystem{s: s, System: hardware, faultFree: map[string]faultFreeRouting{}}
	if r.load, err = r.buildLoad(ctx); err != nil && s.Workload.Call != nil {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("workload %s: %w", s.Workload.Kind, err)
	}

	// The calls inside inner tiers lengthen the passes of a training step.
	if err := r.lengthenPasses(ctx); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.setLoadBound(ctx)
	return r, ctx.Err()
}

// maxTimedPairs is the largest number of node pairs of a collective call for which
// routers minimise the completion time. With more pairs, as in direct algorithms,
// simulating the call for each choice of paths takes minutes. Routers then see
// only loads.
const maxTimedPairs = 4096

// routingProblem returns the problem that routers solve on network n. It contains
// the task graph if routers may minimise its completion time.
func (r *routingSystem) routingProblem(n *engine.Network) *routing.Problem {
	p := &routing.Problem{
		Network: n, Torus: r.Torus, Down: r.Down, Rate: float64(r.s.Fabric.LinkRate),
		Flows: r.load.flows, Demand: r.load.demand,
	}
	switch {
	case r.load.call != nil:
		p.Flows, p.Demand = r.load.call.routerFlows, r.load.call.routerDemand
		if n := len(p.Flows); r.s.Engine.Level != "static" && n > 0 && n <= maxTimedPairs {
			p.Graph, p.Pinned = r.load.call.flowGraph, r.load.call.Links()
		}
	case r.s.Engine.Level != "static" && r.quotient == nil: // level static has loads only
		p.Graph = r.load.graph
	}
	return p
}

// setLoadBound sets shortestHops and loadBound. The bound is the number of hops of
// all shortest paths divided by the number of links that routers see at the start;
// with tiers, it is the maximum over tiers. If rates differ, a link counts in
// proportion to its rate relative to fabric.link_rate.
func (r *routingSystem) setLoadBound(ctx context.Context) {
	n := r.visibleNetwork()
	r.ratesDiffer = r.routingProblem(n).RatesDiffer()
	if r.Tiers == nil {
		r.shortestHops, r.loadBound = r.shortestPathLoad(ctx, n,
			func(int) bool { return true },
			func(engine.Flow) bool { return true })
		return
	}

	for t := range r.Tiers.Machine {
		shortest, bound := r.shortestPathLoad(ctx, n,
			func(link int) bool { return r.TierOf(int32(link)) == t },
			func(f engine.Flow) bool { return r.Tiers.JoiningTierWithLinks(f.Src, f.Dst) == t })
		r.shortestHops, r.loadBound = r.shortestHops+shortest, max(r.loadBound, bound)
	}
}

// shortestPathLoad returns the hops of the shortest paths of the included flows
// over the included links, and the hops per link.
func (r *routingSystem) shortestPathLoad(
	ctx context.Context, n *engine.Network, includesLink func(link int) bool,
	includesFlow func(engine.Flow) bool,
) (hops, perLink float64) {
	// Count the working links, weighted by their rates.
	links := 0.0
	for i, l := range n.Links { // a failed link has rate 0
		if l.Rate > 0 && includesLink(i) {
			if links++; r.ratesDiffer {
				links += l.Rate/float64(r.s.Fabric.LinkRate) - 1
			}
		}
	}

	// Sum the lengths of shortest paths. Flows are ordered by source, so distances
	// are computed once per source.
	distances := n.Hops(includesLink)
	for f, flow := range r.load.flows {
		const checkEvery = 4096 // flows between checks of ctx
		if f%checkEvery == 0 && ctx.Err() != nil {
			return 0, 0
		}
		if !includesFlow(flow) {
			continue
		}
		switch h := distances(flow.Src)[flow.Dst]; {
		case h < 0: // no router can connect these nodes
		case r.load.demand == nil:
			hops += float64(h)
		default:
			hops += float64(h) * r.load.demand[f]
		}
	}

	if links > 0 {
		perLink = hops / links
	}
	return hops, perLink
}

// Reference returns the metrics of the fabric and the traffic that do not depend
// on paths. It implements assembly.System.
func (r *routingSystem) Reference() map[string]float64 {
	m := map[string]float64{
		"nodes": float64(r.Whole.Nodes), "links": float64(len(r.Whole.Links)),
	}

	// Bounds on loads and counts of flows apply only if all policies have the same
	// flows.
	switch {
	case r.load.call != nil: // algorithms expand calls to different flows
	case r.s.Mapping.ComparesMappings(): // the bound holds for one mapping only
	case r.ratesDiffer:
		m["bound_max_load_over_rate"] = r.loadBound
	default:
		m["bound_max_link_load"] = r.loadBound
	}

	if r.load.call == nil {
		m["flows"] = float64(len(r.load.flows))
	}
	if r.Torus != nil {
		d := r.Torus.Distances()
		m["sum_hops"] = float64(d.Sum)
		m["average_hops"] = d.Average
		m["diameter"] = float64(d.Diameter)
	}

	if r.Cubes != nil {
		r.Cubes.Metrics(m)
	}

	// The bisection is exact for a torus cut into halves, and a heuristic for
	// other graphs.
	if r.Whole.Nodes <= maxTableNodes {
		var planes [][]bool
		if r.Torus != nil {
			planes = static.BoxHalves(r.Torus.Dims...)
		}
		cut, _ := static.Bisection(r.Known, r.s.Seed, planes...)
		m["bisection_links"] = float64(cut)
	}

	if isIteration := r.iteration != nil; isIteration && r.s.Engine.Level != "static" {
		r.IdealReference.AddMetrics(m, r.endMetric(), isIteration)
	}

	failedLinks := 0
	for _, l := range r.Known.Links {
		if l.Rate == 0 {
			failedLinks++
		}
	}

	if failedLinks > 0 {
		m["links_lost"] = float64(failedLinks)
	}
	return m
}

// Begin adds the cross-connects of optical switches to the files of the run. It
// implements assembly.System.
func (r *routingSystem) Begin(ctx context.Context, o *assembly.Outcome) error {
	if r.Cubes != nil {
		o.Files = append(o.Files, result.File{Name: "crossconnects.csv", Data: r.Cubes.CSV()})
	}
	return nil
}
