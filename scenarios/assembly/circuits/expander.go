package circuits

import (
	"context"
	"fmt"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric/links"
	"sim/policies/collective"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/calls"
	"sim/workloads/training"
)

// StepExpander returns what expands the collective calls of a training step among the GPUs of pods.
func (s *Scenario) StepExpander(spec *training.Spec) *calls.Expander {
	return s.newExpander(spec, spec.GPUs)
}

// GPUExpander returns what expands the collective calls of other work of ranks among all GPUs of the pods.
func (s *Scenario) GPUExpander() *calls.Expander {
	return s.newExpander(nil, s.Fabric.Pods*s.Fabric.GPUsPerPod)
}

// newExpander returns what expands the collective calls among the first GPUs of pods, which are the domains of
// hierarchical algorithms. What is inside a pod contends with nothing but its network interfaces.
func (s *Scenario) newExpander(spec *training.Spec, gpus int) *calls.Expander {
	network := &engine.Network{Nodes: int32(gpus) + 1}                                               // all GPUs to what joins the pods
	domains := append(s.tierGPUs(), max(s.Fabric.GPUsPerPodPerReplica, s.Workload.Pods.NodesPerPod)) // of replicas or not
	for g := range int32(gpus) {
		uplink := engine.Link{From: g, To: network.Nodes - 1, Rate: float64(s.Fabric.NICBandwidth)}
		network.Links = append(network.Links, uplink, engine.Link{From: uplink.To, To: uplink.From, Rate: uplink.Rate})
	}
	return &calls.Expander{
		Expansion: s.Workload.Calls, Spec: spec, Seed: s.Seed, Network: network, TaskCost: assembly.PodTask,
		Domains: func(group []int32) []int { return links.DomainsByRank(group, domains) },
	}
}

// uncontendedDurations returns by task how long transfers take that stay inside pods and contend with nothing, whatever circuits there
// are, and -1 of all others; nil where there are none.
//
// The GPUs of a stage make one pass at a time, and synchronise after the last. So the calls of passes meet each other
// alone on the links inside pods, if these carry no pipeline (a pod has no more than a stage) and no other chunk
// synchronises meanwhile. All calls of a pass then take the same time in each, where none waits for circuits; where some
// do, ranks come to the others at different times, which makes no difference to an algorithm by which a GPU sends to one
// other and receives from one, a transfer at a time. If starting a message takes time, calls also meet at their senders.
func (sys *circuitSystem) uncontendedDurations(ctx context.Context) ([]engine.Time, error) {
	if sys.expander == nil || sys.scenario.Engine.MessageOverhead > 0 || sys.scenario.isTraffic() || sys.scenario.Fabric.GPUsPerPodPerReplica > sys.iteration.Spec.StageGPUs() || sys.iteration.Spec.Chunks > 1 || sys.iteration.Spec.OverlapSync || sys.iteration.Spec.Buckets > 0 || sys.iteration.Spec.Shards(0) > 0 {
		return nil, nil
	}
	crosses, isChain := map[training.Phase]bool{}, map[training.Phase]bool{}
	for i, m := range sys.iteration.Meta {
		if m.InCall && m.Phase != training.Sync && sys.isInterPod(int32(i)) {
			crosses[m.Phase] = true
		}
	}
	for _, dim := range training.Dims {
		isChain[dim] = sys.innerTiers == nil || len(crosses) == 0 // on other links than a switch's transfers may meet
	}
	if len(crosses) > 0 {
		err := sys.expander.VisitCalls(ctx, func(c training.Call, _ []int32, _ float64, schedule *collective.Schedule) {
			isChain[c.Dim] = isChain[c.Dim] && schedule.IsChain()
		})
		if err != nil {
			return nil, err
		}
	}
	network := &engine.Network{Nodes: sys.optical.Network.Nodes, Groups: sys.pods.Groups()}
	routes := engine.NewRoutes(len(sys.graph.Tasks), func(uses []engine.Use, i int32) []engine.Use {
		if t := &sys.graph.Tasks[i]; sys.pods.UsesNetwork(t) && !sys.isInterPod(i) {
			uses = sys.pods.Interfaces(uses, 0, t.Src, t.Dst)
		}
		return uses
	})
	trace, err := flow.Run(ctx, sys.graph, network, routes, flow.Options{})
	if err != nil {
		return nil, fmt.Errorf("simulating the calls inside pods: %w", err)
	}
	durations := make([]engine.Time, len(sys.graph.Tasks))
	for i, m := range sys.iteration.Meta {
		durations[i] = -1
		if m.InCall && m.Phase != training.Sync && sys.graph.Tasks[i].Kind == engine.Transfer && !crosses[m.Phase] && isChain[m.Phase] {
			durations[i] = trace.End[i] - trace.Start[i]
		}
	}
	return durations, nil
}
