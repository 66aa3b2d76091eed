package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sim/scenarios/result"
)

// TestWall: runs that differ only in wall-clock times.
func TestWall(t *testing.T) {
	dir := t.TempDir()
	side := func(name string, solve float64) string {
		path := filepath.Join(dir, name)
		run(t, path, document(1), timings(solve))
		return path
	}
	previous := side("older", 1)
	for _, c := range []struct {
		solve float64
		o     Options
		fails int
	}{
		{100, Options{}, 0}, // wall-clock times are not compared
		{100, Options{FailOnChange: true}, 0},
		{1.2, Options{Wall: true, WallFailOver: 0.25}, 0},
		{1.3, Options{Wall: true, WallFailOver: 0.25}, 2},
		{0.1, Options{Wall: true, WallFailOver: 0}, 0},
		{1.005, Options{Wall: true, WallFailOver: 0}, 0}, // within the variation of the machine
		{1.5, Options{Wall: true, Metrics: []string{"simulation_s"}}, 0},
		{1.5, Options{Wall: true, Metrics: []string{"nct"}}, 2},
	} {
		found := compared(t, previous, side("newer", c.solve), c.o)
		if len(found.Regressions) != c.fails {
			t.Errorf("%g s with %+v: %v, want %d", c.solve, c.o, found.Regressions, c.fails)
		}
		var b strings.Builder
		must(t, found.WriteText(&b, View{}))
		if strings.Contains(b.String(), "no differences in 2 rows, 2 metrics") == c.o.Wall || !strings.Contains(b.String(), "solve_s") {
			t.Errorf("%g s with %+v is shown as\n%s", c.solve, c.o, &b)
		}
	}
	a, err := Read(previous, nil)
	must(t, err)
	if _, err := Compare(a, a, Options{Metrics: []string{result.WallMetrics[0]}}); err == nil || err.Error() != "solve_s is wall-clock, which cannot fail without --wall" {
		t.Errorf("got %v", err)
	}
	sums := compared(t, previous, side("newer", 2), Options{}).wallTable(View{})
	want := []string{"solve_s", "all", "2.0000 s", "4.0000 s", "+100.0 %"}
	if !slices.ContainsFunc(sums.Rows, func(r []string) bool { return slices.Equal(r, want) }) {
		t.Errorf("the sums are %q", sums.Rows)
	}
}

// TestWallOfSweeps: times are assigned to their cells.
func TestWallOfSweeps(t *testing.T) {
	dir := t.TempDir()
	sweepDir(t, filepath.Join(dir, "a"), 1, 1)
	sweepDir(t, filepath.Join(dir, "b"), 1, 3)
	c := compared(t, filepath.Join(dir, "a"), filepath.Join(dir, "b"), Options{Wall: true, WallFailOver: 1})
	if len(c.Regressions) != 2 || !strings.HasPrefix(c.Regressions[0].String(), "study p workload.microbatches=4: solve_s is 3.0000 s, it was 1.0000 s (+200.0 % worse") {
		t.Errorf("got %v", c.Regressions)
	}
}

// TestWallOfSomeCells: cells without times have none instead of 0.
func TestWallOfSomeCells(t *testing.T) {
	dir := t.TempDir()
	sweepDir(t, dir, 1, 1)
	must(t, os.WriteFile(filepath.Join(dir, result.TimingsFile), []byte(`{"wall_s": 1, "cells": {"bb": {"solve_s": 2, "simulation_s": 1}}}`), 0o666))
	s, err := Read(dir, nil)
	must(t, err)
	if first, second := s.rows[0].values, s.rows[1].values; len(first) != 1 || !slices.Equal(second[result.WallMetrics[0]], []float64{2}) {
		t.Errorf("got %v and %v", first, second)
	}
}

// TestWallSamples: random differences of repeated runs do not fail, significant ones do.
func TestWallSamples(t *testing.T) {
	dir := t.TempDir()
	side := func(name string, solves ...float64) string {
		for i, s := range solves {
			run(t, filepath.Join(dir, name, fmt.Sprint(i)), document(1), timings(s))
		}
		return filepath.Join(dir, name)
	}
	previous := side("older", 1.0, 1.1, 1.2, 1.3, 1.4)
	for name, c := range map[string]struct {
		solves []float64
		fails  int
	}{
		"chance": {[]float64{1.05, 1.9, 1.35, 0.9, 1.8}, 0},
		"slower": {[]float64{1.5, 1.6, 1.7, 1.8, 1.9}, 2},
		"faster": {[]float64{0.5, 0.6, 0.7, 0.8, 0.9}, 0},
	} {
		found := compared(t, previous, side(name, c.solves...), Options{Wall: true, WallFailOver: 0.1})
		if len(found.Regressions) != c.fails {
			t.Errorf("%s: %v, want %d", name, found.Regressions, c.fails)
		}
		at := slices.IndexFunc(found.Differences, func(d Difference) bool { return d.Metric == result.WallMetrics[0] })
		if d := found.Differences[at]; d.P == nil || (*d.P < 0.05) != (name != "chance") || *d.Old != 1.2 {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestGoBenchmarks: names, units and samples of Go benchmarks are supported.
func TestGoBenchmarks(t *testing.T) {
	text := func(ns ...int) string {
		var b strings.Builder
		for _, v := range ns {
			fmt.Fprintf(&b, "BenchmarkPlay/pods=4-8 \t 10\t %d ns/op\t 0 B/op\n", v)
		}
		return b.String()
	}
	previous, current := set(t, "a", text(100, 101, 102, 103, 104)), set(t, "b", text(200, 201, 202, 203, 204))
	c, err := Compare(previous, current, Options{})
	must(t, err)
	if len(c.Regressions) != 0 {
		t.Errorf("measured values failed unasked: %v", c.Regressions)
	}
	var b strings.Builder
	must(t, c.WriteText(&b, View{}))
	if !strings.Contains(b.String(), "sec/op  lower   102.00 ns  202.00 ns  +98.0 % (p=0.008)  worse") {
		t.Errorf("shown as\n%s", &b)
	}
	if zero := set(t, "z", text(0, 1)); len(zero.rows[0].values["sec/op"]) != 2 {
		t.Errorf("0 ns is another unit than 1 ns: %v", zero.rows[0].values)
	}
	if c, err = Compare(previous, current, Options{Wall: true, WallFailOver: 0.1}); err != nil || len(c.Regressions) != 1 {
		t.Errorf("got %v, %v", c.Regressions, err)
	}
}
