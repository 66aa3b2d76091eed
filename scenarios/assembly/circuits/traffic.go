// This file builds systems of work that covers all GPUs of the pods: traffic, collective
// calls and traces.

package circuits

import (
	"context"
	"fmt"

	"sim/engine"
	"sim/policies/mapping"
)

// buildTraffic builds the system of work on all GPUs of the pods: traffic, a collective
// call or rank work such as a trace.
func buildTraffic(ctx context.Context, s *Scenario) (*circuitSystem, error) {
	sys, w := &circuitSystem{scenario: s, pods: s.Workload.Pods.New()}, &s.Workload
	var err error
	if w.Work == nil {
		if sys.graph, err = w.Graph(ctx); err != nil {
			return nil, err
		}
		sys.nameTransfers()
	} else {
		if sys.expander, err = s.PlacedExpander(ctx, s.Mapping.Mapping); err != nil {
			return nil, err
		}
		if sys.iteration, _, err = w.Work.Build(ctx, sys.expander); err != nil {
			return nil, err
		}
		sys.graph = sys.iteration.Graph
	}

	// Without inner tiers, a switch joins the GPUs of a host. Pods without hosts have a switch that
	// joins the GPUs of a pod, which traffic and single calls ignore.
	switch f := &s.Fabric; {
	case f.HostGPUs > 0:
		sys.pods.Inside = sys.pods.HostNetwork(f.HostGPUs, f.InsideBandwidth)
	case w.Work != nil && len(f.InnerTiers) == 0:
		sys.pods.Inside = sys.pods.SwitchedNetwork(f.InsideBandwidth)
	}

	if err := sys.routeGraph(ctx); err != nil {
		return nil, err
	}
	if err := sys.defineProblem(ctx); err != nil {
		return nil, err
	}
	if !s.Mapping.IsSet() {
		return sys, sys.simulateReference(ctx)
	}

	// Mappings are compared with the reference of the default order.
	inOrder := *s
	inOrder.Mapping = mapping.Keys{}
	if sys.inOrder, err = buildTraffic(ctx, &inOrder); err != nil {
		return nil, err
	}
	sys.IdealReference = sys.inOrder.IdealReference
	return sys, nil
}

// nameTransfers sets the names and the numbers of flows of the transfers of traffic. A
// transfer between two nodes has one flow per pair of their GPUs.
func (sys *circuitSystem) nameTransfers() {
	shape, pods := sys.scenario.Workload.Pods, sys.pods.Pods // sizes of pods, and the pods
	for i := range sys.graph.Tasks {
		if sys.graph.Tasks[i].Kind == engine.Transfer {
			sys.graph.Tasks[i].Flows = int32(shape.GPUsPerNode * shape.GPUsPerNode)
		}
	}

	// If a node stands for a whole pod, names omit the GPUs.
	sys.graph.Namer = func(id int32) string {
		task := &sys.graph.Tasks[id]
		from, to := pods[sys.pods.Nodes[task.Src].Pod].Name, pods[sys.pods.Nodes[task.Dst].Pod].Name
		if shape.NodesPerPod == 1 {
			return from + " to " + to
		}
		src, dst := int(task.Src)%shape.NodesPerPod, int(task.Dst)%shape.NodesPerPod
		return fmt.Sprintf("GPU %d of %s to GPU %d of %s", src, from, dst, to)
	}
}
