package plots

import (
	"testing"

	"sim/plots/sheet/sheettest"
	"sim/scenarios/result"
)

// TestTiersFigure: only a run on tiers has the figure.
func TestTiersFigure(t *testing.T) {
	doc := &result.Document{Scenario: "x", Rows: []result.Row{{Policy: "a", Metrics: map[string]float64{"makespan_s": 1}, Labels: map[string]string{"tiers": "electrical, torus"}}}}
	if f := figureFunc(tiersFigure).draw(doc, &result.Detail{}); f != nil {
		t.Errorf("%d figures without tiers", len(f))
	}
	doc.Rows[0].Metrics["tier1_exposed_s"], doc.Rows[0].Metrics["tier2_exposed_s"] = 0.1, 0.2
	f := figureFunc(tiersFigure).draw(doc, &result.Detail{})
	if len(f) != 1 || f[0].Name != "tiers" {
		t.Fatalf("%v", f)
	}
	// The parts add up to the iteration.
	for _, want := range []string{"a: 1 s", "0.1", "0.2", "0.7"} {
		if !sheettest.Contains(f[0], want) {
			t.Errorf("the figure says %q, not %q", sheettest.Text(f[0]), want)
		}
	}
}
