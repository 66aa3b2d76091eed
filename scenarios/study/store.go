package study

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sim/internal/infile"
	"sim/scenarios/result"
)

// Store is the directory of a sweep: what is to be computed, and a journal of finished cells to which every cell is
// added by itself. A journal is lines of JSON, each with a checksum, so that one that was cut short or damaged costs
// that cell only.
type Store struct {
	Dir string
	// Warnings tell, a line each, of damaged records: their cells are computed again.
	Warnings []string

	journal        *os.File
	size           int64 // of the journal's whole records
	leases         *leaseDirectory
	journalOffsets map[string]int64 // of a joined sweep: how far the journals were read that other workers write
	records        map[string]*Record
	failures       map[string]string // in this run; not kept, so that the next run tries again
}

func newStore(dir string) *Store {
	return &Store{Dir: dir, records: map[string]*Record{}, failures: map[string]string{}}
}

// journalFile is the journal of a sweep that one process computes.
const journalFile = "cells.jsonl"

// Open opens or makes the directory for a plan and claims its journal. study is the study's text. A place that cannot
// serve, as one of another sweep unless force is set, is a *result.PlaceError.
func Open(dir string, p *Plan, study []byte, manifest result.Manifest, force bool) (*Store, error) {
	if err := CheckDir(dir, p.Claim(force)); err != nil {
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

// initialize writes what is to be computed, and reads what is there of it.
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
	if err := s.writeFiles( // the manifest first: it says whose the directory is
		outputFile{result.ManifestFile, manifest}, outputFile{result.PlanFile, &p.Sweep}, outputFile{result.PlotsFile, plots}, outputFile{result.ScenarioFile, study},
	); err != nil {
		return err
	}
	return s.readAll(s.Dir)
}

// Claim is what a sweep of p says of its directory.
func (p *Plan) Claim(force bool) result.Claim {
	return result.Claim{Scenario: p.Sweep.Name, Digest: p.Sweep.Digest, Force: force}
}

// resultFiles are the files that a sweep has when all of its cells are there.
var resultFiles = []string{result.TimingsFile, result.CSVFile, result.BenchFile, result.SweepFile}

// removeForeignResults removes the results and figures of another sweep in the directory, whose cells stay: they are not those of the
// plan that is put there.
func (s *Store) removeForeignResults(p *Plan) error {
	old, plots, err := result.ReadPlan(s.Dir)
	if err == nil && old.Digest == p.Sweep.Digest && old.Model == p.Sweep.Model {
		return nil
	}
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
	os.Remove(filepath.Join(s.Dir, result.PlotsDir)) // unless others put something into it
	return nil
}

// CheckDir fails, with a *result.PlaceError, where the sweep of c may not be put into dir.
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
	// A sweep that was killed before it wrote its manifest has journals without records. Without a manifest nothing says
	// whose the records of others are.
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

// openJournal opens a journal for this process alone and cuts off a record that was not written to its end.
func (s *Store) openJournal(name string) error {
	path := filepath.Join(s.Dir, name)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return result.Unwritable(s.Dir, err)
	}
	if !result.Lock(f) {
		f.Close()
		return &result.PlaceError{Path: s.Dir, Why: "another sweep is being written there; wait for it, share its cells with --join, or choose another directory with --out"}
	}
	whole, length, err := completeLines(f, 0)
	if err != nil {
		return errors.Join(result.Unreadable(path, err), f.Close())
	}
	s.journal, s.size = f, whole
	if whole < length {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%s: its last record was not written to its end; that cell is computed again", path))
		if err := f.Truncate(s.size); err != nil {
			return errors.Join(result.Unwritable(path, err), f.Close())
		}
	}
	if _, err := f.Seek(s.size, io.SeekStart); err != nil {
		return errors.Join(result.Unwritable(path, err), f.Close())
	}
	return nil
}

// ReadStore reads what a directory holds of finished cells, without claiming it: nothing where it is none.
func ReadStore(dir string) *Store {
	s := newStore(dir)
	if err := s.readAll(dir); err != nil {
		s.Warnings = append(s.Warnings, err.Error())
	}
	return s
}

