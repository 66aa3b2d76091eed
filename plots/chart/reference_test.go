package chart

import (
	"slices"
	"strings"
	"testing"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// TestDifferentReferences: a chart of a metric whose cells are relative to different ideal
// fabrics is marked, says why, and highlights nothing as best. Charts of times, and of cells with
// one reference, are as usual. No chart of that metric is proposed.
func TestDifferentReferences(t *testing.T) {
	s := &result.Sweep{Name: "s", Axes: []result.Axis{{Name: "fabric", Keys: []string{"fabric"}, Labels: []string{"pods", "tree"}}}}
	for i := range 2 {
		for k, policy := range []string{"p", "q"} {
			s.Cells = append(s.Cells, result.Cell{At: []int{i}, Policy: policy, Key: policy,
				Reference: map[string]float64{"makespan_s": 3 - float64(i), "compute_makespan_s": 1},
				Metrics:   map[string]float64{"nct": 1.5 + float64(k), "makespan_s": 4 + float64(k)}})
		}
	}
	for _, c := range []struct {
		spec   result.Plot
		marked bool
	}{
		{result.Plot{Kind: "bars", X: "policy", Panels: "fabric", Y: "nct"}, true},
		{result.Plot{Kind: "bars", X: "policy", Panels: "fabric", Y: "makespan_s"}, false},
		{result.Plot{Kind: "bars", X: "policy", Y: "nct", Where: map[string][]string{"fabric": {"pods"}}}, false},
	} {
		page, err := Sheet(&c.spec, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		hasBest := slices.ContainsFunc(page.Legend, func(e sheet.Entry) bool { return e.Text == "best" })
		explains := strings.Contains(strings.Join(page.Notes, " "), "nct is relative to ideal fabrics that differ")
		if hasBest == c.marked || explains != c.marked || strings.HasSuffix(page.Title, result.ReferenceMark) != c.marked {
			t.Errorf("%s of %v: best is highlighted: %v, title %q, notes %q; want marks: %v",
				c.spec.Y, c.spec.Where, hasBest, page.Title, page.Notes, c.marked)
		}
	}
	for _, p := range Default(s) {
		if p.Y == "nct" {
			t.Errorf("a chart of NCT is proposed: %+v", p)
		}
	}
}
