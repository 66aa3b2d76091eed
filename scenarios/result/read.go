// This file reads run directories, and lists the runs and sweeps of a folder.

package result

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sim/internal/infile"
)

// Read reads and verifies a run directory. If it is missing, incomplete or corrupt, the
// error is a *PlaceError that names the file.
func Read(dir string) (*Run, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &PlaceError{dir, "there is no such run directory"}
	case err != nil:
		return nil, Unreadable(dir, err)
	case !info.IsDir():
		return nil, &PlaceError{dir, "is a file, not a run directory"}
	}

	// The manifest decides whether the directory is a run at all. It is read first, so that
	// messages about other files can assume that it is one.
	r := &Run{Dir: dir}
	if _, err := os.Stat(filepath.Join(dir, ManifestFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, &PlaceError{dir, "is no run directory: it has no " + ManifestFile}
	}
	if err := load(dir, ManifestFile, &r.Manifest); err != nil {
		return nil, err
	}
	switch r.Manifest.Schema {
	case ManifestSchema:
	case SweepManifestSchema:
		return nil, &PlaceError{dir, "is the directory of a sweep, not of a run"}
	default:
		return nil, &PlaceError{dir, fmt.Sprintf("%s has schema %q, want %q", ManifestFile, r.Manifest.Schema, ManifestSchema)}
	}

	// Read the documents. Their decoders limit memory, and load names the damaged file.
	if err := load(dir, ResultFile, &r.Document); err != nil {
		return nil, err
	}
	if s := r.Document.Schema; !HasSchema(s, Schema) {
		return nil, &PlaceError{dir, fmt.Sprintf("%s has schema %q, want %q", ResultFile, s, Schema)}
	}
	if err := load(dir, TimingsFile, &r.Timings); err != nil {
		return nil, err
	}
	if r.Scenario, err = readText(filepath.Join(dir, ScenarioFile)); err != nil {
		return nil, missingFile(dir, ScenarioFile, err)
	}
	if err := loadDetail(dir, &r.Detail); err != nil {
		return nil, err
	}

	// Verify the content, so that figures and reports need no checks of their own. Digests come
	// last, because the other checks name the wrong value.
	if err := r.Document.Check(); err != nil {
		return nil, corruptFile(dir, ResultFile, err)
	}
	if err := r.CheckMetrics(); err != nil {
		return nil, corruptFile(dir, ResultFile, err)
	}
	if err := r.Detail.Check(); err != nil {
		return nil, corruptFile(dir, DetailFile, err)
	}
	if err := r.Manifest.VerifySums(dir); err != nil {
		return nil, err
	}
	return r, nil
}

// HasSchema reports whether schema equals want or is a minor version of it.
func HasSchema(schema, want string) bool {
	return schema == want || strings.HasPrefix(schema, want+".")
}

// Load reads a JSON document of a run or sweep from a file, within the limits of Decode.
// into points to a Document, Detail, Sweep or similar. The error does not contain the
// path.
func Load(path string, into any) error {
	f, size, err := infile.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return Decode(f, size, into)
}

// ReadManifest reads the manifest of a directory. ok is false if the directory has no readable
// manifest with one of the schemas.
func ReadManifest(dir string, schemas ...string) (m Manifest, ok bool) {
	err := Load(filepath.Join(dir, ManifestFile), &m)
	return m, err == nil && slices.Contains(schemas, m.Schema)
}

// IsSweep reports whether dir is the directory of a sweep, finished or not.
func IsSweep(dir string) bool {
	_, ok := ReadManifest(dir, SweepManifestSchema)
	return ok
}

// IsResult reports whether dir is the directory of a run or a sweep.
func IsResult(dir string) bool {
	_, ok := ReadManifest(dir, ManifestSchema, SweepManifestSchema)
	return ok
}

// load reads a document of a directory; its error names the file.
func load(dir, name string, into any) error {
	err := Load(filepath.Join(dir, name), into)
	var file *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &file):
		return missingFile(dir, name, err)
	}
	return corruptFile(dir, name, err)
}