// readAll reads the journals of a sweep's directory.
func (s *Store) readAll(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return result.Unreadable(dir, err)
	}
	for _, e := range entries { // sorted by name
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

// completeLines returns the length of a file up to the end of its last whole line, and all of it, having read what is
// behind from, where a line begins.
func completeLines(f *os.File, from int64) (whole, length int64, err error) {
	block := make([]byte, 1<<16)
	whole, length = from, from
	for {
		n, err := f.ReadAt(block, length)
		if i := bytes.LastIndexByte(block[:n], '\n'); i >= 0 {
			whole = length + int64(i) + 1
		}
		length += int64(n)
		if err == io.EOF {
			return whole, length, nil
		}
		if err != nil {
			return 0, 0, err
		}
	}
}

// maxRecordBytes bounds the bytes of a line that is looked at: ten times what the most trials of a scenario take. Tests
// lower it.
var maxRecordBytes = 64 << 20

// maxWarningsPerJournal is how many damaged records of a journal are told of one by one.
const maxWarningsPerJournal = 20

func (s *Store) readJournal(path string) error {
	f, _, err := infile.Open(path)
	if err != nil {
		return result.Unreadable(path, err)
	}
	defer f.Close()
	var from io.Reader = f
	if s.journalOffsets != nil { // somebody may be writing the last line
		begin := s.journalOffsets[path]
		end, _, err := completeLines(f, begin)
		if err != nil {
			return result.Unreadable(path, err)
		}
		from, s.journalOffsets[path] = io.NewSectionReader(f, begin, end-begin), end
	}
	in, text, damaged := bufio.NewReaderSize(from, 1<<16), []byte(nil), 0
	for n := 1; ; n++ {
		var r *Record
		text, err = readLine(in, text)
		if err == nil {
			r, err = parseRecord(text)
		}
		switch {
		case err == nil:
			if old := s.records[r.Key]; old == nil || old.Table <= r.Table {
				s.records[r.Key] = r
			}
		case errors.Is(err, io.EOF):
			if more := damaged - maxWarningsPerJournal; more > 0 {
				s.Warnings = append(s.Warnings, fmt.Sprintf("%s: %d more records are damaged", path, more))
			}
			return nil
		case errors.Is(err, errInvalidRecord):
			if damaged++; damaged <= maxWarningsPerJournal {
				s.Warnings = append(s.Warnings, fmt.Sprintf("%s:%d: %v; a cell that it alone held is computed again", path, n, err))
			}
		default:
			return result.Unreadable(path, err)
		}
	}
}

// errInvalidRecord is wrapped where a line of a journal is no record.
var errInvalidRecord = errors.New("damaged")

// readLine reads a line, into the memory of the one before. At the end of the file it is io.EOF; of a line that is
// longer than any record it reads past the end.
func readLine(in *bufio.Reader, text []byte) ([]byte, error) {
	text = text[:0]
	for long := false; ; {
		part, err := in.ReadSlice('\n')
		if long = long || len(text)+len(part) > maxRecordBytes; !long {
			text = append(text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(text) == 0 && !long):
			return text, err
		case long:
			return text, fmt.Errorf("%w (longer than %d MiB)", errInvalidRecord, maxRecordBytes>>20)
		}
		return bytes.TrimSuffix(text, []byte("\n")), nil
	}
}

// journalLine is a journal's line: a record with the checksum of its JSON.
type journalLine struct {
	Sum  string          `json:"sum"`
	Cell json.RawMessage `json:"cell"`
}

func parseRecord(text []byte) (*Record, error) {
	var l journalLine
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, fmt.Errorf("%w (no JSON)", errInvalidRecord)
	}
	if l.Sum != checksum(l.Cell) {
		return nil, fmt.Errorf("%w (wrong checksum)", errInvalidRecord)
	}
	r := &Record{}
	if err := json.Unmarshal(l.Cell, r); err != nil || r.Key == "" {
		return nil, fmt.Errorf("%w (no record)", errInvalidRecord)
	}
	if err := r.checkMetrics(); err != nil {
		return nil, fmt.Errorf("%w (%v)", errInvalidRecord, err)
	}
	return r, nil
}

// checksum returns the SHA-256 of a record's JSON in hex, of which half tells any two apart.
func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:sha256.Size/2])
}

// Has reports whether the cell of a key has a result.
func (s *Store) Has(key string) bool { return s.records[key] != nil }

// Failure returns why the cell of a key failed in this run, "" if it did not.
func (s *Store) Failure(key string) string { return s.failures[key] }

// Put adds a finished cell to the journal.
func (s *Store) Put(r *Record) error {
	cell, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("sweep: a result that is no JSON: %w", err)
	}
	text, err := json.Marshal(journalLine{checksum(cell), cell})
	if err != nil {
		return fmt.Errorf("sweep: a result that is no JSON: %w", err)
	}
	n, err := s.journal.Write(append(text, '\n'))
	if err != nil {
		if s.journal.Truncate(s.size) == nil { // a record is whole or not there
			_, _ = s.journal.Seek(s.size, io.SeekStart) // the next write tells
		}
		return s.writeError(err)
	}
	s.size += int64(n)
	s.records[r.Key] = r
	if s.leases != nil {
		if err := s.journal.Sync(); err != nil { // other machines see it
			return s.writeError(err)
		}
	}
	return nil
}

// writeError says that the directory can no longer be written, and what is kept.
func (s *Store) writeError(err error) error {
	return fmt.Errorf("%s cannot be written: %s; %d finished cells are kept, the same command goes on from there",
		s.Dir, result.Reason(err), len(s.records))
}

// outputFile is a file of a sweep: bytes, or what is written as JSON.
type outputFile struct {
	name string
	v    any
}

// writeFiles puts files in place, each whole or not at all.
func (s *Store) writeFiles(files ...outputFile) (err error) {
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

// Finish writes the files of a finished sweep, the document last.
func (s *Store) Finish(sweep *result.Sweep, timings *result.SweepTimings) error {
	return s.writeFiles(outputFile{result.TimingsFile, timings}, outputFile{result.CSVFile, sweep.CSV()}, outputFile{result.BenchFile, sweep.Bench()}, outputFile{result.SweepFile, sweep})
}

// Adopt takes over the cells of other sweeps' directories that the plan has and the store has not: a study that grew
// computes only what is new. What cannot be read there is passed over.
func (s *Store) Adopt(p *Plan, dirs []string) (int, error) {
	other := newStore("")
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

// Close gives the journal back, and the cells that this worker of a joined sweep has not computed.
func (s *Store) Close() error {
	if s.leases != nil {
		s.leases.close()
		if s.size == 0 {
			os.Remove(s.journal.Name()) // a worker that came too late
		}
	}
	return s.journal.Close()
}
