// This file exports the work of a system as a task graph of ranks, for other tools.

package paths

import (
	"context"

	"sim/scenarios/assembly"
	"sim/workloads/trace"
)

// Work returns the task graph for which routers choose paths, for export. Its
// ranks are the nodes that are up, in order. The computes of GPUs in lockstep
// belong to the first of them. The graph does not contain the times of links.
func (r *routingSystem) Work(ctx context.Context, _ string) (*trace.RankGraph, error) {
	if r.quotient != nil {
		return nil, assembly.ExportError(r.s.Name, "workload.microbatches",
			"the step is too large to write the tasks of all GPUs", "choose fewer micro-batches")
	}
	name := r.s.Name
	r, err := r.listTransfers(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		problem, remedy := assembly.SplitError(err)
		return nil, assembly.ExportError(name, "policy.collective", problem, remedy)
	}
	w := &trace.RankGraph{Graph: r.load.graph}

	// Traffic without dependencies is a graph of independent transfers, if all
	// messages are sent at once.
	if w.Graph == nil {
		source := r.s.Workload.Source
		alternates := len(r.load.parts) != 1 || r.load.parts[0].periods != nil
		isTimed := r.s.Engine.Level == "packet" && source != "greedy" && source != "window"
		if alternates || isTimed {
			return nil, assembly.ExportError(r.s.Name, "workload.source",
				"its packets are at random times, or in turns",
				`give traffic whose source is "greedy"`)
		}

		t := r.load.parts[0].traffic
		if len(t.Flows) > assembly.LinkTask.MaxCount() {
			return nil, assembly.ExportError(r.s.Name, "workload.kind",
				"it is more transfers than are written", "choose a smaller fabric")
		}
		if w.Graph, err = t.Graph(); err != nil {
			return nil, err
		}
	}

	if r.load.call != nil {
		w.SendOrder = r.load.call.sendOrder
	} else if r.iteration != nil {
		w.SendOrder = r.iteration.SendOrder
	}

	// Number the nodes that are up.
	rankOfNode := make([]int32, r.Whole.Nodes)
	for node := range rankOfNode {
		if rankOfNode[node] = int32(w.Ranks); r.Down == nil || !r.Down[node] {
			w.Ranks++
		}
	}
	w.Messages = func(id int32) [][2]int32 {
		if t := &w.Graph.Tasks[id]; t.Src != t.Dst {
			return [][2]int32{{rankOfNode[t.Src], rankOfNode[t.Dst]}}
		}
		return nil
	}

	// Computes belong to the ranks on their nodes.
	if r.iteration != nil && r.nodeOfRank != nil {
		w.Rank = make([]int32, len(w.Graph.Tasks))
		for i := range w.Rank {
			w.Rank[i] = rankOfNode[r.nodeOfRank[r.iteration.RankOf(int32(i))]]
		}
	}
	w.Locate(func(node int32) int32 { return rankOfNode[node] })
	return w, ctx.Err()
}
