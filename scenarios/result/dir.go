package result

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"sim/internal/infile"
)

const (
	// unfinishedFile marks <dir>.tmp as made by a run, which holds it locked.
	unfinishedFile = ".unfinished"
	// replacedDir is where Commit puts the older run inside <dir>.tmp.
	replacedDir = ".replaced"
)

// A PlaceError says why a path cannot be written to or read from.
type PlaceError struct {
	Path string
	Why  string
}

func (e *PlaceError) Error() string { return e.Path + ": " + e.Why }

// Dir is a run directory being written. Its files are put into <dir>.tmp, which Commit renames: whoever looks at <dir>
// sees a whole run or none.
type Dir struct {
	path, tmp   string
	displayPath string      // the path as the user gave it
	parents     CreatedDirs // above path
	lock        *os.File
	manifest    *Manifest // once Write has it; Commit adds the files

	mu     sync.Mutex // an interrupted command may be abandoned while it writes
	closed bool       // committed or aborted
}

// Claim says whose directory is created.
type Claim struct {
	Scenario, Digest string // of the run or sweep; a name with part of a digest tells it from others
	Force            bool   // to take the place of another's results
}

// Create claims path for a run and proves that it can be written, before anything is computed. An older run of the same
// digest, or with Force of any, stays there until Commit; anything else there is a *PlaceError, as is a place that
// cannot be written.
func Create(path string, c Claim) (*Dir, error) {
	d := &Dir{displayPath: path}
	abs, err := realPath(path)
	if err != nil {
		return nil, d.writeError(err)
	}
	d.path, d.tmp = abs, abs+".tmp"
	if err := d.removeStaleTmp(); err != nil {
		return nil, err
	}
	if why := obstacle(d.path, c); why != "" {
		return nil, &PlaceError{path, why}
	}
	if err := d.finishKilledCommit(); err != nil {
		return nil, err
	}
	if d.parents, err = CreateDirs(filepath.Dir(d.path)); err != nil {
		return nil, d.writeError(err)
	}
	if err := os.Mkdir(d.tmp, 0o777); err != nil {
		d.tmp = "" // not ours to remove
		d.Abort()
		return nil, d.writeError(err)
	}
	d.lock, err = os.Create(filepath.Join(d.tmp, unfinishedFile))
	if err != nil {
		d.Abort()
		return nil, d.writeError(err)
	}
	Lock(d.lock)
	return d, nil
}

// removeStaleTmp removes what a killed run left in <dir>.tmp, and nothing else. An older run that it was about to replace
// goes back to its place.
func (d *Dir) removeStaleTmp() error {
	if _, err := os.Lstat(d.tmp); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return d.writeError(err)
	}
	f, _, err := infile.Open(filepath.Join(d.tmp, unfinishedFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if os.Remove(d.tmp) == nil { // it was empty
			return nil
		}
		fallthrough
	case err != nil:
		return &PlaceError{d.displayPath + ".tmp", "is in the way of the run's unfinished files; move it or choose another directory with --out"}
	}
	defer f.Close()
	if !Lock(f) {
		return d.busyError()
	}
	if _, err := os.Lstat(d.path); errors.Is(err, fs.ErrNotExist) {
		os.Rename(filepath.Join(d.tmp, replacedDir), d.path) // fails where there is none
	}
	if !canRenameOpen {
		f.Close()
	}
	if err := os.RemoveAll(d.tmp); err != nil {
		return d.writeError(err)
	}
	return nil
}

// finishKilledCommit does what a Commit that was killed left to be done.
func (d *Dir) finishKilledCommit() error {
	if _, run := ReadManifest(d.path, ManifestSchema); !run {
		return nil
	}
	if f, _, err := infile.Open(filepath.Join(d.path, unfinishedFile)); err == nil {
		defer f.Close()
		if !Lock(f) {
			return d.busyError()
		}
		if !canRenameOpen {
			f.Close()
		}
	}
	if err := finishReplace(d.path); err != nil {
		return d.writeError(err)
	}
	return nil
}

