package routing

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/fabric/links"
)

// RouteTiers leads flows between GPUs in a domain of tier t, over its network with all inside it (links.Tiers.Domain), of which
// the links of tier i begin at first[i]. Those of tier t go as outer leads some of them, by their places in flows, on the
// tier's own network; those of inner tiers, and all if outer is nil, as such a fabric usually leads them. It fails where
// packets draw their links, and where no tier of links joins two GPUs.
func RouteTiers(ctx context.Context, z *links.Tiers, t int, n *engine.Network, firstLink []int, flows []engine.Flow, seed uint64, outer func(indices []int) (*engine.Paths, error)) (*engine.Paths, error) {
	for _, x := range flows {
		if z.Joins(false, x.Src, x.Dst) > t {
			return nil, fmt.Errorf("%w: no tier of links joins nodes %d and %d", ErrUnserved, x.Src, x.Dst)
		}
	}
	return z.Lead(t, n, firstLink, flows, func(i int, indices []int, tierFlows []engine.Flow) (paths *engine.Paths, err error) {
		if i == t && outer != nil {
			paths, err = outer(indices)
		} else {
			paths, err = routeTierByDefault(ctx, z, i, tierFlows, seed)
		}
		if err == nil && paths.Spread != nil {
			err = fmt.Errorf("%w: packets that draw a link at each node cannot tell tiers apart there", ErrUnserved)
		}
		return paths, err
	})
}

// routeTierByDefault leads flows in a domain of a tier as such a fabric usually leads them, which is the same in all domains.
func routeTierByDefault(ctx context.Context, z *links.Tiers, i int, flows []engine.Flow, seed uint64) (*engine.Paths, error) {
	all := slices.Clone(flows)
	slices.SortFunc(all, func(a, b engine.Flow) int { return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst)) })
	all = slices.Compact(all)
	y := &z.Systems[i]
	p := &Problem{Network: y.Known, Torus: y.Torus, Down: y.Down, Flows: all, Rate: float64(z.Links[i].LinkRate)}
	d, err := ByName(DefaultName(y.Torus != nil, z.Links[i].Faulty())).Router.Route(ctx, p, Options{Seed: seed})
	if err != nil {
		return nil, err
	}
	class := make(map[engine.Flow]int32, len(all))
	for k, f := range all {
		class[f] = d.Paths.ClassOf(int32(k))
	}
	paths := *d.Paths
	paths.Class = make([]int32, len(flows))
	for k, f := range flows {
		paths.Class[k] = class[f]
	}
	return &paths, nil
}

// RouteSystem lets a router choose paths for a problem on a system of links. On tiers it does so for what the outermost one
// joins, on that alone.
func RouteSystem(ctx context.Context, z *links.System, router Router, p *Problem, o Options) (*Decision, error) {
	if z.Tiers == nil {
		return router.Route(ctx, p, o)
	}
	last := len(z.Tiers.Machine) - 1
	outer := &z.Tiers.Systems[last]
	d := &Decision{}
	paths, err := RouteTiers(ctx, z.Tiers, last, p.Network, z.First, p.Flows, o.Seed, func(indices []int) (_ *engine.Paths, err error) {
		n := *outer.Whole
		n.Links = slices.Clone(n.Links)
		for i := range n.Links {
			n.Links[i].Rate = p.Network.Links[z.First[last]+i].Rate
		}
		inner := &Problem{Network: &n, Torus: outer.Torus, Down: outer.Down, Rate: p.Rate}
		if len(indices) == len(p.Flows) {
			inner.Graph = p.Graph
		}
		for _, f := range indices {
			inner.Flows = append(inner.Flows, p.Flows[f])
			if p.Demand != nil {
				inner.Demand = append(inner.Demand, p.Demand[f])
			}
		}
		if d, err = router.Route(ctx, inner, o); err != nil {
			return nil, err
		}
		return d.Paths, nil
	})
	if err != nil {
		return nil, err
	}
	d.Paths = paths
	return d, nil
}
