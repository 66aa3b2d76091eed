package report

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"
	"sim/internal/text"
	"sim/scenarios/result"
)

// TestFleet: printed chip-time adds up to 100.00, and gains are sorted, failed ones last.
func TestFleet(t *testing.T) {
	run := &result.Run{Document: result.Document{Scenario: "fleet", Rows: []result.Row{
		{Policy: "one", Metrics: map[string]float64{"goodput": 0.33335, "share_idle": 0.33335, "share_down": 0.3333}},
	}}}
	got := Explain(run, &result.Simulation{Policy: "one", Fleet: &result.Fleet{}}, text.Style{})
	if !strings.Contains(got, "work that is kept   33.3") || !strings.Contains(got, "all                100.00") {
		t.Error(got)
	}
	if strings.Contains(got, "±") || strings.Contains(got, "means over seeds") {
		t.Error("standard errors without seeds:", got)
	}
	run.Document.Rows[0].Metrics["se_goodput"] = 0.012
	got = Explain(run, &result.Simulation{Policy: "one", Fleet: &result.Fleet{}}, text.Style{})
	if !strings.Contains(got, "one turns 33.3 % ± 1.2 % of") || !strings.Contains(got, "\none       1.2 %\n") {
		t.Error("standard errors are missing:", got)
	}
	got = Gains("one", []result.Gain{{Change: "a", Mean: -0.01}, {Change: "b", Mean: 0.02, SE: 0.001}, {Change: "c", Failed: "no"}}, 3, text.Style{})
	a, b, c := strings.Index(got, "\na "), strings.Index(got, "\nb "), strings.Index(got, "\nc ")
	if !(0 < b && b < a && a < c) || !strings.Contains(got, "+2.00") || !strings.Contains(got, "0.10") || !strings.Contains(got, "c: no") {
		t.Error(got)
	}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.Float64Range(0, 100), 1, 12).Draw(t, "parts")
		out := text.AddUp(100, parts...)
		for i, v := range out {
			if math.Abs(v-parts[i]) > 0.01+1e-9 {
				t.Errorf("%g became %g", parts[i], v)
			}
		}
		if off := math.Abs(sum(out) - sum(parts)); off > 0.005+1e-9 {
			t.Errorf("%v adds up to %g, not %g", out, sum(out), sum(parts))
		}
	})
}
