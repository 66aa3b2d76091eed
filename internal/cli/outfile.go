package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"sim/scenarios/result"
)

// outputFile is a file that a flag asks for, opened before the work begins and written whole or not at all.
type outputFile struct {
	mu      sync.Mutex      // an interrupted command may be abandoned while it writes
	path    string          // as it was given
	pending *result.Pending // nil where path is a device or pipe
	device  *os.File
}

// createOutputFile opens path, which is at a place of another name until the run's directory is. Where a file cannot be it is a
// *result.PlaceError, as where it is one of those that are read or that a run or sweep keeps. A device or pipe is written
// as it is.
func createOutputFile(path, finalPath string, read []string) (*outputFile, error) {
	o := &outputFile{path: path}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir() || isDir(finalPath):
		return nil, &result.PlaceError{Path: path, Why: "is a directory, not a file to write"}
	case err == nil && !info.Mode().IsRegular():
		o.device, err = os.OpenFile(path, os.O_WRONLY, 0)
	default:
		if err == nil {
			if err := checkReplaceable(path, info, read); err != nil {
				return nil, err
			}
		}
		if real, err := filepath.EvalSymlinks(finalPath); err == nil {
			finalPath = real // the link stays
		}
		o.pending, err = result.CreatePending(finalPath)
	}
	if err != nil {
		return nil, result.Unwritable(path, err)
	}
	return o, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// checkReplaceable fails where a file that is there must not be replaced: what is read, scenarios at large, and what results are
// of.
func checkReplaceable(path string, info os.FileInfo, read []string) error {
	for _, name := range read {
		if in, err := os.Stat(name); err == nil && os.SameFile(in, info) {
			return &result.PlaceError{Path: path, Why: "is read as input; choose another file to write"}
		}
	}
	if filepath.Ext(path) == ".toml" {
		return &result.PlaceError{Path: path, Why: "is a TOML file, which no output is; choose another file to write"}
	}
	if dir := result.Keeper(path); dir != "" {
		return &result.PlaceError{Path: path, Why: "is a file of the results in " + dir + "; choose another file to write"}
	}
	return nil
}

// writeFile writes the file that a flag of a command asks for, which read some.
func (c *command) writeFile(path string, read []string, fill func(io.Writer) error) error {
	out, err := createOutputFile(path, path, read)
	if err != nil {
		return err
	}
	defer out.abort()
	c.cleanup.onAbandon(out.abort)
	return out.write(fill)
}

// write fills the file and puts it in place.
func (o *outputFile) write(fill func(io.Writer) error) error { return o.commit(o.fill(fill)) }

// fill writes the file, and leaves it to commit to put it in place.
func (o *outputFile) fill(fill func(io.Writer) error) error {
	o.mu.Lock()
	var w io.Writer = o.device
	if o.pending != nil {
		w = o.pending
	}
	o.mu.Unlock()
	b := bufio.NewWriter(w)
	err := fill(b)
	if err == nil {
		err = b.Flush()
	}
	return err
}

// commit puts the file in place, or leaves nothing behind where filling it failed.
func (o *outputFile) commit(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.pending == nil && o.device == nil:
		return context.Canceled
	case err != nil:
	case o.pending != nil:
		err = o.pending.Commit()
		o.pending = nil
	default:
		err = o.device.Close()
		o.device = nil
	}
	if err != nil {
		o.discard()
		return errors.New(o.path + ": cannot be written: " + result.Reason(err))
	}
	return nil
}

// abort leaves nothing behind. After write, and on nil, it does nothing.
func (o *outputFile) abort() {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.discard()
}

// discard is abort for who holds the lock.
func (o *outputFile) discard() {
	switch {
	case o.pending != nil:
		o.pending.Abort()
	case o.device != nil:
		o.device.Close()
	}
	o.pending, o.device = nil, nil
}
