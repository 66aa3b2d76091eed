package compare

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// update rewrites the golden files: go test ./scenarios/compare -update
var update = flag.Bool("update", false, "rewrite golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.WriteFile(path, got, 0o666))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestWrite: every format equals its golden file, for two sets with every kind of
// difference, and for a set compared with itself.
func TestWrite(t *testing.T) {
	for _, c := range []struct {
		name     string
		old, new string
		view     View
	}{
		{"differ", "testdata/old.bench", "testdata/new.bench", View{}},
		{"all", "testdata/old.bench", "testdata/new.bench", View{All: true}},
		{"itself", "testdata/old.bench", "testdata/old.bench", View{}},
	} {
		found := compared(t, c.old, c.new, Options{FailOver: Rounding})
		for ext, write := range map[string]func() ([]byte, error){
			"txt": func() ([]byte, error) { var b bytes.Buffer; err := found.WriteText(&b, c.view); return b.Bytes(), err },
			"md": func() ([]byte, error) {
				var b bytes.Buffer
				err := found.WriteMarkdown(&b, c.view)
				return b.Bytes(), err
			},
			"csv":  func() ([]byte, error) { var b bytes.Buffer; err := found.WriteCSV(&b, c.view); return b.Bytes(), err },
			"json": func() ([]byte, error) { var b bytes.Buffer; err := found.WriteJSON(&b, c.view); return b.Bytes(), err },
		} {
			got, err := write()
			must(t, err)
			golden(t, c.name+"."+ext, got)
			if ext == "txt" {
				narrowLines(t, string(got))
			}
		}
	}
}

func compared(t *testing.T, previous, current string, o Options) *Comparison {
	t.Helper()
	a, err := Read(previous, nil)
	must(t, err)
	b, err := Read(current, nil)
	must(t, err)
	c, err := Compare(a, b, o)
	must(t, err)
	return c
}

// narrowLines fails on lines that are too wide for a terminal or end in spaces.
func narrowLines(t *testing.T, s string) {
	t.Helper()
	for _, l := range strings.Split(s, "\n") {
		if n := utf8.RuneCountInString(l); n > 110 {
			t.Errorf("a line is %d wide: %s", n, l)
		}
		if strings.TrimRight(l, " ") != l {
			t.Errorf("spaces at the end of: %q", l)
		}
	}
}
