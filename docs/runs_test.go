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

// cell is a row of stored results: its name, slash-separated as benchmarks have it, and its metrics.
type cell struct {
	name    string
	metrics map[string]float64
}

// cells are those of one setting.
type cells []cell

// stored returns the cells of a study whose names have all of some parts, such as base=megatron177b.
func stored(t testing.TB, study string, parts ...string) cells {
	f, err := os.Open("../scenarios/baselines/" + study + ".bench")
	fail(t, err)
	defer f.Close()
	var all cells
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
			fail(t, err)
		}
		all = append(all, c)
	}
	fail(t, lines.Err())
	if len(all) == 0 {
		t.Fatalf("%s has no cells of %v", study, parts)
	}
	return all
}

func (x cells) of(t testing.TB, policy, metric string) float64 {
	for _, c := range x {
		if v, ok := c.metrics[metric]; ok && strings.Contains(c.name, "/policy="+policy+"/") {
			return v
		}
	}
	t.Fatalf("no %s of %s", metric, policy)
	return 0
}

// baseline returns the lowest NCT of the policies that see only the matrix.
func (x cells) baseline(t testing.TB) float64 {
	v := x.of(t, baselines[0], "nct")
	for _, b := range baselines[1:] {
		v = min(v, x.of(t, b, "nct"))
	}
	return v
}

// sim runs the command in the root of the repository and returns what it prints.
func sim(t testing.TB, args ...string) []byte {
	cmd := exec.Command("go", append([]string{"run", "."}, args...)...)
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	out, err := cmd.Output()
	fail(t, err)
	return out
}

// run returns the directory that a scenario was run into, once for all tables.
func run(t testing.TB, scenario string) string {
	runs.Lock()
	defer runs.Unlock()
	if runs.dir == "" {
		dir, err := os.MkdirTemp("", "reproduction")
		fail(t, err)
		runs.dir = dir
	}
	dir := filepath.Join(runs.dir, scenario)
	if _, err := os.Stat(dir); err != nil {
		sim(t, "run", "scenarios/"+scenario+".toml", "--no-plots", "--out", dir)
	}
	return dir
}

var runs struct {
	sync.Mutex
	dir string
}

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(runs.dir)
	os.Exit(code)
}

// reference returns the metrics of a scenario's ideal fabric.
func reference(t testing.TB, scenario string) map[string]float64 {
	var d struct{ Reference map[string]float64 }
	read(t, filepath.Join(run(t, scenario), "result.json"), &d)
	return d.Reference
}

// series and timeline are the parts of a run's detail that are used here.
type series struct {
	Name  string
	TimeS []float64 `json:"time_s"`
	Value []float64
}

type timeline struct {
	Policy        string
	Demand, Rates []series
}

// detail returns the timelines of a scenario, those of the ideal fabric first.
func detail(t testing.TB, scenario string) []timeline {
	var d struct {
		Reference timeline
		Policies  []timeline
	}
	read(t, filepath.Join(run(t, scenario), "detail.json"), &d)
	return append([]timeline{d.Reference}, d.Policies...)
}

// solveTimes sweeps a study and returns the seconds that its cells took to decide, by policy and labels of the axes.
func solveTimes(t testing.TB, study string) map[string]float64 {
	dir := filepath.Join(t.TempDir(), study)
	var s struct {
		Axes  []struct{ Labels []string }
		Cells []struct {
			At          []int
			Policy, Key string
		}
	}
	fail(t, json.Unmarshal(sim(t, "sweep", study, "--json", "--no-plots", "--out", dir), &s))
	var took struct {
		Cells map[string]struct {
			SolveS float64 `json:"solve_s"`
		}
	}
	read(t, filepath.Join(dir, "timings.json"), &took)
	times := map[string]float64{}
	for _, c := range s.Cells {
		name := c.Policy
		for a, v := range c.At {
			name += "/" + s.Axes[a].Labels[v]
		}
		times[name] = took.Cells[c.Key].SolveS
	}
	return times
}

// read decodes a document that may be compressed.
func read(t testing.TB, path string, into any) {
	var from io.Reader
	if f, err := os.Open(path); err == nil {
		defer f.Close()
		from = f
	} else {
		f, err := os.Open(path + ".gz")
		fail(t, err)
		defer f.Close()
		from, err = gzip.NewReader(f)
		fail(t, err)
	}
	fail(t, json.NewDecoder(from).Decode(into))
}

func fail(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
