package result

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDeprecatedNames: documents of older versions, with deprecated names of metrics, labels, keys
// and members, are read as documents with current names.
func TestDeprecatedNames(t *testing.T) {
	read := func(text string, into any) {
		t.Helper()
		if err := Decode(strings.NewReader(text), int64(len(text)), into); err != nil {
			t.Fatal(err)
		}
	}
	same := func(got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	var d Document
	read(`{"reference": {"replay_gap_max": 1, "nct": 2}, "rows": [{"policy": "walks", "metrics": {"walks": 3, "donor_ports": 4},
		"labels": {"donor": "a", "replay_nct_mean": "b", "ways": "c"}, "samples": {"replay_nct_mean": [5]}}]}`, &d)
	same(d, Document{Reference: map[string]float64{"trial_gap_max": 1, "nct": 2}, Rows: []Row{{Policy: "walks",
		Metrics: map[string]float64{"paths": 3, "lender_ports": 4},
		Labels:  map[string]string{"lender": "a", "trial_nct_mean": "b", "ways": "c"},
		Samples: map[string][]float64{"trial_nct_mean": {5}}}}})
	var s Sweep
	read(`{"axes": [{"name": "policy.donor_tolerance", "keys": ["policy.donor_tolerance"], "labels": ["0"]},
		{"name": "donor", "keys": ["policy.donor", "seed"], "labels": ["x"]}], "cells": [{"at": [0, 0], "metrics": {"nct_before": 1}}]}`, &s)
	same(s, Sweep{Axes: []Axis{{Name: "policy.lender_tolerance", Keys: []string{"policy.lender_tolerance"}, Labels: []string{"0"}},
		{Name: "donor", Keys: []string{"policy.lender_allocator", "seed"}, Labels: []string{"x"}}},
		Cells: []Cell{{At: []int{0, 0}, Metrics: map[string]float64{"baseline_nct": 1}}}})
	var times Timings
	read(`{"wall_s": 3, "policies": {"a": {"solve_s": 1, "play_s": 2}, "b": {"solve_s": 1, "simulation_s": 4}}}`, &times)
	same(times, Timings{3, map[string]PolicyTimings{"a": {1, 2}, "b": {1, 4}}})
	var plots []Plot
	read(`[{"name": "p", "x": "policy.donor_tolerance", "y": "play_s", "where": {"workload.watch": ["1"]}, "also": ["walks"], "below": "replay_plays",
		"below_of": ["a"], "from": 1, "to": 2, "take": "max", "marked_at": "nct_before"}]`, &plots)
	low, high := 1.0, 2.0
	same(plots, []Plot{{Name: "p", X: "policy.lender_tolerance", Y: "simulation_s", Where: map[string][]string{"workload.measured_cubes": {"1"}},
		ExtraY: []string{"paths"}, LowerY: "trial_count", LowerSeries: []string{"a"}, YMin: &low, YMax: &high, Aggregation: "max", XMark: "baseline_nct"}})
	data, err := JSON(plots)
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{`"also"`, `"below"`, `"below_of"`, `"from"`, `"to"`, `"take"`, `"marked_at"`} {
		if strings.Contains(string(data), old) {
			t.Errorf("%s is written", old)
		}
	}
}
