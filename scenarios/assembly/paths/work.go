package paths

import (
	"context"

	"sim/scenarios/assembly"
	"sim/workloads/trace"
)

// Work is the graph that routers lead: ranks are the nodes that are up, in order. Computes of GPUs in lockstep are of
// the first of these. What links take beside is not in it.
func (r *routingSystem) Work(ctx context.Context, _ string) (*trace.RankGraph, error) {
	w := &trace.RankGraph{Graph: r.load.graph}
	if w.Graph == nil {
		source := r.s.Workload.Source
		if len(r.load.parts) != 1 || r.load.parts[0].periods != nil ||
			r.s.Engine.Level == "packet" && source != "greedy" && source != "window" {
			return nil, assembly.ExportError(r.s.Name, "workload.source", "its packets are at random times, or in turns", `give traffic whose source is "greedy"`)
		}
		t := r.load.parts[0].traffic
		if len(t.Flows) > assembly.LinkTask.MaxCount() {
			return nil, assembly.ExportError(r.s.Name, "workload.kind",
				"it is more transfers than are written", "choose a smaller fabric")
		}
		var err error
		if w.Graph, err = t.Graph(); err != nil {
			return nil, err
		}
	}
	if r.load.call != nil {
		w.SendOrder = r.load.call.sendOrder
	} else if r.iteration != nil {
		w.SendOrder = r.iteration.SendOrder
	}
	rank := make([]int32, r.Whole.Nodes)
	for node := range rank {
		if rank[node] = int32(w.Ranks); r.Down == nil || !r.Down[node] {
			w.Ranks++
		}
	}
	w.Messages = func(id int32) [][2]int32 {
		if t := &w.Graph.Tasks[id]; t.Src != t.Dst {
			return [][2]int32{{rank[t.Src], rank[t.Dst]}}
		}
		return nil
	}
	if r.iteration != nil && r.nodeOfRank != nil {
		w.Rank = make([]int32, len(w.Graph.Tasks))
		for i := range w.Rank {
			w.Rank[i] = rank[r.nodeOfRank[r.iteration.RankOf(int32(i))]]
		}
	}
	w.Locate(func(node int32) int32 { return rank[node] })
	return w, ctx.Err()
}
