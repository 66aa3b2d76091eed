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
	"strings"
	"time"
)

// Read reads a run directory. A directory that is missing, half-written or
// corrupt is a *PlaceError that names the file at fault.
func Read(dir string) (*Run, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &PlaceError{dir, "there is no such run directory"}
	case err != nil:
		return nil, &PlaceError{dir, "cannot be read: " + reason(err)}
	case !info.IsDir():
		return nil, &PlaceError{dir, "is a file, not a run directory"}
	}
	r := &Run{Dir: dir}
	if _, err := os.Stat(filepath.Join(dir, ManifestFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, &PlaceError{dir, "is no run directory: it has no " + ManifestFile}
	}
	if err := load(dir, ManifestFile, &r.Manifest); err != nil {
		return nil, err
	}
	if r.Manifest.Schema != ManifestSchema {
		return nil, &PlaceError{dir, fmt.Sprintf("%s has schema %q, want %q", ManifestFile, r.Manifest.Schema, ManifestSchema)}
	}
	if err := load(dir, ResultFile, &r.Document); err != nil {
		return nil, err
	}
	if s := r.Document.Schema; s != Schema && !strings.HasPrefix(s, Schema+".") {
		return nil, &PlaceError{dir, fmt.Sprintf("%s has schema %q, want %q", ResultFile, s, Schema)}
	}
	if err := load(dir, TimingsFile, &r.Timings); err != nil {
		return nil, err
	}
	if r.Scenario, err = readText(filepath.Join(dir, ScenarioFile)); err != nil {
		return nil, missing(dir, ScenarioFile, err)
	}
	if err := loadDetail(dir, &r.Detail); err != nil {
		return nil, err
	}
	if err := r.Document.Check(); err != nil {
		return nil, corrupt(dir, ResultFile, err)
	}
	if err := r.Detail.Check(); err != nil {
		return nil, corrupt(dir, DetailFile, err)
	}
	return r, nil
}

// Load reads a JSON document of a run or a sweep from a file, and no more of it than such a document can hold. into points to
// what it is: a Document, a Detail, a Sweep. The error does not name the file.
func Load(path string, into any) error {
	f, size, err := open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return Decode(f, size, into)
}

// ReadManifest reads the manifest of a run's or a sweep's directory; false where it has none.
func ReadManifest(dir string) (m Manifest, ok bool) {
	err := Load(filepath.Join(dir, ManifestFile), &m)
	return m, err == nil && (m.Schema == ManifestSchema || m.Schema == SweepManifestSchema)
}

// load reads a document of a directory.
func load(dir, name string, into any) error {
	err := Load(filepath.Join(dir, name), into)
	var file *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &file):
		return missing(dir, name, err)
	}
	return corrupt(dir, name, err)
}

// mostScenario bounds a resolved scenario, which holds the files that it was made of, of 4 MiB each.
const mostScenario = 64 << 20

// readText reads a file that is not JSON.
func readText(path string) ([]byte, error) {
	f, size, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > mostScenario {
		return nil, fmt.Errorf("%w: more than %d MiB of text", errLarge, mostScenario>>20)
	}
	return io.ReadAll(io.LimitReader(f, mostScenario))
}

// open opens a file of a run or sweep for reading: no device or pipe, which might never end.
func open(path string) (f *os.File, size int64, err error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("it is no regular file")}
	}
	if err != nil {
		return nil, 0, err
	}
	f, err = os.Open(path)
	return f, info.Size(), err
}

// mostPacked is the most that a byte of a compressed detail unpacks to. Of runs it is 5 to 8 bytes, of what is made to fill
// the memory up to 1000.
const mostPacked = 32

func loadDetail(dir string, into *Detail) error {
	f, size, err := open(filepath.Join(dir, DetailGzip))
	if errors.Is(err, fs.ErrNotExist) {
		return load(dir, DetailFile, into)
	}
	if err != nil {
		return missing(dir, DetailGzip, err)
	}
	defer f.Close()
	most := limitsOf(into, 0)
	most.text = min(most.text, detailLimit+mostPacked*size)
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err == nil {
		err = decode(z, into, most)
	}
	if err != nil {
		return corrupt(dir, DetailGzip, err)
	}
	return nil
}

func missing(dir, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &PlaceError{dir, "is not a whole run: " + name + " is missing"}
	}
	return &PlaceError{dir, "cannot read " + name + ": " + reason(err)}
}

func corrupt(dir, name string, err error) error {
	return &PlaceError{dir, name + " is corrupt: " + err.Error()}
}

// List returns the manifests of the runs directly under root by directory, in
// order of their directories. What is no run is passed over.
func List(root string) (dirs []string, manifests []Manifest) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, nil
	}
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		if _, err := os.Lstat(filepath.Join(dir, unfinished)); err == nil && strings.HasSuffix(dir, ".tmp") {
			continue // still being written, or killed
		}
		if m, ok := ReadManifest(dir); ok && m.Schema == ManifestSchema {
			dirs, manifests = append(dirs, dir), append(manifests, m)
		}
	}
	return dirs, manifests
}

// Latest returns the directory of the newest run of a scenario under root, ""
// when there is none.
func Latest(root, scenario string) string {
	best, at := "", time.Time{}
	dirs, manifests := List(root)
	for i, m := range manifests {
		end, err := time.Parse(time.RFC3339Nano, m.End)
		if m.Scenario == scenario && err == nil && (best == "" || end.After(at)) {
			best, at = dirs[i], end
		}
	}
	return best
}
