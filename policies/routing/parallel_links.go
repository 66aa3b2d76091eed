package routing

import (
	"context"
	"math"
	"slices"
)

// parallelChoice spreads paths that merge at every node over parallel links. All paths from a node to one destination
// take the same one of the links to the next node. Each link thus carries the traffic to some of the destinations, and
// all about the same.
type parallelChoice struct {
	replaced [][]nodeArc // by destination: the nodes from which paths do not go on by their first link to the next node
}

// nodeArc is the arc by which paths go on from a node.
type nodeArc struct{ node, arc int32 }

// parallelTraffic is what goes on from a node to a destination over parallel links: as one number, of which the most
// traffic sorts first. Traffic is rounded to a float32, whose bits are in its order.
type parallelTraffic uint64

func newParallelTraffic(dst int32, traffic float64) parallelTraffic {
	return parallelTraffic(math.MaxUint32-math.Float32bits(float32(traffic)))<<32 | parallelTraffic(dst)
}

func (x parallelTraffic) dst() int32 { return int32(uint32(x)) }

// traffic returns the traffic in units of demand.
func (x parallelTraffic) traffic() float64 {
	return float64(math.Float32frombits(math.MaxUint32 - uint32(x>>32)))
}

// newParallelChoice chooses for the traffic of a problem, of which paths go on from a node by the first arc on a shortest
// path or a parallel one. It returns nil if there are no parallel links. The destinations with the most traffic choose
// first, each the link that is then done first with what it has (Graham's list scheduling, longest first, 1969).
func newParallelChoice(ctx context.Context, p *Problem, z *destinationTree) (*parallelChoice, error) {
	g := z.net
	parallel := parallelArcs(g)
	if parallel == nil {
		return nil, nil
	}
	all := make([][]parallelTraffic, len(g.out.To)) // by the first of parallel arcs
	traffic := make([]float64, g.nodes)             // what goes on from a node
	start, byDst := flowsByDestination(g.nodes, p.Flows)
	for dst := range int32(g.nodes) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if start[dst] == start[dst+1] {
			continue
		}
		z.Breadth(dst)
		clear(traffic)
		for _, i := range byDst[start[dst]:start[dst+1]] {
			demand := 1.0
			if p.Demand != nil {
				demand = p.Demand[i]
			}
			traffic[p.Flows[i].Src] += demand
		}
		for _, a := range slices.Backward(z.Order[1:]) { // the farthest node first
			if k := z.firstArc(a); traffic[a] > 0 {
				if traffic[g.out.To[k]] += traffic[a]; len(parallel[k]) > 1 {
					all[k] = append(all[k], newParallelTraffic(dst, traffic[a]))
				}
			}
		}
	}
	c := &parallelChoice{replaced: make([][]nodeArc, g.nodes)}
	load := make([]float64, len(g.out.To))
	for firstArc, entries := range all {
		slices.Sort(entries)
		for _, x := range entries {
			best, minEnd := int32(firstArc), math.Inf(1)
			for _, k := range parallel[firstArc] {
				link := g.link[int(g.out.From[k])*g.degree+int(g.out.Class[k])]
				if end := (load[k] + x.traffic()) / p.Network.Links[link].Rate; end < minEnd {
					best, minEnd = k, end
				}
			}
			if load[best] += x.traffic(); best != int32(firstArc) {
				c.replaced[x.dst()] = append(c.replaced[x.dst()], nodeArc{g.out.From[best], best})
			}
		}
	}
	return c, nil
}

// parallelArcs returns by arc the arcs with the same ends, if it is the first of them; nil if no arcs are parallel.
func parallelArcs(g *adjacency) [][]int32 {
	groups, hasParallel := make([][]int32, len(g.out.To)), false
	firstArc := map[[2]int32]int32{}
	for k := range int32(len(g.out.To)) {
		ends := [2]int32{g.out.From[k], g.out.To[k]}
		first, ok := firstArc[ends]
		if !ok {
			first, firstArc[ends] = k, k
		}
		groups[first], hasParallel = append(groups[first], k), hasParallel || ok
	}
	if !hasParallel {
		return nil
	}
	return groups
}

// apply replaces the arcs, by node, by which paths to a destination go on.
func (c *parallelChoice) apply(dst int32, mergedArc []int32) {
	for _, x := range c.replaced[dst] {
		mergedArc[x.node] = x.arc
	}
}
