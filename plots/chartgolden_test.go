package plots

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// chartGoldens are the charts held as images.
var chartGoldens = []string{"fig6", "fig9", "fig11", "heat-models", "cdf-samples", "whisker-lines",
	"twists", "twists-panels", "twists-holes", "correlation", "correlation-series",
	"gain", "gain-wide", "delays", "slots"}

func TestChartGolden(t *testing.T) {
	for _, c := range chartCases() {
		if !slices.Contains(chartGoldens, c.spec.Name) {
			continue
		}
		t.Run(c.spec.Name, func(t *testing.T) {
			s, times := c.data()
			var b bytes.Buffer
			if err := mustChart(t, c.spec, s, times).writePNG(&b, goldenDPI); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "charts", c.spec.Name+".png")
			if *update {
				var small bytes.Buffer
				e := png.Encoder{CompressionLevel: png.BestCompression}
				if err := e.Encode(&small, decode(t, b.Bytes())); err != nil {
					t.Fatal(err)
				}
				if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, small.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if why := differs(t, b.Bytes(), want); why != "" {
				got := filepath.Join(os.TempDir(), "charts-"+c.spec.Name+".png")
				os.WriteFile(got, b.Bytes(), 0o666) // for a person to look at
				t.Errorf("differs from %s: %s; drawn as %s; -update accepts it", file, why, got)
			}
		})
	}
}

// A stale golden would be believed for ever.
func TestChartGoldenFilesAreUsed(t *testing.T) {
	files, err := filepath.Glob("testdata/charts/*.png")
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
