//go:build unix

package infile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRead: regular files and symbolic links to them are read up to the limit. A FIFO without
// a writer and an endless device are rejected immediately.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.WriteFile(path("file"), []byte("some text"), 0o666), os.Symlink("file", path("link")),
		syscall.Mkfifo(path("fifo"), 0o666), os.Symlink("/dev/zero", path("zero")),
	); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"file": "some te", "link": "some te"} {
		if got, err := Read(path(name), 6); string(got) != want || err != nil {
			t.Errorf("%s: got %q and error %v, want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"fifo", "zero"} {
		begun := time.Now()
		if got, err := Read(path(name), 6); !errors.Is(err, ErrIrregular) || len(got) > 0 {
			t.Errorf("%s: got %q and error %v, want %v", name, got, err, ErrIrregular)
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("%s: took %v, want less than a second", name, took)
		}
	}
	if _, err := Read(path("none"), 6); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "none") {
		t.Errorf("a missing file: %v, want os.ErrNotExist", err)
	}
}
