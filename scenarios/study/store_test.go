package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sim/scenarios/result"
)

// TestLongRecord: an oversized record loses only its cell, wherever it is in the journal.
func TestLongRecord(t *testing.T) {
	defer func(was int) { maxRecordBytes = was }(maxRecordBytes)
	maxRecordBytes = 1 << 17
	p := plan(t, tiny, "policy.allocators=[\"prop-alloc\"]")
	dir := t.TempDir()
	want := whole(t, dir, p, LocalRunner(2))
	journal := filepath.Join(dir, "cells.jsonl")
	sound, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(bytes.Lines(sound))
	for at := range len(lines) + 1 {
		long := append(bytes.Repeat([]byte{'x'}, maxRecordBytes+1), '\n')
		if err := os.WriteFile(journal, bytes.Join(slices.Insert(slices.Clone(lines), at, long), nil), 0o666); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir, p)
		if len(s.records) != len(lines) || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], ": damaged (longer than ") {
			t.Errorf("%d records and %q", len(s.records), s.Warnings)
		}
		s.Close()
		if got := whole(t, dir, p, unusedRunner(t)); !bytes.Equal(got, want) {
			t.Error("the result changed")
		}
	}
}

// TestManyWarnings: many damaged records are reported in few lines.
func TestManyWarnings(t *testing.T) {
	p := plan(t, tiny)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cells.jsonl"), bytes.Repeat([]byte("x\n"), 1000), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := CheckDir(dir, p.Claim()); err == nil { // records without a manifest
		t.Error("a directory of cells without a manifest is used, want it refused")
	}
	s, err := Open(dir, p, nil, result.Manifest{}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := len(s.Warnings); n != maxWarningsPerJournal+1 || !strings.HasSuffix(s.Warnings[n-1], ": 980 more records are damaged") {
		t.Errorf("%d warnings, the last %q", n, s.Warnings[n-1])
	}
}

// TestStale: files left half written by a killed process are removed by the next run.
func TestStale(t *testing.T) {
	p := plan(t, tiny)
	dir := t.TempDir()
	for _, name := range []string{result.SweepFile, result.TimingsFile, result.CSVFile, result.BenchFile, result.ManifestFile, result.PlanFile, result.PlotsFile, result.ScenarioFile} {
		if err := os.WriteFile(filepath.Join(dir, "."+name+"-123456"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "cells.jsonl"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	open(t, dir, p)
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestForce: the directory of another sweep is used only with force, and foreign files
// stay.
func TestForce(t *testing.T) {
	first, second := plan(t, tiny, "seed=1,2"), plan(t, tiny, "seed=2,3")
	dir := t.TempDir()
	whole(t, dir, first, LocalRunner(2))
	photo := filepath.Join(dir, result.PlotsDir, "photo.png")
	if err := os.Mkdir(filepath.Dir(photo), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(photo, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := Open(dir, second, nil, result.Manifest{Digest: second.Sweep.Digest}, false)
	var place *result.PlaceError
	if !errors.As(err, &place) || !strings.Contains(err.Error(), "replace it with --force") {
		t.Errorf("the directory of another sweep: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, result.SweepFile)); err != nil {
		t.Error("a refused sweep removed results")
	}
	s, err := Open(dir, second, nil, result.Manifest{Digest: second.Sweep.Digest}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(s.records) != 2*2*3 {
		t.Errorf("%d cells are known", len(s.records))
	}
	if _, err := os.Stat(filepath.Join(dir, result.SweepFile)); err == nil {
		t.Error("results of another sweep stayed")
	}
	if _, err := os.Stat(photo); err != nil {
		t.Error(err)
	}
}

// TestUnserved: a cell that its policy cannot solve has the same record whichever other
// policies are listed, here and through a queue.
func TestUnserved(t *testing.T) {
	const ring = `
name = "ring"
engine.level = "static"
policy.routers = ["dor"]
[workload]
kind = "all-to-all"
message = "16KB"
[fabric]
kind = "graph"
nodes = 3
edges = [[0, 1], [1, 2], [2, 0]]
link_rate = "50GB/s"
`
	var want []byte
	for _, set := range []string{`policy.routers=["dor"]`, `policy.routers=["shortest", "dor"]`} {
		p := plan(t, ring, set)
		cell := len(p.Sweep.Cells) - 1
		task, err := p.Task(cell)
		if err != nil {
			t.Fatal(err)
		}
		away, err := RunTask(context.Background(), task)
		if err != nil {
			t.Fatal(err)
		}
		err = LocalRunner(1)(context.Background(), p, []int{cell}, func(_ int, r *Record) error {
			here, err := json.Marshal(r)
			if want == nil {
				want = here
			}
			if r.Labels["unserved"] == "" || r.Failed != "" || !bytes.Equal(here, want) || !bytes.Equal(away, want) {
				t.Errorf("%s: here %s, by way of a queue %s, want %s", set, here, away, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestChangedRecords: a changed or impossible record is ignored and its cell computed
// again.
func TestChangedRecords(t *testing.T) {
	good := &Record{Key: "k", Metrics: map[string]float64{"nct": 1.5, "makespan_s": 2, "x": -1}}
	text := func(r *Record) []byte {
		cell, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		l, err := json.Marshal(journalLine{checksum(cell), cell})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	if _, err := parseRecord(text(good)); err != nil {
		t.Fatal(err)
	}
	if _, err := parseRecord(bytes.Replace(text(good), []byte("1.5"), []byte("1.4"), 1)); !errors.Is(err, errInvalidRecord) {
		t.Errorf("a changed record: %v, want it refused", err)
	}
	for _, bad := range []*Record{
		{Key: "k", Metrics: map[string]float64{"nct": -1}},
		{Key: "k", Metrics: map[string]float64{"makespan_s": -1e-6}},
		{Key: "k", Metrics: map[string]float64{"nct": 1}, Reference: map[string]float64{"makespan_s": -1}},
		{Key: "k", Metrics: map[string]float64{"nct": 1}, Samples: map[string][]float64{"nct": {1, -1}}},
		{Key: "k", Metrics: map[string]float64{"nct": 1}, Timings: result.PolicyTimings{SolveS: -1}},
	} {
		if _, err := parseRecord(text(bad)); !errors.Is(err, errInvalidRecord) || !strings.Contains(err.Error(), "no run can have") {
			t.Errorf("%+v in a journal: %v, want it refused", bad, err)
		}
		data, err := json.Marshal(bad)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRecord(data); err == nil || !strings.Contains(err.Error(), "no run can have") {
			t.Errorf("%+v from a queue: %v, want it refused", bad, err)
		}
	}
}

// TestForeignCells: cells of another build are counted; cells of this build and of an unknown build
// are not.
func TestForeignCells(t *testing.T) {
	p := plan(t, tiny, "policy.allocators=[\"prop-alloc\"]", "seed=1,2,3")
	dir := t.TempDir()
	whole(t, dir, p, LocalRunner(2))
	s := open(t, dir, p)
	defer s.Close()
	if n := s.ForeignCells(p); n != 0 {
		t.Errorf("%d cells of another build, want 0", n)
	}
	s.records[p.Sweep.Cells[0].Key].Build = "other"
	s.records[p.Sweep.Cells[1].Key].Build = ""
	if n := s.ForeignCells(p); n != 1 {
		t.Errorf("%d cells of another build, want 1", n)
	}
}
