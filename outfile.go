package main

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"

	"sim/scenarios/result"
)

// outFile is a file that is written whole or not at all: its contents go to
// <path>.tmp, opened before the work begins, and are renamed after it.
type outFile struct {
	path string
	f    *os.File
	temp bool
}

// createFile opens path. Where a file cannot be it is a *result.PlaceError. A
// device or pipe is written as it is.
func createFile(path string) (*outFile, error) {
	o := &outFile{path: path}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, &result.PlaceError{Path: path, Why: "is a directory, not a file to write"}
	case err == nil && !info.Mode().IsRegular():
		o.f, err = os.OpenFile(path, os.O_WRONLY, 0)
	default:
		o.temp = true
		o.f, err = os.Create(path + ".tmp")
	}
	if err != nil {
		return nil, &result.PlaceError{Path: path, Why: "cannot be written: " + why(err)}
	}
	return o, nil
}

// write fills the file and puts it in place.
func (o *outFile) write(fill func(io.Writer) error) error {
	b := bufio.NewWriter(o.f)
	err := errors.Join(fill(b), b.Flush(), o.f.Close())
	if err == nil && o.temp {
		err = os.Rename(o.path+".tmp", o.path)
	}
	if err != nil {
		return errors.New(o.path + ": cannot be written: " + why(err))
	}
	o.f = nil
	return nil
}

// abort leaves nothing behind. After write, and on nil, it does nothing.
func (o *outFile) abort() {
	if o == nil || o.f == nil {
		return
	}
	o.f.Close()
	if o.temp {
		os.Remove(o.path + ".tmp")
	}
}

// why is err without the operation and the path.
func why(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
