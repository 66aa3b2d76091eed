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

// defaultsFile lists the default values of all keys, from small scenarios of each workload on
// each fabric.
const defaultsFile = "testdata/defaults.txt"

// TestDefaults compares the defaults of all keys, and the workloads and fabrics to which they
// apply, with defaultsFile. A default determines results as much as code does. To store them:
// go test -run Defaults -update.
func TestDefaults(t *testing.T) {
	type users struct{ workloads, fabrics map[string]bool } // scenarios with a default
	values := map[string]*users{}                           // indexed by "key = value"
	resolve := func(workload, fabric, text string) {
		s, err := Parse("text.toml", []byte(text), nil)
		if err != nil {
			return // this workload does not run on this fabric
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
				continue // set by the scenario, or derived from it
			}

			setting := fmt.Sprintf("%s%s = %.80s", section, key, value)
			if values[setting] == nil {
				values[setting] = &users{map[string]bool{}, map[string]bool{}}
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
					resolve(r.name, f.name,
						fmt.Sprintf("workload = {kind = %q, %s}\nfabric = {%s}\npolicy = {%s}\n",
							r.kind, r.keys(ranks, "flow"), fabric, r.policy))
					resolve(r.name, f.name, fmt.Sprintf(`workload = {kind = %q, %s}
fabric = {%s}
policy = {%s}
engine = {level = "packet"}
`, r.kind, r.keys(ranks, "packet"), fabric, r.policy))
				}
			}
		}
	}

	for _, keys := range []string{"", `preset = "llama3"`, `jobs = "jobs.csv"`} {
		resolve("fleet", "pods-of-cubes",
			fmt.Sprintf("workload = {kind = \"fleet\", %s}\nfabric = {kind = \"pods-of-cubes\"}\n",
				keys))
	}

	var b strings.Builder
	for _, setting := range slices.Sorted(maps.Keys(values)) {
		p := values[setting]
		fmt.Fprintf(&b, "%s\n\ton %s\n\tof %s\n", setting,
			strings.Join(slices.Sorted(maps.Keys(p.fabrics)), "; "),
			strings.Join(slices.Sorted(maps.Keys(p.workloads)), "; "))
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
	diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n"))
	if diff != "" {
		t.Errorf("got other defaults (-want +got); if the change is intended, store it with "+
			"-update:\n%s", diff)
	}
}
