package scenarios

// PodsPerReplica returns the pods over which one replica is spread.
func (s *Scenario) PodsPerReplica() int {
	return s.Workload.PP * s.Workload.StageGPUs() / s.Fabric.GPUsPerPodPerReplica
}

// PodMap returns the pod of each block of stages where a replica has no map of
// its own: block b in pod b, or the other way round if the fabric is reversed.
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
