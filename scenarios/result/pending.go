// This file writes files that other processes see only once they are complete.

package result

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// PendingFile is a file that becomes visible completely or not at all. It is written
// under a hidden name in the same directory, .NAME-NUMBER, and locked. The lock
// distinguishes files being written from files left by killed processes.
type PendingFile struct {
	*os.File
	path string // final path
}

// canRenameOpen reports whether an open file can be renamed. If so, the lock is held
// until the file has its final name.
const canRenameOpen = runtime.GOOS != "windows"

// maxTries is the number of random hidden names that are tried.
const maxTries = 100

// CreatePending opens a file that Commit moves to path. The directory must exist. Files
// left by killed processes for the same path are removed.
func CreatePending(path string) (*PendingFile, error) {
	RemoveStale(path)
	var f *os.File
	var err error
	for range maxTries {
		hidden := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s-%d", filepath.Base(path), rand.Uint32()))
		if f, err = os.OpenFile(hidden, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666); errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if Lock(f) && isSameFile(f, hidden) { // else another process has removed it as stale
			return &PendingFile{f, path}, nil
		}
		f.Close()
		err = fs.ErrExist
	}
	return nil, err
}

// Commit moves the file to its path and replaces an existing one. If it fails, nothing is
// left behind.
func (p *PendingFile) Commit() error {
	err := p.Sync() // reports the errors of Close while the file is still locked
	if err == nil && !canRenameOpen {
		err = p.Close()
	}
	if err == nil {
		err = os.Rename(p.Name(), p.path)
	}
	if err != nil {
		p.Abort()
		return err
	}
	if canRenameOpen {
		return p.Close()
	}
	return nil
}

// Abort removes the file. It must not follow Commit.
func (p *PendingFile) Abort() {
	if !canRenameOpen { // an open file cannot be removed either
		p.Close()
	}
	os.Remove(p.Name())
	p.Close()
}

// RemoveStale removes hidden files for path that killed processes left. It removes
// nothing if the file system has no locks, because stale files cannot be recognised
// there.
func RemoveStale(path string) {
	dir, base := filepath.Dir(path), filepath.Base(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // a later write reports the error
	}
	for _, e := range entries {
		// Hidden names are .NAME-NUMBER. Other files in the directory are left alone.
		number, ok := strings.CutPrefix(e.Name(), "."+base+"-")
		if !ok || number == "" || strings.Trim(number, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_RDWR, 0)
		if err != nil {
			continue
		}

		// The writing process holds the lock. If this process gets it, the writer was killed.
		stale := lockIfSupported(f)
		if stale && canRenameOpen {
			os.Remove(f.Name())
		}
		f.Close()
		if stale {
			os.Remove(f.Name())
		}
	}
}

// isSameFile reports whether path is still a name of f.
func isSameFile(f *os.File, path string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	stored, err := os.Lstat(path)
	return err == nil && os.SameFile(opened, stored)
}
