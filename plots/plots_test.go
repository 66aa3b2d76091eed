package plots

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// every returns all figures of a run, including figures on demand.
func every(doc *result.Document, d *result.Detail) ([]sheet.Figure, error) {
	return All(doc, d, EveryFigure)
}

// TestOnDemand: All omits the figures on demand unless they are named, and returns named figures
// in the given order.
func TestOnDemand(t *testing.T) {
	for want, names := range map[string][]string{
		"nct trace-reference trace-joint demand topology": nil,
		"index nct": {"index", "nct"},
	} {
		doc, d := synthetic(large)
		figs, err := All(doc, d, names...)
		var got []string
		for _, f := range figs {
			got = append(got, f.Name)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("names %v: figures %v, %v, want %s", names, got, err, want)
		}
	}
}

// TestAllOrder compares the names of all figures of a run with a list.
func TestAllOrder(t *testing.T) {
	figs, err := every(runs["large"]())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range figs {
		got = append(got, f.Name)
		if f.Title == "" {
			t.Errorf("figure %s has no title", f.Name)
		}
	}
	want := []string{"nct", "trace-reference", "trace-joint", "demand", "dp-rates", "windows", "index", "topology"}
	if !slices.Equal(got, want) {
		t.Errorf("figures %v, want %v", got, want)
	}
}

// TestAllSkips: each figure is omitted if its data is absent, and all others remain.
func TestAllSkips(t *testing.T) {
	if figs, err := every(&result.Document{}, &result.Detail{}); err != nil || len(figs) != 0 {
		t.Fatalf("an empty run has figures %v, error %v", figs, err)
	}
	for missing, cut := range map[string]func(*result.Document, *result.Detail){
		"nct": func(doc *result.Document, _ *result.Detail) {
			for i := range doc.Rows {
				delete(doc.Rows[i].Metrics, "nct")
			}
		},
		"trace-reference": func(_ *result.Document, d *result.Detail) { d.Reference.Tracks = nil },
		"trace-second": func(_ *result.Document, d *result.Detail) {
			for i := range d.Policies {
				d.Policies[i].Tracks = nil
			}
		},
		"demand": func(_ *result.Document, d *result.Detail) { d.Reference.Demand = nil },
		"dp-rates": func(_ *result.Document, d *result.Detail) {
			for i := range d.Policies {
				d.Policies[i].Rates = nil
			}
		},
		"windows":  func(_ *result.Document, d *result.Detail) { d.Windows.EarliestS = nil },
		"index":    func(_ *result.Document, d *result.Detail) { d.Windows.FirstK = nil },
		"topology": func(_ *result.Document, d *result.Detail) { d.Policies[0].Topology, d.Policies[1].Topology = nil, nil },
	} {
		doc, d := synthetic(small)
		cut(doc, d)
		figs, err := every(doc, d)
		if err != nil {
			t.Fatalf("without %s: %v", missing, err)
		}
		if len(figs) != 7 || slices.ContainsFunc(figs, func(f sheet.Figure) bool { return f.Name == missing }) {
			t.Errorf("without the data of %s there are %d figures", missing, len(figs))
		}
	}
}

func TestAllRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*result.Document, *result.Detail){
		"nct is NaN":   func(doc *result.Document, _ *result.Detail) { doc.Rows[0].Metrics["nct"] = math.NaN() },
		"nct is huge":  func(doc *result.Document, _ *result.Detail) { doc.Rows[0].Metrics["nct"] = 1e300 },
		"NaN demand":   func(_ *result.Document, d *result.Detail) { d.Reference.Demand[0].Value[0] = math.NaN() },
		"Inf rate":     func(_ *result.Document, d *result.Detail) { d.Policies[0].Rates[0].Value[0] = math.Inf(1) },
		"NaN span":     func(_ *result.Document, d *result.Detail) { d.Policies[1].Tracks[0].Spans[0].EndS = math.NaN() },
		"NaN window":   func(_ *result.Document, d *result.Detail) { d.Windows.LatestS[1] = math.NaN() },
		"NaN makespan": func(_ *result.Document, d *result.Detail) { d.Policies[0].MakespanS = math.NaN() },
		"bad pair":     func(_ *result.Document, d *result.Detail) { d.Policies[0].Topology.Pairs[0].B = 99 },
		"short column": func(_ *result.Document, d *result.Detail) { d.Windows.MinK = d.Windows.MinK[:2] },
	} {
		doc, d := synthetic(small)
		spoil(doc, d)
		if figs, err := every(doc, d); err == nil {
			t.Errorf("%s: no error, %d figures", name, len(figs))
		}
	}
}

