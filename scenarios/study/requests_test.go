package study

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sim/scenarios/result"
)

// TestUnknown: a metric that neither the table nor a stored cell has is reported, also in
// a quotient.
func TestUnknown(t *testing.T) {
	s := &Store{records: map[string]*Record{"a": {Metrics: map[string]float64{"oddity": 2}, Reference: map[string]float64{"depth_m": 1}}}}
	for name, known := range map[string]bool{
		"nct": true, "solve_s": true, "reference.makespan_s": true, "ports/makespan_s": true, "trial_nct_p95": true, "dropped_link_down": true,
		"oddity": true, "nct / oddity": true, "reference.depth_m": true,
		"nctt": false, "reference.nctt": false, "nct/portz": false, "nct/": false, "odity": false, "reference.oddity": false,
	} {
		if unknown := s.UnknownMetric([]MetricRequest{{"plot a", "makespan_s"}, {"plot b", name}}); (unknown == nil) != known {
			t.Errorf("%s: %v", name, unknown)
		}
	}
}

// TestNamed: all stored metrics are known by name, and misspelt names are not.
func TestNamed(t *testing.T) {
	files, err := filepath.Glob("../baselines/*.bench")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	s := &Store{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if words := strings.Fields(line); len(words) > 1 && words[0] == "Unit" && !s.hasMetric(words[1]) {
				t.Errorf("%s: %s is not known", file, words[1])
			}
		}
	}
	for _, name := range []string{"nctt", "makespan", "ns/op", ""} {
		if s.hasMetric(name) {
			t.Errorf("%q is known", name)
		}
	}
}

// TestAskedBy: metrics shown by figures are requested, the keys of their axes are not.
func TestAskedBy(t *testing.T) {
	got := PlotMetrics([]result.Plot{
		{Name: "l", Kind: "lines", X: "seed", Y: "nct", ExtraY: []string{"gap"}, LowerY: "ports"}, {Name: "h", Kind: "heatmap", X: "a", Y: "b", Z: "nct"},
		{Name: "s", Kind: "scatter", X: "ports", Y: "nct/ports"}, {Name: "t", Kind: "twists", Z: "mean_delay_s"},
	})
	want := []MetricRequest{{"plot l", "nct"}, {"plot l", "gap"}, {"plot l", "ports"}, {"plot h", "nct"}, {"plot s", "nct/ports"}, {"plot s", "ports"}, {"plot t", "mean_delay_s"}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
