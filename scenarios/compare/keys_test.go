package compare

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sim/scenarios/result"
)

// TestKeyDifferences: the differing keys of two scenarios are listed before the results;
// stored results without a scenario have none.
func TestKeyDifferences(t *testing.T) {
	dir := t.TempDir()
	side := func(name, scenario string, factor float64) string {
		d := document(factor)
		d.Rows = d.Rows[:1]
		path := filepath.Join(dir, name)
		run(t, path, d, timings(1))
		must(t, os.WriteFile(filepath.Join(path, result.ScenarioFile), []byte(scenario), 0o666))
		return path
	}
	previous := side("old", "name = \"tiny\"\n[fabric]\nrate = \"200Gbps\"\npods = 4\n[[replica]]\nindex = 1\n", 1)
	current := side("new", "name = \"tiny\"\n[fabric]\nrate = \"400Gbps\"\npods = 4\n[[replica]]\nindex = 2\nscale = 1.5\n", 0.5)
	read := func(path string) *Set {
		s, err := Read(path, nil)
		must(t, err)
		return s
	}
	c, err := Compare(read(previous), read(current), Options{FailOver: Rounding})
	must(t, err)
	want := []KeyDifference{{"fabric.rate", "200Gbps", "400Gbps"}, {"replica.0.index", "1", "2"}, {"replica.0.scale", "", "1.5"}}
	if diff := cmp.Diff(want, c.Keys); diff != "" {
		t.Error(diff)
	}
	var b strings.Builder
	must(t, c.WriteText(&b, View{}))
	for _, line := range []string{"the scenarios differ in 3 keys\n", "  fabric.rate: 400Gbps, was 200Gbps\n", "  replica.0.scale: 1.5, was not there\n", "\nprop-alloc\n", "nct         lower     1.5000    0.7500  -50.0 %  better\n"} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("%q is not in\n%s", line, &b)
		}
	}
	c, err = Compare(read(filepath.Join(previous, result.BenchFile)), read(current), Options{})
	must(t, err)
	if c.Keys != nil {
		t.Errorf("a file of results has keys %v", c.Keys)
	}
	must(t, os.WriteFile(filepath.Join(previous, result.ScenarioFile), []byte("[fabric\n"), 0o666))
	if _, err := Read(previous, nil); err == nil || !strings.Contains(err.Error(), "scenario.toml: is corrupt: ") {
		t.Errorf("of half a scenario: %v", err)
	}
}

// TestRounding: values that differ only by rounding, and gaps of two optima, are equal;
// with a limit of 0 they differ.
func TestRounding(t *testing.T) {
	side := func(nct, gap float64) *Set {
		return set(t, "x", benchText([]benchRow{{"policy=p", map[string]float64{"nct": nct, "gap": gap}}}))
	}
	for _, v := range []struct {
		nct, gap, over float64
		differ         int
	}{
		{1 + 1e-9, 3e-12, Rounding, 0},
		{1 + 1e-5, 3e-12, Rounding, 1},
		{1, 1e-3, Rounding, 1},
		{1 + 1e-9, 3e-12, 0, 2},
		{1 + 1e-5, 1e-3, 0.5, 2}, // told, however much may fail
	} {
		c, err := Compare(side(1, 2e-12), side(v.nct, v.gap), Options{FailOver: v.over})
		must(t, err)
		differ := 0
		for _, m := range c.Metrics {
			differ += m.Differ
		}
		if differ != v.differ {
			t.Errorf("%+v: %d differ", v, differ)
		}
	}
}
