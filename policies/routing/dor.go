package routing

import (
	"context"
	"fmt"
	"math"
	"strings"

	"sim/engine"
)

// DimensionOrder routes one dimension after the other along a shortest hop vector
// (dimension-ordered routing; Dally and Seitz; Zu et al., NSDI 24, Sec. 4.1).
//
// Ties between shortest vectors are broken at the first dimension in which they differ: up if the
// coordinate of the source is even, otherwise down. At half a ring this is the rule of
// the paper. A dimension of size 2 has parallel links, up and down, which share all-to-all
// traffic evenly (see geometry.goesUp). Meshes have one shortest vector. On tori with mutual
// twists, paths are shortest among dimension-ordered paths only.
//
// Virtual channels follow the dateline rule.
type DimensionOrder struct {
	Order []string // see Settings.Order
}

// Route routes the flows of a torus or mesh. The error wraps ErrUnserved on other graphs, and if
// some path has a link that is down.
func (r DimensionOrder) Route(ctx context.Context, p *Problem, _ Options) (*Decision, error) {
	_, l, err := r.assigner(p, noSeed)
	if err != nil {
		return nil, err
	}
	paths, err := l.assignPaths(ctx)
	if err != nil {
		return nil, err
	}

	d := &Decision{Paths: paths, Labels: map[string]string{"order": dimString(l.geometry.order)}}
	if l.geometry.vectorsBySource == nil { // otherwise a path of another kind may be shorter
		hops := int64(0)
		for _, class := range paths.Class {
			hops += int64(len(paths.Steps(class)))
		}
		d.setHopBound(p, hops)
	}

	return d, nil
}

// noSeed is the seed of DimensionOrder, which draws no random numbers.
const noSeed = 0

// assigner prepares the paths. It returns no Candidates; the result type is shared with WildRule.
func (r DimensionOrder) assigner(p *Problem, _ uint64) (*Candidates, *pathAssigner, error) {
	if p.Torus == nil {
		return nil, nil, errNoTorus
	}
	order, err := dimOrder(p.Torus, r.Order, func() []int { return longestFirst(p.Torus) })
	if err != nil {
		return nil, nil, err
	}
	z, err := newGeometry(p, order)
	if err != nil {
		return nil, nil, err
	}
	var vectors []int16
	path := []engine.Step{}
	return nil, &pathAssigner{
		geometry: z,
		problem:  p,
		reason:   "links that are down are on the dimension-ordered path",
		choose: func(f engine.Flow) []engine.Step {
			vectors = z.shortestVectors(f.Src, f.Dst, vectors[:0])
			path = z.appendSteps(z.breakTie(f, vectors), path[:0])
			if z.linksDown > 0 && !z.isPathUp(f.Src, path) {
				return nil
			}
			return path
		},
	}, nil
}

// breakTie returns the vector that the tie-breaking rule selects for a flow.
func (z *geometry) breakTie(f engine.Flow, vectors []int16) []int16 {
	dims := len(z.Dims)
	best := vectors[:dims]
	for k := dims; k < len(vectors); k += dims {
		v := vectors[k : k+dims]
		for _, d := range z.order {
			if v[d] != best[d] {
				if v[d] > best[d] == z.goesUp(f, d) {
					best = v
				}
				break
			}
		}
	}

	return best
}

// goesUp reports whether a flow goes up along a dimension in which its shortest vectors differ:
// if the source's coordinate is even. This balances rings of more than two nodes.
//
// On a ring of two nodes that rule would send all flows between two nodes over one of the
// parallel links. There the other coordinates of source and destination are added. Flows over a
// pair of parallel links differ in the source's coordinates along earlier dimensions, and in the
// destination's along later ones. So each link carries one half of all-to-all traffic, up to one
// flow if all these sizes are odd.
func (z *geometry) goesUp(f engine.Flow, dim int) bool {
	sum := z.Coord(f.Src, dim)
	if z.hasParallelLinks(dim) {
		for d := range z.Dims {
			if d != dim {
				sum += z.Coord(f.Src, d) + z.Coord(f.Dst, d)
			}
		}
	}

	return sum%2 == 0
}

// hasParallelLinks reports whether the links up and down of a dimension lead to the same node.
func (z *geometry) hasParallelLinks(dim int) bool {
	return z.Dims[dim] == 2 && !z.Open[dim] && !z.isTwisted[dim]
}

// setHopBound sets the lower bound on the maximum link load that follows from the hops of
// shortest paths: the links together carry at least these hops. With one path per pair it is
// rounded up. Weighted flows get no bound.
func (d *Decision) setHopBound(p *Problem, hops int64) {
	if d.setSplitHopBound(p, hops); d.Bound > 0 {
		d.Bound = math.Ceil(d.Bound)
		d.BoundModel = "any one route a pair: hops of shortest paths over links that are up"
	}
}

// setSplitHopBound is like setHopBound for pairs that may split over several paths.
func (d *Decision) setSplitHopBound(p *Problem, hops int64) {
	live := 0
	for _, l := range p.Network.Links {
		if l.Rate > 0 {
			live++
		}
	}
	if live > 0 && p.Demand == nil {
		d.Bound = float64(hops) / float64(live)
		d.BoundModel = "any routes: hops of shortest paths over links that are up"
	}
}

// validate checks that the parts of the problem are consistent.
func (p *Problem) validate() error {
	if p.Network == nil {
		return fmt.Errorf("routing: problem without a network")
	}
	if p.Torus != nil && p.Torus.Nodes() != int(p.Network.Nodes) {
		return fmt.Errorf("routing: network of %d nodes for %s", p.Network.Nodes, p.Torus)
	}
	if p.Demand != nil && len(p.Demand) != len(p.Flows) {
		return fmt.Errorf("routing: %d demands for %d flows", len(p.Demand), len(p.Flows))
	}

	for i, f := range p.Flows {
		if f.Src < 0 || f.Dst < 0 || f.Src >= p.Network.Nodes || f.Dst >= p.Network.Nodes {
			return fmt.Errorf("routing: flow %d from node %d to %d; want nodes below %d", i, f.Src, f.Dst,
				p.Network.Nodes)
		}
	}

	return nil
}

// dimString formats dimensions, for example "z y x".
func dimString(order []int) string { return strings.Join(dimNames(order), " ") }
