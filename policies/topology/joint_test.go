package topology_test

import (
	"context"
	"testing"
	"time"

	"sim/policies/topology"
)

func TestSketch(t *testing.T) {
	for _, s := range settings() {
		j := s.job(t)
		t.Log(s)
		for _, name := range []string{"prop-alloc", "sqrt-alloc", "iter-halve", "delta-topo", "delta-joint"} {
			pol, _ := topology.ByName(name)
			t0 := time.Now()
			d, err := pol.Choose(context.Background(), j.problem, topology.Options{Seed: 1, Workers: 2, Topo: topology.SearchOptions{MaxEvaluations: 20000}, Joint: topology.SearchOptions{MaxEvaluations: 200000}})
			if err != nil {
				t.Fatal(err)
			}
			g, _ := d.Gap()
			t.Logf("  %-12s nct %.4f gap %.2e ports %d/%d (>=%d) evals %d %v %v %s", name, j.nct(d.Makespan), g, j.problem.PortsUsed(d.Circuits), j.problem.PortsTotal(), d.PortsBound, d.Evaluations, d.Circuits, time.Since(t0).Round(time.Millisecond), d.Stopped)
		}
	}
}
