package paths

import (
	"context"
	"errors"
	"fmt"

	"sim/policies/mapping"
	"sim/scenarios/assembly"
	"sim/scenarios/schema"
	"sim/workloads/trace"
	"sim/workloads/training"
)

// Trace is the workload that other tools have written.
const Trace = "trace"

// traced builds a trace whose ranks are on some nodes.
func (r *routed) traced(ctx context.Context, place []int32) (*training.Iteration, error) {
	j := r.s.Workload.Trace
	built, err := j.Build(r.stepCalls(nil).Builder(ctx, r.s.Workload.Aggregate, place, assembly.MaxTasks))
	if err != nil {
		return nil, err
	}
	// calls are in the graph, and each task is of no phase in particular
	spec := training.Spec{GPUs: j.Ranks, PP: 1, Chunks: 1, Microbatches: 1, Collectives: "graph"}
	meta := make([]training.Meta, len(built.Graph.Tasks))
	for i := range meta {
		meta[i].GPU = built.Rank[i]
	}
	return &training.Iteration{Spec: spec, Graph: built.Graph, Meta: meta, All: true, Turn: built.Turn}, nil
}

// layTrace lays a trace out.
func layTrace(r *routed, _ int64, where []string) ([]string, error) {
	hardware, err := r.s.Fabric.Build()
	if err != nil {
		return where, err
	}
	one := &routed{s: r.s, System: hardware}
	p := r.s.ranks(one.Torus, int(one.Whole.Nodes), one.Down)
	usual, err := mapping.Place(context.Background(), mapping.Default, p, mapping.Options{})
	if err != nil {
		return where, err
	}
	_, err = one.traced(context.Background(), usual.At)
	var large trace.TooLarge
	if errors.As(err, &large) {
		return []string{"workload.collectives", "workload.files"}, fmt.Errorf("the trace makes %d transfers and computes or more, which %s; want collectives = \"neighbours\", or a smaller trace", large.Tasks, assembly.TaskCost(float64(large.Tasks)))
	}
	return append([]string{"workload.files", "policy.collective"}, where...), err
}

// traceDims are the dimensions of a trace, or one of all its ranks.
func traceDims(j *trace.Job) (dims []mapping.Dim) {
	for _, d := range j.Dims {
		dims = append(dims, mapping.Dim{Name: d.Name, Size: d.Size})
	}
	if dims == nil {
		dims = []mapping.Dim{{Name: "dp", Size: j.Ranks}}
	}
	return dims
}

// checkTrace holds a trace against the nodes of a fabric, of which so many are up.
func checkTrace(c *schema.Reader, s *Scenario, up int) {
	const files = "workload.files"
	switch j := s.Workload.Trace; {
	case j.Ranks > up:
		c.Clash([]string{files, "fabric.dims", "fabric.nodes", "fabric.gpus", "fabric.edges", "fabric.file"}, fmt.Sprintf("%d ranks do not fit %d nodes", j.Ranks, up), "choose a larger fabric")
	case s.Fabric.FailAt > 0:
		c.Clash([]string{"fabric.fail_at"}, "a trace waits for what is lost", "let it fail from the start")
	}
	bytes, _ := s.Workload.Trace.Wire()
	if t := s.Workload.Trace.Compute().Seconds() + 8*bytes/float64(s.Fabric.LinkRate); t > assembly.LongestPlay.Seconds() {
		c.Clash([]string{files, "fabric.link_rate"}, fmt.Sprintf("the trace may take %.3g s, which is absurd", t), fmt.Sprintf("stay within %.0f s", assembly.LongestPlay.Seconds()))
	}
}
