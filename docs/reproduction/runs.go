package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// row is what a policy reached, document what several did in one scenario.
type row struct {
	Policy  string
	Metrics map[string]float64
}

type document struct {
	Reference map[string]float64
	Rows      []row
	times     map[string]float64 // seconds to decide
}

func (d *document) of(policy, metric string) float64 {
	for _, r := range d.Rows {
		if v, ok := r.Metrics[metric]; ok && r.Policy == policy {
			return v
		}
	}
	fail(fmt.Errorf("no %s of %s", metric, policy))
	return 0
}

// baseline returns the lowest NCT of the policies that see only the matrix.
func (d *document) baseline() float64 {
	v := d.of(baselines[0], "nct")
	for _, b := range baselines[1:] {
		v = min(v, d.of(b, "nct"))
	}
	return v
}

// series and play are the parts of a run's detail that are used here.
type series struct {
	Name  string
	TimeS []float64 `json:"time_s"`
	Value []float64
}

type play struct {
	Policy        string
	Demand, Rates []series
}

// study is the part of a sweep's document that is used here.
type study struct {
	Axes []struct {
		Name   string
		Labels []string
	}
	Cells []struct {
		At        []int
		Policy    string
		Key       string
		Reference map[string]float64
		Metrics   map[string]float64
	}
	times map[string]struct {
		SolveS float64 `json:"solve_s"`
	}
}

// runner runs sim, each study once.
type runner struct {
	sim, dir string
	done     map[string]*study
}

// study returns what a study of the paper's figures found.
func (r *runner) study(name string) *study {
	if s, ok := r.done[name]; ok {
		return s
	}
	fmt.Fprintln(os.Stderr, "sim sweep", name)
	dir := filepath.Join(r.dir, name)
	cmd := exec.Command(r.sim, "sweep", name, "--json", "--no-plots", "--out", dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	fail(err)
	s := &study{}
	fail(json.Unmarshal(out, s))
	data, err := os.ReadFile(filepath.Join(dir, "timings.json"))
	fail(err)
	timings := struct{ Cells any }{&s.times}
	fail(json.Unmarshal(data, &timings))
	r.done[name] = s
	return s
}

// at returns the cells of a study at a place, labels by axis, as a document.
func (r *runner) at(name string, place ...string) *document {
	s := r.study(name)
	d := &document{times: map[string]float64{}}
cells:
	for _, c := range s.Cells {
		for a, v := range c.At {
			if s.Axes[a].Labels[v] != place[a] {
				continue cells
			}
		}
		d.Reference = c.Reference
		d.Rows = append(d.Rows, row{c.Policy, c.Metrics})
		d.times[c.Policy] = s.times[c.Key].SolveS
	}
	if len(d.Rows) == 0 {
		fail(fmt.Errorf("%s has no cells at %v", name, place))
	}
	return d
}

// detail returns the plays of a scenario as its run directory keeps them, that
// of the ideal fabric first.
func (r *runner) detail(scenario string) []play {
	dir := filepath.Join(r.dir, "detail-"+scenario)
	cmd := exec.Command(r.sim, "run", "scenarios/"+scenario+".toml", "--no-plots", "--out", dir)
	cmd.Stderr = os.Stderr
	_, err := cmd.Output()
	fail(err)
	data, err := os.ReadFile(filepath.Join(dir, "detail.json"))
	if err != nil {
		f, err := os.Open(filepath.Join(dir, "detail.json.gz"))
		fail(err)
		z, err := gzip.NewReader(f)
		fail(err)
		data, err = io.ReadAll(z)
		fail(err)
	}
	var d struct {
		Reference play
		Policies  []play
	}
	fail(json.Unmarshal(data, &d))
	return append([]play{d.Reference}, d.Policies...)
}
