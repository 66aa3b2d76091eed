package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sim/scenarios"
)

// allowedKindNames are places where the name of a kind of workload or fabric means something
// else. The values are those meanings.
var allowedKindNames = map[string]string{
	"internal/cli/completion.go trace":                   "a flag",
	"internal/cli/flags.go trace":                        "a flag",
	"internal/cli/run.go trace":                          "a flag",
	"internal/cli/workload_files.go trace":               "a flag",
	"plots/tiers.go tiers":                               "name of a figure",
	"policies/routing/optimise_pattern.go all-to-all":    "value of a key of a router",
	"scenarios/assembly/input/scaleup.go matrix":         "value of the key sizes",
	"scenarios/check_training.go experts":                "name of a key of models",
	"scenarios/machine_profiles.go experts":              "table of a profile",
	"scenarios/tag_names.go experts":                     "condition of keys of models",
	"scenarios/result/check.go graph":                    "part of a message",
	"scenarios/result/metric_table.go fleet":             "name of a figure",
	"scenarios/result/views.go tiers":                    "name of a label",
	"workloads/collective/patterns.go all-to-all":        "name of traffic in messages",
	"workloads/collective/patterns.go nearest-neighbour": "name of traffic in messages",
	"workloads/collective/patterns.go uniform-random":    "name of traffic in messages",
	"workloads/collective/permutation.go permutation":    "name of a stream of random numbers",
	"workloads/trace/aicb.go broadcast":                  "keyword of another tool's files",
	"workloads/trace/aicb.go reduce":                     "keyword of another tool's files",
	"workloads/trace/trace.go all-gather":                "operation of a trace",
	"workloads/trace/trace.go all-reduce":                "operation of a trace",
	"workloads/trace/trace.go all-to-all":                "operation of a trace",
	"workloads/trace/trace.go broadcast":                 "operation of a trace",
	"workloads/trace/trace.go reduce-scatter":            "operation of a trace",
	"workloads/training/calls.go all-gather":             "operation of a step",
	"workloads/training/calls.go all-reduce":             "operation of a step",
	"workloads/training/calls.go all-to-all":             "operation of a step",
	"workloads/training/calls.go reduce-scatter":         "operation of a step",
	"workloads/training/spec.go graph":                   "value of the key collectives",
}

// kindTag matches a condition in the tag of a key that names kinds.
var kindTag = regexp.MustCompile(`(?:workload|fabric)\.kind=([a-z|-]+)`)

// writesScenarios reports whether a package writes scenarios, which name kinds and policies as any
// scenario file does, or reads the names of calls in files of measurements.
func writesScenarios(path string) bool {
	return slices.Contains([]string{"scenarios/accuracy", "scenarios/calibration"}, filepath.ToSlash(path))
}

// TestKindNames checks that each kind of workload or fabric is named in one file only. Other
// code reads properties of its row, and tags refer to groups of kinds. Names inside longer
// texts are not counted.
func TestKindNames(t *testing.T) {
	var names []string
	for _, p := range scenarios.Policies() {
		if p.Kind == "workloads" || p.Kind == "fabrics" {
			names = append(names, p.Name)
		}
	}

	if len(names) < 20 {
		t.Fatalf("got kinds %q, want at least 20", names)
	}
	files, used := map[string][]string{}, map[string]bool{}
	record := func(file, text string) {
		place := file + " " + text
		switch {
		case !slices.Contains(names, text):
		case allowedKindNames[place] != "":
			used[place] = true
		case !slices.Contains(files[text], file):
			files[text] = append(files[text], file)
		}
	}

	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if name := d.Name(); path != "." &&
				(name[0] == '.' || name == "testdata" || strings.HasSuffix(name, "test") || writesScenarios(path)) {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}

		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		path = filepath.ToSlash(path)
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			record(path, text)
			if m := kindTag.FindStringSubmatch(reflect.StructTag(text).Get("when")); m != nil {
				for name := range strings.SplitSeq(m[1], "|") {
					record(path+" (tag)", name)
				}
			}

			return true
		})

		return nil
	})

	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if len(files[name]) != 1 {
			t.Errorf("kind %q is named in files %q, want one file", name, files[name])
		}
	}

	for place, meaning := range allowedKindNames {
		if !used[place] {
			t.Errorf("allowed place %s (%s) does not exist; remove it from the list", place, meaning)
		}
	}
}
