package circuits

import (
	"context"
	"fmt"

	"sim/engine"
)

// buildOnPods makes the instance of traffic, a call or work of ranks on all GPUs of the pods.
func buildOnPods(ctx context.Context, s *Scenario) (*instance, error) {
	in, w := &instance{s: s, pods: s.Workload.Pods.New()}, &s.Workload
	var err error
	if w.Work == nil {
		if in.graph, err = w.Graph(ctx); err != nil {
			return nil, err
		}
		in.name()
	} else {
		in.calls = s.GPUCalls()
		if in.it, _, err = w.Work.Build(ctx, in.calls); err != nil {
			return nil, err
		}
		if in.graph = in.it.Graph; len(s.Fabric.InnerTiers) == 0 {
			in.pods.Inside = in.pods.SwitchedNetwork(s.Fabric.InsideBandwidth)
		}
	}
	if err := in.connect(ctx); err != nil {
		return nil, err
	}
	if err := in.open(ctx); err != nil {
		return nil, err
	}
	return in, in.compare(ctx)
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
