package chart

import (
	"testing"

	"pgregory.net/rapid"

	"sim/plots/sheet/sheettest"
)

func TestChartText(t *testing.T) {
	for _, c := range chartCases() {
		s, times := c.data()
		f, err := New(&c.spec, s, times)
		if err != nil {
			t.Fatalf("%s: %v", c.spec.Name, err)
		}
		if n := len(sheettest.Texts(f)); n < 10 {
			t.Errorf("%s has %d texts", c.spec.Name, n)
		}
		for _, m := range sheettest.MisplacedTexts(f) {
			t.Errorf("%s: %s", c.spec.Name, m)
		}
	}
}

// TestAnyChartText: in random charts, no text overlaps another or leaves the figure.
func TestAnyChartText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, times := anySweep(t)
		spec := anyPlot(t, s)
		mend(t, &spec, s)
		f, err := New(&spec, s, times)
		if err != nil {
			return
		}
		if m := sheettest.MisplacedTexts(f); len(m) > 0 {
			t.Fatalf("%s: %q", spec.Kind, m)
		}
	})
}
