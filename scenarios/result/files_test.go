package result

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func put(t *testing.T, path string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o777))
	must(t, os.WriteFile(path, []byte("mine"), 0o666))
}

// TestOthersStay: files that the replaced run did not write are preserved, wherever they
// are and whenever the commit is killed.
func TestOthersStay(t *testing.T) {
	others := []string{"notes.md", "plots/photo.png", "deep/er/notes.md", ".hidden", "links-mine.csv"}
	first := func(t *testing.T) (dir string, r *Run) {
		dir, r = filepath.Join(t.TempDir(), "run"), sample()
		r.Files = []File{{"links-dor.csv", nil}}
		keep(t, dir, r)
		for _, name := range others {
			put(t, filepath.Join(dir, name))
		}
		r.Files = nil
		return dir, r
	}
	check := func(t *testing.T, dir string) {
		t.Helper()
		for _, name := range others {
			if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != "mine" {
				t.Errorf("%s is lost: %v", name, err)
			}
		}
		for _, name := range []string{"links-dor.csv", replacedDir, unfinishedFile} {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				t.Errorf("%s is left", name)
			}
		}
		if _, err := Read(dir); err != nil {
			t.Error(err)
		}
	}
	t.Run("whole", func(t *testing.T) {
		dir, r := first(t)
		for range 2 {
			keep(t, dir, r)
			check(t, dir)
		}
	})
	t.Run("by a run that listed nothing", func(t *testing.T) {
		dir, r := first(t)
		m := sample().Manifest
		data, err := marshal(&m, "")
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, ManifestFile), data, 0o666))
		keep(t, dir, r)
		for _, name := range []string{"notes.md", "deep/er/notes.md", ".hidden"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "links-dor.csv")); err == nil {
			t.Error("a file that such a run may have written is left")
		}
	})
	t.Run("killed before the renames", func(t *testing.T) {
		dir, r := first(t)
		must(t, os.Mkdir(dir+".tmp", 0o777))
		must(t, os.WriteFile(filepath.Join(dir+".tmp", unfinishedFile), nil, 0o666))
		must(t, os.Rename(dir, filepath.Join(dir+".tmp", replacedDir)))
		keep(t, dir, r)
		check(t, dir)
	})
	t.Run("killed after the renames", func(t *testing.T) {
		for moved := range len(others) + 1 {
			dir, r := first(t)
			olderDir := dir + ".older"
			must(t, os.Rename(dir, olderDir))
			keep(t, dir, r)
			for _, name := range others[:moved] {
				must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777))
				must(t, os.Rename(filepath.Join(olderDir, name), filepath.Join(dir, name)))
			}
			must(t, os.Rename(olderDir, filepath.Join(dir, replacedDir)))
			must(t, os.WriteFile(filepath.Join(dir, unfinishedFile), nil, 0o666))
			d, err := Create(dir, Claim{Digest: r.Manifest.Digest})
			must(t, err)
			d.Abort()
			check(t, dir)
		}
	})
}

// TestClaim: the directory of another run is claimed only with Force.
func TestClaim(t *testing.T) {
	dir, r := filepath.Join(t.TempDir(), "run"), sample()
	keep(t, dir, r)
	_, err := Create(dir, Claim{Scenario: "tiny", Digest: "another"})
	if err == nil || !strings.Contains(err.Error(), "holds tiny-abc, and this is tiny-another: ") {
		t.Errorf("another run was to be replaced: %v", err)
	}
	if got := entries(t, filepath.Dir(dir)); got != "run" {
		t.Errorf("a refused run left %s", got)
	}
	for _, c := range []Claim{{Digest: r.Manifest.Digest}, {Digest: "another", Force: true}} {
		d, err := Create(dir, c)
		must(t, err)
		d.Abort()
	}
	other := filepath.Join(t.TempDir(), "other")
	put(t, filepath.Join(other, "notes.md"))
	if _, err := Create(other, Claim{Force: true}); err == nil || !strings.Contains(err.Error(), "holds no run") {
		t.Errorf("a directory that holds no run was claimed by force: %v", err)
	}
}

func TestPlace(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "real", "run")
	must(t, os.Mkdir(filepath.Join(root, "real"), 0o777))
	must(t, os.Symlink("real", filepath.Join(root, "link")))
	d, err := Create(dir, Claim{})
	must(t, err)
	defer d.Abort()
	for _, c := range []struct{ path, want string }{
		{filepath.Join(root, "t.json"), filepath.Join(root, "t.json")},
		{filepath.Join(dir, "t.json"), filepath.Join(dir+".tmp", "t.json")},
		{filepath.Join(root, "link", "run", "a", "..", "t.json"), filepath.Join(dir+".tmp", "t.json")},
		{filepath.Join(root, "link", "run", "a", "t.json"), filepath.Join(dir+".tmp", "a", "t.json")},
		{filepath.Join(dir, ResultFile), ""},
		{filepath.Join(dir, "plots", "nct.png"), ""},
		{filepath.Join(dir, "links-dor.csv"), ""},
		{filepath.Join(root, "link", "run.tmp", "t.json"), ""},
		{filepath.Join(root, "real", "runs", "t.json"), filepath.Join(root, "real", "runs", "t.json")},
	} {
		if got, err := d.OutputPath(c.path); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s goes to %q, %v; want %q", c.path, got, err, c.want)
		}
	}
}

func TestKeeper(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	keep(t, dir, sample())
	for name, want := range map[string]string{
		ResultFile: dir, "plots/nct.png": dir, "queues-dor.csv": dir, "cells.jsonl": dir, "notes.md": "", "plots/notes.md": "", "deep/result.json": "",
	} {
		if got := OwningDir(filepath.Join(dir, name)); got != want {
			t.Errorf("%s is kept by %q, want %q", name, got, want)
		}
	}
}
