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

// StepCalls returns what expands the collective calls of a training step among the GPUs of pods.
func (s *Scenario) StepCalls(spec *training.Spec) *calls.Expander {
	return s.callsAmong(spec, spec.GPUs)
}

// GPUCalls returns what expands the collective calls of other work of ranks among all GPUs of the pods.
func (s *Scenario) GPUCalls() *calls.Expander {
	return s.callsAmong(nil, s.Fabric.Pods*s.Fabric.GPUsPerPod)
}

// callsAmong returns what expands the collective calls among the first GPUs of pods, which are the domains of
// hierarchical algorithms. What is inside a pod contends with nothing but its network interfaces.
func (s *Scenario) callsAmong(spec *training.Spec, gpus int) *calls.Expander {
	n := &engine.Network{Nodes: int32(gpus) + 1}                                                     // all GPUs to what joins the pods
	domains := append(s.tierGPUs(), max(s.Fabric.GPUsPerPodPerReplica, s.Workload.Pods.NodesPerPod)) // of replicas or not
	for g := range int32(gpus) {
		up := engine.Link{From: g, To: n.Nodes - 1, Rate: float64(s.Fabric.NICBandwidth)}
		n.Links = append(n.Links, up, engine.Link{From: up.To, To: up.From, Rate: up.Rate})
	}
	return &calls.Expander{
		Expansion: s.Workload.Calls, Spec: spec, Seed: s.Seed, Network: n, TaskCost: assembly.PodTask,
		Domains: func(group []int32) []int { return links.DomainsByRank(group, domains) },
	}
}

// alone returns by task how long transfers take that stay inside pods and contend with nothing, whatever circuits there
// are, and -1 of all others; nil where there are none.
//
// The GPUs of a stage make one pass at a time, and synchronise after the last. So the calls of passes meet each other
// alone on the links inside pods, if these carry no pipeline (a pod has no more than a stage) and no other chunk
// synchronises meanwhile. All calls of a pass then take the same time in each, where none waits for circuits; where some
// do, ranks come to the others at different times, which makes no difference to an algorithm by which a GPU sends to one
// other and receives from one, a transfer at a time. If starting a message takes time, calls also meet at their senders.
func (in *instance) alone(ctx context.Context) ([]engine.Time, error) {
	if in.calls == nil || in.s.Engine.MessageOverhead > 0 || in.s.traffic() || in.s.Fabric.GPUsPerPodPerReplica > in.it.Spec.StageGPUs() || in.it.Spec.Chunks > 1 || in.it.Spec.OverlapSync || in.it.Spec.Buckets > 0 || in.it.Spec.Shards(0) > 0 {
		return nil, nil
	}
	crosses, chained := map[training.Phase]bool{}, map[training.Phase]bool{}
	for i, m := range in.it.Meta {
		if m.InCall && m.Phase != training.Sync && in.crosses(int32(i)) {
			crosses[m.Phase] = true
		}
	}
	for _, dim := range training.Dims {
		chained[dim] = in.tiers == nil || len(crosses) == 0 // on other links than a switch's transfers may meet
	}
	if len(crosses) > 0 {
		err := in.calls.VisitCalls(ctx, func(c training.Call, _ []int32, _ float64, z *collective.Schedule) {
			chained[c.Dim] = chained[c.Dim] && z.IsChain()
		})
		if err != nil {
			return nil, err
		}
	}
	n := &engine.Network{Nodes: in.optical.Network.Nodes, Groups: in.pods.Groups()}
	r := engine.NewRoutes(len(in.graph.Tasks), func(uses []engine.Use, i int32) []engine.Use {
		if t := &in.graph.Tasks[i]; in.pods.UsesNetwork(t) && !in.crosses(i) {
			uses = in.pods.Interfaces(uses, 0, t.Src, t.Dst)
		}
		return uses
	})
	trace, err := flow.Run(ctx, in.graph, n, r, flow.Options{})
	if err != nil {
		return nil, fmt.Errorf("simulating the calls inside pods: %w", err)
	}
	alone := make([]engine.Time, len(in.graph.Tasks))
	for i, m := range in.it.Meta {
		alone[i] = -1
		if m.InCall && m.Phase != training.Sync && in.graph.Tasks[i].Kind == engine.Transfer && !crosses[m.Phase] && chained[m.Phase] {
			alone[i] = trace.End[i] - trace.Start[i]
		}
	}
	return alone, nil
}
