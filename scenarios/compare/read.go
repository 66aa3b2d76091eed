// This file reads the sets of a comparison from files and directories.

package compare

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sim/internal/infile"
	"sim/scenarios/result"
)

// Read reads one set of a comparison: the directory of a run or of a finished sweep, a
// directory of such directories or of .bench files, a .bench file, a result.json or a
// sweep.json. Parts of names with keys in ignore are left out. Unusable input is a
// *result.PlaceError.
func Read(path string, ignore []string) (*Set, error) {
	r := newReader(path, ignore)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, pathError(path, "there is no such file or directory")
	case err != nil:
		return nil, pathError(path, "cannot be read: %s", result.Reason(err))
	case !info.IsDir():
		err = r.readFile(path)
	case result.IsResult(path):
		if err = r.resultDir(path); err == nil {
			r.set.scenario, err = readKeys(path)
		}
	default:
		err = r.collection(path)
	}
	if err != nil {
		return nil, err
	}
	return r.finish()
}

// readFile reads a .bench or a JSON file.
func (r *setReader) readFile(path string) error {
	f, size, err := infile.Open(path)
	if err != nil {
		return pathError(path, "cannot be read: %s", result.Reason(err))
	}
	defer f.Close()
	// JSON files begin with a brace.
	in := bufio.NewReader(f)
	begin, err := in.Peek(in.Size())
	if err != nil && err != io.EOF {
		return pathError(path, "cannot be read: %s", result.Reason(err))
	}
	if bytes.HasPrefix(bytes.TrimLeft(begin, " \t\r\n"), []byte("{")) {
		return r.readJSON(in, size, path)
	}
	return r.read(in, path)
}

// readJSON reads the document of a run or a sweep from a file of size bytes. The document
// is converted to the benchmark format.
func (r *setReader) readJSON(in io.Reader, size int64, path string) error {
	var doc runOrSweep
	if err := result.Decode(in, size, &doc); err != nil {
		return pathError(path, "is corrupt: %v", err)
	}
	switch {
	case result.HasSchema(doc.Schema, result.Schema):
		run := result.Document{Scenario: doc.Scenario, Reference: doc.Reference, Rows: doc.Rows}
		if err := errors.Join(run.Check(), (&result.Run{Document: run}).CheckMetrics()); err != nil {
			return pathError(path, "is corrupt: %v", err)
		}
		if err := r.read(bytes.NewReader(run.AsSweep().Bench()), path); err != nil {
			return err
		}
		if r.addReferences(run.AsSweep()); doc.Timings == nil {
			return nil
		}
		r.runTimes(doc.Scenario, doc.Timings)
		return nil
	case result.HasSchema(doc.Schema, result.SweepSchema):
		sweep := result.Sweep{Name: doc.Name, Axes: doc.Axes, Cells: doc.Cells}
		if err := sweep.Check(); err != nil {
			return pathError(path, "is corrupt: %v", err)
		}
		if err := r.read(bytes.NewReader(sweep.Bench()), path); err != nil {
			return err
		}
		r.addReferences(&sweep)
		return nil
	}
	return pathError(path, "has schema %q; a result.json (%q) or sweep.json (%q) can be compared", doc.Schema, result.Schema, result.SweepSchema)
}

// runOrSweep is the union of the compared members of result.Document and result.Sweep.
// Schema distinguishes them.
type runOrSweep struct {
	Schema string `json:"schema"`

	Scenario  string             `json:"scenario"`
	Reference map[string]float64 `json:"reference"`
	Rows      []result.Row       `json:"rows"`
	Timings   *result.Timings    `json:"timings"`

	Name  string        `json:"name"`
	Axes  []result.Axis `json:"axes"`
	Cells []result.Cell `json:"cells"`
}

