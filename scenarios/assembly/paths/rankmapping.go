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

// rankPlacement is where the ranks of a training step are, where its scenario says so.
type rankPlacement struct {
	*mapping.Placement
	defaultIteration        *training.Iteration // with ranks in the usual order
	hopBytes, hopBytesBound float64             // bytes x hops of its transfers, and of any placement of them at least
	bytes                   int64               // of them
}

// mappingProblem returns the ranks of the training step of s and the nodes that may have them; the network is nil, and the torus
// of a graph.
func (s *Scenario) mappingProblem(t *torus.Torus, nodes int, down []bool) *mapping.Problem {
	p := &mapping.Problem{Torus: t, Files: s.Mapping.FileEndpoints(),
		Dims:  s.Workload.Work.Dims(),
		Block: max(1, s.BlockGPUs)}
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

// mappingProblem returns the ranks of the work and the nodes that may have them.
func (r *routingSystem) mappingProblem() *mapping.Problem {
	return r.s.mappingProblem(r.OutermostTorus(), int(r.Whole.Nodes), r.Down)
}

// defaultNodes returns by rank its node in the usual order of the dimensions.
func (r *routingSystem) defaultNodes(ctx context.Context, p *mapping.Problem) ([]int32, error) {
	if p.Dims == nil {
		return p.Slots, nil
	}
	at, err := mapping.Place(ctx, mapping.Default, p, mapping.Options{})
	if err != nil {
		return nil, err
	}
	return at.At, nil
}

// placeRanks builds the work with its ranks where the mapping has them.
func (r *routingSystem) placeRanks(
	ctx context.Context,
) (it *training.Iteration, merged [][2]int, err error) {
	s, p := r.s, r.mappingProblem()
	build := func(at []int32) error {
		if p.Dims != nil {
			r.nodeOfRank = at
		}
		it, merged, err = s.Workload.Work.Build(ctx, r.stepCalls(at))
		return err
	}

	usual, err := r.defaultNodes(ctx, p)
	if err == nil {
		err = build(usual)
	}
	if err != nil || !s.Mapping.IsSet() {
		return it, merged, err
	}
	o := mapping.Options{Evaluations: s.Mapping.Budget, Seed: s.Seed}
	p.Network, p.VertexTransitive, p.Demand = r.Known, r.isVertexTransitive(),
		rankDemand(it.Graph, usual)
	p.Distances, p.PartsPerHop = r.GPUDistances()
	r.ranks = &rankPlacement{defaultIteration: it}
	if r.ranks.Placement, err = mapping.Place(ctx, s.Mapping.Mapping, p, o); err == nil {
		err = build(r.ranks.At)
	}
	if err != nil {
		return nil, nil, err
	}
	return it, merged, r.ranks.measureHops(ctx, p, it.Graph)
}

// measureHops adds up the hops of what the placed step of a graph sends. Algorithms of collectives may send other transfers
// than in the usual order, of which nothing bounds the cost.
func (z *rankPlacement) measureHops(
	ctx context.Context, p *mapping.Problem, g *engine.Graph,
) error {
	if len(p.Slots) > mapping.MaxSlots {
		return nil
	}
	sends := rankDemand(g, z.At)
	same := slices.Equal(sends, p.Demand)
	p.Demand = sends
	c, err := mapping.NewCost(ctx, p)
	if err != nil {
		return err
	}
	unit := float64(c.PartsPerHop())
	z.hopBytes = float64(c.Total(z.At)) / unit
	if same {
		z.hopBytesBound = float64(max(z.Bound, c.Bound())) / unit
	}
	for _, f := range sends {
		z.bytes += f.Bytes
	}
	return nil
}

// isVertexTransitive reports whether the network that is known looks the same from each node: a torus of which nothing is down.
func (r *routingSystem) isVertexTransitive() bool {
	return r.Torus != nil && r.Torus.Symmetric() &&
		!slices.ContainsFunc(r.Known.Links, func(l engine.Link) bool { return l.Rate <= 0 })
}

// rankDemand adds up what ranks on some nodes send each other in transfers, whatever these are for.
func rankDemand(g *engine.Graph, at []int32) []mapping.Flow {
	rank := map[int32]int32{}
	for r, node := range at {
		rank[node] = int32(r)
	}
	bytes := map[mapping.Flow]int64{} // of a flow without bytes
	for i := range g.Tasks {
		if t := &g.Tasks[i]; t.Kind == engine.Transfer && t.Src != t.Dst {
			bytes[mapping.Flow{Src: rank[t.Src], Dst: rank[t.Dst]}] += t.Bytes
		}
	}

	var all []mapping.Flow
	for f, b := range bytes {
		all = append(all, mapping.Flow{Src: f.Src, Dst: f.Dst, Bytes: b})
	}
	slices.SortFunc(all, func(a, b mapping.Flow) int { return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst)) })
	return all
}

// addMetrics adds what a mapping costs.
func (p *rankPlacement) addMetrics(m map[string]float64) {
	if p == nil || p.hopBytes == 0 {
		return
	}
	m["hop_bytes"], m["hops_per_byte"] = p.hopBytes, p.hopBytes/float64(p.bytes)
	if p.hopBytesBound > 0 {
		m["bound_hop_bytes"], m["gap_hop_bytes"] = p.hopBytesBound,
			p.hopBytes/p.hopBytesBound-1
	}
	if p.Evaluations > 0 {
		m["mapping_evaluations"] = float64(p.Evaluations)
	}
}
