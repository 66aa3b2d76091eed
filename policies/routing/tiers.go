package routing

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/fabric/links"
)

// RouteTiers routes flows between the GPUs of a domain of tier t. n is the network of the domain
// with all inner tiers (links.Tiers.Domain); the links of tier i start at firstLink[i].
//
// Flows that use tier t are routed by outer on the network of that tier; indices are their
// positions in flows. Flows of inner tiers, and all flows if outer is nil, take the default
// router of the tier. The error wraps ErrUnserved if no tier joins two GPUs, and if there are too
// many paths from which packets draw.
func RouteTiers(
	ctx context.Context,
	z *links.Tiers,
	t int,
	n *engine.Network,
	firstLink []int,
	flows []engine.Flow,
	seed uint64,
	outer func(indices []int) (*engine.Paths, error),
) (*engine.Paths, error) {
	for _, x := range flows {
		if z.JoiningTierWithLinks(x.Src, x.Dst) > t {
			return nil, fmt.Errorf("%w: no tier of links joins nodes %d and %d", ErrUnserved, x.Src, x.Dst)
		}
	}

	return z.JoinPaths(t, n, firstLink, flows, func(i int, indices []int, tierFlows []engine.Flow) (paths *engine.Paths, err error) {
		if i == t && outer != nil {
			paths, err = outer(indices)
		} else {
			paths, err = routeTierByDefault(ctx, z, i, tierFlows, seed)
		}
		if err != nil || paths.Spread == nil {
			return paths, err
		}
		// A GPU has links to several tiers, and its distance to a destination does not select one.
		// Packets therefore draw a whole path at their source instead of a link at each node.
		if paths, err = paths.Spread.Paths(tierFlows); err != nil {
			err = fmt.Errorf("%w: %w", ErrUnserved, err)
		}
		return paths, err
	})
}

// routeTierByDefault routes flows in a domain of a tier with the tier's default router. All
// domains have the same paths.
func routeTierByDefault(
	ctx context.Context,
	z *links.Tiers,
	i int,
	flows []engine.Flow,
	seed uint64,
) (*engine.Paths, error) {
	// Equal flows take one path. The sorted order makes the result independent of the order of
	// flows.
	all := slices.Clone(flows)
	slices.SortFunc(all, func(a, b engine.Flow) int {
		return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst))
	})
	all = slices.Compact(all)
	y := &z.Systems[i]
	p := &Problem{
		Network: y.Known,
		Torus:   y.Torus,
		Down:    y.Down,
		Flows:   all,
		Rate:    float64(z.Links[i].LinkRate),
	}

	d, err := ByName(DefaultName(y.Torus != nil, z.Links[i].Faulty())).Router.Route(ctx, p, Options{Seed: seed})
	if err != nil {
		return nil, err
	}

	// The router has seen each distinct flow once, in sorted order.
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

// RouteSystem applies a router to a problem on a system of links. On tiers, the router chooses
// the paths of the outermost tier on that tier's own network.
func RouteSystem(ctx context.Context, z *links.System, router Router, p *Problem, o Options) (*Decision, error) {
	if z.Tiers == nil {
		return router.Route(ctx, p, o)
	}
	last := len(z.Tiers.Machine) - 1
	outer := &z.Tiers.Systems[last]
	d := &Decision{}
	paths, err := RouteTiers(ctx, z.Tiers, last, p.Network, z.First, p.Flows, o.Seed,
		func(indices []int) (_ *engine.Paths, err error) {
			// The problem of the outermost tier: its links with their present rates, and its flows.
			// If it joins all flows, it also has their graph.
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
