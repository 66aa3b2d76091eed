package scenarios

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// defaultsFile lists every value that a key has if small scenarios of each workload on each
// fabric do not set it.
const defaultsFile = "testdata/defaults.txt"

// TestDefaults compares the defaults of all keys, with the workloads and fabrics for which they hold, with the
// stored list: a default decides results as much as code does. go test -run Defaults -update stores it.
func TestDefaults(t *testing.T) {
	type places struct{ workloads, fabrics map[string]bool }
	values := map[string]*places{}
	resolve := func(workload, fabric, text string) {
		s, err := Parse("text.toml", []byte(text), nil)
		if err != nil {
			return // that composition is refused
		}
		section := ""
		for line := range strings.Lines(string(s.TOML())) {
			line = strings.TrimSpace(line)
			key, value, found := strings.Cut(line, " = ")
			switch {
			case strings.HasPrefix(line, "["):
				section = strings.Trim(line, "[]") + "."
				continue
			case !found || strings.Contains(text, key+" = ") || key == "digest":
				continue // set by the scenario, or made from it
			}
			setting := fmt.Sprintf("%s%s = %.80s", section, key, value)
			if values[setting] == nil {
				values[setting] = &places{map[string]bool{}, map[string]bool{}}
			}
			values[setting].workloads[workload], values[setting].fabrics[fabric] = true, true
		}
	}
	for _, r := range matrixRows() {
		for _, f := range matrixFabrics {
			for _, fabric := range []string{f.traffic, f.trains, f.pairs} {
				ranks := f.ranks
				if fabric == f.pairs {
					ranks = 16
				}
				if fabric != "" {
					resolve(r.name, f.name, fmt.Sprintf("workload = {kind = %q, %s}\nfabric = {%s}\npolicy = {%s}\n", r.kind, r.keys(ranks, "flow"), fabric, r.policy))
					resolve(r.name, f.name, fmt.Sprintf("workload = {kind = %q, %s}\nfabric = {%s}\npolicy = {%s}\nengine = {level = \"packet\"}\n", r.kind, r.keys(ranks, "packet"), fabric, r.policy))
				}
			}
		}
	}
	for _, keys := range []string{"", `preset = "llama3"`, `jobs = "jobs.csv"`} {
		resolve("fleet", "pods-of-cubes", fmt.Sprintf("workload = {kind = \"fleet\", %s}\nfabric = {kind = \"pods-of-cubes\"}\n", keys))
	}
	var b strings.Builder
	for _, setting := range slices.Sorted(maps.Keys(values)) {
		p := values[setting]
		fmt.Fprintf(&b, "%s\n\ton %s\n\tof %s\n", setting, strings.Join(slices.Sorted(maps.Keys(p.fabrics)), "; "), strings.Join(slices.Sorted(maps.Keys(p.workloads)), "; "))
	}
	if *update {
		if err := os.WriteFile(defaultsFile, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(defaultsFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("defaults changed; if they should, store them with -update (-stored +now):\n%s", diff)
	}
}
