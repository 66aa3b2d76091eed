// This file expands the collective calls of training steps and rank work into transfers
// between GPUs of pods. It also finds transfers inside pods whose durations do not depend
// on the topology, so that the inter-pod DAG can treat them as fixed delays.

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

// StepExpander returns the expander of the collective calls of a training step, among the
// GPUs of its pods.
func (s *Scenario) StepExpander(spec *training.Spec) *calls.Expander {
	return s.newExpander(spec, spec.GPUs)
}

// GPUExpander returns the expander of the collective calls of other rank work, among all
// GPUs of the pods.
func (s *Scenario) GPUExpander() *calls.Expander {
	return s.newExpander(nil, s.Fabric.Pods*s.Fabric.GPUsPerPod)
}

// newExpander returns the expander of collective calls among the first GPUs of the pods.
// Pods and the tiers inside them are the domains of hierarchical algorithms.
//
// Algorithms see a star network: each GPU has a link to and from one central node, with
// the rate of its network interface. Inside a pod, transfers contend only at these
// interfaces.
func (s *Scenario) newExpander(spec *training.Spec, gpus int) *calls.Expander {
	network := &engine.Network{Nodes: int32(gpus) + 1}
	for g := range int32(gpus) {
		uplink := engine.Link{From: g, To: network.Nodes - 1, Rate: float64(s.Fabric.NICBandwidth)}
		downlink := engine.Link{From: uplink.To, To: uplink.From, Rate: uplink.Rate}
		network.Links = append(network.Links, uplink, downlink)
	}

	// GPUsPerPodPerReplica is set for training steps, NodesPerPod for other work. The
	// unset one is 0.
	podGPUs := max(s.Fabric.GPUsPerPodPerReplica, s.Workload.Pods.NodesPerPod)
	domains := append(s.tierGPUs(), podGPUs)
	switch s.Fabric.HostGPUs {
	case 0:
	case 1:
		domains = nil
	default: // hosts are the domains, as in a cluster of packet switches
		domains = []int{s.Fabric.HostGPUs}
	}
	return &calls.Expander{
		Expansion: s.Workload.Calls,
		Spec:      spec,
		Seed:      s.Seed,
		Network:   network,
		TaskCost:  assembly.PodTask,
		Domains:   func(group []int32) []int { return links.DomainsByRank(group, domains) },
	}
}

// uncontendedDurations returns the durations of the transfers inside pods that contend
// with no other transfer, whatever the topology. The result is indexed by task and holds
// -1 for all other tasks. It is nil if no transfer is known to be uncontended.
//
// The GPUs of a stage make one pass at a time and synchronise gradients after the last
// pass. A call of a pass is therefore alone on the links inside its pods, under two
// conditions. These links carry no pipeline transfers, because a pod holds at most one
// stage. And no other chunk of the stage synchronises at that time. Then all calls of a
// pass take the same time in every pass, if no call waits for circuits.
//
// If some calls cross pods, ranks arrive at the remaining calls at different times. This
// does not matter for chain algorithms, in which a GPU sends to one GPU and receives from
// one, one transfer at a time. If starting a message takes time, calls also contend at
// their senders.
func (sys *circuitSystem) uncontendedDurations(ctx context.Context) ([]engine.Time, error) {
	if !sys.passesAreSeparate() {
		return nil, nil
	}

	// crosses holds the dimensions with calls between pods. isChain holds the dimensions
	// whose transfers are uncontended whenever ranks arrive, because their algorithms are
	// chains. Without crossing calls and inner tiers, every algorithm is uncontended.
	crosses, isChain := map[training.Phase]bool{}, map[training.Phase]bool{}
	for i, m := range sys.iteration.Meta {
		if m.InCall && m.Phase != training.Sync && sys.isInterPod(int32(i)) {
			crosses[m.Phase] = true
		}
	}
	for _, dim := range training.Dims {
		// With other networks than a switch, transfers of different GPUs may share links.
		isChain[dim] = sys.innerTiers == nil || len(crosses) == 0
	}
	if len(crosses) > 0 {
		visit := func(c training.Call, _ []int32, _ float64, schedule *collective.Schedule) {
			isChain[c.Dim] = isChain[c.Dim] && schedule.IsChain()
		}
		if err := sys.expander.VisitCalls(ctx, visit); err != nil {
			return nil, err
		}
	}

	// Simulate the graph with transfers that use only the network interfaces inside pods.
	network := &engine.Network{Nodes: sys.optical.Network.Nodes, Groups: sys.pods.Groups()}
	addUses := func(uses []engine.Use, i int32) []engine.Use {
		if t := &sys.graph.Tasks[i]; sys.pods.UsesNetwork(t) && !sys.isInterPod(i) {
			const firstGroup = 0 // the network has no links, so its groups are the first resources
			uses = sys.pods.Interfaces(uses, firstGroup, t.Src, t.Dst)
		}
		return uses
	}
	routes := engine.NewRoutes(len(sys.graph.Tasks), addUses)
	trace, err := flow.Run(ctx, sys.graph, network, routes, flow.Options{})
	if err != nil {
		return nil, fmt.Errorf("simulating the calls inside pods: %w", err)
	}

	// Transfers of dimensions with calls between pods keep their place in the inter-pod
	// DAG, because their ranks may wait for circuits.
	durations := make([]engine.Time, len(sys.graph.Tasks))
	for i, m := range sys.iteration.Meta {
		durations[i] = -1
		isPassCall := m.InCall && m.Phase != training.Sync
		if isPassCall && sys.graph.Tasks[i].Kind == engine.Transfer &&
			!crosses[m.Phase] && isChain[m.Phase] {
			durations[i] = trace.End[i] - trace.Start[i]
		}
	}
	return durations, nil
}

// passesAreSeparate reports whether the calls of passes meet no other transfers inside
// pods; see uncontendedDurations.
func (sys *circuitSystem) passesAreSeparate() bool {
	s := sys.scenario
	if sys.expander == nil || s.Engine.MessageOverhead > 0 || s.isTraffic() {
		return false
	}

	// Chunks, buckets, shards and overlap let synchronisation run during passes.
	spec := &sys.iteration.Spec
	onePerPod := s.Fabric.GPUsPerPodPerReplica <= spec.StageGPUs()
	const anyStage = 0
	syncsAtEnd := spec.Chunks <= 1 && !spec.OverlapSync && spec.Buckets <= 0 && spec.Shards(anyStage) <= 0
	return onePerPod && syncsAtEnd
}
