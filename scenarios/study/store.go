// This file stores the finished cells of a sweep in its directory.

package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sim/scenarios/result"
)

// Store is the directory of a sweep: the plan, and a journal to which every finished cell
// is appended. A journal consists of lines of JSON, each with a checksum. A truncated or
// damaged line loses only its cell.
type Store struct {
	Dir string
	// Warnings are messages about damaged records, whose cells are computed again.
	Warnings []string
	// OnTakeover is called before this worker computes cells of another worker whose lease has
	// expired, from one goroutine at a time. It may be nil.
	OnTakeover func(cells []int, owner string)

	journal *os.File        // locked; records are appended
	size    int64           // length of the complete records in the journal
	leases  *leaseDirectory // nil unless the sweep is shared
	// journalOffsets has the bytes read of the journals of other workers, keyed by path. It is
	// nil unless the sweep is shared.
	journalOffsets map[string]int64
	records        map[string]*Record // finished cells, keyed by cell key
	// failures has the reasons of failed cells in this run, keyed by cell key. They are not
	// stored, so that the next run tries these cells again.
	failures map[string]string
}

// newStore returns a store without a journal.
func newStore(dir string) *Store {
	return &Store{Dir: dir, records: map[string]*Record{}, failures: map[string]string{}}
}

// Open opens or creates the directory of a plan and locks its journal. study is the text
// of the study. An unsuitable directory is a *result.PlaceError; one with another sweep
// is accepted only with force.
func Open(dir string, p *Plan, study []byte, manifest result.Manifest, force bool) (*Store, error) {
	claim := p.Claim()
	claim.Force = force
	if err := CheckDir(dir, claim); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, result.Unwritable(dir, err)
	}
	s := newStore(dir)
	if err := s.openJournal(journalFile); err != nil {
		return nil, err
	}
	if err := s.initialize(p, study, manifest); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// initialize writes the plan and reads the finished cells.
func (s *Store) initialize(p *Plan, study []byte, manifest result.Manifest) error {
	for _, name := range resultFiles {
		result.RemoveStale(filepath.Join(s.Dir, name))
	}
	if err := s.removeForeignResults(p); err != nil {
		return err
	}
	manifest.Schema = result.SweepManifestSchema
	plots := p.Study.Plots
	if plots == nil {
		plots = []result.Plot{}
	}

	// The manifest first, because it identifies the sweep.
	if err := s.writeFiles(
		outputFile{result.ManifestFile, manifest},
		outputFile{result.PlanFile, &p.Sweep},
		outputFile{result.PlotsFile, plots},
		outputFile{result.ScenarioFile, study},
	); err != nil {
		return err
	}
	return s.readAll(s.Dir)
}

// Claim returns the identification of p's directory, which does not replace other results.
func (p *Plan) Claim() result.Claim {
	return result.Claim{Scenario: p.Sweep.Name, Digest: p.Sweep.Digest}
}

// resultFiles are written when all cells of a sweep are finished.
var resultFiles = []string{result.TimingsFile, result.CSVFile, result.BenchFile, result.SweepFile}

// removeForeignResults removes the results and figures of another sweep from the
// directory. Its journal stays, because its cells may be part of the plan.
func (s *Store) removeForeignResults(p *Plan) error {
	old, plots, err := result.ReadPlan(s.Dir)
	if err == nil && old.Digest == p.Sweep.Digest && old.Model == p.Sweep.Model {
		return nil
	}
	// Figures are named after the plots of the old plan.
	names := slices.Clone(resultFiles)
	for i := range plots {
		for _, format := range []string{".png", ".svg"} {
			names = append(names, filepath.Join(result.PlotsDir, filepath.Base(plots[i].Name)+format))
		}
	}
	for _, name := range names {
		if err := os.Remove(filepath.Join(s.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return result.Unwritable(s.Dir, err)
		}
	}
	os.Remove(filepath.Join(s.Dir, result.PlotsDir)) // fails if it has other files
	return nil
}

// CheckDir fails with a *result.PlaceError if the sweep of c must not be stored in dir.
func CheckDir(dir string, c result.Claim) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return result.Unwritable(dir, err)
	}
	if !info.IsDir() {
		return &result.PlaceError{Path: dir, Why: "is a file; a sweep needs a directory, choose another with --out"}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return result.Unreadable(dir, err)
	}
	if m, ok := result.ReadManifest(dir, result.SweepManifestSchema); ok {
		if why := c.Conflict(m); why != "" {
			return &result.PlaceError{Path: dir, Why: why}
		}
		return nil
	}
	if len(entries) == 0 {
		return nil
	}
	// A sweep killed before it wrote its manifest has empty journals. Records without a
	// manifest could belong to any sweep.
	saved := func(e fs.DirEntry) bool {
		info, err := e.Info()
		return result.IsJournal(e.Name()) && (err != nil || info.Size() > 0)
	}
	switch {
	case slices.ContainsFunc(entries, saved) && !c.Force:
		return &result.PlaceError{Path: dir, Why: "holds cells of a sweep whose manifest.json is missing or damaged; use them with --force, or choose another directory with --out"}
	case slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return result.IsJournal(e.Name()) || strings.HasPrefix(e.Name(), leasesPrefix)
	}):
		return nil
	}
	return &result.PlaceError{Path: dir, Why: "is a directory that holds no sweep, so it is not written to; choose another with --out"}
}

