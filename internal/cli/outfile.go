// This file writes single files that flags request, completely or not at all.

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

// outputFile is a file that a flag requests. It is opened before the simulation starts, and
// written completely or not at all.
type outputFile struct {
	// mu protects the fields below, because an interrupted command can be abandoned while it
	// writes.
	mu sync.Mutex
	// path is the file as given on the command line.
	path string
	// pending is the temporary file; nil if path is a device or a pipe.
	pending *result.PendingFile
	// device is the device or pipe; nil for a regular file.
	device *os.File
}

// createOutputFile opens the file path for writing. finalPath is where the file must be
// created now: it differs from path if path is in the directory of the run, which has a
// temporary name until the run is stored.
//
// The error is a *result.PlaceError if the file cannot be created, if it is one of the input
// files in read, or if it belongs to a stored result. Devices and pipes are written directly.
func createOutputFile(path, finalPath string, read []string) (*outputFile, error) {
	o := &outputFile{path: path}
	// Write devices directly, and other files under a temporary name.
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
			// Replace the target of a symbolic link, not the link.
			finalPath = real
		}
		o.pending, err = result.CreatePending(finalPath)
	}
	if err != nil {
		return nil, result.Unwritable(path, err)
	}
	return o, nil
}

// isDir reports whether path is an existing directory.
func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// checkReplaceable returns an error if an existing file must not be replaced. That protects the
// input files in read, TOML files (they may be scenarios) except fitted profiles, and the files
// of stored results.
func checkReplaceable(path string, info os.FileInfo, read []string) error {
	for _, name := range read {
		if in, err := os.Stat(name); err == nil && os.SameFile(in, info) {
			return &result.PlaceError{Path: path, Why: "is read as input; choose another file to write"}
		}
	}
	if filepath.Ext(path) == ".toml" && !isFittedProfile(path) {
		return &result.PlaceError{Path: path, Why: "is a TOML file, and only profiles that sim calibrate wrote are replaced; choose another file to write"}
	}
	if dir := result.OwningDir(path); dir != "" {
		return &result.PlaceError{Path: path, Why: "is a file of the results in " + dir + "; choose another file to write"}
	}
	return nil
}

// writeFile writes the file that a flag requests. fill writes the content. read lists the input
// files, which are not replaced. If the command is abandoned, the file is removed.
func (c *command) writeFile(path string, read []string, fill func(io.Writer) error) error {
	out, err := createOutputFile(path, path, read)
	if err != nil {
		return err
	}
	defer out.abort()
	c.cleanup.onAbandon(out.abort)
	return out.write(fill)
}

// write calls fill to write the content, and then commits the file.
func (o *outputFile) write(fill func(io.Writer) error) error { return o.commit(o.fill(fill)) }

// fill writes the content but does not commit the file.
func (o *outputFile) fill(fill func(io.Writer) error) error {
	o.mu.Lock()
	var w io.Writer = o.device
	if o.pending != nil {
		w = o.pending
	}
	o.mu.Unlock()
	// The lock is not held while the content is written, so that abort can remove the file.
	b := bufio.NewWriter(w)
	err := fill(b)
	if err == nil {
		err = b.Flush()
	}
	return err
}

// commit moves the completed file to its path. err is the error of fill; if it is not nil,
// commit removes the file instead and returns the error. After an abort, commit returns
// context.Canceled.
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

// abort removes the unfinished file. It does nothing on nil and after write.
func (o *outputFile) abort() {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.discard()
}

// discard is abort for a caller that holds the lock.
func (o *outputFile) discard() {
	switch {
	case o.pending != nil:
		o.pending.Abort()
	case o.device != nil:
		o.device.Close()
	}
	o.pending, o.device = nil, nil
}
