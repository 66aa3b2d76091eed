package paths

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/calls"
	"sim/scenarios/schema"
	"sim/workloads/collective"
)

// Iterates reports whether the workload is a step of training, of whatever model.
func (w *Workload) Iterates() bool {
	return w.Kind == "training" || w.Work != nil || w.Kind == Trace
}

// up returns the nodes that may have ranks.
func (r *routed) up() (nodes []int32) {
	for node := range int32(r.nodes()) {
		if r.Down == nil || !r.Down[node] {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// workLoad builds work whose ranks are on the first nodes that are up.
func workLoad(ctx context.Context, r *routed, _ int64) (*load, error) {
	it, merged, err := r.s.Workload.Work.Build(ctx, r.stepCalls(r.up()))
	if err != nil {
		return nil, err
	}
	t, err := collective.OfGraph(r.s.Workload.Kind, int(r.Whole.Nodes), it.Graph)
	if err != nil {
		return nil, err
	}
	r.it = it
	return &load{flows: t.Flows, demand: t.Demand(), graph: it.Graph, exchanges: merged, parts: []part{{end: int32(len(t.Flows)), traffic: t}}}, nil
}

// layWork holds the calls of work against what expands them.
func layWork(r *routed, _ int64, where []string) ([]string, error) {
	hardware, err := r.s.Fabric.Build()
	if err != nil {
		return where, err
	}
	one := &routed{s: r.s, System: hardware}
	keys, err := r.s.Workload.Work.CheckCalls(context.Background(), one.stepCalls(one.up()), assembly.MaxTasks)
	return append(keys, where...), err
}

// checkWork holds work of ranks against the nodes of a fabric, of which so many are up.
func checkWork(c *schema.Reader, s *Scenario, w calls.Work, up int) {
	const gpus = "workload.gpus"
	switch {
	case !c.OK(gpus):
	case w.Ranks() > up:
		c.Clash([]string{gpus, "fabric.dims", "fabric.nodes", "fabric.edges", "fabric.file"}, fmt.Sprintf("%d GPUs do not fit %d nodes", w.Ranks(), up), "choose a larger fabric, or fewer GPUs")
	case s.Fabric.FailAt > 0:
		c.Clash([]string{"fabric.fail_at"}, "a training step waits for what is lost", "let it fail from the start")
	default:
		w.Check(c)
	}
}

// together has the transfers of a source in an exchange go at one rate, as where it sends to all in turn, packet by packet:
// one of them stands for all, and uses of a link as much as they do together. It returns the graph with the same tasks, of
// which the others end with that one, and its routes.
func (l *load) together(g *engine.Graph, r *engine.Routes) (*engine.Graph, *engine.Routes, error) {
	if l.exchanges == nil || g.MessageOverhead > 0 { // each of the transfers is started by itself
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
	for _, x := range l.exchanges {
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
				uses[first] = append(uses[first], engine.Use{Resource: u.Resource, Weight: u.Weight * share})
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
	routes := &engine.Routes{Start: make([]int32, len(g.Tasks)+1)}
	for i := range g.Tasks {
		switch {
		case uses[i] != nil:
			routes.Uses = append(routes.Uses, uses[i]...)
		case out.Tasks[i].Kind == engine.Transfer:
			routes.Uses = append(routes.Uses, r.Of(int32(i))...)
		}
		routes.Start[i+1] = int32(len(routes.Uses))
	}
	return out, routes, out.Freeze()
}
