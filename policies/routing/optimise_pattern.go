package routing

import (
	"context"
	"fmt"

	"sim/engine"
)

// Traffic patterns for which OptimisedRouter chooses paths (OptimisedRouter.Pattern).
const (
	PatternWork     = "work"
	PatternAllToAll = "all-to-all"
)

// routeAllToAll optimises for one unit between all pairs of nodes that are up, and routes the
// flows of p along these paths. The decision has no bounds, as they do not apply to the load of
// these flows.
func (o OptimisedRouter) routeAllToAll(ctx context.Context, p *Problem, options Options) (*Decision, error) {
	all := *p
	all.Flows = nil
	all.Demand = nil
	all.Graph = nil
	index := make(map[engine.Flow]int32)
	for s := range p.Network.Nodes {
		for d := range p.Network.Nodes {
			if f := (engine.Flow{Src: s, Dst: d}); s != d && (p.Down == nil || !p.Down[s] && !p.Down[d]) {
				index[f] = int32(len(all.Flows))
				all.Flows = append(all.Flows, f)
			}
		}
	}

	o.Pattern = ""
	d, err := o.Route(ctx, &all, options)
	if err != nil {
		return nil, err
	}
	paths := *d.Paths
	paths.Class = make([]int32, len(p.Flows))

	for i, f := range p.Flows {
		pair, ok := index[f]
		if !ok {
			return nil, fmt.Errorf("routing: no paths from node %d to %d; want two distinct nodes that are up",
				f.Src, f.Dst)
		}
		paths.Class[i] = d.Paths.ClassOf(pair)
	}

	return &Decision{Paths: &paths, Labels: map[string]string{"deadlock": d.Labels["deadlock"]}}, nil
}
