package paths

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sim/engine"
	"sim/scenarios/assembly/calls"
	"sim/scenarios/schema"
	"sim/workloads/collective"
)

// workLoad builds work of ranks, which are on nodes that are up, as the mapping has them. Nodes beyond these have nothing to
// do.
func workLoad(ctx context.Context, r *routingSystem, _ int64) (*trafficLoad, error) {
	it, merged, err := r.placeRanks(ctx)
	if err != nil {
		return nil, err
	}
	t, err := collective.FromGraph(r.s.Workload.Kind, int(r.Whole.Nodes), it.Graph)
	if err != nil && !errors.Is(err, collective.ErrTraffic) { // work may only compute
		return nil, err
	}
	r.iteration = it
	return &trafficLoad{flows: t.Flows, demand: t.Demand(), graph: it.Graph,
		rateGroups: merged,
		parts:      []trafficPart{{end: int32(len(t.Flows)), traffic: t}}}, nil
}

// checkWorkCalls holds the calls of work against what expands them.
func checkWorkCalls(r *routingSystem, _ int64, where []string) ([]string, error) {
	hardware, err := r.s.Fabric.Build()
	if err != nil {
		return where, err
	}
	one, ctx := &routingSystem{s: r.s, System: hardware}, context.Background()
	places, err := one.defaultNodes(ctx, one.mappingProblem())
	if err != nil {
		return where, err
	}
	keys, err := r.s.Workload.Work.CheckCalls(ctx, one.stepCalls(places))
	return append(keys, where...), err
}

// checkWork holds work of ranks against the nodes of a fabric, of which so many may have ranks. It reports whether it is
// sound.
func checkWork(c *schema.Reader, s *Scenario, w calls.Work, up int) bool {
	keys := w.RankKeys()
	switch {
	case !c.OK(keys...): // it was told
	case w.Ranks() > up:
		nodes := fmt.Sprintf("%d nodes", up)
		if s.BlockGPUs > 0 {
			nodes = fmt.Sprintf("the %d of domains of %d without a node that is down",
				up, s.BlockGPUs)
		}
		c.Clash([]string{keys[0], "fabric.dims", "fabric.nodes", "fabric.gpus",
			"fabric.edges",
			"fabric.file", "fabric.failed_chips", "fabric.failed_machines"},
			fmt.Sprintf("%d GPUs do not fit %s", w.Ranks(), nodes),
			"choose a larger fabric, or fewer GPUs")
	case s.Fabric.FailAt > 0:
		c.Clash([]string{"fabric.fail_at"},
			"what links carry when they fail is lost, nothing sends it again, and what waits for it never begins", "let it fail from the start")
	default:
		w.Check(c)
	}

	return len(c.Diagnostics) == 0
}

// mergeRateGroups has the transfers of a source in an exchange go at one rate, as where it sends to all in turn, packet by packet:
// one of them stands for all, and uses of a link as much as they do together. It returns the graph with the same tasks, of
// which the others end with that one, and its routes.
func (l *trafficLoad) mergeRateGroups(
	g *engine.Graph, r *engine.Routes,
) (*engine.Graph, *engine.Routes, error) {
	if l.rateGroups == nil || g.MessageOverhead > 0 { // each of the transfers is started by itself
		return g, r, nil
	}
	out := &engine.Graph{Namer: g.Namer, Tasks: slices.Clone(g.Tasks)}
	out.Grow(0, g.EdgeCount()+len(g.Tasks))
	for i := range g.Tasks {
		for _, e := range g.Out(int32(i)) {
			out.AddEdge(e.From, e.To, e.Lag)
		}
	}

	uses := make([][]engine.Use, len(g.Tasks)) // of those that stand for others
	for _, x := range l.rateGroups {
		leader := map[int32]int32{} // by source
		var sum []float64
		for i := x[0]; i < x[1]; i++ {
			t := &g.Tasks[i]
			if t.Kind != engine.Transfer || t.Bytes == 0 {
				continue
			}
			first, ok := leader[t.Src]
			if !ok {
				leader[t.Src], first = int32(i), int32(i)
			}
			share := float64(t.Bytes) / float64(g.Tasks[first].Bytes)
			for _, u := range r.Of(int32(i)) {
				uses[first] = append(uses[first],
					engine.Use{Resource: u.Resource, Weight: u.Weight * share})
			}
			if ok {
				out.Tasks[i] = engine.Task{}
				out.AddEdge(first, int32(i), 0)
			}
		}
		for _, first := range leader {
			all, kept := uses[first], uses[first][:0]
			for _, u := range all {
				for int(u.Resource) >= len(sum) {
					sum = append(sum, make([]float64, 1+int(u.Resource))...)
				}
				sum[u.Resource] += u.Weight
			}
			for _, u := range all { // in the order of first uses
				if w := sum[u.Resource]; w > 0 {
					kept = append(kept, engine.Use{Resource: u.Resource, Weight: w})
					sum[u.Resource] = 0
				}
			}
			uses[first] = kept
		}
	}

	routes := engine.NewRoutes(len(g.Tasks), func(all []engine.Use, i int32) []engine.Use {
		if uses[i] == nil && out.Tasks[i].Kind == engine.Transfer {
			return append(all, r.Of(i)...)
		}
		return append(all, uses[i]...)
	})

	return out, routes, out.Freeze()
}
