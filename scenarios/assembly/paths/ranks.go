// This file builds the transfers of training steps and traces, whose ranks a mapping
// places on nodes.

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

// workLoad is Kind.load of work of ranks: training steps and traces. The ranks are
// on the nodes that the mapping selects; other nodes are idle.
func workLoad(ctx context.Context, r *routingSystem, _ int64) (*trafficLoad, error) {
	it, rateGroups, err := r.placeRanks(ctx)
	if err != nil {
		return nil, err
	}
	t, err := collective.FromGraph(r.s.Workload.Kind, int(r.Whole.Nodes), it.Graph)
	if r.quotient != nil {
		t, err = r.quotient.Traffic(r.s.Workload.Kind, int(r.Whole.Nodes), it.Graph)
	}
	if err != nil && !errors.Is(err, collective.ErrTraffic) { // work without transfers is accepted
		return nil, err
	}

	r.iteration = it
	return &trafficLoad{
		flows: t.Flows, demand: t.Demand(), graph: it.Graph, rateGroups: rateGroups,
		parts: []trafficPart{{end: int32(len(t.Flows)), traffic: t}},
	}, nil
}

// checkWorkCalls is Kind.check of work of ranks. It checks that the algorithms
// support the collective calls of the work.
func checkWorkCalls(r *routingSystem, _ int64, fabricKeys []string) ([]string, error) {
	hardware, err := r.s.Fabric.Build()
	if err != nil {
		return fabricKeys, err
	}

	// The mapping of the scenario may be costly, so the default one is used.
	built, ctx := &routingSystem{s: r.s, System: hardware}, context.Background()
	nodeOfRank, err := built.defaultNodes(ctx, built.mappingProblem())
	if err != nil {
		return fabricKeys, err
	}
	keys, err := r.s.Workload.Work.CheckCalls(ctx, built.stepCalls(nodeOfRank))
	return append(keys, fabricKeys...), err
}

// checkWork reports work whose ranks do not fit the fabric, where up nodes can
// hold ranks. It returns whether the scenario has no errors.
func checkWork(c *schema.Reader, s *Scenario, w calls.Work, up int) bool {
	keys := w.RankKeys()
	switch {
	case !c.OK(keys...): // reported already
	case w.Ranks() > up:
		nodes := fmt.Sprintf("%d nodes", up)
		if s.BlockGPUs > 0 {
			nodes = fmt.Sprintf("the %d of domains of %d without a node that is down",
				up, s.BlockGPUs)
		}
		c.Conflict([]string{
			keys[0], "fabric.dims", "fabric.nodes", "fabric.gpus", "fabric.edges",
			"fabric.file", "fabric.failed_chips", "fabric.failed_machines"},
			fmt.Sprintf("%d GPUs do not fit %s", w.Ranks(), nodes),
			"choose a larger fabric, or fewer GPUs")
	case s.Fabric.FailAt > 0:
		c.Conflict([]string{"fabric.failure_time"},
			"what links carry when they fail is lost, nothing sends it again, and what waits for it never begins",
			"let it fail from the start")
	default:
		w.Check(c, s.mayFold())
	}

	return len(c.Diagnostics) == 0
}

// mergeRateGroups makes the transfers of one source within a range of rateGroups
// share one rate. This approximates a source that sends to all destinations in
// turn, packet by packet.
//
// One transfer of each source stands for all: its resources have the sum of their
// weights. The returned graph has the same tasks. The other tasks are empty and
// end with that transfer.
func (l *trafficLoad) mergeRateGroups(
	g *engine.Graph, r *engine.Routes,
) (*engine.Graph, *engine.Routes, error) {
	if l.rateGroups == nil || g.MessageOverhead > 0 { // then each message starts separately
		return g, r, nil
	}

	// Copy the graph, and replace the other transfers by empty tasks.
	out := &engine.Graph{Namer: g.Namer, Tasks: slices.Clone(g.Tasks)}
	out.Grow(0, g.EdgeCount()+len(g.Tasks))
	for i := range g.Tasks {
		for _, e := range g.Out(int32(i)) {
			out.AddEdge(e.From, e.To, e.Lag)
		}
	}

	uses := make([][]engine.Use, len(g.Tasks)) // resources of the representative transfers, by task
	for _, group := range l.rateGroups {
		representative := map[int32]int32{} // by source
		var weight []float64                // by resource
		for i := group[0]; i < group[1]; i++ {
			t := &g.Tasks[i]
			if t.Kind != engine.Transfer || t.Bytes == 0 {
				continue
			}
			first, ok := representative[t.Src]
			if !ok {
				representative[t.Src], first = int32(i), int32(i)
			}

			// The weight of a resource is relative to the bytes of the
			// representative.
			share := float64(t.Bytes) / float64(g.Tasks[first].Bytes)
			for _, u := range r.Of(int32(i)) {
				uses[first] = append(uses[first],
					engine.Use{Resource: u.Resource, Weight: u.Weight * share})
			}
			if ok {
				out.Tasks[i] = engine.Task{}
				out.AddDependency(first, int32(i))
			}
		}

		// Add up the uses of each resource, in the order of their first
		// occurrence.
		for _, first := range representative {
			all, merged := uses[first], uses[first][:0]
			for _, u := range all {
				for int(u.Resource) >= len(weight) {
					weight = append(weight, make([]float64, 1+int(u.Resource))...)
				}
				weight[u.Resource] += u.Weight
			}
			for _, u := range all {
				if w := weight[u.Resource]; w > 0 {
					merged = append(merged, engine.Use{Resource: u.Resource, Weight: w})
					weight[u.Resource] = 0
				}
			}
			uses[first] = merged
		}
	}

	// Transfers outside all ranges keep their resources.
	routes := engine.NewRoutes(len(g.Tasks), func(all []engine.Use, i int32) []engine.Use {
		if uses[i] == nil && out.Tasks[i].Kind == engine.Transfer {
			return append(all, r.Of(i)...)
		}
		return append(all, uses[i]...)
	})

	return out, routes, out.Freeze()
}
