// This file computes the numbers of shared pods and their ports if several jobs share
// pods. Pods form one row per simulated replica.

package circuits

import (
	"slices"
)

// PodsInRow returns the number of shared pods per row. There is one row per replica. It
// is at least fabric.pods and covers all pods that jobs name.
func (s *Scenario) PodsInRow() int {
	n := s.Fabric.Pods
	for i := range s.Jobs {
		n = max(n, slices.Max(s.Jobs[i].Pods)+1)
	}
	return n
}

// Rows returns the number of rows of pods that an isolated job is simulated on: one per
// replica, or a single row that stands for all.
func (s *Scenario) Rows() int {
	if s.BuildOptions().All {
		return s.Workload.Replicas()
	}
	return 1
}

// PodPorts returns the ports (U_p) of the shared pods, row after row. The default is the
// number of GPUs that jobs have in a pod.
func (s *Scenario) PodPorts() []int {
	n, rows := s.PodsInRow(), 1
	for i := range s.Jobs {
		rows = max(rows, s.standaloneJob(i).Rows())
	}

	ports := make([]int, rows*n)
	for i := range s.Jobs {
		job := &s.Jobs[i]
		for r := range s.standaloneJob(i).Rows() {
			for _, pod := range job.Pods {
				if s.Fabric.PortsPerPod > 0 {
					ports[r*n+pod] = s.Fabric.PortsPerPod
				} else {
					ports[r*n+pod] += job.Standalone.Fabric.GPUsPerPodPerReplica
				}
			}
		}
	}
	return ports
}
