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

// routed is a scenario of traffic on links, built. Its policies are routers.
type routed struct {
	s *Scenario
	links.System
	load                       *load
	overRates                  bool                // the rates of the links that routers see at first differ: loads are over them
	least                      float64             // bound on the load of the most loaded of these links
	shortest                   float64             // hops of the shortest paths of all messages
	it                         *training.Iteration // whose transfers are led; nil of traffic
	base                       []engine.Task       // of it, before calls inside inner tiers lengthened its passes; nil without these
	at                         []int32             // by rank of it the node; nil of others than training and traces
	placed                     *placed             // mapping of the ranks, if the scenario has one; nil otherwise
	composition.IdealReference                     // of it

	mu      sync.Mutex
	healthy map[string]unharmed // by router

	timed once.Value[leastTimes]
	whole once.Value[*routed] // see faultless
}

// leastTimes are lower bounds on when transfers that wait for each other end.
type leastTimes struct {
	one, split engine.Time // of one route a pair, and of pairs that spread
}

// leastTimes bounds when load.graph ends.
func (r *routed) leastTimes(ctx context.Context) (leastTimes, error) {
	return r.timed.Get(ctx, func() (t leastTimes, err error) {
		p := r.problem(r.seen())
		if t.one, err = p.MakespanBound(ctx, false); err == nil {
			t.split, err = p.MakespanBound(ctx, true)
		}
		return t, err
	})
}

// unharmed is the result of a router on the fabric without faults.
type unharmed struct {
	r     *routed // with whose flows
	walks *engine.Paths
	sums  routing.Sums // link loads instead of walks; nil if walks is set
	max   float64      // load of the most loaded link
}

// New makes the system of s.
func New(ctx context.Context, s *Scenario) (assembly.System, error) {
	r, err := build(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := r.compare(ctx); err != nil {
		return nil, err
	}
	return r, ctx.Err()
}

// build builds the fabric and the traffic of s, without what an iteration is compared with: all that checks need.
func build(ctx context.Context, s *Scenario) (*routed, error) {
	hardware, err := s.Fabric.Build()
	if err != nil {
		return nil, err
	}
	r := &routed{s: s, System: hardware, healthy: map[string]unharmed{}}
	if r.load, err = r.traffic(ctx); err != nil && s.Workload.Call != nil {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("workload %s: %w", s.Workload.Kind, err)
	}
	if err := r.lengthen(ctx); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.leastLoad(ctx)
	return r, ctx.Err()
}

// maxTimedPairs is the largest number of pairs of nodes of a call that routers lead by when the call ends. With more, as
// direct algorithms have, simulating the call for every choice of paths takes minutes; routers then see loads alone.
const maxTimedPairs = 4096

// problem returns what routers decide on a network.
func (r *routed) problem(n *engine.Network) *routing.Problem {
	p := &routing.Problem{Network: n, Torus: r.Torus, Down: r.Down, Flows: r.load.flows, Demand: r.load.demand, Rate: float64(r.s.Fabric.LinkRate)}
	switch {
	case r.load.call != nil:
		p.Flows, p.Demand = r.load.call.routed, r.load.call.demand
		if n := len(p.Flows); r.s.Engine.Level != "static" && n > 0 && n <= maxTimedPairs {
			p.Graph, p.Pinned = r.load.call.fluid, r.load.call.Links()
		}
	case r.s.Engine.Level != "static": // which measures loads, whatever waits for what
		p.Graph = r.load.graph
	}
	return p
}

// leastLoad computes a lower bound of the maximum link load for any paths: the total hops of shortest paths divided by
// the number of links that routers see initially, maximised over tiers. If rates differ, a link counts in proportion to
// its rate relative to fabric.link_rate.
func (r *routed) leastLoad(ctx context.Context) {
	n := r.seen()
	r.overRates = r.problem(n).RatesDiffer()
	if r.Tiers == nil {
		r.shortest, r.least = r.spread(ctx, n, func(int) bool { return true }, func(engine.Flow) bool { return true })
		return
	}
	for t := range r.Tiers.Machine {
		shortest, least := r.spread(ctx, n, func(link int) bool { return r.TierOf(int32(link)) == t }, func(f engine.Flow) bool { return r.Tiers.JoiningTier(false, f.Src, f.Dst) == t })
		r.shortest, r.least = r.shortest+shortest, max(r.least, least)
	}
}

// spread returns the hops of the shortest paths of some flows over some links, and as many for each of these.
func (r *routed) spread(ctx context.Context, n *engine.Network, has func(link int) bool, of func(engine.Flow) bool) (sum, each float64) {
	links := 0.0
	for i, l := range n.Links {
		if l.Rate > 0 && has(i) {
			if links++; r.overRates {
				links += l.Rate/float64(r.s.Fabric.LinkRate) - 1
			}
		}
	}
	far := n.Hops(has)
	for f, flow := range r.load.flows { // in the order of sources
		if f&0xfff == 0 && ctx.Err() != nil {
			return 0, 0
		}
		if !of(flow) {
			continue
		}
		switch h := far(flow.Src)[flow.Dst]; {
		case h < 0:
			// no router will join these
		case r.load.demand == nil:
			sum += float64(h)
		default:
			sum += float64(h) * r.load.demand[f]
		}
	}
	if links > 0 {
		each = sum / links
	}
	return sum, each
}

// referenceMetrics are the fabric's own, whatever routes are taken.
func (r *routed) Reference() map[string]float64 {
	m := map[string]float64{
		"nodes": float64(r.Whole.Nodes), "links": float64(len(r.Whole.Links)),
	}
	switch {
	case r.load.call != nil: // which other algorithms expand to other flows
	case r.s.Mapping.ComparesMappings(): // of this mapping alone
	case r.overRates:
		m["bound_max_load_over_rate"] = r.least
	default:
		m["bound_max_link_load"] = r.least
	}
	if r.load.call == nil {
		m["flows"] = float64(len(r.load.flows))
	}
	if r.Torus != nil {
		d := r.Torus.Distances()
		m["sum_hops"], m["average_hops"], m["diameter"] = float64(d.Sum), d.Average, float64(d.Diameter)
	}
	if r.Cubes != nil {
		r.Cubes.Metrics(m)
	}
	if r.Whole.Nodes <= mostTabled {
		var planes [][]bool
		if r.Torus != nil {
			planes = static.BoxHalves(r.Torus.Dims...)
		}
		cut, _ := static.Bisection(r.Known, r.s.Seed, planes...)
		m["bisection_links"] = float64(cut)
	}
	if r.it != nil && r.s.Engine.Level != "static" {
		r.IdealReference.AddMetrics(m, r.end(), true)
	}
	lost := 0
	for _, l := range r.Known.Links {
		if l.Rate == 0 {
			lost++
		}
	}
	if lost > 0 {
		m["links_lost"] = float64(lost)
	}
	return m
}

func (r *routed) Begin(ctx context.Context, o *assembly.Outcome) error {
	if r.Cubes != nil {
		o.Files = append(o.Files, result.File{Name: "crossconnects.csv", Data: r.Cubes.CSV()})
	}
	return nil
}
