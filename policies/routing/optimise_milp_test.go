package routing

import (
	"testing"

	"sim/fabric/torus"
	"sim/policies/milp"
)

// TestOptimisedMILP verifies on twisted tori without faults that a solver finds no smaller load
// than the local search and proves the same. From a bad start it reaches the optimum.
func TestOptimisedMILP(t *testing.T) {
	if _, _, err := milp.Find(""); err != nil {
		t.Skip(err)
	}
	p := torusProblem(t, torus.Faults{}, "tpuv4", 4, 4, 8)
	for _, budget := range []int64{0, 1} {
		d, z := route(t, OptimisedRouter{MILP: true, Budget: budget}, p, Options{Seed: 1})
		m := d.Metrics
		if z.Max != 74 || m["milp_max_link_load"] != 74 || m["milp_bound_max_link_load"] != 74 {
			t.Errorf("budget %d: load %d, of the solver %g, its bound %g; want 74", budget, z.Max, m["milp_max_link_load"], m["milp_bound_max_link_load"])
		}
		t.Log(d.Labels["solver"])
	}
}
