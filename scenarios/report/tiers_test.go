package report

import (
	"strings"
	"testing"

	"sim/scenarios/result"
)

// TestTiers: the named tier is the one whose faster links make the iteration shortest;
// other fabrics have no table.
func TestTiers(t *testing.T) {
	row := &result.Row{Metrics: map[string]float64{
		"makespan_s": 0.4, "tier1_bytes": 2e9, "tier1_busy": 0.2, "tier1_exposed_s": 0.1, "tier1_doubled_s": 0.36,
		"tier2_bytes": 1e9, "tier2_busy": 0.5, "tier2_exposed_s": 0.05, "tier2_doubled_s": 0.35,
	}, Labels: map[string]string{"tiers": "electrical, ocs-pods", "tier_calls": "tp all-gather by ring"}}
	p := &writer{}
	p.printTiers(row)
	for _, want := range []string{"1 electrical", "Improve tier 2 ocs-pods first", "350.000 ms, 12.5 % less", "tp all-gather by ring", "25.0 %"} {
		if !strings.Contains(p.String(), want) {
			t.Errorf("no %q in\n%s", want, p.String())
		}
	}
	none := &writer{}
	if none.printTiers(&result.Row{Metrics: map[string]float64{"makespan_s": 1}}); none.Len() > 0 {
		t.Error(none.String())
	}
}
