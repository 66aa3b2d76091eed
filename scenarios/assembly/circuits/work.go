package circuits

import (
	"context"

	"sim/scenarios/assembly"
	"sim/workloads/trace"
)

// Work is the complete DAG. Ranks are the GPUs, pod after pod; a transfer is a message of each of its flows, and one
// inside a pod where nothing takes any time is none. Computes of GPUs in lockstep are of the first of these, as all of
// them wait for the last flow of any.
func (sys *circuitSystem) Work(ctx context.Context, _ string) (*trace.RankGraph, error) {
	if sys.pods.Copies > 1 {
		return nil, assembly.ExportError(sys.scenario.Name, "workload.replicas", "one replica stands for all", `set it to "all"`)
	}
	w := &trace.RankGraph{Graph: sys.undelayedGraph}
	if work := sys.scenario.Workload.Work; work != nil && work.Dims() != nil {
		for i := range sys.iteration.Meta {
			w.Rank = append(w.Rank, sys.iteration.Meta[i].GPU)
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
			a, b := f*len(src)/n, f*len(dst)/n
			if n == len(src)*len(dst) { // each to each
				a, b = f/len(dst), f%len(dst)
			}
			all = append(all, [2]int32{src[a%len(src)], dst[b%len(dst)]})
		}
		return all
	}
	return w, ctx.Err()
}

// numberRanks numbers the GPUs of w, and returns them by node. Of stages it says whose computes are.
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
	s := &sys.iteration.Spec
	rank := make([]int32, s.Rank(len(sys.iteration.GradientsReady), 0, 0))
	pod := make([]int32, len(rank))
	for n, node := range sys.iteration.Nodes {
		for g := range node.GPUs {
			pod[s.Rank(node.Replica, node.Stage, node.First+g)] = sys.pods.Nodes[n].Pod
		}
	}
	for p := range sys.pods.Pods {
		for g := range rank {
			if pod[g] == int32(p) {
				rank[g] = int32(w.Ranks)
				w.Ranks++
			}
		}
	}
	for n, node := range sys.iteration.Nodes {
		gpus[n] = rank[s.Rank(node.Replica, node.Stage, node.First):][:node.GPUs]
	}
	w.Rank = make([]int32, len(w.Graph.Tasks))
	for i := range w.Rank {
		w.Rank[i] = rank[sys.iteration.RankOf(int32(i))]
	}
	return gpus
}
