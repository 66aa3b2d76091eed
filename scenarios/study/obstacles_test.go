package study

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sim/scenarios/result"
)

// block puts a directory that is not empty in the place of a file.
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

// TestObstacles: whichever file of a sweep cannot be written or removed, that is an error, and no cell is taken for
// finished whose record is not in the journal.
func TestObstacles(t *testing.T) {
	first, second := plan(t, tiny, "seed=1,2"), plan(t, tiny, "seed=2,3")
	reopen := func(p *Plan, dir string) error {
		s, err := Open(dir, p, []byte("x"), result.Manifest{Scenario: p.Sweep.Name, Digest: p.Sweep.Digest}, Shard{}, true)
		if err == nil {
			s.Close()
		}
		return err
	}
	template := t.TempDir()
	whole(t, template, first, Local(2))
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
			if s := Peek(dir); len(s.Warnings) != 1 || len(s.records) > 0 {
				t.Errorf("a journal that is a directory has %d records, warnings %q", len(s.records), s.Warnings)
			}
		}
	}
	for _, name := range finished {
		dir := fresh()
		if block(t, dir, name); reopen(second, dir) == nil {
			t.Errorf("a sweep is opened where %s of another one cannot be removed", name)
		}
		dir = fresh()
		s := open(t, dir, first, Shard{})
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
	if err := Vacant(filepath.Join(dir, result.PlanFile), first.Claim(false)); err == nil {
		t.Error("a file is a place for a sweep")
	}
	if err := reopen(first, filepath.Join(dir, result.PlanFile, "x")); err == nil {
		t.Error("a sweep is opened below a file")
	}
	if s := Peek(filepath.Join(dir, "none")); len(s.Warnings) != 1 {
		t.Errorf("a directory that is not there: warnings %q", s.Warnings)
	}

	sound := Peek(template)
	record := sound.records[first.Sweep.Cells[0].Key]
	s := open(t, t.TempDir(), first, Shard{})
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
	s = open(t, t.TempDir(), first, Shard{})
	if n, err := s.Adopt(first, []string{filepath.Join(dir, "none"), template}); err != nil || n != len(first.Sweep.Cells) {
		t.Errorf("%d cells of %d are taken over: %v", n, len(first.Sweep.Cells), err)
	}
}

// TestMergeObstacles: parts are joined only if all are there, of one sweep, and can be read and written.
func TestMergeObstacles(t *testing.T) {
	p, other := plan(t, tiny, "seed=1,2"), plan(t, tiny, "seed=2,3")
	done, empty, another := t.TempDir(), t.TempDir(), t.TempDir()
	whole(t, done, p, Local(2))
	open(t, empty, p, Shard{}).Close()
	open(t, another, other, Shard{}).Close()
	merge := func(dirs ...string) error {
		s, sweep, _, _, err := Merge(dirs)
		if err != nil {
			return err
		}
		defer s.Close()
		if len(sweep.Cells) != len(p.Sweep.Cells) || len(newlyRead(s.Dir)) != len(p.Sweep.Cells) {
			t.Errorf("%v are joined to %d cells, %d in the journal", dirs, len(sweep.Cells), len(newlyRead(s.Dir)))
		}
		return nil
	}
	if err := merge(empty); !errors.Is(err, ErrMissing) {
		t.Errorf("no cells: %v", err)
	}
	var place *result.PlaceError
	if err := merge(done, another); !errors.As(err, &place) || place.Path != another {
		t.Errorf("two sweeps: %v", err)
	}
	for _, dirs := range [][]string{{filepath.Join(done, "none")}, {done, filepath.Join(done, "none")}} {
		if err := merge(dirs...); err == nil {
			t.Errorf("%v are joined", dirs)
		}
	}
	busy := open(t, empty, p, Shard{})
	if err := merge(empty, done); err == nil {
		t.Error("parts are joined in a directory that is being written")
	}
	busy.Close()
	if err := merge(empty, done); err != nil {
		t.Error(err)
	}
	blocked := t.TempDir()
	open(t, blocked, p, Shard{Index: 0, Count: 2, cells: make([]bool, len(p.Sweep.Cells))}).Close()
	if block(t, blocked, "cells-2of2.jsonl"); merge(blocked, done) == nil {
		t.Error("parts are joined, of which one cannot be read")
	}
	if err := os.RemoveAll(filepath.Join(blocked, "cells-2of2.jsonl")); err != nil {
		t.Fatal(err)
	}
	if block(t, blocked, "cells.jsonl"); merge(done, blocked) == nil || merge(blocked, done) == nil {
		t.Error("parts are joined, of which one cannot be read or written")
	}
}

// newlyRead returns the records of a sweep's directory.
func newlyRead(dir string) map[string]*Record { return Peek(dir).records }
