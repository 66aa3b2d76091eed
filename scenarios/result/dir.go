package result

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// unfinished marks <dir>.tmp as made by a run, which holds it locked.
	unfinished = ".unfinished"
	// replaced is where Commit puts the older run inside <dir>.tmp.
	replaced = ".replaced"
)

// A PlaceError says why a path cannot be written to or read from.
type PlaceError struct {
	Path string
	Why  string
}

func (e *PlaceError) Error() string { return e.Path + ": " + e.Why }

// Dir is a run directory being written. Its files are put into <dir>.tmp, which
// Commit renames: whoever looks at <dir> sees a whole run or none.
type Dir struct {
	path, tmp string
	shown     string   // the path as the user gave it
	parents   []string // directories made above path, innermost first
	lock      *os.File
}

// Create claims path for a run and proves that it can be written, before
// anything is computed. An older run there stays until Commit; anything else
// there is a *PlaceError, as is a place that cannot be written.
func Create(path string) (*Dir, error) {
	d := &Dir{shown: path}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, d.fault(err)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	d.path, d.tmp = abs, abs+".tmp"
	if err := d.clearTmp(); err != nil {
		return nil, err
	}
	if why := inTheWay(d.path); why != "" {
		return nil, &PlaceError{path, why}
	}
	d.parents = missingParents(d.path)
	if err := os.MkdirAll(filepath.Dir(d.path), 0o777); err != nil {
		d.tmp = ""
		d.Abort()
		return nil, d.fault(err)
	}
	if err := os.Mkdir(d.tmp, 0o777); err != nil {
		d.tmp = "" // not ours to remove
		d.Abort()
		return nil, d.fault(err)
	}
	d.lock, err = os.Create(filepath.Join(d.tmp, unfinished))
	if err != nil {
		d.Abort()
		return nil, d.fault(err)
	}
	lock(d.lock)
	return d, nil
}

// clearTmp removes what a killed run left in <dir>.tmp, and nothing else. An
// older run that it was about to replace goes back to its place.
func (d *Dir) clearTmp() error {
	if _, err := os.Lstat(d.tmp); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return d.fault(err)
	}
	f, err := os.Open(filepath.Join(d.tmp, unfinished))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if os.Remove(d.tmp) == nil { // it was empty
			return nil
		}
		fallthrough
	case err != nil:
		return &PlaceError{d.shown + ".tmp", "is in the way of the run's unfinished files; move it or choose another directory with --out"}
	}
	defer f.Close()
	if !lock(f) {
		return &PlaceError{d.shown, "another run is being written there; wait for it or choose another directory with --out"}
	}
	if _, err := os.Lstat(d.path); errors.Is(err, fs.ErrNotExist) {
		os.Rename(filepath.Join(d.tmp, replaced), d.path) // fails where there is none
	}
	if err := os.RemoveAll(d.tmp); err != nil {
		return d.fault(err)
	}
	return nil
}

// inTheWay says what at path forbids a run there, "" when nothing does.
func inTheWay(path string) string {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return "cannot be written: " + reason(err)
	case !info.IsDir():
		return "is a file; a run needs a directory, choose another with --out"
	case isRun(path):
		return ""
	}
	if entries, err := os.ReadDir(path); err != nil || len(entries) > 0 {
		return "is a directory that holds no run (it has no manifest.json of one), so it is not replaced; choose another with --out"
	}
	return ""
}

func isRun(dir string) bool {
	m, ok := ReadManifest(dir)
	return ok && m.Schema == ManifestSchema
}

func missingParents(path string) []string {
	var out []string
	for p := filepath.Dir(path); ; p = filepath.Dir(p) {
		if _, err := os.Lstat(p); !errors.Is(err, fs.ErrNotExist) {
			return out
		}
		out = append(out, p)
	}
}

// reason is err without the operation and the path.
func reason(err error) string {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		return pe.Err.Error()
	case errors.As(err, &le):
		return le.Err.Error()
	}
	return err.Error()
}

func (d *Dir) fault(err error) error {
	return &PlaceError{d.shown, "cannot be written: " + reason(err)}
}

// Temp is where the files of the run go until Commit.
func (d *Dir) Temp() string { return d.tmp }

// Path is where the run will be after Commit, as it was given to Create.
func (d *Dir) Path() string { return d.shown }

// Commit makes the run visible, in place of an older one at the same path. The
// older one is moved into <dir>.tmp first, from where a later Create restores
// it should this process be killed between the two renames.
func (d *Dir) Commit() error {
	os.Remove(d.path) // an empty directory; a run is not empty and stays
	aside := filepath.Join(d.tmp, replaced)
	if err := os.Rename(d.path, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return d.commitFault(err)
	}
	if err := os.Rename(d.tmp, d.path); err != nil {
		os.Rename(aside, d.path)
		return d.commitFault(err)
	}
	os.RemoveAll(filepath.Join(d.path, replaced))
	err := os.Remove(filepath.Join(d.path, unfinished))
	d.lock.Close()
	d.tmp, d.lock, d.parents = "", nil, nil
	if err != nil {
		return d.commitFault(err)
	}
	return nil
}

func (d *Dir) commitFault(err error) error {
	return fmt.Errorf("%s: the run could not be put in place: %s", d.shown, reason(err))
}

// Abort removes what was written and the parent directories made for it. After
// Commit it does nothing, so it can be deferred.
func (d *Dir) Abort() {
	if d.lock != nil {
		d.lock.Close()
		d.lock = nil
	}
	if d.tmp != "" {
		os.RemoveAll(d.tmp)
		d.tmp = ""
	}
	for _, p := range d.parents {
		if os.Remove(p) != nil { // another run moved in
			break
		}
	}
	d.parents = nil
}
