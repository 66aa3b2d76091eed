// This file abstracts the file system for scenarios. A worker of a distributed sweep
// receives a scenario with all files that it names, and must not open others.

package scenarios

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"sync/atomic"

	"sim/internal/infile"
)

// fileSet is the source of the files that belong to a scenario: its bases and the files
// that its keys name. With contents it is closed: no other file exists. Without contents,
// or if it is nil, it is the disk of this machine.
type fileSet struct {
	contents map[string][]byte // by cleaned path with slashes; nil for the disk
	recorded map[string][]byte // every file that was read; nil if files are not recorded
	wasRead  atomic.Bool       // whether any file was read from the disk
}

// cleanPath returns the key of a file in contents and recorded.
func cleanPath(name string) string { return path.Clean(filepath.ToSlash(name)) }

// readsDisk reports whether files are read from this machine's disk.
func (f *fileSet) readsDisk() bool { return f == nil || f.contents == nil }

// read returns the content of a file of at most maxBytes bytes. For a larger file it
// returns more than maxBytes bytes, so that the caller can reject it.
func (f *fileSet) read(name string, maxBytes int) ([]byte, error) {
	if !f.readsDisk() {
		data, ok := f.contents[cleanPath(name)]
		if !ok {
			return nil, &fs.PathError{Op: "read", Path: name, Err: errNotCarried}
		}
		return data, nil
	}

	data, err := infile.Read(name, maxBytes)

	// Record the file, so that it can be sent with the scenario.
	if f != nil && err == nil {
		if f.wasRead.Store(true); f.recorded != nil {
			f.recorded[cleanPath(name)] = data
		}
	}
	return data, err
}

// exists reports whether there is a file with that name that is not a directory.
func (f *fileSet) exists(name string) bool {
	if !f.readsDisk() {
		_, ok := f.contents[cleanPath(name)]
		return ok
	}
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

// errNotCarried is wrapped if a scenario from another machine names a file that was not
// sent with it.
var errNotCarried = fmt.Errorf(
	"it did not come with the scenario, which opens no file of this machine: %w",
	fs.ErrNotExist,
)

// CarriedFiles returns the files that the resolved scenario s names, by their paths in it.
// ParseWithFiles reads s with them on a machine that has none of them.
func (s *Scenario) CarriedFiles() (map[string][]byte, error) {
	if s.files == nil || !s.files.wasRead.Load() {
		return nil, nil
	}

	// Files of the disk are found by reading the resolved scenario once more.
	found := maps.Clone(s.files.contents)
	if found == nil {
		found = map[string][]byte{}
		c, faults := parse("cell.toml", s.TOML(), noOverrides, &fileSet{recorded: found})
		if faults != nil {
			return nil, faults
		}

		c.isCell = true
		if _, err := c.finish(); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// ParseWithFiles reads a resolved scenario from another machine, with the files that it
// names. It opens no file of this machine. The scenario is one cell of a sweep, so it is
// accepted even if its policies cannot serve it; the row of such a policy holds the reason.
func ParseWithFiles(name string, data []byte, contents map[string][]byte) (*Scenario, error) {
	f := &fileSet{contents: map[string][]byte{}}
	for fileName, content := range contents {
		f.contents[cleanPath(fileName)] = content
	}
	c, faults := parse(name, data, noOverrides, f)
	if faults != nil {
		return nil, faults
	}
	c.isCell = true
	return c.finish()
}
