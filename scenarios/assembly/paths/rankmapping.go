// This file maps the ranks of a training step to nodes, and measures the cost of the
// mapping in bytes times hops.

package paths

import (
	"cmp"
	"context"
	"slices"

	"sim/engine"
	"sim/fabric/torus"
	"sim/policies/mapping"
	"sim/workloads/training"
)

// rankPlacement is a mapping of the ranks of a training step to nodes, with its
// cost.
type rankPlacement struct {
	*mapping.Placement
	defaultIteration *training.Iteration // the step with ranks in the default order
	// hopBytes is the sum over transfers of bytes times hops. hopBytesBound is a
	// lower bound for all mappings; 0 if it is unknown.
	hopBytes, hopBytesBound float64
	bytes                   int64 // sum of the bytes of transfers
}

// mappingProblem returns the ranks of the work and the nodes that can hold them,
// without the network. t is nil for a graph. down is indexed by node; nil if all
// nodes are up. Ranks stay together in blocks of the size of the largest inner
// tier; a block with a node that is down is not used.
func (s *Scenario) mappingProblem(t *torus.Torus, nodes int, down []bool) *mapping.Problem {
	p := &mapping.Problem{
		Torus: t, Files: s.Mapping.FileEndpoints(),
		Dims: s.Workload.Work.Dims(), Block: max(1, s.BlockGPUs),
	}

	// Slots are the nodes of all blocks that are up, in order.
	for first := 0; first+p.Block <= nodes; first += p.Block {
		block := make([]int32, p.Block)
		for i := range block {
			block[i] = int32(first + i)
		}
		if down == nil || !slices.Contains(down[first:first+p.Block], true) {
			p.Slots = append(p.Slots, block...)
		}
	}
	return p
}

// mappingProblem is Scenario.mappingProblem for the fabric of r.
func (r *routingSystem) mappingProblem() *mapping.Problem {
	return r.s.mappingProblem(r.OutermostTorus(), int(r.Whole.Nodes), r.Down)
}

// defaultNodes returns the node of each rank in the default order of dimensions,
// indexed by rank.
func (r *routingSystem) defaultNodes(ctx context.Context, p *mapping.Problem) ([]int32, error) {
	if p.Dims == nil {
		return p.Slots, nil
	}
	placement, err := mapping.Place(ctx, mapping.Default, p, mapping.Options{})
	if err != nil {
		return nil, err
	}
	return placement.At, nil
}

// placeRanks builds the work with its ranks on the nodes that the mapping selects.
// rateGroups are the ranges of tasks that trafficLoad.rateGroups describes.
func (r *routingSystem) placeRanks(
	ctx context.Context,
) (it *training.Iteration, rateGroups [][2]int, err error) {
	s, p := r.s, r.mappingProblem()
	build := func(nodeOfRank []int32) error {
		if p.Dims != nil {
			r.nodeOfRank = nodeOfRank
		}
		it, rateGroups, err = s.Workload.Work.Build(ctx, r.stepCalls(nodeOfRank))
		return err
	}

	// The default order is the reference of all mappings, and determines the
	// demand for which a search optimises.
	defaultNodes, err := r.defaultNodes(ctx, p)
	if err == nil {
		err = build(defaultNodes)
	}
	if err != nil || !s.Mapping.IsSet() {
		return it, rateGroups, err
	}

	// Map the ranks, and build the work again with the ranks on their nodes.
	o := mapping.Options{Evaluations: s.Mapping.Budget, Seed: s.Seed}
	p.Network, p.VertexTransitive = r.Known, r.isVertexTransitive()
	p.Demand = rankDemand(it.Graph, defaultNodes)
	p.Distances, p.PartsPerHop = r.GPUDistances()

	r.ranks = &rankPlacement{defaultIteration: it}
	if r.ranks.Placement, err = mapping.Place(ctx, s.Mapping.Mapping, p, o); err == nil {
		err = build(r.ranks.At)
	}
	if err != nil {
		return nil, nil, err
	}
	return it, rateGroups, r.ranks.measureHops(ctx, p, it.Graph)
}

// measureHops sets the cost of the mapping for the transfers of g. p.Demand is the
// demand in the default order. Algorithms of collective calls may send other
// transfers in this mapping; the cost then has no bound.
func (z *rankPlacement) measureHops(
	ctx context.Context, p *mapping.Problem, g *engine.Graph,
) error {
	if len(p.Slots) > mapping.MaxSlots {
		return nil
	}

	// The bound holds only for the demand for which the mapping was chosen.
	demand := rankDemand(g, z.At)
	sameDemand := slices.Equal(demand, p.Demand)
	p.Demand = demand
	c, err := mapping.NewCost(ctx, p)
	if err != nil {
		return err
	}
	unit := float64(c.PartsPerHop()) // costs are integers, in parts of a hop
	z.hopBytes = float64(c.Total(z.At)) / unit
	if sameDemand {
		z.hopBytesBound = float64(max(z.Bound, c.Bound())) / unit
	}

	for _, f := range demand {
		z.bytes += f.Bytes
	}
	return nil
}

// isVertexTransitive reports whether the visible network is the same from each
// node. This holds for a symmetric torus without failed links.
func (r *routingSystem) isVertexTransitive() bool {
	return r.Torus != nil && r.Torus.Symmetric() &&
		!slices.ContainsFunc(r.Known.Links, func(l engine.Link) bool { return l.Rate <= 0 })
}

// rankDemand returns the bytes that pairs of ranks send each other in the
// transfers of g, ordered by source and destination. nodeOfRank is indexed by
// rank.
func rankDemand(g *engine.Graph, nodeOfRank []int32) []mapping.Flow {
	rank := map[int32]int32{}
	for r, node := range nodeOfRank {
		rank[node] = int32(r)
	}

	// Sum the bytes of each pair of ranks.
	bytes := map[mapping.Flow]int64{} // keys have no Bytes
	for i := range g.Tasks {
		if t := &g.Tasks[i]; t.Kind == engine.Transfer && t.Src != t.Dst {
			bytes[mapping.Flow{Src: rank[t.Src], Dst: rank[t.Dst]}] += t.Bytes
		}
	}

	var all []mapping.Flow
	for f, b := range bytes {
		all = append(all, mapping.Flow{Src: f.Src, Dst: f.Dst, Bytes: b})
	}

	// Map iteration is random, so sort the pairs.
	slices.SortFunc(all, func(a, b mapping.Flow) int {
		return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst))
	})
	return all
}

// addMetrics adds the cost of the mapping to the metrics m.
func (p *rankPlacement) addMetrics(m map[string]float64) {
	if p == nil || p.hopBytes == 0 {
		return
	}
	m["hop_bytes"] = p.hopBytes
	m["hops_per_byte"] = p.hopBytes / float64(p.bytes)
	if p.hopBytesBound > 0 {
		m["bound_hop_bytes"] = p.hopBytesBound
		m["gap_hop_bytes"] = p.hopBytes/p.hopBytesBound - 1
	}
	if p.Evaluations > 0 {
		m["mapping_evaluations"] = float64(p.Evaluations)
	}
}
