package topology

import (
	"context"

	"sim/engine"
	"sim/engine/flow"
)

// alone returns by bundle the most circuits that it may ever have: as many as its NICs can fill, and as the ports allow
// without any other.
func (p *Problem) alone() []int {
	most := make([]int, len(p.Fabric.Bundles))
	for e, b := range p.Fabric.Bundles {
		most[e] = min(p.fits(p.Ports, e), max(1, int(b.Flows)))
	}
	return most
}

// sequenceBound returns a lower bound on the mean iteration of every sequence at a delay, from that at no delay: where a
// circuit that moves and moves back would carry nothing for a whole iteration, that of topologies that stay.
func (p *Problem) sequenceBound(fluid engine.Time, static *Decision, delay engine.Time) engine.Time {
	bound := max(fluid, p.AtLeast)
	if 2*delay >= static.Bound {
		bound = max(bound, static.Bound)
	}
	return min(bound, static.Bound)
}

// fluid returns an evaluator of the graph where every bundle may have so many circuits at any time, whole or not, as
// long as those that leave a pod, and those that come to it, take no more than its ports: no sequence of topologies is
// faster than what it bounds, whatever the delay.
func (p *Problem) fluid(ctx context.Context, most []int) (*flow.Evaluator, error) {
	o := p.Fabric
	top := 0.0
	for _, b := range o.Bundles {
		top = max(top, float64(b.Rate))
	}
	n := *o.Network
	n.Links = append([]engine.Link(nil), n.Links...)
	n.Groups = append([]engine.Group(nil), n.Groups...)
	first := o.Network.GroupResource(int32(len(n.Groups))) // out of pod i is first+2i, into it the next
	for _, u := range p.Ports {
		g := engine.Group{Rate: float64(u) * top}
		n.Groups = append(n.Groups, g, g)
	}
	for e, b := range o.Bundles {
		for _, l := range b.Links {
			n.Links[l].Rate = float64(most[e]) * float64(b.Rate)
		}
	}
	of := p.bundleOf()
	r := &engine.Routes{Start: make([]int32, 1, len(o.Routes.Start)), FlowCap: o.Routes.FlowCap}
	for i := range p.Graph.Tasks {
		for _, u := range o.Routes.Of(int32(i)) {
			r.Uses = append(r.Uses, u)
			if int(u.Resource) >= len(n.Links) {
				continue
			}
			b, l := &o.Bundles[of[u.Resource]], &n.Links[u.Resource]
			weight := u.Weight * float64(b.Ends) * top / float64(b.Rate)
			r.Uses = append(r.Uses, engine.Use{Resource: first + 2*l.From, Weight: weight}, engine.Use{Resource: first + 2*l.To + 1, Weight: weight})
		}
		r.Start = append(r.Start, int32(len(r.Uses)))
	}
	w, err := flow.NewEvaluator(p.Graph, &n, r, flow.LevelPriority)
	if err != nil {
		return nil, err
	}
	w.SetContext(ctx)
	return w, nil
}
