package result

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// readLimit bounds a decompressed detail: a corrupt file must not fill memory.
const readLimit = 4 << 30

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
	if r.Scenario, err = os.ReadFile(filepath.Join(dir, ScenarioFile)); err != nil {
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

func load(dir, name string, into any) error {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return missing(dir, name, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return corrupt(dir, name, err)
	}
	return nil
}

func loadDetail(dir string, into *Detail) error {
	data, err := os.ReadFile(filepath.Join(dir, DetailGzip))
	if errors.Is(err, fs.ErrNotExist) {
		return load(dir, DetailFile, into)
	}
	if err != nil {
		return missing(dir, DetailGzip, err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return corrupt(dir, DetailGzip, err)
	}
	plain, err := io.ReadAll(io.LimitReader(z, readLimit))
	if err != nil {
		return corrupt(dir, DetailGzip, err)
	}
	if err := json.Unmarshal(plain, into); err != nil {
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
		var m Manifest
		if _, err := os.Lstat(filepath.Join(dir, unfinished)); err == nil && strings.HasSuffix(dir, ".tmp") {
			continue // still being written, or killed
		}
		if load(dir, ManifestFile, &m) == nil && m.Schema == ManifestSchema {
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
