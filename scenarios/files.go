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

// files is where a scenario's other files are read: its bases, and those that keys name. Without carried files it is the
// disk of this machine. nil is the disk, too.
type files struct {
	carried map[string][]byte // by cleaned path with slashes, the only files that there are; nil for the disk
	found   map[string][]byte // notes each file that is read, if it is not nil
	asked   atomic.Bool       // whether any file was read
}

// cleaned returns the name of a carried file.
func cleaned(place string) string { return path.Clean(filepath.ToSlash(place)) }

// fromDisk reports whether files are read from this machine's disk.
func (f *files) fromDisk() bool { return f == nil || f.carried == nil }

// read returns the content of a file of at most maxBytes bytes. Of a larger one it returns at least a byte more.
func (f *files) read(place string, maxBytes int) ([]byte, error) {
	if !f.fromDisk() {
		data, ok := f.carried[cleaned(place)]
		if !ok {
			return nil, &fs.PathError{Op: "read", Path: place, Err: errNotCarried}
		}
		return data, nil
	}
	data, err := infile.Read(place, maxBytes)
	if f != nil && err == nil {
		if f.asked.Store(true); f.found != nil {
			f.found[cleaned(place)] = data
		}
	}
	return data, err
}

// exists reports whether there is a file at a place that is no directory.
func (f *files) exists(place string) bool {
	if !f.fromDisk() {
		_, ok := f.carried[cleaned(place)]
		return ok
	}
	info, err := os.Stat(place)
	return err == nil && !info.IsDir()
}

// errNotCarried is wrapped where a scenario that came from another machine names a file that did not come with it.
var errNotCarried = fmt.Errorf("it did not come with the scenario, which opens no file of this machine: %w", fs.ErrNotExist)

// Carried returns the files that the resolved scenario of s names, by their paths in it: with them ParseCarried reads it
// on a machine that has none of them.
func (s *Scenario) Carried() (map[string][]byte, error) {
	if s.files == nil || !s.files.asked.Load() {
		return nil, nil
	}
	found := maps.Clone(s.files.carried)
	if found == nil {
		found = map[string][]byte{}
		c, faults := parse("cell.toml", s.TOML(), nil, &files{found: found})
		if faults != nil {
			return nil, faults
		}
		c.cell = true
		if _, err := c.finish(); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// ParseCarried reads a resolved scenario that came from another machine with the files that it names, and is one cell of a
// sweep: whether its policies can serve it is not asked, since a row that says so is a result there. It opens no file of
// this machine.
func ParseCarried(name string, data []byte, carried map[string][]byte) (*Scenario, error) {
	f := &files{carried: map[string][]byte{}}
	for place, content := range carried {
		f.carried[cleaned(place)] = content
	}
	c, faults := parse(name, data, nil, f)
	if faults != nil {
		return nil, faults
	}
	c.cell = true
	return c.finish()
}
