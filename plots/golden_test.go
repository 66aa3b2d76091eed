package plots

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/plots/sheet"
	"sim/plots/sheet/sheettest"
	"sim/scenarios/result"
)

// goldens lists the figures that are compared with stored images, indexed by run.
var goldens = map[string][]string{
	"small":  {"nct", "trace-reference", "demand", "dp-rates", "windows", "index"},
	"large":  {"trace-joint", "demand", "dp-rates", "windows", "index", "topology"},
	"many":   {"nct"},
	"near":   {"nct"},
	"ring":   {"topology"},
	"matrix": {"topology"},
	"grid":   {"topology"},
	"chain":  {"topology"},
	"one":    {"trace-only"},

	"twisted": {"links-dor", "routes-dor", "delays", "loads"},
	"eight":   {"links-wild-first", "routes-wild-first", "delays"},
	"four":    {"links-dor"},
	"flat":    {"links-shortest", "routes-shortest"},
	"line":    {"links-shortest"},

	"plans": {"plan-ring", "plan-three", "plan-many", "plan-bare", "plan-kautz", "plan-steps", "plan-turns"},
}

// TestGolden compares figures with stored images.
func TestGolden(t *testing.T) {
	for name, wanted := range goldens {
		figs, err := every(runs[name]())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, w := range wanted {
			t.Run(name+"-"+w, func(t *testing.T) {
				i := slices.IndexFunc(figs, func(f sheet.Figure) bool { return f.Name == w })
				if i < 0 {
					t.Fatalf("the run has no figure %s", w)
				}
				sheettest.CompareImage(t, figs[i], filepath.Join("testdata", name+"-"+w+".png"))
			})
		}
	}
}

// TestGoldenFilesAreUsed: each stored image belongs to a figure that is compared.
func TestGoldenFilesAreUsed(t *testing.T) {
	files, err := filepath.Glob("testdata/*.png")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		run, fig, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".png"), "-")
		if !slices.Contains(goldens[run], fig) {
			t.Errorf("no test uses %s", f)
		}
	}
}

// TestDrawings compares the texts, shapes and positions in all figures of the runs, and of 60
// random runs and plans, with stored digests.
func TestDrawings(t *testing.T) {
	sheettest.CompareDigests(t, filepath.Join("testdata", "drawings.txt"), func(yield func(string, sheet.Figure) bool) {
		all := maps.Clone(runs)
		all["fleet"], all["fragmented"] = fleetRun, fragmentedRun
		all["moves"] = func() (*result.Document, *result.Detail) {
			return &result.Document{Rows: []result.Row{{Policy: "p"}}}, &result.Detail{Policies: []result.Simulation{*moved()}}
		}
		all["tiers"] = func() (*result.Document, *result.Detail) {
			tiers := map[string]float64{"makespan_s": 1, "tier1_exposed_s": 0.1, "tier2_exposed_s": 0.2}
			return &result.Document{Rows: []result.Row{{Policy: "a", Metrics: tiers, Labels: map[string]string{"tiers": "electrical, torus"}}}}, &result.Detail{}
		}
		for i := range 30 {
			all[fmt.Sprintf("any%d", i)] = func() (*result.Document, *result.Detail) {
				r := rapid.Custom(func(t *rapid.T) result.Run {
					doc, d := anyRun(t)
					return result.Run{Document: *doc, Detail: *d}
				}).Example(i)
				return &r.Document, &r.Detail
			}
			all[fmt.Sprintf("plan%d", i)] = func() (*result.Document, *result.Detail) {
				s := rapid.Custom(anySchedule).Example(i)
				return &result.Document{Rows: []result.Row{{Policy: "p"}}}, &result.Detail{Policies: []result.Simulation{{Policy: "p", Schedule: s}}}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			figs, err := every(all[name]())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, f := range figs {
				if !yield(name, f) {
					return
				}
			}
		}
		yield("validation", Validation("Seven classes", sevenClasses()))
	})
}

// sevenClasses returns classes of predictions over up to six decades.
func sevenClasses() (classes []ValidationClass) {
	for i := range 7 {
		c := ValidationClass{Title: fmt.Sprintf("class %d", i)}
		for j := range 5 * (i + 1) {
			measured := math.Pow(10, float64(i*j)/float64(5*(i+1)))
			c.Points = append(c.Points, ValidationPoint{
				Measured: measured, Predicted: measured * (0.7 + 0.1*float64(j%7)), Fitted: j%3 == 0,
			})
		}
		classes = append(classes, c)
	}
	return classes
}
