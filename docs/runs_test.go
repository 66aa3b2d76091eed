package docs_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// cell is a stored row of results: its name, in the form of a benchmark with parts separated by
// slashes, and its metrics.
type cell struct {
	name    string
	metrics map[string]float64
}

// cells are the rows of one setting, one per policy.
type cells []cell

// storedCells returns the cells of a study whose names contain all given parts, such as
// base=megatron177b.
func storedCells(t testing.TB, study string, parts ...string) cells {
	f, err := os.Open("../scenarios/baselines/" + study + ".bench")
	must(t, err)
	defer f.Close()
	var list cells
	lines := bufio.NewScanner(f)
lines:
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 2 || !strings.HasPrefix(words[0], "BenchmarkSim/") {
			continue
		}
		for _, p := range parts {
			if !strings.Contains(words[0]+"/", "/"+p+"/") {
				continue lines
			}
		}

		c := cell{words[0] + "/", map[string]float64{}}
		for k := 2; k+1 < len(words); k += 2 {
			c.metrics[words[k+1]], err = strconv.ParseFloat(words[k], 64)
			must(t, err)
		}
		list = append(list, c)
	}

	must(t, lines.Err())
	if len(list) == 0 {
		t.Fatalf("study %s has no cells with %v", study, parts)
	}
	return list
}

// metric returns a metric of a policy.
func (x cells) metric(t testing.TB, policy, metric string) float64 {
	for _, c := range x {
		if v, ok := c.metrics[metric]; ok && strings.Contains(c.name, "/policy="+policy+"/") {
			return v
		}
	}
	t.Fatalf("no metric %s of policy %s", metric, policy)
	return 0
}

// baseline returns the minimum NCT of simplePolicies.
func (x cells) baseline(t testing.TB) float64 {
	v := x.metric(t, simplePolicies[0], "nct")
	for _, b := range simplePolicies[1:] {
		v = min(v, x.metric(t, b, "nct"))
	}
	return v
}

// sim runs the command in the root of the repository and returns its standard output.
func sim(t testing.TB, args ...string) []byte {
	cmd := exec.Command("go", append([]string{"run", "."}, args...)...)
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	out, err := cmd.Output()
	must(t, err)
	return out
}

// runOnce runs a scenario, once for all tables, and returns the directory of its results.
func runOnce(t testing.TB, scenario string) string {
	runCache.Lock()
	defer runCache.Unlock()
	if runCache.dir == "" {
		dir, err := os.MkdirTemp("", "reproduction")
		must(t, err)
		runCache.dir = dir
	}
	dir := filepath.Join(runCache.dir, scenario)
	if _, err := os.Stat(dir); err != nil {
		sim(t, "run", "scenarios/"+scenario+".toml", "--no-plots", "--out", dir)
	}
	return dir
}

// runCache holds the directory of all runs, "" before the first run.
var runCache struct {
	sync.Mutex
	dir string
}

// TestMain removes the directories of runs after all tests.
func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(runCache.dir)
	os.Exit(code)
}

// reference returns the metrics of the ideal fabric of a scenario.
func reference(t testing.TB, scenario string) map[string]float64 {
	var d struct{ Reference map[string]float64 }
	readJSON(t, filepath.Join(runOnce(t, scenario), "result.json"), &d)
	return d.Reference
}

// series is a time series of a run's detail. Value[i] holds from TimeS[i] to TimeS[i+1].
type series struct {
	Name  string
	TimeS []float64 `json:"time_s"`
	Value []float64
}

// timeline holds the time series of one simulation.
type timeline struct {
	Policy        string
	Demand, Rates []series
}

// detail returns the timelines of a scenario: first the ideal fabric, then all policies.
func detail(t testing.TB, scenario string) []timeline {
	var d struct {
		Reference timeline
		Policies  []timeline
	}
	readJSON(t, filepath.Join(runOnce(t, scenario), "detail.json"), &d)
	return append([]timeline{d.Reference}, d.Policies...)
}

// solveTimes sweeps a study and returns the decision times of its cells in seconds. They are
// indexed by policy and axis labels, separated by slashes.
func solveTimes(t testing.TB, study string) map[string]float64 {
	dir := filepath.Join(t.TempDir(), study)
	var s struct {
		Axes  []struct{ Labels []string }
		Cells []struct {
			At          []int
			Policy, Key string
		}
	}

	must(t, json.Unmarshal(sim(t, "sweep", study, "--json", "--no-plots", "--out", dir), &s))
	var timings struct {
		Cells map[string]struct {
			SolveS float64 `json:"solve_s"`
		}
	}

	readJSON(t, filepath.Join(dir, "timings.json"), &timings)
	times := map[string]float64{}
	for _, c := range s.Cells {
		name := c.Policy
		for a, v := range c.At {
			name += "/" + s.Axes[a].Labels[v]
		}
		times[name] = timings.Cells[c.Key].SolveS
	}

	return times
}

// readJSON decodes a JSON file, which may be compressed as path.gz.
func readJSON(t testing.TB, path string, into any) {
	var from io.Reader
	if f, err := os.Open(path); err == nil {
		defer f.Close()
		from = f
	} else {
		f, err := os.Open(path + ".gz")
		must(t, err)
		defer f.Close()
		from, err = gzip.NewReader(f)
		must(t, err)
	}
	must(t, json.NewDecoder(from).Decode(into))
}

// must fails the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
