package routing

import (
	"context"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// Models of the bounds on makespans (Decision.BoundModel).
const (
	TimeModelSinglePath = "any routes, one a pair; as fluid"
	TimeModelSplitPaths = "any routes, that a pair may spread over; as fluid"
)

// MakespanBound returns a lower bound on the end of Graph for any choice of paths: one path per
// pair or, with split, paths over which pairs spread. If ctx ends first, it returns the error of
// ctx.
func (p *Problem) MakespanBound(ctx context.Context, split bool) (engine.Time, error) {
	in, err := newRouteInstance(p, withoutSymmetry)
	if err != nil {
		return 0, err
	}
	return in.makespanBound(ctx, p, split)
}

// Values of the parameter split of makespanBound.
const (
	singlePaths = false
	splitPaths  = true
)

// makespanBound computes Problem.MakespanBound by relaxation to machine scheduling.
//
// Give each link a length. A transfer occupies all links together for at least its bits times the
// length of its shortest path. So the links are one machine with a fixed capacity per second,
// transfers are its jobs, and dependencies order the jobs (see flow.Evaluator.Bound). Each
// element of lengths, which is indexed by orbit, gives one such machine. Further machines are all
// links with length 1, the links out of each node, and the links into each node. Each link must
// be an orbit of its own.
func (in *routeInstance) makespanBound(
	ctx context.Context,
	p *Problem,
	split bool,
	lengths ...[]float64,
) (engine.Time, error) {
	lengths = append(lengths, slices.Repeat([]float64{1}, in.numOrbits))

	// Each machine is a link of a network m: links 0..nodes-1 for the links out of each node, then
	// one per node for the links into it, then one per element of lengths.
	firstLength := int32(2 * in.nodes)
	m := &engine.Network{Nodes: int32(in.nodes), Links: make([]engine.Link, int(firstLength)+len(lengths))}
	fastest := make([]float64, in.nodes) // fastest link out of each node
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

	// The distances of all pairs, for each element of lengths.
	tasks := p.Graph.Tasks
	r := &engine.Routes{Start: make([]int32, len(tasks)+1), FlowCap: make([]float64, len(tasks))}
	t := newStateTree(in.unrestricted())
	distances := make(map[engine.Flow][]float64, len(in.pairs)) // of each pair, indexed by lengths
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

	// Each transfer uses the machines of its source, its destination and all lengths.
	for id, z := range tasks {
		if dist := distances[engine.Flow{Src: z.Src, Dst: z.Dst}]; z.Kind == engine.Transfer && dist != nil {
			if !split {
				r.FlowCap[id] = fastest[z.Src] / float64(max(1, z.Flows))
			}
			r.Uses = append(r.Uses, engine.Use{
				Resource: z.Src,
				Weight:   1,
			}, engine.Use{Resource: int32(in.nodes) + z.Dst, Weight: 1})

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
