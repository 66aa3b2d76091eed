package routing

import (
	"context"
	"math"
	"slices"
)

// parallelChoice spreads merging paths over parallel links. At each node, all paths to one
// destination use the same one of the parallel links to the next node. The destinations are
// distributed so that these links carry nearly equal traffic.
type parallelChoice struct {
	// replaced lists the arcs to use instead of the first parallel one, indexed by destination.
	replaced [][]nodeArc
}

// nodeArc is the arc by which paths leave a node.
type nodeArc struct{ node, arc int32 }

// parallelTraffic is the traffic to a destination over a group of parallel links, packed for
// sorting: the largest traffic comes first, then the lowest destination. Traffic is rounded to
// float32, whose bits have the order of the values.
type parallelTraffic uint64

// newParallelTraffic packs a destination and its traffic in units of demand.
func newParallelTraffic(dst int32, traffic float64) parallelTraffic {
	return parallelTraffic(math.MaxUint32-math.Float32bits(float32(traffic)))<<32 | parallelTraffic(dst)
}

// dst returns the destination.
func (x parallelTraffic) dst() int32 { return int32(uint32(x)) }

// traffic returns the traffic in units of demand.
func (x parallelTraffic) traffic() float64 {
	return float64(math.Float32frombits(math.MaxUint32 - uint32(x>>32)))
}

// newParallelChoice distributes the traffic of a problem, whose paths use the first arc on a
// shortest path or a parallel one. It returns nil if there are no parallel links. Destinations
// choose in order of falling traffic. Each takes the link that finishes first including it (list
// scheduling with longest processing time first; Graham 1969).
func newParallelChoice(ctx context.Context, p *Problem, z *destinationTree) (*parallelChoice, error) {
	g := z.net
	parallel := parallelArcs(g)
	if parallel == nil {
		return nil, nil
	}

	all := make([][]parallelTraffic, len(g.out.To)) // indexed by the first of a group of parallel arcs
	traffic := make([]float64, g.nodes)             // traffic to dst that leaves a node, indexed by node
	start, byDst := flowsByDestination(g.nodes, p.Flows)

	// Sum up the traffic over each group of parallel links, per destination.
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

	// Each group of parallel links is scheduled independently.
	c := &parallelChoice{replaced: make([][]nodeArc, g.nodes)}
	load := make([]float64, len(g.out.To))
	for firstArc, entries := range all {
		slices.Sort(entries)
		for _, x := range entries {
			best := int32(firstArc)
			minEnd := math.Inf(1)
			for _, k := range parallel[firstArc] {
				link := g.link[int(g.out.From[k])*g.degree+int(g.out.Class[k])]
				if end := (load[k] + x.traffic()) / p.Network.Links[link].Rate; end < minEnd {
					best, minEnd = k, end
				}
			}

			if load[best] += x.traffic(); best != int32(firstArc) {
				c.replaced[x.dst()] = append(c.replaced[x.dst()], nodeArc{node: g.out.From[best], arc: best})
			}
		}
	}

	return c, nil
}

// parallelArcs returns for the first arc of each group with equal ends all arcs of the group,
// indexed by arc. It returns nil if no arcs are parallel.
func parallelArcs(g *adjacency) [][]int32 {
	groups := make([][]int32, len(g.out.To))
	hasParallel := false
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

// apply replaces the arcs of paths to dst in mergedArc, which is indexed by node.
func (c *parallelChoice) apply(dst int32, mergedArc []int32) {
	for _, x := range c.replaced[dst] {
		mergedArc[x.node] = x.arc
	}
}
