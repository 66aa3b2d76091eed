package routing

import (
	"context"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// Models of Least.
const (
	TimeModelSinglePath = "any routes, one a pair; as fluid"
	TimeModelSplitPaths = "any routes, that a pair may spread over; as fluid"
)

// MakespanBound returns a lower bound on when Graph ends, whatever paths are taken: one a pair, or with split any that pairs
// spread over. It returns ctx's error when ctx ends before it.
func (p *Problem) MakespanBound(ctx context.Context, split bool) (engine.Time, error) {
	in, err := newRouteInstance(p, nil)
	if err != nil {
		return 0, err
	}
	return in.makespanBound(ctx, p, split)
}

// makespanBound is Problem.Least. Whatever lengths links have, what a transfer lays on all of them, in bits times lengths, is
// at least its bits times the length of its shortest path. So all links are one machine that serves so many of these a
// second, and transfers its jobs, of which some wait for others (see flow.Evaluator.Bound). Lengths, by orbit, are a
// machine each, beside all links as if they were one, and those out of each node and into it. No two links may be of
// one orbit.
func (in *routeInstance) makespanBound(ctx context.Context, p *Problem, split bool, lengths ...[]float64) (engine.Time, error) {
	lengths = append(lengths, slices.Repeat([]float64{1}, in.numOrbits))
	firstLength := int32(2 * in.nodes) // machine of lengths
	m := &engine.Network{Nodes: int32(in.nodes), Links: make([]engine.Link, int(firstLength)+len(lengths))}
	fastest := make([]float64, in.nodes) // of the links out of a node
	for k, o := range in.orbit {
		if o < 0 {
			continue
		}
		l := p.Network.Links[in.link[k]]
		m.Links[l.From].Rate += l.Rate
		m.Links[in.nodes+int(l.To)].Rate += l.Rate
		for i, length := range lengths {
			m.Links[int(firstLength)+i].Rate += length[o] * l.Rate
		}
		fastest[l.From] = max(fastest[l.From], l.Rate)
	}
	tasks := p.Graph.Tasks
	r := &engine.Routes{Start: make([]int32, len(tasks)+1), FlowCap: make([]float64, len(tasks))}
	t := newStateTree(in.unrestricted())
	distances := make(map[engine.Flow][]float64, len(in.pairs)) // by lengths: of the shortest path
	for _, f := range in.pairs {
		distances[f] = make([]float64, len(lengths))
	}
	for s, src := range in.sources {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		for k, length := range lengths {
			t.grow(src, length)
			for _, f := range in.pairs[in.firstPair[s]:in.firstPair[s+1]] {
				distances[f][k] = max(0, t.Dist[f.Dst])
			}
		}
	}
	for id, z := range tasks {
		if dist := distances[engine.Flow{Src: z.Src, Dst: z.Dst}]; z.Kind == engine.Transfer && dist != nil {
			if !split {
				r.FlowCap[id] = fastest[z.Src] / float64(max(1, z.Flows))
			}
			r.Uses = append(r.Uses, engine.Use{Resource: z.Src, Weight: 1}, engine.Use{Resource: int32(in.nodes) + z.Dst, Weight: 1})
			for k, w := range dist {
				if w > 0 {
					r.Uses = append(r.Uses, engine.Use{Resource: firstLength + int32(k), Weight: w})
				}
			}
		}
		r.Start[id+1] = int32(len(r.Uses))
	}
	e, err := flow.NewEvaluator(p.Graph, m, r, flow.MaxMin)
	if err != nil {
		return 0, err
	}
	e.SetContext(ctx)
	bound := e.Bound()
	return bound, ctx.Err()
}
