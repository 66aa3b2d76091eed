package report

import (
	"testing"

	"sim/scenarios/result"
)

// TestZeroBreakEven: a break-even of 0 is printed as "never", any other as a time.
func TestZeroBreakEven(t *testing.T) {
	m, _ := result.Find("break_even_s")
	for v, want := range map[float64]string{0: "never", 0.025: "25.0000 ms"} {
		doc := &result.Document{Rows: []result.Row{{Metrics: map[string]float64{m.Name: v}}}}
		if got := formatCell(doc, &doc.Rows[0], &m); got != want {
			t.Errorf("break-even of %g s: %q, want %q", v, got, want)
		}
	}
}
