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
	"sim/scenarios/assembly/composition"
	"sim/scenarios/result"
	"sim/workloads/training"
)

// routingSystem is a scenario of traffic on links, built. Its policies are routers.
type routingSystem struct {
	s *Scenario
	links.System
	load                       *trafficLoad
	ratesDiffer                bool                // the rates of the links that routers see at first differ: loads are over them
	loadBound                  float64             // bound on the load of the most loaded of these links
	shortestHops               float64             // hops of the shortest paths of all messages
	iteration                  *training.Iteration // whose transfers are led; nil of traffic
	originalTasks              []engine.Task       // of it, before calls inside inner tiers lengthened its passes; nil without these
	nodeOfRank                 []int32             // by rank of it the node; nil of others than training and traces
	ranks                      *rankPlacement      // mapping of the ranks, if the scenario has one; nil otherwise
	composition.IdealReference                     // of it

	mu        sync.Mutex
	faultFree map[string]faultFreeRouting // by router

	makespanBoundsOnce  once.Value[makespanBounds]
	faultFreeSystemOnce once.Value[*routingSystem] // see faultless
}

// makespanBounds are lower bounds on when transfers that wait for each other end.
type makespanBounds struct {
	singlePath, splitPaths engine.Time // of one route a pair, and of pairs that spread
}

// makespanBounds bounds when load.graph ends.
func (r *routingSystem) makespanBounds(ctx context.Context) (makespanBounds, error) {
	return r.makespanBoundsOnce.Get(ctx, func() (t makespanBounds, err error) {
		p := r.routingProblem(r.visibleNetwork())
		if t.singlePath, err = p.MakespanBound(ctx, false); err == nil {
			t.splitPaths, err = p.MakespanBound(ctx, true)
		}
		return t, err
	})
}

// faultFreeRouting is the result of a router on the fabric without faults.
type faultFreeRouting struct {
	system  *routingSystem // with whose flows
	paths   *engine.Paths
	sums    routing.Sums // link loads instead of walks; nil if walks is set
	maxLoad float64      // load of the most loaded link
}

// New makes the system of s.
func New(ctx context.Context, s *Scenario) (assembly.System, error) {
	r, err := build(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := r.setIdeal(ctx); err != nil {
		return nil, err
	}
	return r, ctx.Err()
}

// build builds the fabric and the traffic of s, without what an iteration is compared with: all that checks need.
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

	if err := r.lengthenPasses(ctx); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.setLoadBound(ctx)
	return r, ctx.Err()
}

// maxTimedPairs is the largest number of pairs of nodes of a call that routers lead by when the call ends. With more, as
// direct algorithms have, simulating the call for every choice of paths takes minutes; routers then see loads alone.
const maxTimedPairs = 4096

// routingProblem returns what routers decide on a network.
func (r *routingSystem) routingProblem(n *engine.Network) *routing.Problem {
	p := &routing.Problem{Network: n, Torus: r.Torus, Down: r.Down, Flows: r.load.flows,
		Demand: r.load.demand, Rate: float64(r.s.Fabric.LinkRate)}
	switch {
	case r.load.call != nil:
		p.Flows, p.Demand = r.load.call.routedFlows, r.load.call.routedDemand
		if n := len(p.Flows); r.s.Engine.Level != "static" && n > 0 && n <= maxTimedPairs {
			p.Graph, p.Pinned = r.load.call.flowGraph, r.load.call.Links()
		}
	case r.s.Engine.Level != "static": // which measures loads, whatever waits for what
		p.Graph = r.load.graph
	}
	return p
}

// setLoadBound computes a lower bound of the maximum link load for any paths: the total hops of shortest paths divided by
// the number of links that routers see initially, maximised over tiers. If rates differ, a link counts in proportion to
// its rate relative to fabric.link_rate.
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
			func(f engine.Flow) bool { return r.Tiers.JoiningTier(false, f.Src, f.Dst) == t })
		r.shortestHops, r.loadBound = r.shortestHops+shortest, max(r.loadBound, bound)
	}
}

// shortestPathLoad returns the hops of the shortest paths of some flows over some links, and as many for each of these.
func (r *routingSystem) shortestPathLoad(
	ctx context.Context, n *engine.Network, includesLink func(link int) bool,
	includesFlow func(engine.Flow) bool,
) (hops, perLink float64) {
	links := 0.0
	for i, l := range n.Links {
		if l.Rate > 0 && includesLink(i) {
			if links++; r.ratesDiffer {
				links += l.Rate/float64(r.s.Fabric.LinkRate) - 1
			}
		}
	}

	distances := n.Hops(includesLink)
	for f, flow := range r.load.flows { // in the order of sources
		if f&0xfff == 0 && ctx.Err() != nil {
			return 0, 0
		}
		if !includesFlow(flow) {
			continue
		}
		switch h := distances(flow.Src)[flow.Dst]; {
		case h < 0:
			// no router will join these
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

// referenceMetrics are the fabric's own, whatever routes are taken.
func (r *routingSystem) Reference() map[string]float64 {
	m := map[string]float64{
		"nodes": float64(r.Whole.Nodes), "links": float64(len(r.Whole.Links)),
	}
	switch {
	case r.load.call != nil: // which other algorithms expand to other flows
	case r.s.Mapping.ComparesMappings(): // of this mapping alone
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
		m["sum_hops"], m["average_hops"], m["diameter"] = float64(d.Sum), d.Average,
			float64(d.Diameter)
	}

	if r.Cubes != nil {
		r.Cubes.Metrics(m)
	}
	if r.Whole.Nodes <= maxTableNodes {
		var planes [][]bool
		if r.Torus != nil {
			planes = static.BoxHalves(r.Torus.Dims...)
		}
		cut, _ := static.Bisection(r.Known, r.s.Seed, planes...)
		m["bisection_links"] = float64(cut)
	}

	if r.iteration != nil && r.s.Engine.Level != "static" {
		r.IdealReference.AddMetrics(m, r.endMetric(), true)
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

func (r *routingSystem) Begin(ctx context.Context, o *assembly.Outcome) error {
	if r.Cubes != nil {
		o.Files = append(o.Files, result.File{Name: "crossconnects.csv", Data: r.Cubes.CSV()})
	}
	return nil
}
