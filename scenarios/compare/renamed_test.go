package compare

import (
	"os"
	"path/filepath"
	"testing"

	"sim/scenarios/result"
)

// TestDeprecatedNames: a .bench file, a result.json, a sweep.json and a run directory with
// deprecated names equal the results with current names.
func TestDeprecatedNames(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must(t, os.WriteFile(path, []byte(text), 0o666))
		return path
	}
	for _, c := range []struct{ name, old, current string }{
		{"x.bench",
			"Unit walks better=lower assume=exact\nUnit donor_ports assume=exact\nBenchmarkSim/scenario=s/policy=p/policy.donor_tolerance=0.1 1 7 walks 9 donor_ports\n",
			"Unit paths better=lower assume=exact\nUnit lender_ports assume=exact\nBenchmarkSim/scenario=s/policy=p/policy.lender_tolerance=0.1 1 7 paths 9 lender_ports\n"},
		{"result.json",
			`{"schema": "sim.result/1", "scenario": "s", "rows": [{"policy": "p", "metrics": {"replay_plays": 3, "nct_before": 2}}]}`,
			`{"schema": "sim.result/1", "scenario": "s", "rows": [{"policy": "p", "metrics": {"trial_count": 3, "baseline_nct": 2}}]}`},
		{"sweep.json",
			`{"schema": "sim.sweep/1", "name": "s", "axes": [{"name": "workload.watch", "keys": ["workload.watch"], "labels": ["1"]}], "cells": [{"at": [0], "policy": "p", "metrics": {"walks": 3}}]}`,
			`{"schema": "sim.sweep/1", "name": "s", "axes": [{"name": "workload.measured_cubes", "keys": ["workload.measured_cubes"], "labels": ["1"]}], "cells": [{"at": [0], "policy": "p", "metrics": {"paths": 3}}]}`},
	} {
		old, current := write(filepath.Join("old", c.name), c.old), write(filepath.Join("current", c.name), c.current)
		for _, pair := range [][2]string{{old, current}, {current, old}} {
			found := compared(t, pair[0], pair[1], Options{FailOnChange: true, Metrics: []string{AllMetrics}})
			if found.Rows != 1 || len(found.NewRows)+len(found.MissingRows)+len(found.Regressions) > 0 || len(found.Metrics) == 0 {
				t.Errorf("%s: %+v", c.name, found)
			}
			for _, m := range found.Metrics {
				if _, known := result.Find(m.Name); !known || m.Rows != 1 || m.Differ > 0 {
					t.Errorf("%s: %+v", c.name, m)
				}
			}
		}
	}

	// Wall-clock times and keys of the resolved scenarios in directories.
	for side, text := range map[string]string{"old": "[policy]\narbiters = [\"joint\"]\n", "current": "[policy]\nmulti_job_allocators = [\"joint\"]\n"} {
		path := filepath.Join(dir, "run-"+side)
		run(t, path, document(1), timings(1))
		must(t, os.WriteFile(filepath.Join(path, result.ScenarioFile), []byte(text), 0o666))
	}
	must(t, os.WriteFile(filepath.Join(dir, "run-old", result.TimingsFile), []byte(`{"wall_s": 1, "policies": {"prop-alloc": {"solve_s": 1, "play_s": 1}, "delta joint": {"solve_s": 1, "play_s": 1}}}`), 0o666))
	found := compared(t, filepath.Join(dir, "run-old"), filepath.Join(dir, "run-current"), Options{Wall: true, WallFailOver: 0, Metrics: []string{"simulation_s"}})
	if len(found.Keys)+len(found.Regressions) > 0 {
		t.Errorf("keys %v, regressions %v", found.Keys, found.Regressions)
	}
	for _, m := range found.Metrics {
		if m.Name == "simulation_s" && m.Rows != 2 || m.Name == "play_s" {
			t.Errorf("%+v", m)
		}
	}
}
