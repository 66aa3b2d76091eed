package scenarios

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// carriedScenarios writes scenarios that name files in various keys. It returns their directory
// and, indexed by scenario file, the files that a cell of the scenario must carry. Files that
// are resolved into the scenario's own keys are not carried.
func carriedScenarios(t *testing.T) (dir string, list map[string][]string) {
	t.Helper()
	dir = t.TempDir()
	goal := "num_ranks 2\nrank 0 {\nl1: send 1000b to 1 tag 0\n}\nrank 1 {\nl1: recv 1000b from 0 tag 0\n}\n"
	torus := "[fabric]\nkind = \"torus\"\ndims = [2]\n"
	for name, text := range map[string]string{
		"t.goal": goal, "rank.0.goal": goal, "m.csv": "0,5\n7,0\n", "l.txt": "a b\nb a\n",
		"ranks.txt":   "1\n0\n",
		"trace.toml":  "[workload]\nkind = \"trace\"\nfiles = \"t.goal\"\n" + torus,
		"map.toml":    "[workload]\nkind = \"trace\"\nfiles = \"t.goal\"\n" + torus + "[policy]\nmapping = \"ranks.txt\"\n",
		"matrix.toml": "[workload]\nkind = \"matrix\"\nmatrix_file = \"m.csv\"\n" + torus,
		"graph.toml": `[workload]
kind = "all-to-all"
message = "1KB"
[fabric]
kind = "graph"
file = "l.txt"
`,
		"based.toml": "base = \"trace.toml\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}

	return dir, map[string][]string{
		"trace.toml": {"t.goal"}, "map.toml": {"t.goal"}, "matrix.toml": nil, "graph.toml": nil,
		"based.toml": {"t.goal"},
	}
}

// TestCarriedFiles checks that a resolved scenario with its carried files has the same cell key
// after the files are removed from the disk. Without its carried files it is rejected, whether
// or not they exist.
func TestCarriedFiles(t *testing.T) {
	dir, list := carriedScenarios(t)
	for name, want := range list {
		s, err := Load(filepath.Join(dir, name), nil)
		if err != nil {
			t.Fatal(err)
		}
		s = s.WithPolicy(s.PolicyNames()[0])
		carried, err := s.CarriedFiles()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, path := range slices.Sorted(maps.Keys(carried)) {
			got = append(got, filepath.Base(path))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got carried files %q, want %q", name, got, want)
		}
		if len(want) > 0 {
			if _, err := ParseWithFiles("cell.toml", s.TOML(), nil); !errors.Is(err, ErrInput) ||
				!strings.Contains(err.Error(), "opens no file of this machine") {
				t.Errorf("%s without its files: got error %v, want a rejection", name, err)
			}
			for path := range carried {
				if err := os.Rename(path, path+".gone"); err != nil {
					t.Fatal(err)
				}
				defer os.Rename(path+".gone", path)
			}
		}

		elsewhere, err := ParseWithFiles("cell.toml", s.TOML(), carried)
		if err != nil {
			t.Fatalf("%s: got error %v, want none", name, err)
		}
		if got, want := elsewhere.CellKey(), s.CellKey(); got != want {
			t.Errorf("%s with carried files: got cell %s, want %s", name, got, want)
		}
		for path := range carried {
			os.Rename(path+".gone", path)
		}
	}
}

// TestCarriedOpensNoFile checks that a scenario from another machine opens no local file,
// whichever key names it. The diagnostic is the same for an existing and a missing file, and
// contains nothing of the file.
func TestCarriedOpensNoFile(t *testing.T) {
	dir := t.TempDir()
	existing, missing := filepath.Join(dir, "there.toml"), filepath.Join(dir, "missing")
	if err := os.WriteFile(existing, []byte("secret = hunter2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	torus := "[fabric]\nkind = \"torus\"\ndims = [4, 4, 4]\n"
	for _, text := range []string{
		"base = \"FILE\"\n",
		"[workload]\nkind = \"trace\"\nfiles = [\"FILE\"]\n" + torus,
		"[workload]\nkind = \"trace\"\nfiles = [\"FILE%d\"]\n" + torus,
		`[workload]
kind = "trace"
format = "chakra"
files = ["FILE"]
groups = "FILE"
` + torus,
		"[workload]\nkind = \"matrix\"\nmatrix_file = \"FILE\"\n" + torus,
		`[workload]
kind = "all-to-all"
sizes = "FILE"
message = "1KB"
` + torus,
		`[workload]
kind = "all-to-all"
message = "1KB"
[fabric]
kind = "graph"
file = "FILE"
`,
		"base = \"training-torus\"\npolicy.mapping = \"FILE\"\n",
		"base = \"training-torus\"\npolicy.mappings = [\"FILE\"]\n",
		"base = \"gpt7b\"\npolicy.mapping = \"FILE\"\n",
		`base = "gpt7b"
[workload]
compute = "operators"
operators.file = "FILE"
`,
		"base = \"moe-scaleup\"\nworkload.sizes = \"FILE\"\n",
		"base = \"worked-example\"\nworkload.sizes = \"FILE\"\n",
		"base = \"worked-example\"\npolicy.planners = [\"imported\"]\npolicy.imported.file = \"FILE\"\n",
		"base = \"fleet\"\nworkload.arrivals = \"log\"\nworkload.log.file = \"FILE\"\n",
		"base = \"fleet\"\nworkload.faults.log.file = \"FILE\"\n",
		"base = \"fleet\"\nworkload.steps.scenarios = [\"FILE\"]\n",
		"base = \"twojobs\"\npolicy.mapping = \"FILE\"\n",
	} {
		var messages [2]string
		for i, file := range []string{existing, missing} {
			_, err := ParseWithFiles("cell.toml",
				[]byte(strings.ReplaceAll(text, "FILE", filepath.ToSlash(file))), nil)
			if !errors.Is(err, ErrInput) {
				t.Errorf("%s: got error %v, want a rejection", text, err)
				continue
			}
			messages[i] = strings.ReplaceAll(err.Error(), filepath.ToSlash(file), "FILE")
		}

		if messages[0] = strings.ReplaceAll(messages[0], "there.toml",
			"missing"); messages[0] != messages[1] || strings.Contains(messages[0], "hunter2") {
			t.Errorf("%s: diagnostics distinguish an existing file from a missing one, want "+
				"identical ones without content:\n%s\n%s", text, messages[0], messages[1])
		}
	}
}
