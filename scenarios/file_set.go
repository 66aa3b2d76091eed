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

// fileSet is where a scenario's other files are read: its bases, and those that keys name. Without carried files it is the
// disk of this machine. nil is the disk, too.
type fileSet struct {
	contents map[string][]byte // by cleaned path with slashes, the only files that there are; nil for the disk
	recorded map[string][]byte // notes each file that is read, if it is not nil
	wasRead  atomic.Bool       // whether any file was read
}

// cleanPath returns the name of a carried file.
func cleanPath(name string) string { return path.Clean(filepath.ToSlash(name)) }

// readsDisk reports whether files are read from this machine's disk.
func (f *fileSet) readsDisk() bool { return f == nil || f.contents == nil }

// read returns the content of a file of at most maxBytes bytes. Of a larger one it returns at least a byte more.
func (f *fileSet) read(name string, maxBytes int) ([]byte, error) {
	if !f.readsDisk() {
		data, ok := f.contents[cleanPath(name)]
		if !ok {
			return nil, &fs.PathError{Op: "read", Path: name, Err: errNotCarried}
		}
		return data, nil
	}
	data, err := infile.Read(name, maxBytes)
	if f != nil && err == nil {
		if f.wasRead.Store(true); f.recorded != nil {
			f.recorded[cleanPath(name)] = data
		}
	}
	return data, err
}

// exists reports whether there is a file at a place that is no directory.
func (f *fileSet) exists(name string) bool {
	if !f.readsDisk() {
		_, ok := f.contents[cleanPath(name)]
		return ok
	}
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

// errNotCarried is wrapped where a scenario that came from another machine names a file that did not come with it.
var errNotCarried = fmt.Errorf("it did not come with the scenario, which opens no file of this machine: %w", fs.ErrNotExist)

// CarriedFiles returns the files that the resolved scenario of s names, by their paths in it: with them ParseCarried reads it
// on a machine that has none of them.
func (s *Scenario) CarriedFiles() (map[string][]byte, error) {
	if s.files == nil || !s.files.wasRead.Load() {
		return nil, nil
	}
	found := maps.Clone(s.files.contents)
	if found == nil {
		found = map[string][]byte{}
		c, faults := parse("cell.toml", s.TOML(), nil, &fileSet{recorded: found})
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

// ParseWithFiles reads a resolved scenario that came from another machine with the files that it names, and is one cell of a
// sweep: whether its policies can serve it is not asked, since a row that says so is a result there. It opens no file of
// this machine.
func ParseWithFiles(name string, data []byte, contents map[string][]byte) (*Scenario, error) {
	f := &fileSet{contents: map[string][]byte{}}
	for fileName, content := range contents {
		f.contents[cleanPath(fileName)] = content
	}
	c, faults := parse(name, data, nil, f)
	if faults != nil {
		return nil, faults
	}
	c.isCell = true
	return c.finish()
}
