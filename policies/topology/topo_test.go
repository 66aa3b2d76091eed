package topology_test

import (
	"testing"

	"sim/engine/flow"
	"sim/policies/topology"
)

// TestStoppedBound stops delta-topo's search after each number of evaluations up to 150
// (without -long, every fifth above 20). The bound must hold for the best topology.
func TestStoppedBound(t *testing.T) {
	for _, s := range []setting{{"megatron-177b", 400e9, 16384}, {"megatron-177b", 800e9, 4096}} {
		j := s.job(t)
		best := choose(t, j, "delta-topo", defaultOptions()).Makespan
		for n := int64(1); n < 150; n++ {
			if n > 20 && n%5 > 0 && !*longTests {
				continue
			}
			if b := topology.UnseededBound(j.problem, n); b > best {
				t.Fatalf("%v after %d evaluations: bound %v, best %v", s, n, b, best)
			}
		}
	}
}

// TestOverriddenServiceSavesPorts checks that delta-joint under fair sharing uses fewer
// ports with a port tolerance.
func TestOverriddenServiceSavesPorts(t *testing.T) {
	j := setting{"deepseek-671b", 400e9, 4096}.job(t)
	fair := flow.MaxMin
	ports := func(tolerance float64) (int, *topology.Decision) {
		o := defaultOptions()
		o.Service, o.PortTolerance = fair.String(), tolerance
		d := choose(t, j, "delta-joint", o)
		return j.problem.PortsUsed(d.Circuits), d
	}
	exact, a := ports(0)
	loose, b := ports(0.01)
	if !(loose < exact) || float64(b.Makespan) > 1.01*float64(a.Makespan)*(1+1e-8) || b.Service != fair {
		t.Errorf("tolerance 0: %d ports, makespan %v; 1 %%: %d ports, makespan %v, service %v", exact, a.Makespan, loose, b.Makespan,
			b.Service)
	}
}
