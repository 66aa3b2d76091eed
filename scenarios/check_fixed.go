package scenarios

import (
	"fmt"
	"slices"
)

// checkFixed holds the topology written by hand against pods and ports.
func checkFixed(c *checker) {
	s := c.s
	path := c.PathOf(&s.Policy.Fixed.Circuits)
	if !c.Uses(path) || !c.Given(path) || !c.OK(path, "policy.allocators", "fabric.ports_per_pod", "replica", "workload.schedule") {
		return
	}
	what, want := fixedFault(s)
	c.forbid(what != "", path, "%s; %s", what, want)
}

// fixedFault returns the first thing that is wrong with the matrix, or "".
func fixedFault(s *Scenario) (what, want string) {
	m, pods, twins := s.Policy.Fixed.Circuits, s.Fabric.Pods, 0
	if !s.podTraffic() {
		pods, twins = s.PodsPerReplica(), s.Workload.PeerNeighbours()
	}
	if pods > maxFixedPods {
		return fmt.Sprintf("a replica of %d pods is too large for a matrix", pods), fmt.Sprintf("stay within %d pods", maxFixedPods)
	}
	square := len(m) == pods && !slices.ContainsFunc(m, func(row []int) bool { return len(row) != pods })
	if !square {
		return "the matrix does not fit the pods", fmt.Sprintf("write %d rows of %d circuits", pods, pods)
	}
	for p := range m {
		if m[p][p] != 0 && s.podTraffic() {
			return fmt.Sprintf("row %d joins pod %d to itself, where traffic has no replicas to join", p+1, p), "write 0 on the diagonal"
		}
		used := (twins - 1) * m[p][p]
		for q := range m[p] {
			if m[p][q] != m[q][p] {
				return fmt.Sprintf("row %d, column %d has %d circuits, and row %d, column %d has %d", p+1, q+1, m[p][q], q+1, p+1, m[q][p]),
					"make the matrix symmetric: a circuit serves both directions"
			}
			used += m[p][q]
		}
		if m[p][p] == 0 && twins > 0 {
			return fmt.Sprintf("pod %d has no circuit to its twin in another replica", p), "give it at least one, on the diagonal"
		}
		ports := s.Fabric.PortsPerPod
		for i := range s.Replicas {
			ports = min(ports, s.Replicas[i].PortsPerPod)
		}
		if used > ports {
			return fmt.Sprintf("row %d takes %d ports of %d, a circuit on the diagonal counting %d", p+1, used, ports, twins), "give fewer circuits"
		}
	}
	if s.podTraffic() {
		return "", ""
	}
	maps := [][]int{s.pods().PodMap()}
	for i := range s.Replicas {
		maps = append(maps, s.Replicas[i].PodMap)
	}
	for _, pod := range maps {
		for b := range pods {
			next := b + 1
			if next == pods {
				if s.Workload.Schedule != "interleaved-1f1b" || pods < 2 {
					break
				}
				next = 0 // chunks wrap around
			}
			if p, q := pod[b], pod[next]; m[p][q] == 0 {
				return fmt.Sprintf("pods %d and %d exchange activations and have no circuit", p, q), "give them at least one"
			}
		}
	}
	return "", ""
}