// TestDeterministic: the same run gives the same bytes in both formats, for any number of
// workers.
func TestDeterministic(t *testing.T) {
	var first map[string][]byte
	for _, workers := range []int{1, 2, 7} {
		figs, err := every(runs["small"]())
		if err != nil {
			t.Fatal(err)
		}
		if testing.Short() {
			figs = figs[:4]
		}
		dir := filepath.Join(t.TempDir(), "deep", "plots")
		if err := sheet.WriteAll(t.Context(), dir, sheet.Formats, figs, workers); err != nil {
			t.Fatal(err)
		}
		got := map[string][]byte{}
		for _, f := range figs {
			for _, format := range sheet.Formats {
				name := f.Name + "." + format
				if got[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if first == nil {
			first = got
			continue
		}
		for name, b := range got {
			if !bytes.Equal(b, first[name]) {
				t.Errorf("%s differs on %d workers", name, workers)
			}
		}
	}
}

func TestWriteErrors(t *testing.T) {
	figs, err := every(runs["tiny"]())
	if err != nil {
		t.Fatal(err)
	}
	if err := figs[0].Write(io.Discard, "gif"); err == nil || !strings.Contains(err.Error(), "png or svg") {
		t.Errorf("format gif: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "plots")
	if err := sheet.WriteAll(t.Context(), dir, []string{"png", "pdf"}, figs, 1); err == nil {
		t.Error("format pdf is taken")
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("a bad format leaves a directory")
	}
	for _, format := range sheet.Formats {
		if err := figs[0].Write(failingWriter{}, format); !errors.Is(err, errFull) {
			t.Errorf("%s on a full disk: %v", format, err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := sheet.WriteAll(t.Context(), file, sheet.Formats, figs, 2); err == nil {
		t.Error("a file is taken for a directory")
	}
}

var errFull = errors.New("disk full")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }

// TestNames: figures whose names are equal on some file system get different files.
func TestNames(t *testing.T) {
	figs := []sheet.Figure{{Name: "trace-a"}, {Name: "trace-A"}, {Name: "trace-a"}, {Name: "trace-a-2"}}
	sheet.Unique(figs)
	seen := map[string]bool{}
	for _, f := range figs {
		if n := strings.ToLower(f.Name); seen[n] {
			t.Errorf("two figures are named %s", n)
		} else {
			seen[n] = true
		}
	}
	if got := sheet.FileName("../a b/ü:" + strings.Repeat("x", 300)); strings.ContainsAny(got, "/ :ü") || len(got) > 100 {
		t.Errorf("file name %q", got)
	}
}

// TestRank: the bars of a ranked metric are sorted, the best first, and those without a value
// last.
func TestRank(t *testing.T) {
	m, _ := result.Find("completion_s")
	cells := []result.Cell{{Policy: "none"}}
	for i, v := range []float64{3, 1, 2} {
		cells = append(cells, result.Cell{Policy: string(rune('a' + i)), Metrics: map[string]float64{m.Name: v}})
	}
	needsLogAxis := sortByMetric(cells, &m)
	got := ""
	for _, c := range cells {
		got += c.Policy + " "
	}
	if got != "b c a none " || needsLogAxis {
		t.Errorf("order %q, far apart %t", got, needsLogAxis)
	}
	cells[0].Metrics[m.Name] = 0.5
	if !sortByMetric(cells, &m) {
		t.Error("0.5 and 3 share a linear axis")
	}
}
