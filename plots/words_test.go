package plots

import (
	"slices"
	"strings"
	"testing"

	"sim/plots/sheet"
	"sim/plots/sheet/sheettest"
)

// figureText returns all text of a figure of a run as one line.
func figureText(t *testing.T, run, figure string) string {
	t.Helper()
	figs, err := every(runs[run]())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(figs, func(f sheet.Figure) bool { return f.Name == figure })
	if i < 0 {
		t.Fatalf("no figure %s", figure)
	}
	return sheettest.Text(figs[i])
}

// TestSaid: figures have the ports of the table, name the baseline policy, and describe the
// assumptions of bounds.
func TestNotesAndTitles(t *testing.T) {
	for _, tt := range []struct{ run, figure, want, not string }{
		{"large", "topology", "one of them is drawn for all", ""},
		{"large", "windows", "ran on the circuits of sqrt", "baseline"},
		{"large", "index", "On the circuits of sqrt", "baseline"},
		{"small", "windows", "ran in the baseline simulation", ""}, // for runs that do not name it
		{"large", "nct", "which holds for any way of sharing, all topologies; that of topo for max-min fair sharing, all topologies.", "proved for the policy"},
		{"large", "dp-rates", "Of equal rates the wider lines are seen beside the narrower.", "side by side"},
	} {
		if got := figureText(t, tt.run, tt.figure); !strings.Contains(got, tt.want) || tt.not != "" && strings.Contains(got, tt.not) {
			t.Errorf("%s of %s says %q; want %q, not %q", tt.figure, tt.run, got, tt.want, tt.not)
		}
	}
	doc, d := synthetic(large)
	c := topologyCharts(new(sheet.Sheet), doc, d)[0]
	if used, _ := c.drawn(); !strings.HasPrefix(c.head(1000), "prop: ") || c.replicas != float64(large.replicas) {
		t.Errorf("%s: %g replicas, %d drawn", c.head(1000), c.replicas, used)
	}
}
