package topology_test

import (
	"fmt"
	"testing"
)

// TestPortsProved checks on Table I's workloads that all three searches find and prove
// the minimum ports, and that they need no more ports than greedy removal.
func TestPortsProved(t *testing.T) {
	shaved := map[string][3]int{ // ports after greedy removal by delta-fast, delta-topo, delta-joint
		"megatron-177b/0": {352, 352, 352}, "megatron-177b/0.001": {320, 320, 320},
		"mixtral-8x22b/0": {120, 120, 120}, "mixtral-8x22b/0.001": {112, 112, 114},
		"megatron-462b/0": {816, 816, 816}, "megatron-462b/0.001": {704, 720, 720},
		"deepseek-671b/0": {240, 240, 244}, "deepseek-671b/0.001": {232, 232, 236},
	}
	for _, m := range models {
		for _, tolerance := range []float64{0, 0.001} {
			name := fmt.Sprintf("%s/%g", m, tolerance)
			if tolerance == 0 && !*longTests { // the stored baselines check these ports and their proofs
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				j := setting{m, 400e9, 4096}.job(t)
				o := defaultOptions()
				o.PortTolerance = tolerance
				for i, policy := range []string{"delta-fast", "delta-topo", "delta-joint"} {
					if m == "megatron-462b" && i < 2 && !*longTests { // these take longest
						continue
					}
					d := choose(t, j, policy, o)
					if ports := j.problem.PortsUsed(d.Circuits); ports != d.PortsBound ||
						ports > shaved[name][i] {
						t.Errorf("%s takes %d ports, proved %d, want at most %d", policy, ports,
							d.PortsBound, shaved[name][i])
					}
					if d.Makespan > d.Limit {
						t.Errorf("%s ends at %v, beyond %v", policy, d.Makespan, d.Limit)
					}
				}
			})
		}
	}
}
