package paths

import (
	"math"
	"strings"
	"testing"

	"sim/scenarios/assembly/input"
	"sim/scenarios/result"
)

// TestStepMeasure compares the slowdown of a step whose collective takes longer
// with closed forms. A step of length 1 computes for 1 - share (1 - overlap). A
// collective hides the fraction overlap of itself behind compute, up to all of the
// compute.
func TestStepMeasure(t *testing.T) {
	for _, c := range []struct {
		share, overlap, longer, want float64
	}{
		{0.5, 0, 1, 0},
		{0.5, 0, 1.2, 0.1},   // exposed: 0.5 becomes 0.6
		{0.5, 1, 1.2, 0},     // hidden: 0.6 of 1 that computes
		{0.5, 1, 3, 0.5},     // 1.5 exceeds the 1 that computes
		{0.4, 0.5, 2, 0.2},   // exposed: 0.2 becomes 0.4
		{0.5, 0.5, 4, 1},     // 2, hidden by the 0.75 of compute
		{0.5, 0, 0.5, -0.25}, // a faster collective
	} {
		row := result.Row{Metrics: map[string]float64{}, Labels: map[string]string{}}
		measureStep(&row, &input.Step{Share: c.share, Overlap: c.overlap}, 2, 2*c.longer)
		if got, ok := row.Metrics["step_slowdown"]; !ok || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("share %g, overlap %g, %g times as long: slowdown %g, want %g", c.share,
				c.overlap, c.longer, got, c.want)
		}
		if len(row.Labels) > 0 || len(row.Metrics) != 1 {
			t.Errorf("a step without a measured slowdown has %v and %v", row.Metrics,
				row.Labels)
		}
	}

	// The share of the collective that explains a measured slowdown of the step.
	for _, c := range []struct {
		slowdown, longer float64
		share            float64 // NaN if undefined
		label            string
	}{
		{0.1, 1.2, 0.5, ""},
		{0.1, 1.05, 2, "impossible"},
		{0.1, 1, math.NaN(), "undefined"},
		{0.1, 0.9, math.NaN(), "undefined"},
	} {
		row := result.Row{Metrics: map[string]float64{}, Labels: map[string]string{}}
		measureStep(&row, &input.Step{Slowdown: c.slowdown}, 3, 3*c.longer)
		got, ok := row.Metrics["implied_share"]
		if ok == math.IsNaN(c.share) || ok && math.Abs(got-c.share) > 1e-9 {
			t.Errorf("slowdown %g, %g times as long: implied share %g (%v), want %g",
				c.slowdown,
				c.longer, got, ok, c.share)
		}
		if label := row.Labels["implied_share"]; (c.label == "") != (label == "") ||
			!strings.HasPrefix(label, c.label) {
			t.Errorf("slowdown %g, %g times as long: label %q, want %q", c.slowdown, c.longer,
				label, c.label)
		}
	}
}
