package circuits

import (
	"context"
	"fmt"

	"sim/engine"
)

// buildTraffic makes the instance of traffic, a call or work of ranks on all GPUs of the pods.
func buildTraffic(ctx context.Context, s *Scenario) (*circuitSystem, error) {
	sys, w := &circuitSystem{scenario: s, pods: s.Workload.Pods.New()}, &s.Workload
	var err error
	if w.Work == nil {
		if sys.graph, err = w.Graph(ctx); err != nil {
			return nil, err
		}
		sys.nameTransfers()
	} else {
		sys.expander = s.GPUExpander()
		if sys.iteration, _, err = w.Work.Build(ctx, sys.expander); err != nil {
			return nil, err
		}
		if sys.graph = sys.iteration.Graph; len(s.Fabric.InnerTiers) == 0 {
			sys.pods.Inside = sys.pods.SwitchedNetwork(s.Fabric.InsideBandwidth)
		}
	}
	if err := sys.routeGraph(ctx); err != nil {
		return nil, err
	}
	if err := sys.defineProblem(ctx); err != nil {
		return nil, err
	}
	return sys, sys.simulateReference(ctx)
}

// nameTransfers names the transfers of traffic, and gives them their flows.
func (sys *circuitSystem) nameTransfers() {
	u, pods := sys.scenario.Workload.Pods, sys.pods.Pods
	for i := range sys.graph.Tasks {
		if sys.graph.Tasks[i].Kind != engine.Transfer {
			continue
		}
		sys.graph.Tasks[i].Flows = int32(u.GPUsPerNode * u.GPUsPerNode)
	}
	sys.graph.Namer = func(id int32) string {
		task := &sys.graph.Tasks[id]
		from, to := sys.pods.Nodes[task.Src].Pod, sys.pods.Nodes[task.Dst].Pod
		if u.NodesPerPod == 1 {
			return pods[from].Name + " to " + pods[to].Name
		}
		return fmt.Sprintf("GPU %d of %s to GPU %d of %s", int(task.Src)%u.NodesPerPod, pods[from].Name, int(task.Dst)%u.NodesPerPod, pods[to].Name)
	}
}
