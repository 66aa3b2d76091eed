package circuits

import (
	"slices"
)

// PodsInRow returns the number of pods that a row of replicas has: those that jobs share.
func (s *Scenario) PodsInRow() int {
	n := s.Fabric.Pods
	for i := range s.Jobs {
		n = max(n, slices.Max(s.Jobs[i].Pods)+1)
	}
	return n
}

// Rows returns the number of rows of pods that a job by itself is simulated on: one for each replica, or one that
// stands for all.
func (s *Scenario) Rows() int {
	if s.BuildOptions().All {
		return s.Workload.Replicas()
	}
	return 1
}

// PodPorts returns U_p of the pods that the jobs share, row after row: the ports that are given, or as many as the jobs
// have GPUs in the pod.
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
