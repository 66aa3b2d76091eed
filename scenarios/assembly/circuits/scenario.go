// Package circuits assembles work on pods that circuits join: training, of one job or of several, and traffic. What it
// leaves open is how many circuits there are between which pods, which allocators decide (policies/topology), of
// several jobs arbiters. Decisions are made as fluid on the reduced graph and simulated on the complete one, as fluid
// or packet by packet, and again under what was not planned for (trials).
//
// Scenarios that exist are sound: what their keys may be is checked in package scenarios.
package circuits

import (
	"slices"

	"sim/fabric"
	"sim/policies/mapping"
	"sim/scenarios/assembly/input"
	"sim/workloads/training"
)

// Scenario is an input whose fabric is pods.
type Scenario input.Scenario

// standaloneJob returns job j by itself.
func (s *Scenario) standaloneJob(j int) *Scenario { return (*Scenario)(s.Jobs[j].Standalone) }

// PodsPerReplica returns the pods over which one replica is spread.
func (s *Scenario) PodsPerReplica() int {
	return s.Workload.PP * s.Workload.StageGPUs() / s.Fabric.GPUsPerPodPerReplica
}

// Neighbours returns the pairs of blocks of a replica, each what a pod holds of its stages, that exchange something:
// the lower one first, each once and in order.
func (s *Scenario) Neighbours() [][2]int {
	gpus, pod := s.Workload.StageGPUs(), s.Fabric.GPUsPerPodPerReplica
	var all [][2]int
	for _, pair := range s.Workload.Neighbours() {
		for first := 0; first < gpus; first += pod {
			a, b := (pair[0]*gpus+first)/pod, (pair[1]*gpus+first)/pod
			if a != b {
				all = append(all, [2]int{a, b})
			}
		}
	}
	slices.SortFunc(all, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(all)
}

// PodMap returns the pod of each block of stages where a replica has no map of its own: block b in pod b, or the other
// way round if the fabric is reversed.
func (s *Scenario) PodMap() []int {
	m := make([]int, s.PodsPerReplica())
	for b := range m {
		m[b] = b
		if s.Fabric.Reverse {
			m[b] = len(m) - 1 - b
		}
	}
	return m
}

// hasUnequalReplicas reports whether some replica differs from the others.
func (s *Scenario) hasUnequalReplicas() bool { return len(s.Replicas) > 0 }

// HasHalfRing reports whether one replica, flow by flow, would hold but half of the ring of replicas: aggregated flows
// mirror the other half.
func (s *Scenario) HasHalfRing() bool {
	return s.Workload.Flows == "per-gpu" && s.Workload.Choices.Ring == "bidirectional" && s.Workload.Replicas() > 2
}

// hasCalls reports whether the collective calls of a training step are in its graph.
func (s *Scenario) hasCalls() bool { return s.Workload.CallsInGraph() }

// NeedsAllReplicas reports whether all replicas are simulated in any case: one does not hold what is between them.
func (s *Scenario) NeedsAllReplicas() bool { return s.HasHalfRing() || s.hasCalls() }

// BuildOptions returns how much of the job is built.
func (s *Scenario) BuildOptions() training.BuildOptions {
	x := training.BuildOptions{PerGPU: s.Workload.Flows == "per-gpu" || s.hasCalls()}
	switch s.Workload.ReplicaMode {
	case "all", "decomposed":
		x.All = true
	case "auto":
		x.All = s.hasUnequalReplicas() || s.NeedsAllReplicas() || s.Stages != nil && !s.Stages.IdenticalReplicas
	}
	if !x.All {
		return x
	}
	x.ComputeScale = make([]float64, s.Workload.Replicas())
	for r := range x.ComputeScale {
		x.ComputeScale[r] = s.replica(r).ComputeScale
	}
	return x
}

// replica returns the properties of replica r, those of the fabric where it does not differ.
func (s *Scenario) replica(r int) input.Replica {
	for _, u := range s.Replicas {
		if u.Index == r {
			return u
		}
	}
	return input.Replica{Index: r, ComputeScale: 1, PortBandwidth: s.Fabric.PortBandwidth, PortsPerPod: s.Fabric.PortsPerPod, PodMap: s.PodMap()}
}

// jobLayout returns the hardware of all replicas, or of the one that stands for all.
func (s *Scenario) jobLayout(all bool) training.Layout {
	replicas := []int{0}
	for r := 1; all && r < s.Workload.Replicas(); r++ {
		replicas = append(replicas, r)
	}
	return s.replicaLayout(replicas...)
}

// replicaLayout returns the hardware of the given replicas.
func (s *Scenario) replicaLayout(replicas ...int) training.Layout {
	layout := training.Layout{GPUsPerPod: s.Fabric.GPUsPerPodPerReplica}
	if s.hasCalls() && len(s.Fabric.InnerTiers) == 0 {
		layout.IntraPodRate = s.Fabric.InsideBandwidth
	}
	for _, r := range replicas {
		replica := s.replica(r)
		nic := s.Fabric.NICBandwidth
		if nic == s.Fabric.PortBandwidth {
			// one rate for port and NIC is one technology: they go together
			nic = replica.PortBandwidth
		}
		layout.Replicas = append(layout.Replicas, training.ReplicaLayout{Pod: fabric.Pod{Ports: replica.PortsPerPod, Rate: replica.PortBandwidth}, NIC: nic, PodMap: replica.PodMap})
		if stages := s.Stages; stages != nil {
			layout.StagePods = append(layout.StagePods, stages.Pods[r*s.Workload.PP:(r+1)*s.Workload.PP]...)
			layout.PodNumbers = stages.PodNumbers
		}
	}
	if len(replicas) == 1 && layout.StagePods != nil {
		layout.StagePods = mapping.Canonical(layout.StagePods)
		layout.PodNumbers = layout.PodNumbers[replicas[0]*s.PodsPerReplica():]
	}
	return layout
}

// isTraffic reports whether s is of all GPUs of its pods, and not of replicas of a model.
func (s *Scenario) isTraffic() bool {
	return s.Workload.Graph != nil || s.Workload.Work != nil
}
