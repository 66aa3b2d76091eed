package chart

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/plots/sheet"
	"sim/plots/sheet/sheettest"
)

// chartGoldens are the charts held as images.
var chartGoldens = []string{"fig6", "fig9", "fig11", "heat-models", "cdf-samples", "whisker-lines",
	"twists", "twists-panels", "twists-holes", "correlation", "correlation-series",
	"delays", "slots"}

func TestChartGolden(t *testing.T) {
	for _, c := range chartCases() {
		if !slices.Contains(chartGoldens, c.spec.Name) {
			continue
		}
		t.Run(c.spec.Name, func(t *testing.T) {
			s, times := c.data()
			sheettest.CompareImage(t, mustChart(t, c.spec, s, times), filepath.Join("testdata", c.spec.Name+".png"))
		})
	}
}

// TestChartGoldenFilesAreUsed: each stored image belongs to a chart that is compared.
func TestChartGoldenFilesAreUsed(t *testing.T) {
	files, err := filepath.Glob("testdata/*.png")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(chartGoldens) {
		t.Errorf("%d files for %d goldens", len(files), len(chartGoldens))
	}
	for _, f := range files {
		if !slices.Contains(chartGoldens, strings.TrimSuffix(filepath.Base(f), ".png")) {
			t.Errorf("no test uses %s", f)
		}
	}
}

// TestDrawings compares the texts, shapes and positions in the charts of all cases, of 200
// random plots of random sweeps, and of the proposed charts of 40 of these sweeps, with stored
// digests.
func TestDrawings(t *testing.T) {
	sheettest.CompareDigests(t, filepath.Join("testdata", "drawings.txt"), func(yield func(string, sheet.Figure) bool) {
		for _, c := range chartCases() {
			s, times := c.data()
			if !yield("case", mustChart(t, c.spec, s, times)) {
				return
			}
		}
		for i := range 200 {
			drawn := rapid.Custom(func(t *rapid.T) []sheet.Figure {
				s, times := anySweep(t)
				spec := anyPlot(t, s)
				mend(t, &spec, s)
				var figs []sheet.Figure
				if i%5 == 0 {
					figs, _ = All(nil, s, times)
				}
				if f, err := New(&spec, s, times); err == nil {
					figs = append(figs, f)
				}
				return figs
			}).Example(i)
			for _, f := range drawn {
				if !yield(fmt.Sprintf("any%d", i), f) {
					return
				}
			}
		}
	})
}
