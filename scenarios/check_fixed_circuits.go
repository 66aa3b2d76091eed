// This file checks topologies that a scenario lists itself (policy.fixed.circuits), which
// the allocator "fixed" uses on fabric "ocs-pods".
//
// The methods of checker report faults of keys as "PROBLEM; REMEDY". A check is skipped if
// a key that it needs has a fault already (c.OK).

package scenarios

import "slices"

// checkFixedCircuits checks the topology that policy.fixed.circuits lists: one row of
// circuit counts per pod of a replica. Each pod must have enough ports, and each of pairs,
// which exchange payload, must have a circuit.
//
// A number on the diagonal is the number of circuits from a pod to the same pod of each
// neighbouring replica. peers is the number of these replicas; it is 0 for work without
// replicas.
func checkFixedCircuits(c *checker, payload string, pairs [][2]int) {
	path := c.PathOf(&c.s.Policy.Fixed.Circuits)
	if !c.IsUsed(path) || !c.Given(path) {
		return
	}
	if !c.OK(path, "policy.allocators", "fabric.ports_per_pod", "replica", "workload.schedule") {
		return
	}

	s := c.s
	m, pods, peers := s.Policy.Fixed.Circuits, s.Fabric.Pods, 0
	if !s.isPodTraffic() {
		pods, peers = s.PodsPerReplica(), s.Workload.PeerNeighbours()
	}
	if pods > maxFixedPods {
		c.conflictf(path,
			"a replica of %d pods is too large for a matrix; stay within %d pods",
			pods, maxFixedPods)
		return
	}

	if len(m) != pods || slices.ContainsFunc(m, func(row []int) bool { return len(row) != pods }) {
		c.conflictf(path, "the matrix does not fit the pods; write %d rows of %d circuits", pods, pods)
		return
	}

	// The rows hold for all replicas, so the smallest number of ports counts.
	ports := s.Fabric.PortsPerPod
	for i := range s.Replicas {
		ports = min(ports, s.Replicas[i].PortsPerPod)
	}

	// Check symmetry, the diagonal and the number of ports, row by row.
	for p := range m {
		if m[p][p] != 0 && s.isPodTraffic() {
			c.conflictf(path,
				"row %d has circuits from pod %d to itself, but traffic has no replicas; write 0 on the diagonal",
				p+1, p)
			return
		}

		// The diagonal element is added once more in the loop over the row.
		used := (peers - 1) * m[p][p]
		for q := range m[p] {
			if m[p][q] != m[q][p] {
				c.conflictf(path,
					"row %d, column %d has %d circuits, and row %d, column %d has %d; make the matrix symmetric: a circuit serves both directions",
					p+1, q+1, m[p][q], q+1, p+1, m[q][p])
				return
			}
			used += m[p][q]
		}

		// Replicas synchronise their gradients between equal pods.
		if m[p][p] == 0 && peers > 0 {
			c.conflictf(path,
				"pod %d has no circuit to its twin in another replica; give it at least one, on the diagonal",
				p)
			return
		}

		if used > ports {
			c.conflictf(path,
				"row %d takes %d ports of %d, a circuit on the diagonal counting %d; give fewer circuits",
				p+1, used, ports, peers)
			return
		}
	}

	// Pods that exchange data need a direct circuit, since circuits do not forward.
	for _, pair := range pairs {
		if m[pair[0]][pair[1]] == 0 {
			c.conflictf(path,
				"pods %d and %d exchange %s and have no circuit; give them at least one",
				pair[0], pair[1], payload)
			return
		}
	}
}

// neighbourPodPairs returns the pairs of pods of one replica that exchange data, for each
// order of pods that a replica has.
func (s *Scenario) neighbourPodPairs() (pairs [][2]int) {
	maps := [][]int{s.circuitsView().PodMap()}
	for i := range s.Replicas {
		maps = append(maps, s.Replicas[i].PodMap)
	}
	for _, pod := range maps {
		for _, pair := range s.circuitsView().Neighbours() {
			if pair[1] < len(pod) { // a map that is too short is reported elsewhere
				pairs = append(pairs, [2]int{pod[pair[0]], pod[pair[1]]})
			}
		}
	}
	return pairs
}
