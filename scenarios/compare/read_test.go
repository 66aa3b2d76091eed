package compare

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sim/internal/text"
	"sim/scenarios/result"
)

// document returns a run of two policies; factor scales its values.
func document(factor float64) *result.Document {
	d := &result.Document{Schema: result.Schema, Scenario: "tiny", Version: result.Version}
	for _, p := range []string{"prop-alloc", "delta joint"} {
		d.Rows = append(d.Rows, result.Row{Policy: p, Metrics: map[string]float64{"nct": 1.5 * factor, "makespan_s": 2 * factor}})
	}
	return d
}

func timings(solve float64) *result.Timings {
	t := &result.Timings{WallS: 1, Policies: map[string]result.PolicyTimings{}}
	for _, p := range []string{"prop-alloc", "delta joint"} {
		t.Policies[p] = result.PolicyTimings{SolveS: solve, SimulateS: 1}
	}
	return t
}

// run writes a run directory.
func run(t *testing.T, dir string, d *result.Document, w *result.Timings) {
	t.Helper()
	r, err := result.Create(dir, result.Claim{})
	must(t, err)
	must(t, r.Write(&result.Run{Manifest: result.Manifest{Schema: result.ManifestSchema, Scenario: d.Scenario, End: "2026-01-02T03:04:05Z"}, Document: *d, Timings: *w}))
	must(t, r.Commit())
}

// sweepDir writes the directory of a finished sweep of two cells.
func sweepDir(t *testing.T, dir string, factor, solve float64) *result.Sweep {
	t.Helper()
	s := &result.Sweep{
		Schema: result.SweepSchema, Name: "study",
		Axes: []result.Axis{{Name: "workload.microbatches", Keys: []string{"workload.microbatches"}, Labels: []string{"4", "8"}}},
	}
	times := &result.SweepTimings{Cells: map[string]result.PolicyTimings{}}
	for i, key := range []string{"aa", "bb"} {
		s.Cells = append(s.Cells, result.Cell{At: []int{i}, Policy: "p", Key: key, Scenario: "study", Metrics: map[string]float64{"nct": factor}})
		times.Cells[key] = result.PolicyTimings{SolveS: solve, SimulateS: 1}
	}
	must(t, os.MkdirAll(dir, 0o777))
	write := func(name string, v any) {
		data, err := result.JSON(v)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o666))
	}
	write(result.ManifestFile, result.Manifest{Schema: result.SweepManifestSchema, Scenario: "study", Start: "2026-01-02T03:04:06Z"})
	write(result.TimingsFile, times)
	write(result.SweepFile, s)
	var b strings.Builder
	b.WriteString("scenario: study\nUnit nct better=lower assume=exact\n")
	for _, label := range s.Axes[0].Labels {
		b.WriteString("BenchmarkSim/scenario=study/policy=p/workload.microbatches=" + label + " 1 " + text.Exact(factor) + " nct\n")
	}
	must(t, os.WriteFile(filepath.Join(dir, result.BenchFile), []byte(b.String()), 0o666))
	return s
}

// TestReadAlike: the same run gives the same set from every kind of file and directory.
func TestReadIdentical(t *testing.T) {
	dir := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	run(t, at("runs", "one"), document(1), timings(1))
	sweepDir(t, at("sweep"), 1.25, 1)
	must(t, os.Mkdir(at("baselines"), 0o777))
	bench, err := os.ReadFile(at("runs", "one", result.BenchFile))
	must(t, err)
	must(t, os.WriteFile(at("baselines", "tiny.bench"), bench, 0o666))
	must(t, os.WriteFile(at("baselines", "README"), []byte("not a result"), 0o666))
	run(t, at("runs", "two.tmp"), document(3), timings(1)) // being written
	for _, group := range [][]string{
		{at("runs", "one"), at("runs"), at("baselines"), at("baselines", "tiny.bench"), at("runs", "one", result.ResultFile), at("runs", "one", result.BenchFile)},
		{at("sweep"), at("sweep", result.SweepFile), at("sweep", result.BenchFile)},
	} {
		for _, path := range group {
			c := compared(t, group[0], path, Options{FailOnChange: true})
			if !c.hasNoDifferences() || c.Rows != 2 {
				t.Errorf("%s and %s: %s", group[0], path, c.Summary())
			}
			for _, d := range c.Differences { // nor is wall-clock that only one side has
				if d.Mark != Same {
					t.Errorf("%s and %s: %+v", group[0], path, d)
				}
			}
		}
	}
}

