package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestCheck gives a tree with one finding per rule kind and text that no rule matches.
func TestCheck(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	r, err := check(fstest.MapFS{
		"a/a.go":          file("package a\n\n// f sends what waits.\nfunc f(mostBytes int) {\n\twho, utmost := 1, \"so many\"\n}\n"),
		"a/b.go":          file("package a\n\ntype routeLists struct{ kept int }\n\ntype linkPacked int\n\ntype costMapping int\n"),
		"docs/x.md":       file("A fine line.\nThe load is that of the link, those that are down.\n"),
		"a/testdata/c.go": file("not Go"),
		".git/x.md":       file("so many"),
		"notes.txt":       file("so many"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.findings {
		got = append(got, strings.Join([]string{f.file, f.text}, " "))
	}
	want := []string{"a/a.go what waits", "a/a.go mostBytes", "a/a.go who", "a/b.go kept", "a/b.go linkPacked", "docs/x.md those that", "docs/x.md that of"}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("findings are %q, want %q", got, want)
	}
	if r.lines != 13 {
		t.Errorf("%d lines of Go, want 13", r.lines)
	}
	if f := r.findings[1]; f.line != 4 {
		t.Errorf("%s is reported on line %d, want 4", f.text, f.line)
	}
}

// TestBaseline checks two directories against a baseline. The count of the first falls, which
// lowers its limit. The count of the second rises, which fails and keeps its limit.
func TestBaseline(t *testing.T) {
	file := filepath.Join(t.TempDir(), "limits")
	tree := func(a, b int) fstest.MapFS {
		return fstest.MapFS{
			"a/x.md": {Data: []byte(strings.Repeat("so many ", a))},
			"b/x.md": {Data: []byte(strings.Repeat("so many ", b))},
		}
	}
	for _, step := range []struct {
		a, b   int
		write  bool
		err    string
		stored string
	}{
		{1, 2, false, "a: 1 findings, at most 0", ""},
		{1, 2, true, "", "a 1\nb 2\n"},
		{1, 2, false, "", "a 1\nb 2\n"},
		{0, 3, false, "b: 3 findings, at most 2", "a 1\nb 2\n"},
		{0, 3, true, "", "b 2\n"},
	} {
		err := run(io.Discard, tree(step.a, step.b), file, step.write, false)
		if step.err == "" && err != nil || step.err != "" && (err == nil || !strings.Contains(err.Error(), step.err)) {
			t.Errorf("with %d and %d findings the error is %v, want %q", step.a, step.b, err, step.err)
		}
		if stored, _ := os.ReadFile(file); string(stored) != step.stored {
			t.Errorf("with %d and %d findings the baseline is %q, want %q", step.a, step.b, stored, step.stored)
		}
	}
}
