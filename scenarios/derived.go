package scenarios

// StageGPUs returns the GPUs of a pipeline stage: etp x ep if the model has
// experts, else tp.
func (t *Training) StageGPUs() int {
	if t.Architecture.Experts > 0 {
		return t.ETP * t.EP
	}
	return t.TP
}

// ReplicaCount returns D, the number of data-parallel replicas that the job's
// GPUs hold.
func (t *Training) ReplicaCount() int { return t.GPUs / (t.PP * t.StageGPUs()) }

// TensorGroups returns the tensor-parallel groups in a stage.
func (t *Training) TensorGroups() int { return t.StageGPUs() / t.TP }

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

// TwinNeighbours returns c, the neighbouring replicas to which each pod needs
// circuits: 0, 1 or 2 for one, two or more replicas.
func (t *Training) TwinNeighbours() int { return min(t.ReplicaCount()-1, 2) }
