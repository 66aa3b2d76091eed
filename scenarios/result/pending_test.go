package result

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPending: a file is complete or absent; files left by killed processes for the same
// path are removed, and no others.
func TestPending(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "t.json")
	must(t, os.WriteFile(filepath.Join(dir, ".t.json-17"), nil, 0o666)) // of a killed process
	for _, name := range []string{"t.json.tmp", ".t.json-mine", ".t.json-", ".u.json-17"} {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
	}
	const others = ".t.json- .t.json-mine .u.json-17 t.json.tmp"
	first, err := CreatePending(path)
	must(t, err)
	second, err := CreatePending(path) // does not affect the first
	must(t, err)
	for i, p := range []*PendingFile{first, second} {
		if _, err := p.WriteString([]string{"one", "two"}[i]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is there before it is whole")
	}
	must(t, first.Commit())
	second.Abort()
	if data, err := os.ReadFile(path); err != nil || string(data) != "one" {
		t.Errorf("the file is %q, %v", data, err)
	}
	if got, want := entries(t, dir), others[:len(others)-len(" t.json.tmp")]+" t.json t.json.tmp"; got != want {
		t.Errorf("there is %s, want %s", got, want)
	}
}

// TestCommitFails: a file that cannot be moved to its path is an error and leaves nothing
// behind.
func TestCommitFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "t.json")
	must(t, os.Mkdir(path, 0o777))
	p, err := CreatePending(path)
	must(t, err)
	if err := p.Commit(); err == nil {
		t.Error("a file takes the place of a directory")
	}
	if got := entries(t, dir); got != "t.json" {
		t.Errorf("there is %s, want t.json", got)
	}
	if p, err = CreatePending(filepath.Join(dir, "other.json")); err == nil {
		must(t, p.Close())
		if err := p.Commit(); err == nil {
			t.Error("a file that is closed is committed")
		}
	}
	if got := entries(t, dir); got != "t.json" {
		t.Errorf("there is %s, want t.json", got)
	}
	if _, err := CreatePending(filepath.Join(dir, "none", "t.json")); err == nil {
		t.Error("a file is created in a directory that is not there")
	}
}
