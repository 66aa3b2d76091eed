package sweep

import (
	"context"
	"maps"
	"testing"

	"sim/scenarios"
)

// TestDecidesOnce: cells that differ in nothing but [workload.step] have their routes
// decided once, and reach what each reaches by itself.
func TestDecidesOnce(t *testing.T) {
	p := plan(t, `
[workload]
kind = "nearest-neighbour"
[fabric]
kind = "torus"
dims = [4, 4, 4]
[policy]
routers = ["wild-first", "shortest"]
[engine]
level = "static"
[sweep]
"workload.step.share" = [0.1, 0.3, 0.6]
"fabric.failed_ocs" = [["x0"], ["y0"]]
"workload.step.overlap" = [0.0, 0.5]
`)
	all := make([]int, len(p.Sweep.Cells))
	for i := range all {
		all[i] = i
	}
	decided := 0
	if err := Local(2)(context.Background(), p, all, func(i int, r *Record) error {
		if r.Timings.SolveS > 0 {
			decided++
		}
		s, err := p.Study.Variant(p.Variant[i])
		if err != nil {
			return err
		}
		built, err := scenarios.Prepare(t.Context(), s)
		if err != nil {
			return err
		}
		row, _, err := built.Decide(context.Background(), p.Sweep.Cells[i].Policy, 1)
		if err != nil {
			return err
		}
		if r.Key != p.Sweep.Cells[i].Key || !maps.Equal(r.Metrics, row.Metrics) || !maps.Equal(r.Labels, row.Labels) || r.Metrics["step_slowdown"] == 0 {
			t.Errorf("%s: %v %v, by itself %v %v", p.Name(i), r.Metrics, r.Labels, row.Metrics, row.Labels)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(all) != 24 || decided != 4 {
		t.Errorf("%d cells were decided %d times, want 24 and 4: two faults under two routers", len(all), decided)
	}
}
