package paths

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/scenarios/assembly"
	"sim/scenarios/schema"
	"sim/workloads/collective"
	"sim/workloads/training"
)

// Recommendation is the workload that is a step of a recommendation model.
const Recommendation = "recommendation"

// Iterates reports whether the workload is a step of training, of whatever model.
func (w *Workload) Iterates() bool {
	return w.Kind == "training" || w.Kind == Recommendation || w.Kind == Trace
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

// recommendationLoad builds the step of a recommendation model whose ranks are on the first nodes that are up.
func recommendationLoad(ctx context.Context, r *routed, _ int64) (*load, error) {
	l, expand := &load{}, r.stepCalls(r.up()).Expand(ctx)
	it, err := training.BuildRecommendation(&r.s.Workload.Recommendation, func(g *engine.Graph, c training.Call, group, ready []int32) ([]int32, error) {
		first := len(g.Tasks)
		done, err := expand(g, c, group, ready)
		if c.Kind == training.AllToAll {
			l.exchanges = append(l.exchanges, [2]int{first, len(g.Tasks)})
		}
		return done, err
	})
	if err != nil {
		return nil, err
	}
	t, err := collective.OfGraph(Recommendation, int(r.Whole.Nodes), it.Graph)
	if err != nil {
		return nil, err
	}
	r.it = it
	l.flows, l.demand, l.graph, l.parts = t.Flows, t.Demand(), it.Graph, []part{{end: int32(len(t.Flows)), traffic: t}}
	return l, nil
}

// layRecommendation holds the calls of such a step against what expands them.
func layRecommendation(r *routed, _ int64, where []string) ([]string, error) {
	hardware, err := r.s.Fabric.Build()
	if err != nil {
		return where, err
	}
	one := &routed{s: r.s, System: hardware}
	keys, err := one.stepCalls(one.up()).CheckRecommendation(context.Background(), &r.s.Workload.Recommendation, assembly.MaxTasks)
	return append(keys, where...), err
}

// checkRecommendation holds such a step against the nodes of a fabric, of which so many are up.
func checkRecommendation(c *schema.Reader, s *Scenario, up int) {
	const gpus = "workload.gpus"
	w := &s.Workload.Recommendation
	switch {
	case !c.OK(gpus):
	case w.GPUs > up:
		c.Clash([]string{gpus, "fabric.dims", "fabric.nodes", "fabric.edges", "fabric.file"}, fmt.Sprintf("%d GPUs do not fit %d nodes", w.GPUs, up), "choose a larger fabric, or fewer GPUs")
	case s.Fabric.FailAt > 0:
		c.Clash([]string{"fabric.fail_at"}, "a training step waits for what is lost", "let it fail from the start")
	default:
		CheckRecommendation(c, w)
	}
}

// CheckRecommendation holds such a step against what can be counted.
func CheckRecommendation(c *schema.Reader, w *training.Recommendation) {
	switch {
	case float64(w.Samples)*float64(w.Tables)*float64(w.Width) > 1e15:
		c.Clash([]string{"workload.samples", "workload.tables", "workload.width"}, "a GPU exchanges more than 1e15 numbers", "choose fewer samples or tables")
	case w.Pooling*w.LookupSeconds()+w.ForwardSeconds()*(1+w.BackwardRatio) > 1e6:
		c.Clash([]string{"workload.samples", "workload.dense_parameters", "workload.effective_tflops", "workload.memory_rate"}, "a step computes for more than 1e6 s", "choose a smaller one")
	}
}

// RecommendationBytes returns the bytes of all transfers of the step, of reductions the least that any algorithm sends, and how
// many there are, of rings.
func RecommendationBytes(w *training.Recommendation) (bytes, transfers float64) {
	n := float64(w.GPUs)
	there, back, top, bottom := w.Calls()
	bytes = n*(n-1)*float64(there.Bytes+back.Bytes) + 2*(n-1)*(float64(w.Pieces)*float64(top.Bytes)+float64(bottom.Bytes))
	return bytes, 2*n*(n-1) + 2*n*(n-1)*float64(w.Pieces+1)
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