// maxScenarioBytes is the largest stored scenario. A resolved scenario contains its input
// files of at most 4 MiB each.
const maxScenarioBytes = 64 << 20

// readText reads a text file.
func readText(path string) ([]byte, error) {
	f, size, err := infile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > maxScenarioBytes {
		return nil, fmt.Errorf("%w: more than %d MiB of text", errTooLarge, maxScenarioBytes>>20)
	}
	return io.ReadAll(io.LimitReader(f, maxScenarioBytes))
}

// maxUnpackRatio is the largest accepted ratio of a detail to its compressed size. Real
// ones have 5 to 8; a file made to exhaust memory has up to 1000.
const maxUnpackRatio = 32

// unusedSize is the size for decodeLimitsOf if the document is a Detail: the limits of a
// detail do not depend on the size of its file.
const unusedSize = 0

// loadDetail reads the detail, compressed or not.
func loadDetail(dir string, into *Detail) error {
	f, size, err := infile.Open(filepath.Join(dir, DetailGzip))
	if errors.Is(err, fs.ErrNotExist) {
		return load(dir, DetailFile, into)
	}
	if err != nil {
		return missingFile(dir, DetailGzip, err)
	}
	defer f.Close()

	// The text may be as long as a plain detail, plus what gzip reaches on real details.
	lim := decodeLimitsOf(into, unusedSize)
	lim.textBytes = min(lim.textBytes, maxPlainDetailBytes+maxUnpackRatio*size)
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err == nil {
		err = decode(z, into, lim)
	}
	if err != nil {
		return corruptFile(dir, DetailGzip, err)
	}
	return nil
}

// missingFile returns the error for a file that cannot be opened.
func missingFile(dir, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &PlaceError{dir, "is not a whole run: " + name + " is missing"}
	}
	return &PlaceError{dir, "cannot read " + name + ": " + Reason(err)}
}

// corruptFile returns the error for a file with invalid content.
func corruptFile(dir, name string, err error) error {
	return &PlaceError{dir, name + " is corrupt: " + err.Error()}
}

// StoredResult is a finished run or sweep on disk.
type StoredResult struct {
	Dir string
	Manifest
}

// List returns the runs and finished sweeps directly below root, sorted by directory.
// Other directories are skipped.
func List(root string) []StoredResult {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil // none yet
	}
	var stored []StoredResult
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())

		// A directory that ends in ".tmp" and has the marker is an unfinished run. A sweep has
		// a benchmark file once it is finished.
		m, ok := ReadManifest(dir, ManifestSchema, SweepManifestSchema)
		_, err := os.Lstat(filepath.Join(dir, unfinishedFile))
		writing := err == nil && strings.HasSuffix(dir, ".tmp") // or killed
		if _, err := os.Stat(filepath.Join(dir, BenchFile)); ok && !writing && (m.Schema == ManifestSchema || err == nil) {
			stored = append(stored, StoredResult{dir, m})
		}
	}
	return stored
}

// Runs returns the results that are runs.
func Runs(stored []StoredResult) []StoredResult {
	return slices.DeleteFunc(slices.Clone(stored), func(k StoredResult) bool { return k.Schema != ManifestSchema })
}

// Scenarios returns the names of the scenarios, each once.
func Scenarios(stored []StoredResult) []string {
	var names []string
	for _, k := range stored {
		if !slices.Contains(names, k.Scenario) {
			names = append(names, k.Scenario)
		}
	}
	return names
}

// Latest returns the directory of the latest run or sweep of a scenario. It returns "" if the
// scenario has no stored result.
func Latest(stored []StoredResult, scenario string) string {
	best, newest := "", time.Time{}
	for _, k := range stored {
		if at := k.endTime(); k.Scenario == scenario && (best == "" || at.After(newest)) {
			best, newest = k.Dir, at
		}
	}
	return best
}

// endTime returns the end of a run, or the start if the manifest has no end.
func (m *Manifest) endTime() time.Time {
	for _, text := range []string{m.End, m.Start} {
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return at
		}
	}
	return time.Time{}
}
