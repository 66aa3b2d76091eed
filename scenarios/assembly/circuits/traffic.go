package circuits

import (
	"context"
	"fmt"

	"sim/engine"
)

// buildPodTraffic makes the instance of traffic on pods.
func buildPodTraffic(ctx context.Context, s *Scenario) (*instance, error) {
	in, u := &instance{s: s}, s.Workload.Pods
	if err := in.lay(ctx); err != nil {
		return nil, err
	}
	in.pods = u.New()
	if !in.iterates() {
		in.name()
	} else if len(s.Tiers) == 0 {
		in.pods.Inside = in.pods.Switch(s.Fabric.InsideBandwidth)
	}
	return in, in.finish(ctx)
}

// finish connects what is laid, leaves circuits open and finds the references.
func (in *instance) finish(ctx context.Context) error {
	if err := in.connect(ctx); err != nil {
		return err
	}
	if err := in.open(ctx); err != nil {
		return err
	}
	return in.compare(ctx)
}

// name names the transfers of traffic, and gives them their flows.
func (in *instance) name() {
	u, pods := in.s.Workload.Pods, in.pods.Pods
	for i := range in.graph.Tasks {
		if in.graph.Tasks[i].Kind != engine.Transfer {
			continue
		}
		in.graph.Tasks[i].Flows = int32(u.GPUsPerNode * u.GPUsPerNode)
	}
	in.graph.Namer = func(id int32) string {
		task := &in.graph.Tasks[id]
		from, to := in.pods.Nodes[task.Src].Pod, in.pods.Nodes[task.Dst].Pod
		if u.NodesPerPod == 1 {
			return pods[from].Name + " to " + pods[to].Name
		}
		return fmt.Sprintf("GPU %d of %s to GPU %d of %s", int(task.Src)%u.NodesPerPod, pods[from].Name, int(task.Dst)%u.NodesPerPod, pods[to].Name)
	}
}

// lay makes the graph of the step, traffic or call.
func (in *instance) lay(ctx context.Context) (err error) {
	w := &in.s.Workload
	if w.Work != nil {
		in.calls = in.s.GPUCalls(w.Work.Ranks())
		if in.it, _, err = w.Work.Build(ctx, in.calls); err == nil {
			in.graph = in.it.Graph
		}
		return err
	}
	if w.Trace != nil {
		built, err := w.Trace.Build(in.s.Traced(ctx))
		if err != nil {
			return err
		}
		in.graph, in.rank = built.Graph, built.Rank
		return nil
	}
	if w.Graph != nil {
		in.graph, err = w.Graph(ctx)
		return err
	}
	t, err := w.Traffic()
	if err != nil {
		return err
	}
	if in.graph, err = t.Graph(); err != nil || len(in.s.Tiers) == 0 {
		return err
	}
	g := in.graph // all of which is over when the last of it arrives
	in.graph = &engine.Graph{Tasks: append(g.Tasks, engine.Task{})}
	for i := range g.Tasks {
		in.graph.AddEdge(int32(i), int32(len(g.Tasks)), 0)
	}
	return in.graph.Freeze()
}
