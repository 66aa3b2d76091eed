// Package infile opens and reads the files that users name as inputs.
package infile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
)

// ErrIrregular is wrapped by the error for a path that names a FIFO, a device or a socket.
var ErrIrregular = errors.New("it is no regular file")

// Open opens a regular file for reading and returns its size in bytes. FIFOs, devices and
// sockets are rejected without being opened: opening a FIFO can block, and reading a device
// may never end.
func Open(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() { // reading a directory fails by itself
		return nil, 0, &fs.PathError{Op: "read", Path: path, Err: ErrIrregular}
	}
	f, err := os.Open(path)
	return f, info.Size(), err
}

// Read reads a regular file of at most maxBytes bytes. If the file is larger, Read returns its
// first maxBytes+1 bytes, so that the caller can detect it.
func Read(path string, maxBytes int) ([]byte, error) {
	f, size, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b bytes.Buffer
	b.Grow(int(min(size, int64(maxBytes))) + bytes.MinRead) // the file may grow while it is read, and files of /proc have size 0
	_, err = b.ReadFrom(io.LimitReader(f, int64(maxBytes)+1))
	return b.Bytes(), err
}
