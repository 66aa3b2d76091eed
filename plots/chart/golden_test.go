package chart

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
			sheettest.Golden(t, mustChart(t, c.spec, s, times), filepath.Join("testdata", c.spec.Name+".png"))
		})
	}
}

// A stale golden would be believed for ever.
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
