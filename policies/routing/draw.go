package routing

import (
	"context"
	"fmt"

	"sim/engine"
)

// Units for which ECMP and RandomShortest draw links (their options Draw).
const (
	DrawPair   = "pair"   // each pair of nodes, at each node of its path
	DrawNode   = "node"   // each node and destination, so that paths to a destination merge
	DrawPacket = "packet" // each packet at each node
)

// Draws lists the units; the default is first.
var Draws = []string{DrawPair, DrawNode, DrawPacket}

// maxHopEntries limits the table of next hops, destinations times nodes. An entry has six bytes.
const maxHopEntries = 1 << 28

// Values of the parameter byRoutes of routeByDraw.
const (
	uniformLinks = false
	byNumPaths   = true
)

// routeByDraw routes flows along the shortest paths that c selects. If c is nil, packets draw
// their links: uniformly, or with byRoutes in proportion to the number of shortest paths that
// continue by the link.
func (p *Problem) routeByDraw(ctx context.Context, draw string, byRoutes bool, c *nextHopSelector) (*Decision, error) {
	switch {
	case c != nil:
		return p.routeShortest(ctx, c)
	case draw == DrawPacket:
		return p.routePerPacket(ctx, byRoutes)
	}
	return nil, fmt.Errorf("%w: unknown unit %q of draws; want one of %q", ErrUnserved, draw, Draws)
}

// routePerPacket returns tables from which each packet draws its links.
func (p *Problem) routePerPacket(ctx context.Context, byRoutes bool) (*Decision, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	g, err := newAdjacency(p)
	if err != nil {
		return nil, err
	}

	// The tables share the links of the graph. Links that are down get -1.
	s := &engine.NextHops{
		Degree: g.degree,
		Link:   make([]int32, len(g.link)),
		To:     make([]int32, len(g.link)),
		Hops:   make([][]uint16, g.nodes),
	}

	for k, l := range g.link {
		s.Link[k], s.To[k] = -1, -1
		if l >= 0 && p.Network.Links[l].Rate > 0 {
			s.Link[k], s.To[k] = l, p.Network.Links[l].To
		}
	}

	if byRoutes {
		s.Weight = make([][]float32, g.nodes)
	}

	// Fill the tables of hop counts by breadth-first searches from the destinations.
	z := newDestinationTree(g)
	paths := make([]float64, g.nodes)
	entries := 0
	hops := int64(0)

	// A destination has one table of hops, which the first flow to it fills.
	if err := z.visitByDestination(ctx, p, func(_ int32, f engine.Flow) error {
		hops += z.hops(f.Src)
		if s.Hops[f.Dst] != nil {
			return nil
		}
		if entries += g.nodes; entries > maxHopEntries {
			return fmt.Errorf("%w: next hops between %d nodes need more than %d entries; want links drawn for each %q or %q", ErrUnserved, g.nodes, maxHopEntries, DrawPair, DrawNode)
		}
		if byRoutes {
			z.countPaths(paths)
			s.Weight[f.Dst] = make([]float32, g.nodes)
		}

		// A node without a path to the destination gets engine.NoPath.
		to := make([]uint16, g.nodes)
		for a, h := range z.Dist {
			if to[a] = engine.NoPath; h >= 0 {
				if h >= engine.NoPath {
					return fmt.Errorf("%w: node %d is %g hops from %d; want fewer than %d if packets draw links", ErrUnserved, a, h, f.Dst, engine.NoPath)
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

// minWeight keeps the share of a path above 0 if other paths are far more numerous. It is near
// the smallest positive float32 with full precision, 1.2e-38.
const minWeight = 1e-37
