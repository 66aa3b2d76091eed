package routing

import (
	"context"
	"fmt"

	"sim/engine"
)

// Patterns that Optimised chooses routes for.
const (
	PatternWork     = "work"
	PatternAllToAll = "all-to-all"
)

// routeAllToAll chooses routes for one unit from every node that is up to every other, and leads the flows of a problem along
// these. Bounds on that load say nothing of theirs.
func (o Optimised) routeAllToAll(ctx context.Context, p *Problem, options Options) (*Decision, error) {
	all := *p
	all.Flows, all.Demand, all.Graph = nil, nil, nil
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
			return nil, fmt.Errorf("routing: no routes from node %d to %d, of which one is down or both are one", f.Src, f.Dst)
		}
		paths.Class[i] = d.Paths.ClassOf(pair)
	}
	return &Decision{Paths: &paths, Labels: map[string]string{"deadlock": d.Labels["deadlock"]}}, nil
}
