package study

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sim/scenarios/result"
)

// block puts a non-empty directory in place of a file.
func block(t *testing.T, dir, name string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(path, "x"), 0o777); err != nil {
		t.Fatal(err)
	}
}

// TestObstacles: if any file of a sweep cannot be written or removed, that is an error,
// and no cell counts as finished unless its record is in the journal.
func TestObstacles(t *testing.T) {
	first, second := plan(t, tiny, "seed=1,2"), plan(t, tiny, "seed=2,3")
	reopen := func(p *Plan, dir string) error {
		s, err := Open(dir, p, []byte("x"), result.Manifest{Scenario: p.Sweep.Name, Digest: p.Sweep.Digest}, true)
		if err == nil {
			s.Close()
		}
		return err
	}
	template := t.TempDir()
	whole(t, template, first, LocalRunner(2))
	fresh := func() string {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for _, name := range []string{result.ManifestFile, result.PlanFile, result.PlotsFile, result.ScenarioFile, "cells.jsonl"} {
		dir := fresh()
		if block(t, dir, name); reopen(first, dir) == nil {
			t.Errorf("a sweep is opened whose %s cannot be written", name)
		}
		if name == "cells.jsonl" {
			if s := ReadStore(dir); len(s.Warnings) != 1 || len(s.records) > 0 {
				t.Errorf("a journal that is a directory has %d records, warnings %q", len(s.records), s.Warnings)
			}
		}
	}
	for _, name := range resultFiles {
		dir := fresh()
		if block(t, dir, name); reopen(second, dir) == nil {
			t.Errorf("a sweep is opened where %s of another one cannot be removed", name)
		}
		dir = fresh()
		s := open(t, dir, first)
		block(t, dir, name)
		doc, times := first.Fill(s)
		if err := s.Finish(doc, times); err == nil || !strings.Contains(err.Error(), "12 finished cells are kept") {
			t.Errorf("a sweep is finished whose %s cannot be written: %v", name, err)
		}
		s.Close()
	}
	dir := fresh()
	if err := reopen(first, dir); err != nil {
		t.Errorf("without obstacles: %v", err)
	}
	if err := CheckDir(filepath.Join(dir, result.PlanFile), first.Claim()); err == nil {
		t.Error("a file is a place for a sweep")
	}
	if err := reopen(first, filepath.Join(dir, result.PlanFile, "x")); err == nil {
		t.Error("a sweep is opened below a file")
	}
	if s := ReadStore(filepath.Join(dir, "none")); len(s.Warnings) != 1 {
		t.Errorf("a directory that is not there: warnings %q", s.Warnings)
	}

	sound := ReadStore(template)
	record := sound.records[first.Sweep.Cells[0].Key]
	s := open(t, t.TempDir(), first)
	bad := *record
	bad.Metrics = map[string]float64{"nct": math.NaN()}
	if err := s.Put(&bad); err == nil || s.Has(bad.Key) {
		t.Errorf("a result that is no JSON is kept: %v", err)
	}
	s.journal.Close()
	if err := s.Put(record); err == nil || s.Has(record.Key) {
		t.Errorf("a cell is finished whose record cannot be written: %v", err)
	}
	if n, err := s.Adopt(first, []string{filepath.Join(dir, "none"), template}); err == nil || n > 0 {
		t.Errorf("%d cells are taken over that cannot be written: %v", n, err)
	}
	s = open(t, t.TempDir(), first)
	if n, err := s.Adopt(first, []string{filepath.Join(dir, "none"), template}); err != nil || n != len(first.Sweep.Cells) {
		t.Errorf("%d cells of %d are taken over: %v", n, len(first.Sweep.Cells), err)
	}
}
