// This file writes run directories atomically: a directory is absent or complete, even
// if the process is killed.

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
	// unfinishedFile is the locked file that marks <dir>.tmp as the directory of an
	// unfinished run.
	unfinishedFile = ".unfinished"
	// replacedDir is the directory inside <dir>.tmp to which Commit moves the previous
	// run.
	replacedDir = ".replaced"
)

// A PlaceError states why a path cannot be read or written.
type PlaceError struct {
	Path string
	Why  string
}

// Error returns the path and the reason.
func (e *PlaceError) Error() string { return e.Path + ": " + e.Why }

// Dir is a run directory being written. Its files are in <dir>.tmp until Commit renames
// it, so <dir> is always absent or complete.
type Dir struct {
	path, tmp   string
	displayPath string      // path as the user gave it
	parents     CreatedDirs // created parent directories
	// lock is the locked unfinishedFile.
	lock     *os.File
	manifest *Manifest // set by Write; Commit adds the file list

	mu     sync.Mutex // protects against a command that is interrupted while it writes
	closed bool       // committed or aborted
}

// Claim identifies the result for which a directory is created.
type Claim struct {
	Scenario, Digest string // the name and a part of the digest identify the result in messages
	Force            bool   // replace the results of other scenarios
}

// Create claims path for a run and proves that it is writable, before anything is
// computed. A previous run with the same digest stays there until Commit; with Force, any
// run does. Other content, or a path that is not writable, is a *PlaceError.
func Create(path string, c Claim) (*Dir, error) {
	d := &Dir{displayPath: path}
	abs, err := realPath(path)
	if err != nil {
		return nil, d.writeError(err)
	}

	// Clear leftovers of killed runs before the check of path: a killed Commit may have moved
	// the previous run from path into tmp.
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

	// Create the directory of unfinished files. The lock lasts until Commit or Abort and is
	// released by the operating system if the process is killed.
	if d.parents, err = CreateDirs(filepath.Dir(d.path)); err != nil {
		return nil, d.writeError(err)
	}
	if err := os.Mkdir(d.tmp, 0o777); err != nil {
		d.tmp = "" // Abort must not remove it
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

// Replaces reports whether Commit replaces a previous run.
func (d *Dir) Replaces() bool {
	_, err := os.Lstat(filepath.Join(d.path, ManifestFile))
	return err == nil
}

// removeStaleTmp removes <dir>.tmp if a killed run left it. If that run was about to
// replace a previous run, the previous run is restored.
func (d *Dir) removeStaleTmp() error {
	if _, err := os.Lstat(d.tmp); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return d.writeError(err)
	}

	// A directory without the marker belongs to somebody else, unless it is empty: then a run
	// was killed before it created the marker.
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

	// A process that still holds the lock is alive.
	if !Lock(f) {
		return d.busyError()
	}

	// Restore the previous run, if Commit was killed between its two renames.
	if _, err := os.Lstat(d.path); errors.Is(err, fs.ErrNotExist) {
		os.Rename(filepath.Join(d.tmp, replacedDir), d.path) // fails if no run was replaced
	}

	// Windows does not remove directories with open files.
	if !canRenameOpen {
		f.Close()
	}
	if err := os.RemoveAll(d.tmp); err != nil {
		return d.writeError(err)
	}
	return nil
}

// finishKilledCommit completes a Commit that was killed.
func (d *Dir) finishKilledCommit() error {
	if _, run := ReadManifest(d.path, ManifestSchema); !run {
		return nil
	}

	// The marker in a complete run means that Commit had renamed the directory, but had not
	// moved the foreign files yet.
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

// finishReplace moves foreign files from the replaced run into the run at path, and
// removes the rest of the replaced run.
func finishReplace(path string) error {
	replacedPath := filepath.Join(path, replacedDir)
	if _, err := os.Lstat(replacedPath); err == nil {
		if err := preserveForeignFiles(replacedPath, path); err != nil {
			return err
		}
		if err := os.RemoveAll(replacedPath); err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(path, unfinishedFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// realPath returns path without symbolic links and "..". Components that do not exist are
// kept.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}

	// Resolve the longest existing prefix of the path, and append the rest.
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

// obstacle states why a run cannot be created at path, or returns "".
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

	// A previous run may be replaced by the same scenario. An empty directory may be used, too.
	if m, ok := ReadManifest(path, ManifestSchema); ok {
		return c.Conflict(m)
	}
	if entries, err := os.ReadDir(path); err != nil || len(entries) > 0 {
		return "is a directory that holds no run (it has no manifest.json of one), so it is not replaced; choose another with --out"
	}
	return ""
}

// Conflict states why the directory with manifest m may not be claimed, or returns "".
func (c Claim) Conflict(m Manifest) string {
	if c.Force || m.Digest == c.Digest {
		return ""
	}
	name := func(scenario, digest string) string { return fmt.Sprintf("%s-%.10s", scenario, digest) }
	return fmt.Sprintf("holds %s, and this is %s: another scenario, other keys or another seed; replace it with --force, or choose another directory with --out",
		name(m.Scenario, m.Digest), name(c.Scenario, c.Digest))
}

// CreatedDirs are directories created by CreateDirs, innermost first.
type CreatedDirs []string

// CreateDirs creates a directory and its missing parents. On failure it removes those
// that it created.
func CreateDirs(path string) (CreatedDirs, error) {
	// Collect the missing directories, from path towards the root.
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

// Remove removes the directories that are still empty.
func (m CreatedDirs) Remove() {
	for _, p := range m {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return // no longer empty
		}
	}
}

// Probe fails if no file can be created in the directory at path, which it creates if it
// is missing. It leaves nothing behind.
func Probe(path string) error {
	created, err := CreateDirs(path)
	if err != nil {
		return err
	}
	defer created.Remove()
	f, err := os.CreateTemp(path, ".probe-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Reason returns err without the operation and path that the os package adds.
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

// Unwritable returns the error for a path that cannot be written.
func Unwritable(path string, err error) error {
	return &PlaceError{path, "cannot be written: " + Reason(err)}
}

// Unreadable returns the error for a path that cannot be read.
func Unreadable(path string, err error) error {
	return &PlaceError{path, "cannot be read: " + Reason(err)}
}

// writeError returns the error for a run directory that cannot be written.
func (d *Dir) writeError(err error) error {
	return Unwritable(d.displayPath, err)
}

// busyError returns the error for a run directory that another process is writing.
func (d *Dir) busyError() error {
	return &PlaceError{d.displayPath, "another run is being written there; wait for it or choose another directory with --out"}
}

// Temp returns the directory of the run's files before Commit.
func (d *Dir) Temp() string { return d.tmp }

// Path returns the final directory, as it was given to Create.
func (d *Dir) Path() string { return d.displayPath }

// OutputPath returns the path at which to write a requested file before Commit. A path
// inside the run directory is mapped to Temp. It is a *PlaceError if the run itself
// writes a file of that name.
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

// Contains reports whether path is in the run directory or in Temp.
func (d *Dir) Contains(path string) bool {
	_, where, err := d.within(path)
	return err == nil && where != ""
}

// within returns which of the two directories contains path, and the name of path there.
// parent is "" if neither does.
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

// Commit makes the run visible and replaces a previous run at the same path. Files that
// the previous run did not write are preserved. The previous run is first moved into
// <dir>.tmp. If the process is killed between the two renames, a later Create restores
// it; if it is killed after them, a later Create completes the Commit.
func (d *Dir) Commit() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return fmt.Errorf("%s: the run was aborted", d.displayPath)
	}
	if d.manifest != nil {
		if err := d.writeManifest(); err != nil {
			return err
		}
	}

	// Move the previous run into the new directory, then the new directory into place. Each
	// rename is atomic.
	os.Remove(d.path) // removes an empty directory only
	replacedPath := filepath.Join(d.tmp, replacedDir)
	if err := os.Rename(d.path, replacedPath); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return d.commitError(err)
	}
	if !canRenameOpen {
		d.lock.Close()
	}
	if err := os.Rename(d.tmp, d.path); err != nil {
		os.Rename(replacedPath, d.path)
		return d.commitError(err)
	}

	// From here on the run is complete. Only foreign files of the replaced run are left to move.
	err := finishReplace(d.path)
	d.lock.Close()
	d.lock, d.parents, d.closed = nil, nil, true
	if err != nil {
		return fmt.Errorf("%s: the run is complete, but the replaced run remains in %s: %s", d.displayPath, replacedDir, Reason(err))
	}
	return nil
}

// writeManifest writes the manifest with the list of all files.
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

// commitError returns the error for a Commit that failed with err. The previous run is unchanged
// then.
func (d *Dir) commitError(err error) error {
	return fmt.Errorf("%s: the run could not be put in place: %s", d.displayPath, Reason(err))
}

// Abort removes the written files and the created parent directories. After Commit it
// does nothing, so it can be deferred.
func (d *Dir) Abort() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lock != nil {
		d.lock.Close()
		d.lock = nil
	}
	if d.tmp != "" && !d.closed {
		for range 3 { // again if another goroutine is still writing a file
			if os.RemoveAll(d.tmp) == nil {
				break
			}
		}
	}
	d.closed = true
	d.parents.Remove()
	d.parents = nil
}