// ReadStore reads the finished cells of a directory without locking it. An invalid
// directory has none.
func ReadStore(dir string) *Store {
	s := newStore(dir)
	if err := s.readAll(dir); err != nil {
		s.Warnings = append(s.Warnings, err.Error())
	}
	return s
}

// readAll reads all journals of a directory.
func (s *Store) readAll(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return result.Unreadable(dir, err)
	}
	for _, e := range entries { // sorted by name
		// The journal of this worker, in a shared directory, has no records that are new to it.
		path := filepath.Join(dir, e.Name())
		if !result.IsJournal(e.Name()) || s.journalOffsets != nil && s.journal != nil && path == s.journal.Name() {
			continue
		}
		if err := s.readJournal(path); err != nil {
			return err
		}
	}
	return nil
}

// Has reports whether the store has a result for a cell key.
func (s *Store) Has(key string) bool { return s.records[key] != nil }

// ForeignCells returns the number of cells of p that another build of sim has computed. Cells of
// versions that did not store their build are not counted.
func (s *Store) ForeignCells(p *Plan) (n int) {
	for i := range p.Sweep.Cells {
		if r := s.records[p.Sweep.Cells[i].Key]; r != nil && r.Build != "" && r.Build != build() {
			n++
		}
	}
	return n
}

// Failure returns the reason why a cell failed in this run, or "".
func (s *Store) Failure(key string) string { return s.failures[key] }

// Put appends a finished cell to the journal.
func (s *Store) Put(r *Record) error {
	cell, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("sweep: a result cannot be written as JSON: %w", err)
	}
	text, err := json.Marshal(journalLine{Sum: checksum(cell), Cell: cell})
	if err != nil {
		return fmt.Errorf("sweep: a result cannot be written as JSON: %w", err)
	}
	n, err := s.journal.Write(append(text, '\n'))
	if err != nil {
		if s.journal.Truncate(s.size) == nil { // removes an incomplete record
			_, _ = s.journal.Seek(s.size, io.SeekStart) // the next write reports an error
		}
		return s.writeError(err)
	}
	s.size += int64(n)
	s.records[r.Key] = r
	if s.leases != nil {
		// Sync makes the record visible to other machines.
		if err := s.journal.Sync(); err != nil {
			return s.writeError(err)
		}
	}
	return nil
}

// writeError states that the directory can no longer be written and which cells are
// stored.
func (s *Store) writeError(err error) error {
	return fmt.Errorf("%s cannot be written: %s; %d finished cells are kept, the same command goes on from there",
		s.Dir, result.Reason(err), len(s.records))
}

// outputFile is a file of a sweep. v is its bytes, or a value written as JSON.
type outputFile struct {
	name string
	v    any
}

// writeFiles writes files atomically, in order.
func (s *Store) writeFiles(files ...outputFile) (err error) {
	// Encode all files first, so that an error leaves the directory unchanged.
	data := make([][]byte, len(files))
	for i, f := range files {
		if text, ok := f.v.([]byte); ok {
			data[i] = text
		} else if data[i], err = result.JSON(f.v); err != nil {
			return err
		}
	}
	for i, f := range files {
		p, err := result.CreatePending(filepath.Join(s.Dir, f.name))
		if err == nil {
			if _, err = p.Write(data[i]); err == nil {
				err = p.Commit()
			} else {
				p.Abort()
			}
		}
		if err != nil {
			return s.writeError(err)
		}
	}
	return nil
}

// Finish writes the files of a finished sweep, sweep.json last.
func (s *Store) Finish(sweep *result.Sweep, timings *result.SweepTimings) error {
	return s.writeFiles(
		outputFile{result.TimingsFile, timings},
		outputFile{result.CSVFile, sweep.CSV()},
		outputFile{result.BenchFile, sweep.Bench()},
		outputFile{result.SweepFile, sweep},
	)
}

// Adopt copies the missing cells of the plan from other sweeps' directories. After a
// study was extended, only its new cells are computed. Unreadable directories are
// skipped.
func (s *Store) Adopt(p *Plan, dirs []string) (int, error) {
	// Read the records of the other directories.
	const noDir = "" // it is only read into
	other := newStore(noDir)
	for _, d := range dirs {
		if filepath.Clean(d) != filepath.Clean(s.Dir) && result.IsSweep(d) {
			if err := other.readAll(d); err != nil {
				continue
			}
		}
	}
	n := 0
	for i := range p.Sweep.Cells {
		key := p.Sweep.Cells[i].Key
		if r := other.records[key]; r != nil && !s.Has(key) {
			if err := s.Put(r); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

// Close unlocks the journal and releases the leases of cells that are not computed.
func (s *Store) Close() error {
	if s.leases != nil {
		s.leases.close()
		if s.size == 0 {
			os.Remove(s.journal.Name()) // this worker computed nothing
		}
	}
	return s.journal.Close()
}
