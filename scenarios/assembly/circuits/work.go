// This file exports the work of a system as a task graph of ranks, for other tools.

package circuits

import (
	"context"

	"sim/scenarios/assembly"
	"sim/workloads/trace"
)

// Work returns the complete DAG as a task graph of ranks, for export. It implements
// assembly.WorkExporter.
//
// Ranks are the GPUs, pod after pod. A transfer becomes one message per flow. A transfer
// inside a pod that takes no time becomes no message. The computes of GPUs in lockstep
// belong to the first of these GPUs, because all of them wait for the last flow of any.
func (sys *circuitSystem) Work(ctx context.Context, _ string) (*trace.RankGraph, error) {
	if sys.pods.Copies > 1 {
		return nil, assembly.ExportError(sys.scenario.Name, "workload.replicas",
			"one replica stands for all", `set it to "all"`)
	}

	// Other tools simulate latencies inside pods themselves.
	w := &trace.RankGraph{Graph: sys.undelayedGraph}
	if work := sys.scenario.Workload.Work; work != nil && work.Dims() != nil {
		for i := range sys.iteration.Meta {
			w.Rank = append(w.Rank, sys.nodeOfTask(int32(i)))
		}
	}
	gpus := sys.numberRanks(w)
	w.Locate(func(node int32) int32 { return gpus[node][0] })

	w.Messages = func(id int32) (all [][2]int32) {
		t := &w.Graph.Tasks[id]
		if !sys.pods.UsesNetwork(t) {
			return nil
		}
		src, dst, n := gpus[t.Src], gpus[t.Dst], int(t.Flows)
		for f := range n {
			// Flows are spread evenly over the GPUs of both nodes, or connect all pairs
			// of them.
			a, b := f*len(src)/n, f*len(dst)/n
			if n == len(src)*len(dst) {
				a, b = f/len(dst), f%len(dst)
			}
			all = append(all, [2]int32{src[a%len(src)], dst[b%len(dst)]})
		}
		return all
	}
	return w, ctx.Err()
}

// numberRanks sets the number of ranks of w and returns the ranks of each node. For
// training steps it also sets the rank of each task.
func (sys *circuitSystem) numberRanks(w *trace.RankGraph) (gpus [][]int32) {
	gpus = make([][]int32, len(sys.pods.Nodes))
	if sys.scenario.isTraffic() {
		for n := range gpus {
			for range sys.pods.Nodes[n].GPUs {
				gpus[n] = append(gpus[n], int32(w.Ranks))
				w.Ranks++
			}
		}
		return gpus
	}

	// The pod of each rank, in the numbering of the training step. The first rank of the
	// replica after the last one is the number of ranks.
	s, replicas := &sys.iteration.Spec, len(sys.iteration.GradientsReady)
	rank := make([]int32, s.Rank(replicas, 0, 0))
	pod := make([]int32, len(rank))
	for n, node := range sys.iteration.Nodes {
		for g := range node.GPUs {
			pod[s.Rank(node.Replica, node.Stage, node.First+g)] = sys.pods.Nodes[n].Pod
		}
	}

	// Number the ranks again, pod after pod.
	for p := range sys.pods.Pods {
		for g := range rank {
			if pod[g] == int32(p) {
				rank[g] = int32(w.Ranks)
				w.Ranks++
			}
		}
	}

	// A node holds consecutive GPUs of a stage. Each task belongs to the rank of its
	// first GPU.
	for n, node := range sys.iteration.Nodes {
		gpus[n] = rank[s.Rank(node.Replica, node.Stage, node.First):][:node.GPUs]
	}
	w.Rank = make([]int32, len(w.Graph.Tasks))
	for i := range w.Rank {
		w.Rank[i] = rank[sys.iteration.RankOf(int32(i))]
	}
	return gpus
}
