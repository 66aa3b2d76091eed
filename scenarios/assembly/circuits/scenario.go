// Package circuits builds systems whose pods are joined by optical circuits. The open
// decision is the topology: the number of circuits between each two pods. Allocators make
// it for one job, and multi-job allocators for several jobs (policies/topology).
//
// A circuitSystem holds a training step, a collective call, a trace or traffic on its
// pods. A jobsSystem holds several training jobs that share pods. Allocators decide on
// the inter-pod DAG, which keeps only the transfers between pods and the delays between
// them. The decision is then simulated on the complete DAG, at level flow or packet. Type
// trials simulates it again under conditions that the plan does not cover, such as
// compute jitter or lost circuits.
//
// Inputs are valid: package scenarios checks all keys beforehand. Start reading with New
// in system.go and with circuitSystem.allocate in decision.go.
package circuits

import (
	"slices"

	"sim/fabric"
	"sim/policies/mapping"
	"sim/scenarios/assembly/input"
	"sim/workloads/training"
)

// Scenario is an input whose fabric is pods joined by circuits.
type Scenario input.Scenario

// standaloneJob returns job j as a scenario of its own.
func (s *Scenario) standaloneJob(j int) *Scenario { return (*Scenario)(s.Jobs[j].Standalone) }

// PodsPerReplica returns the number of pods that hold one replica.
func (s *Scenario) PodsPerReplica() int {
	return s.Workload.PP * s.Workload.StageGPUs() / s.Fabric.GPUsPerPodPerReplica
}

// Neighbours returns the pairs of blocks of a replica that exchange data. A block is the
// part of the stages that one pod holds. Pairs are sorted and unique, with the lower
// block first.
func (s *Scenario) Neighbours() [][2]int {
	// Neighbouring stages exchange data between GPUs of equal index, so blocks of these
	// GPUs do.
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

// PodMap returns the pod of each block of stages, for replicas without a map of their
// own. Block b is in pod b. If the fabric is reversed, block 0 is in the last pod.
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

// HasHalfRing reports whether a single simulated replica would hold only half of the ring
// of replicas. This happens if flows are simulated per GPU on a bidirectional ring.
// Aggregated flows mirror the other half.
func (s *Scenario) HasHalfRing() bool {
	return s.Workload.Flows == "per-gpu" &&
		s.Workload.Choices.Ring == "bidirectional" &&
		s.Workload.Replicas() > 2
}

// hasCalls reports whether the graph of a training step contains its collective calls.
func (s *Scenario) hasCalls() bool { return s.Workload.CallsInGraph() }

// NeedsAllReplicas reports whether all replicas must be simulated because a single one
// does not hold the traffic between replicas.
func (s *Scenario) NeedsAllReplicas() bool { return s.HasHalfRing() || s.hasCalls() }

// BuildOptions returns which part of the job is built: one replica that stands for all,
// or all replicas with their compute scales.
func (s *Scenario) BuildOptions() training.BuildOptions {
	x := training.BuildOptions{PerGPU: s.Workload.Flows == "per-gpu" || s.hasCalls()}
	switch s.Workload.ReplicaMode {
	case "all", "decomposed":
		x.All = true
	case "auto":
		x.All = s.hasUnequalReplicas() || s.NeedsAllReplicas() ||
			s.Stages != nil && !s.Stages.IdenticalReplicas
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

// replica returns the properties of replica r. They default to the properties of the
// fabric.
func (s *Scenario) replica(r int) input.Replica {
	for _, u := range s.Replicas {
		if u.Index == r {
			return u
		}
	}
	return input.Replica{
		Index:         r,
		ComputeScale:  1,
		PortBandwidth: s.Fabric.PortBandwidth,
		PortsPerPod:   s.Fabric.PortsPerPod,
		PodMap:        s.PodMap(),
	}
}

// jobLayout returns the hardware of all replicas, or of the single one that stands for
// all.
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
			// Equal rates of port and NIC mean one technology. The NIC then follows the
			// port.
			nic = replica.PortBandwidth
		}
		layout.Replicas = append(layout.Replicas, training.ReplicaLayout{
			Pod:    fabric.Pod{Ports: replica.PortsPerPod, Rate: replica.PortBandwidth},
			NIC:    nic,
			PodMap: replica.PodMap,
		})
		if stages := s.Stages; stages != nil {
			first := r * s.Workload.PP
			layout.StagePods = append(layout.StagePods, stages.Pods[first:first+s.Workload.PP]...)
			layout.PodNumbers = stages.PodNumbers
		}
	}

	// A single replica has pods numbered from 0, with the labels of its own pods.
	if len(replicas) == 1 && layout.StagePods != nil {
		layout.StagePods = mapping.Canonical(layout.StagePods)
		layout.PodNumbers = layout.PodNumbers[replicas[0]*s.PodsPerReplica():]
	}
	return layout
}

// isTraffic reports whether the work covers all GPUs of the pods, such as traffic, a
// collective call or a trace. It is false for training steps whose replicas are placed in
// pods.
func (s *Scenario) isTraffic() bool {
	return s.Workload.Graph != nil || s.Workload.Work != nil
}