// TestUnusable: unusable input gives one clear line.
func TestUnusable(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must(t, os.WriteFile(path, []byte(text), 0o666))
		return path
	}
	run(t, filepath.Join(dir, "halfrun"), document(1), timings(1))
	must(t, os.Remove(filepath.Join(dir, "halfrun", result.BenchFile)))
	run(t, filepath.Join(dir, "badtimes"), document(1), timings(1))
	put("badtimes/timings.json", "{")
	sweepDir(t, filepath.Join(dir, "halfsweep"), 1, 1)
	must(t, os.Remove(filepath.Join(dir, "halfsweep", result.BenchFile)))
	run(t, filepath.Join(dir, "runs", "one"), document(1), timings(1))
	run(t, filepath.Join(dir, "runs", "two"), document(1.5), timings(1))
	put("empty/README", "")
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "nothing"), "there is no such file or directory"},
		{filepath.Join(dir, "empty"), "holds nothing to compare: neither a run nor a sweep nor .bench files"},
		{filepath.Join(dir, "halfrun"), "is not a whole run: metrics.bench is missing"},
		{filepath.Join(dir, "halfsweep"), "is a sweep that is not finished: it has no metrics.bench yet; run it again to go on, sim plot draws the cells so far"},
		{filepath.Join(dir, "badtimes"), "timings.json is corrupt: "},
		{filepath.Join(dir, "runs"), "holds tiny prop-alloc more than once, with nct from 1.5 to 2.25 ("},
		{put("prose", "Benchmarks are nice\n"), ":1: is no benchmark result: "},
		{put("none.bench", "scenario: x\n"), "holds no benchmark results; a run's metrics.bench does"},
		{put("binary", "\x00\x01\x02"), "holds no benchmark results"},
		{put("bad.bench", "BenchmarkSim/policy=p 1 1 nct\nBenchmarkSim/policy=q 1 one nct\n"), "bad.bench:2: is no benchmark result: parsing measurement"},
		{put("cut.bench", "BenchmarkSim/policy=p 1 1 nct 3\n"), "cut.bench:1: is no benchmark result: missing units"},
		{put("long.bench", "BenchmarkSim/policy="+strings.Repeat("p", 1<<17)+" 1 1 nct\n"), "has a line of more than 65536 bytes"},
		{put("two.bench", "BenchmarkSim/policy=p 1 1 nct\nBenchmarkSim/policy=p 1 2 nct\n"), "holds p more than once, with nct from 1 to 2 ("},
		{put("unit.bench", "Unit nct better=lower\nUnit nct better=higher\nBenchmarkSim/policy=p 1 1 nct\n"), "unit.bench:2: is no benchmark result: metadata better"},
		{put("cut.json", `{"schema": "sim.result/1", `), "is corrupt: unexpected end of JSON input"},
		{put("manifest.json", `{"schema": "sim.run/1"}`), `has schema "sim.run/1"; a result.json ("sim.result/1") or sweep.json`},
		{put("nan.json", `{"schema": "sim.result/1", "rows": [{}]}`), "is corrupt: row 1 of the result has no policy"},
		{put("sweep.json", `{"schema": "sim.sweep/1", "cells": [{"at": [1]}]}`), "is corrupt: cell 0 "},
	} {
		_, err := Read(c.path, nil)
		var place *result.PlaceError
		if !errors.As(err, &place) || !strings.HasPrefix(err.Error(), c.path) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v\nwant %s", c.path, err, c.want)
		}
	}
}

// TestLatest: the most recent run or sweep of a scenario is found.
func TestLatest(t *testing.T) {
	root := t.TempDir()
	run(t, filepath.Join(root, "a"), document(1), timings(1))
	run(t, filepath.Join(root, "aa"), document(1), timings(1))
	manifest := strings.NewReplacer("03:04:05Z", "03:04:04.5Z")
	data, err := os.ReadFile(filepath.Join(root, "aa", result.ManifestFile))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(root, "aa", result.ManifestFile), []byte(manifest.Replace(string(data))), 0o666))
	run(t, filepath.Join(root, "a.tmp"), document(1), timings(1))
	sweepDir(t, filepath.Join(root, "b"), 1, 1)
	sweepDir(t, filepath.Join(root, "c"), 1, 1) // not finished
	must(t, os.Remove(filepath.Join(root, "c", result.BenchFile)))
	for name, want := range map[string]string{"tiny": "a", "study": "b", "other": ""} {
		dir, known := result.Latest(result.List(root), name), result.Scenarios(result.List(root))
		if want != "" {
			want = filepath.Join(root, want)
		}
		if dir != want || strings.Join(known, " ") != "tiny study" {
			t.Errorf("%s is %q of %q", name, dir, known)
		}
	}
	if results := result.List(filepath.Join(root, "none")); results != nil {
		t.Errorf("got %v", results)
	}
}

// TestIgnore: two scenarios are compared by policy.
func TestIgnore(t *testing.T) {
	dir := t.TempDir()
	var sides [2]*Set
	for i, scenario := range []string{"tiny", "small"} {
		path := filepath.Join(dir, scenario)
		d := document(1)
		d.Scenario = scenario
		run(t, path, d, timings(1))
		var err error
		sides[i], err = Read(path, []string{"scenario"})
		must(t, err)
	}
	c, err := Compare(sides[0], sides[1], Options{})
	must(t, err)
	if c.Rows != 2 || !c.hasNoDifferences() || c.Metrics[2].Rows != 2 {
		t.Errorf("%s: %+v", c.Summary(), c.Metrics)
	}
	if _, err := Read(filepath.Join(dir, "tiny"), []string{"policy"}); err != nil {
		t.Error(err) // both rows have the same figures
	}
	path := filepath.Join(dir, "two.bench")
	must(t, os.WriteFile(path, []byte("BenchmarkSim/scenario=a/policy=p 1 1 nct\nBenchmarkSim/scenario=a/policy=q 1 2 nct\n"), 0o666))
	for _, ignore := range [][]string{{"policy"}, {"scenario", "policy"}} {
		const want = "holds rows that differ only in what is ignored, with nct from 1 to 2 ("
		if _, err := Read(path, ignore); err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "; do not ignore policy") {
			t.Errorf("%v: %v", ignore, err)
		}
	}
}
