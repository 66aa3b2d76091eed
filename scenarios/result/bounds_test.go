package result

import (
	"math"
	"testing"
)

// TestShareBounds: every row gets the largest applicable bound of all rows, and the gap
// refers to it.
func TestShareBounds(t *testing.T) {
	row := func(policy string, value, bound float64, split bool, proofs ...ProvedBound) Row {
		return Row{Policy: policy, Metrics: map[string]float64{"makespan_s": value, "bound_makespan_s": bound, "gap": value/bound - 1},
			Labels: map[string]string{"gap_model": policy}, Bounds: &Bounds{GapMetric: "makespan_s", MultiPath: split, Proofs: proofs}}
	}
	rows := []Row{
		row("one", 4, 2, false, ProvedBound{"makespan_s", 2, "weak", true}, ProvedBound{"makespan_s", 3, "strong, one route", false}),
		row("several routes", 4, 2, true),
		row("better own", 4, 3.5, false),
		row("at the bound", 3*(1-1e-10), 2, false), // rounding
		{Policy: "apart", Metrics: map[string]float64{"makespan_s": 4, "bound_makespan_s": 1, "gap": 3}},
		{Policy: "unbounded", Metrics: map[string]float64{"makespan_s": 4}, Bounds: &Bounds{GapMetric: "makespan_s"}},
		{Policy: "other metric", Metrics: map[string]float64{"makespan_s": 4, "bound_makespan_s": 2}, Bounds: &Bounds{GapMetric: "ports"}},
	}
	shared := rows[0].Metrics
	ShareBounds(rows)
	for i, want := range []struct {
		bound, gap float64
		model      string
	}{
		{3, 1.0 / 3, "strong, one route"}, {2, 1, "several routes"}, {3.5, 4/3.5 - 1, "better own"}, {3, 0, "strong, one route"}, {1, 3, ""}, {0, 0, ""}, {3, 0, ""},
	} {
		m := rows[i].Metrics
		if m["bound_makespan_s"] != want.bound || math.Abs(m["gap"]-want.gap) > 1e-12 || rows[i].Labels["gap_model"] != want.model {
			t.Errorf("%s has bound %g, gap %g, model %q, want %+v", rows[i].Policy, m["bound_makespan_s"], m["gap"], rows[i].Labels["gap_model"], want)
		}
	}
	if shared["bound_makespan_s"] != 2 {
		t.Error("the caller's metrics changed")
	}
}
