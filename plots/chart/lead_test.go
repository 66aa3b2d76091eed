package chart

import (
	"math"
	"testing"

	"sim/scenarios/result"
)

// TestContest: who is best at how many places, and how far off the others are at most.
func TestContest(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		better string
		at     [][]float64
		want   string
	}{
		{result.Lower, [][]float64{{2, 1e-300, 1e24}}, "Lowest delay: b; next is a, over a million times as much, and last c, over a million times as much."},
		{result.Lower, [][]float64{{2, 1, 4}}, "Lowest delay: b; next is a, 2 times as much, and last c, 4 times as much."},
		{result.Lower, [][]float64{{1.5, 1, 1}}, "Lowest delay: b and c; a has 50.0 % more."},
		{result.Lower, [][]float64{{3, 1, 2}, {1, 2, 2}, {nan, 1, 1.1}}, "Lowest delay at 2 of 3 places: b; next is c, up to 2 times as much, and last a, up to 3 times as much."},
		{result.Higher, [][]float64{{4, 1, 3}}, "Highest delay: a; next is c, 25.0 % less, and last b, 75.0 % less."},
		{"", [][]float64{{4, 4, 4}, {1, 1, nan}}, "Delay is the same for all."},
		{result.Lower, [][]float64{{1, nan, nan}}, ""},
	} {
		c := contest{words: "delay", better: tt.better, names: []string{"a", "b", "c"}}
		for _, values := range tt.at {
			c.add(values)
		}
		if got := c.sentence(); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.at, got, tt.want)
		}
	}
}

// TestLead: charts say in a sentence where values are least and greatest, and which series is best.
func TestLead(t *testing.T) {
	s := &result.Sweep{Axes: []result.Axis{{Name: "workload.microbatches", Keys: []string{"workload.microbatches"}, Labels: []string{"1", "2"}, Numbers: []float64{1, 2}}}}
	for i, v := range []float64{1.5, 1.25, 1.1, 1.2} {
		s.Cells = append(s.Cells, result.Cell{At: []int{i / 2}, Policy: []string{"a", "b"}[i%2], Key: string(rune('k' + i)), Metrics: map[string]float64{"nct": v}})
	}
	for _, tt := range []struct {
		spec result.Plot
		want string
	}{
		{result.Plot{Kind: "lines", X: "microbatches", Y: "nct", Series: "policy"}, "Lowest NCT at 1 of 2 places each: a and b."},
		{result.Plot{Kind: "bars", X: "policy", Y: "nct", Panels: "microbatches"}, "Lowest NCT at 1 of 2 places each: a and b."},
		{result.Plot{Kind: "heatmap", X: "microbatches", Y: "policy", Z: "nct"}, "Lowest NCT: 1.1 at a, micro-batches 2; highest: 1.5 at a, micro-batches 1."},
		{result.Plot{Kind: "bars", X: "microbatches", Y: "nct", Where: map[string][]string{"policy": {"b"}}}, "Lowest NCT: 1.2 at micro-batches 2; highest: 1.25 at micro-batches 1."},
		{result.Plot{Kind: "scatter", X: "nct", Y: "nct"}, ""},
	} {
		page, err := Sheet(&tt.spec, s, nil)
		if err != nil {
			t.Fatalf("%+v: %v", tt.spec, err)
		}
		if page.Lead != tt.want {
			t.Errorf("%s: %q, want %q", tt.spec.Kind, page.Lead, tt.want)
		}
	}
}

// TestWorded: labels that are lists of scenarios read as people write them.
func TestWorded(t *testing.T) {
	for label, want := range map[string]string{
		"[4, 4, 8]": "4x4x8", "[4, 4, 4]/": "4x4x4", "[4, 8, 8]/tpuv4": "4x8x8/tpuv4", "[]": "none", `["x0", "y3"]`: "x0, y3", "400Gbps": "400Gbps", "a/b": "a/b",
	} {
		if got := worded(label); got != want {
			t.Errorf("%s: %q, want %q", label, got, want)
		}
	}
}

// TestTendency: a scatter says how two metrics go together, and whether its series agree.
func TestTendency(t *testing.T) {
	v := &view{spec: &result.Plot{X: "jobs_started", Y: "nct"}, kind: &scatterKind}
	for _, c := range []struct {
		rhos []float64
		want string
	}{
		{[]float64{0.8, 0.9}, "Higher jobs started goes with higher NCT: ρ = 0.800 to 0.900."},
		{[]float64{-0.8}, "Higher jobs started goes with lower NCT: ρ = −0.800."},
		{[]float64{-0.1, 0.2}, "Jobs started says little about NCT: ρ = −0.100 to 0.200."},
		{[]float64{0.1, 0.9}, "Higher jobs started tends to go with higher NCT: ρ = 0.100 to 0.900."},
		{[]float64{-0.9, -0.1}, "Higher jobs started tends to go with lower NCT: ρ = −0.900 to −0.100."},
		{[]float64{-0.9, 0.9}, "Whether higher jobs started goes with higher NCT depends on the series: ρ = −0.900 to 0.900."},
	} {
		if got := v.tendency(c.rhos); got != c.want {
			t.Errorf("%v: %s, want %s", c.rhos, got, c.want)
		}
	}
}