// resultDir reads the directory of a run or a sweep.
func (r *setReader) resultDir(dir string) error {
	path := filepath.Join(dir, result.BenchFile)
	// A directory without the file of results is unfinished.
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular():
		return pathError(dir, "%s is no regular file", result.BenchFile)
	case errors.Is(err, fs.ErrNotExist):
		if result.IsSweep(dir) {
			return pathError(dir, "is a sweep that is not finished: it has no %s yet; run it again to go on, sim plot draws the cells so far", result.BenchFile)
		}
		return pathError(dir, "is not a whole run: %s is missing", result.BenchFile)
	}
	// Verify the file by the digest in the manifest.
	if m, ok := result.ReadManifest(dir, result.ManifestSchema); ok {
		if err := m.VerifySums(dir, result.BenchFile); err != nil {
			return err
		}
	}
	if err := r.readFile(path); err != nil {
		return err
	}
	if err := r.dirReferences(dir); err != nil {
		return err
	}
	return r.dirTimes(dir)
}

// collection reads the .bench files, runs and sweeps directly in dir, sorted by name.
func (r *setReader) collection(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return pathError(dir, "cannot be read: %s", result.Reason(err))
	}
	found := false
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case strings.HasSuffix(path, ".tmp"):
			continue // still being written
		case result.IsResult(path):
			err = r.resultDir(path)
		case filepath.Ext(path) == ".bench" && e.Type().IsRegular():
			err = r.readFile(path)
		default:
			continue
		}
		if err != nil {
			return err
		}
		found = true
	}
	if !found {
		return pathError(dir, "holds nothing to compare: neither a run nor a sweep nor .bench files")
	}
	return nil
}

// dirTimes adds the wall-clock times in the directory of a run or sweep.
func (r *setReader) dirTimes(dir string) error {
	if !result.IsSweep(dir) {
		t := &result.Timings{}
		if ok, err := loadJSON(dir, result.TimingsFile, t); err != nil || !ok {
			return err
		}
		m, _ := result.ReadManifest(dir, result.ManifestSchema)
		r.runTimes(m.Scenario, t)
		return nil
	}
	// The times of a sweep refer to cells, whose names are in the sweep itself.
	t, sweep := &result.SweepTimings{}, &result.Sweep{}
	if ok, err := loadJSON(dir, result.TimingsFile, t); err != nil || !ok {
		return err
	}
	if ok, err := loadJSON(dir, result.SweepFile, sweep); err != nil || !ok {
		return err
	}
	if err := sweep.Check(); err != nil {
		return pathError(dir, "%s is corrupt: %v", result.SweepFile, err)
	}
	r.addTimes(sweep, t.Cells)
	return nil
}

// runTimes adds the wall-clock times of a run.
func (r *setReader) runTimes(scenario string, t *result.Timings) {
	s := &result.Sweep{Name: scenario}
	for policy := range t.Policies {
		s.Cells = append(s.Cells, result.Cell{Policy: policy, Key: policy})
	}
	r.addTimes(s, t.Policies)
}

// addTimes adds the wall-clock times of cells, keyed by Cell.Key, to existing rows.
func (r *setReader) addTimes(s *result.Sweep, times map[string]result.PolicyTimings) {
	for i := range s.Cells {
		c := &s.Cells[i]
		t, timed := times[c.Key]
		to := r.set.byKey[s.BenchName(c).Without(r.ignore).ID()]

		// A cell without metrics has no row.
		if !timed || to == nil {
			continue
		}
		for name, v := range t.Metrics() {
			// A simulated metric of the same name takes precedence.
			if !r.simulated[name] {
				to.values[name] = append(to.values[name], v)
				r.set.units[name] = unitRule{better: result.Lower, wall: true, fromTimings: true}
			}
		}
	}
}

// loadJSON reads a file of a directory. It returns false if the file does not exist.
func loadJSON(dir, name string, into any) (bool, error) {
	err := result.Load(filepath.Join(dir, name), into)
	var file *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.As(err, &file):
		return false, pathError(dir, "cannot read %s: %s", name, result.Reason(err))
	case err != nil:
		return false, pathError(dir, "%s is corrupt: %v", name, err)
	}
	return true, nil
}