// finishReplace moves into the run at path what others had put into the run that it replaced, and removes the rest of that.
func finishReplace(path string) error {
	aside := filepath.Join(path, replacedDir)
	if _, err := os.Lstat(aside); err == nil {
		if err := preserveForeignFiles(aside, path); err != nil {
			return err
		}
		if err := os.RemoveAll(aside); err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(path, unfinishedFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// realPath returns path without symbolic links and "..", as far as it exists.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for dir := abs; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest), nil
		}
		if filepath.Dir(dir) == dir {
			return abs, nil
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// obstacle says what at path forbids a run there, "" when nothing does.
func obstacle(path string, c Claim) string {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return "cannot be written: " + Reason(err)
	case !info.IsDir():
		return "is a file; a run needs a directory, choose another with --out"
	}
	if m, ok := ReadManifest(path, ManifestSchema); ok {
		return c.Conflict(m)
	}
	if entries, err := os.ReadDir(path); err != nil || len(entries) > 0 {
		return "is a directory that holds no run (it has no manifest.json of one), so it is not replaced; choose another with --out"
	}
	return ""
}

// Conflict says why the directory of a manifest may not be claimed, "" where it may.
func (c Claim) Conflict(m Manifest) string {
	if c.Force || m.Digest == c.Digest {
		return ""
	}
	name := func(scenario, digest string) string { return fmt.Sprintf("%s-%.10s", scenario, digest) }
	return fmt.Sprintf("holds %s, and this is %s: another scenario, other keys or another seed; replace it with --force, or choose another directory with --out",
		name(m.Scenario, m.Digest), name(c.Scenario, c.Digest))
}

// CreatedDirs are directories that were made for something to be put into, innermost first.
type CreatedDirs []string

// CreateDirs makes a directory and those above it that are missing. On failure it leaves none that it made.
func CreateDirs(path string) (CreatedDirs, error) {
	var m CreatedDirs
	for p := path; ; p = filepath.Dir(p) {
		if _, err := os.Lstat(p); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		m = append(m, p)
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		m.Remove()
		return nil, err
	}
	return m, nil
}

// Remove removes those that nothing was put into.
func (m CreatedDirs) Remove() {
	for _, p := range m {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return // something moved in
		}
	}
}

// Probe fails where nothing can be written into the directory at path, made if it is missing. It leaves nothing behind.
func Probe(path string) error {
	made, err := CreateDirs(path)
	if err != nil {
		return err
	}
	defer made.Remove()
	f, err := os.CreateTemp(path, ".probe-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Reason returns err without the operation and the path that the os package puts into it.
func Reason(err error) string {
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

// Unwritable is the error of a place that cannot be written.
func Unwritable(path string, err error) error {
	return &PlaceError{path, "cannot be written: " + Reason(err)}
}

// Unreadable is the error of a place that cannot be read.
func Unreadable(path string, err error) error {
	return &PlaceError{path, "cannot be read: " + Reason(err)}
}

func (d *Dir) writeError(err error) error {
	return Unwritable(d.displayPath, err)
}

func (d *Dir) busyError() error {
	return &PlaceError{d.displayPath, "another run is being written there; wait for it or choose another directory with --out"}
}

// Temp is where the files of the run go until Commit.
func (d *Dir) Temp() string { return d.tmp }

// Path is where the run will be after Commit, as it was given to Create.
func (d *Dir) Path() string { return d.displayPath }

// OutputPath returns where to write, before Commit, a file that is asked for at path: there, or where that lies in the run's
// directory, in Temp. It is a *PlaceError where the run itself keeps a file of that name.
func (d *Dir) OutputPath(path string) (string, error) {
	name, where, err := d.within(path)
	switch {
	case err != nil:
		return "", Unwritable(path, err)
	case where == d.tmp:
		return "", &PlaceError{path, "lies where the run is written until it is whole; choose another place"}
	case where == "":
		return path, nil
	case isRunFile(name):
		return "", &PlaceError{path, "is a file of the run itself; choose another name"}
	}
	return filepath.Join(d.tmp, filepath.FromSlash(name)), nil
}

// Contains reports whether path lies in the run's directory, or where it is written until it is whole.
func (d *Dir) Contains(path string) bool {
	_, where, err := d.within(path)
	return err == nil && where != ""
}

// within returns in which of the run's directories path lies, "" where in neither, and its name there.
func (d *Dir) within(path string) (name, parent string, err error) {
	real, err := realPath(path)
	if err != nil {
		return "", "", err
	}
	for _, dir := range []string{d.path, d.tmp} {
		if name, err := filepath.Rel(dir, real); err == nil && filepath.IsLocal(name) {
			return filepath.ToSlash(name), dir, nil
		}
	}
	return "", "", nil
}

// Commit makes the run visible, in place of an older one at the same path, of which it keeps what that did not write.
// The older one is moved into <dir>.tmp first, from where a later Create restores it should this process be killed
// between the two renames; what is left to be done after these a later Create does.
func (d *Dir) Commit() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return fmt.Errorf("%s: the run was given up", d.displayPath)
	}
	if d.manifest != nil {
		if err := d.writeManifest(); err != nil {
			return err
		}
	}
	os.Remove(d.path) // an empty directory; a run is not empty and stays
	aside := filepath.Join(d.tmp, replacedDir)
	if err := os.Rename(d.path, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return d.commitError(err)
	}
	if !canRenameOpen {
		d.lock.Close()
	}
	if err := os.Rename(d.tmp, d.path); err != nil {
		os.Rename(aside, d.path)
		return d.commitError(err)
	}
	err := finishReplace(d.path)
	d.lock.Close()
	d.lock, d.parents, d.closed = nil, nil, true
	if err != nil {
		return fmt.Errorf("%s: the run is there, but what it replaced is left in %s: %s", d.displayPath, replacedDir, Reason(err))
	}
	return nil
}

// writeManifest writes the manifest, with the names of all files that are there.
func (d *Dir) writeManifest() error {
	var err error
	if d.manifest.Files, err = listFiles(d.tmp); err != nil {
		return d.commitError(err)
	}
	data, err := JSON(d.manifest)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(d.tmp, ManifestFile), data, 0o666); err != nil {
		return d.commitError(err)
	}
	return nil
}

func (d *Dir) commitError(err error) error {
	return fmt.Errorf("%s: the run could not be put in place: %s", d.displayPath, Reason(err))
}

// Abort removes what was written and the parent directories made for it. After Commit it does nothing, so it can be
// deferred.
func (d *Dir) Abort() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lock != nil {
		d.lock.Close()
		d.lock = nil
	}
	if d.tmp != "" && !d.closed {
		for range 3 { // where somebody still writes a file there, once more
			if os.RemoveAll(d.tmp) == nil {
				break
			}
		}
	}
	d.closed = true
	d.parents.Remove()
	d.parents = nil
}
