package routing

import (
	"context"
	"fmt"
	"math"
	"strings"

	"sim/engine"
)

// DimensionOrder routes one dimension after the other along a shortest hop vector (DOR; Dally and Seitz; Zu et al.,
// NSDI 24, Sec. 4.1). Among shortest vectors, the path goes up along the first dimension in which they differ if the
// source's coordinate there is even, else down: half-way round a ring this is the paper's rule. Along a dimension of
// size 2, up and down are parallel links, over which flows of all-to-all traffic spread evenly: see geometry.up. On
// meshes there is one vector; where twists are mutual, shortest is among the dimension-ordered routes, which another
// path may be shorter than. Virtual channels are those of the dateline rule.
type DimensionOrder struct {
	Order []string // see Settings
}

// Route leads the flows of a torus or mesh. It fails, with ErrUnserved, on other graphs, and where a link that is down
// is on the way of some pair.
func (r DimensionOrder) Route(ctx context.Context, p *Problem, _ Options) (*Decision, error) {
	_, l, err := r.assigner(p, 0)
	if err != nil {
		return nil, err
	}
	paths, err := l.assignPaths(ctx)
	if err != nil {
		return nil, err
	}
	d := &Decision{Paths: paths, Labels: map[string]string{"order": dimString(l.geometry.order)}}
	if l.geometry.vectorsBySource == nil { // else some other path may be shorter
		hops := int64(0)
		for _, class := range paths.Class {
			hops += int64(len(paths.Steps(class)))
		}
		d.setHopBound(p, hops)
	}
	return d, nil
}

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
	return nil, &pathAssigner{geometry: z, problem: p, reason: "links that are down are on the dimension-ordered way", choose: func(f engine.Flow) []engine.Step {
		vectors = z.shortestVectors(f.Src, f.Dst, vectors[:0])
		path = z.appendSteps(z.breakTie(f, vectors), path[:0])
		if z.linksDown > 0 && !z.isPathUp(f.Src, path) {
			return nil
		}
		return path
	}}, nil
}

// breakTie returns the vector that the rule of ties chooses for a flow.
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

// goesUp reports whether a flow goes up along a dimension in which its vectors differ: if the coordinate of its source is
// even. That balances the links of rings of more than two nodes. On a ring of two, each link would have all flows that
// pass it or none: there the other coordinates of both ends count, too. The flows over a pair of parallel links differ
// in the source's coordinates along the dimensions before this one, and in the destination's along those behind it. So
// one half of all-to-all traffic takes each link, but for one flow if all of these sizes are odd.
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

// hasParallelLinks reports whether the links of a dimension, up and down, lead to the same node.
func (z *geometry) hasParallelLinks(dim int) bool {
	return z.Dims[dim] == 2 && !z.Open[dim] && !z.isTwisted[dim]
}

// setHopBound sets a lower bound on the load of the most loaded link from the hops of shortest paths: whatever paths are
// taken, links carry them all. It is left out where flows are weighed.
func (d *Decision) setHopBound(p *Problem, hops int64) {
	if d.setSplitHopBound(p, hops); d.Bound > 0 {
		d.Bound = math.Ceil(d.Bound)
		d.BoundModel = "any one route a pair: hops of shortest paths over links that are up"
	}
}

// setSplitHopBound is bound where pairs may spread over several paths.
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

// validate fails where parts of the problem do not fit each other.
func (p *Problem) validate() error {
	if p.Network == nil {
		return fmt.Errorf("routing: a problem without a network")
	}
	if p.Torus != nil && p.Torus.Nodes() != int(p.Network.Nodes) {
		return fmt.Errorf("routing: a network of %d nodes for %s", p.Network.Nodes, p.Torus)
	}
	if p.Demand != nil && len(p.Demand) != len(p.Flows) {
		return fmt.Errorf("routing: %d demands for %d flows", len(p.Demand), len(p.Flows))
	}
	for i, f := range p.Flows {
		if f.Src < 0 || f.Dst < 0 || f.Src >= p.Network.Nodes || f.Dst >= p.Network.Nodes {
			return fmt.Errorf("routing: flow %d from node %d to %d of %d", i, f.Src, f.Dst, p.Network.Nodes)
		}
	}
	return nil
}

// dimString names dimensions in an order, such as "z y x".
func dimString(order []int) string { return strings.Join(dimNames(order), " ") }
