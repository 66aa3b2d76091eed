package routing

import (
	"testing"

	"sim/fabric/torus"
)

// TestMaxGap verifies that the search ends near its bound: the load is within MaxGap of the bound,
// and higher than the load of a search that continues. The bound is not affected, and the choice
// remains free of deadlock.
func TestMaxGap(t *testing.T) {
	for _, c := range []struct {
		twist  string
		maxGap float64
	}{
		{"tpuv4", 0.05},  // symmetric
		{"011011", 0.10}, // mutual twists, without symmetry
	} {
		p := torusProblem(t, torus.Faults{}, c.twist, 4, 4, 8)
		const budget = 1_000_000
		full, _ := route(t, OptimisedRouter{Budget: budget}, p, Options{Seed: 1})
		near, _ := route(t, OptimisedRouter{Budget: budget, MaxGap: c.maxGap}, p, Options{Seed: 1})
		load, best := near.Metrics["max_link_load"], full.Metrics["max_link_load"]
		if load > near.Bound*(1+c.maxGap) || load <= best {
			t.Errorf("%s: load %g with MaxGap %g of bound %g, want at most that and more than %g", c.twist, load, c.maxGap, near.Bound, best)
		}
		if near.Bound > full.Bound || near.Metrics["gap"] > c.maxGap {
			t.Errorf("%s: bound %g and gap %g, want at most %g and %g", c.twist, near.Bound, near.Metrics["gap"], full.Bound, c.maxGap)
		}
	}
}
