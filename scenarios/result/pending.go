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

// PendingFile is a file that comes to be whole or not at all: it is written under a hidden name beside its place,
// .NAME-NUMBER, and locked, so that what a killed process left can be told from what another is writing.
type PendingFile struct {
	*os.File
	path string
}

// canRenameOpen tells that a file may be renamed while it is open, and so is ours until it is in its place.
const canRenameOpen = runtime.GOOS != "windows"

// maxTries bounds the names that are tried for a hidden file.
const maxTries = 100

// CreatePending opens a file that Commit puts at path. Its directory must exist. What killed processes left on their
// way to path is removed.
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
		if Lock(f) && isSameFile(f, hidden) { // else another process has just taken it for stale
			return &PendingFile{f, path}, nil
		}
		f.Close()
		err = fs.ErrExist
	}
	return nil, err
}

// Commit puts the file in place of any that is there. On failure it leaves nothing behind.
func (p *PendingFile) Commit() error {
	err := p.Sync() // tells what a close would, while the file is still ours
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

// Abort leaves nothing behind. It must not follow Commit.
func (p *PendingFile) Abort() {
	if !canRenameOpen { // nor removes
		p.Close()
	}
	os.Remove(p.Name())
	p.Close()
}

// RemoveStale removes what killed processes left on their way to path. Where the file system has no locks, and so
// nothing tells these from files that are being written, it removes nothing.
func RemoveStale(path string) {
	dir, base := filepath.Dir(path), filepath.Base(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // whoever writes there tells
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), "."+base+"-")
		if !ok || number == "" || strings.Trim(number, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		stale := lockedSurely(f)
		if stale && canRenameOpen {
			os.Remove(f.Name())
		}
		f.Close()
		if stale {
			os.Remove(f.Name())
		}
	}
}

// isSameFile reports whether path still names f.
func isSameFile(f *os.File, path string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	stored, err := os.Lstat(path)
	return err == nil && os.SameFile(opened, stored)
}
