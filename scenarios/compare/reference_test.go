package compare

import (
	"path/filepath"
	"strings"
	"testing"

	"sim/scenarios/result"
)

// TestOtherReference: NCTs that are relative to different ideal fabrics are neither better nor
// worse, have no mean, and do not fail unless they are requested. Iteration times come first, and one
// line describes both references. Metrics of the reference can be judged.
func TestOtherReference(t *testing.T) {
	dir := t.TempDir()
	read := func(name string, factor, ideal, free float64) *Set {
		d := document(factor)
		d.Reference = map[string]float64{"makespan_s": ideal, "compute_makespan_s": 1, "interface_bits_per_s": 4e11, "free_bytes": free, "tasks": 7}
		path := filepath.Join(dir, name)
		run(t, path, d, timings(1))
		s, err := Read(path, nil)
		must(t, err)
		return s
	}
	old := read("old", 1, 1.5, 0)
	for _, c := range []struct {
		name    string
		ideal   float64
		metrics []string
		marks   Mark // of NCT
		fails   []string
	}{
		{"equal", 1.5, nil, Worse, []string{"nct", "makespan_s"}},
		{"different", 1.25, nil, Changed, []string{"makespan_s"}},
		{"requested", 1.25, []string{"nct"}, Changed, []string{"nct"}},
		{"reference", 1.75, []string{"reference.makespan_s"}, Changed, []string{"reference.makespan_s"}},
	} {
		found, err := Compare(old, read(c.name, 1.1, c.ideal, 3e12*(1.5-c.ideal)), Options{FailOver: Rounding, Metrics: c.metrics})
		must(t, err)
		for _, d := range found.Differences {
			if d.Metric == "nct" && (d.Mark != c.marks || d.OtherReference != (c.marks == Changed)) {
				t.Errorf("%s: NCT is %q, want %q", c.name, d.Mark, c.marks)
			}
		}
		failing := map[string]bool{}
		for _, r := range found.Regressions {
			failing[r.Metric] = true
		}
		for _, name := range c.fails {
			if !failing[name] {
				t.Errorf("%s: %s does not fail: %v", c.name, name, found.Regressions)
			}
		}
		if len(failing) != len(c.fails) {
			t.Errorf("%s: %v fail, want %v", c.name, failing, c.fails)
		}

		var b strings.Builder
		must(t, found.WriteText(&b, View{}))
		differs := c.ideal != 1.5
		if (found.References != "") != differs || strings.Contains(b.String(), "nct is relative to ideal fabrics") != differs ||
			differs && (!strings.Contains(b.String(), "compare makespan_s") || found.Metrics[0].Name != result.IterationTime) {
			t.Errorf("%s: the references are %q, and %s comes first:\n%s", c.name, found.References, found.Metrics[0].Name, b.String())
		}
		for _, m := range found.Metrics {
			if m.Name == "nct" && (len(m.Means) == 0) != differs {
				t.Errorf("%s: means of NCT %v", c.name, m.Means)
			}
		}
	}

	// Without references on one side, NCT is judged, with a note.
	plain, err := Read(filepath.Join(dir, "old", result.BenchFile), nil)
	must(t, err)
	found, err := Compare(plain, read("next", 1.1, 1.25, 0), Options{FailOver: Rounding})
	must(t, err)
	if !strings.Contains(found.References, plain.Name+" has none") || len(found.Regressions) != 4 {
		t.Errorf("a file without references: %q, %v", found.References, found.Regressions)
	}
}
