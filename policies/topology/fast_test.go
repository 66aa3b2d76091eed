package topology_test

import (
	"context"
	"testing"
	"time"

	"sim/policies/topology"
)

func TestFastSketch(t *testing.T) {
	for _, s := range settings() {
		j := s.job(t)
		pol, _ := topology.ByName("delta-topo")
		d0, err := pol.Choose(context.Background(), j.problem, topology.Options{Seed: 1, Workers: 2, Topo: topology.SearchOptions{MaxEvaluations: 2000}})
		if err != nil {
			t.Fatal(err)
		}
		best, worst := 99.0, 0.0
		var dur time.Duration
		ev := int64(0)
		ports := 0
		for seed := range uint64(8) {
			pol, _ := topology.ByName("delta-fast")
			t0 := time.Now()
			d, err := pol.Choose(context.Background(), j.problem, topology.Options{Seed: seed, Workers: 2})
			if err != nil {
				t.Fatal(err)
			}
			dur = max(dur, time.Since(t0))
			ev = max(ev, d.Evaluations)
			n := j.nct(d.Makespan)
			best, worst = min(best, n), max(worst, n)
			ports = max(ports, j.problem.PortsUsed(d.Circuits))
		}
		t.Logf("%-28s topo %.5f/%d fast %.5f %.5f evals %d %v ports %d", s, j.nct(d0.Makespan), j.problem.PortsUsed(d0.Circuits), best, worst, ev, dur.Round(time.Millisecond), ports)
	}
}
