package routing

import (
	"context"
	"fmt"

	"sim/engine"
)

// What ECMP and RandomShortest draw links for (Draw).
const (
	DrawPair   = "pair"   // once for each pair of nodes, at each node on its way
	DrawNode   = "node"   // once for each node and destination: what is for one and meets goes on together
	DrawPacket = "packet" // at each node for each packet
)

// Draws are what there is to draw links for, the default first.
var Draws = []string{DrawPair, DrawNode, DrawPacket}

// maxHopEntries bounds the destinations times nodes of next hops, of six bytes each.
const maxHopEntries = 1 << 28

// routeByDraw leads flows of a problem by shortest paths, as c picks these, or of which packets draw links: evenly, or by the
// shortest paths behind them.
func (p *Problem) routeByDraw(ctx context.Context, draw string, byRoutes bool, c *nextHopSelector) (*Decision, error) {
	switch {
	case c != nil:
		return p.routeShortest(ctx, c)
	case draw == DrawPacket:
		return p.routePerPacket(ctx, byRoutes)
	}
	return nil, fmt.Errorf("%w: links drawn for each %q; write one of %q", ErrUnserved, draw, Draws)
}

// routePerPacket has packets draw their links as they go.
func (p *Problem) routePerPacket(ctx context.Context, byRoutes bool) (*Decision, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	g, err := newAdjacency(p)
	if err != nil {
		return nil, err
	}
	s := &engine.Spread{Degree: g.degree, Link: make([]int32, len(g.link)), To: make([]int32, len(g.link)), Hops: make([][]uint16, g.nodes)}
	for k, l := range g.link {
		s.Link[k], s.To[k] = -1, -1
		if l >= 0 && p.Network.Links[l].Rate > 0 {
			s.Link[k], s.To[k] = l, p.Network.Links[l].To
		}
	}
	if byRoutes {
		s.Weight = make([][]float32, g.nodes)
	}
	z, paths, entries, hops := newDestinationTree(g), make([]float64, g.nodes), 0, int64(0)
	if err := z.visitByDestination(ctx, p, func(_ int32, f engine.Flow) error {
		hops += z.hops(f.Src)
		if s.Hops[f.Dst] != nil {
			return nil
		}
		if entries += g.nodes; entries > maxHopEntries {
			return fmt.Errorf("%w: next hops from %d nodes to as many are more than the %d that are kept; draw for each %q or %q", ErrUnserved, g.nodes, maxHopEntries, DrawPair, DrawNode)
		}
		if byRoutes {
			z.countPaths(paths)
			s.Weight[f.Dst] = make([]float32, g.nodes)
		}
		to := make([]uint16, g.nodes)
		for a, h := range z.Dist {
			if to[a] = engine.NoPath; h >= 0 {
				if h >= engine.NoPath {
					return fmt.Errorf("%w: node %d is %g hops from %d; packets draw links on ways of fewer than %d", ErrUnserved, a, h, f.Dst, engine.NoPath)
				}
				to[a] = uint16(h)
				if byRoutes {
					s.Weight[f.Dst][a] = max(float32(paths[a]), minWeight)
				}
			}
		}
		s.Hops[f.Dst] = to
		return nil
	}); err != nil {
		return nil, err
	}
	d := &Decision{Paths: &engine.Paths{Degree: g.degree, Link: g.link, Spread: s}}
	d.setSplitHopBound(p, hops)
	return d, nil
}

// minWeight keeps shares of paths above 0 where there are far more others.
const minWeight = 1e-37
