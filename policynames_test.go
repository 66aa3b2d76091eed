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

	"sim/policies/reconfigure"
	"sim/policies/routing"
	"sim/policies/topology"
)

// policyNames returns the names in the tables of policies.
func policyNames() []string {
	var names []string
	for _, r := range topology.Table {
		names = append(names, r.Name)
	}
	for _, r := range topology.JobsTable {
		names = append(names, r.Name)
	}
	for _, r := range routing.Table {
		names = append(names, r.Name)
	}
	for _, r := range reconfigure.Table {
		names = append(names, r.Name)
	}
	return names
}

// word matches a word of a text. quoted matches a name in quotes or in a key of [policy].
var (
	word   = regexp.MustCompile(`[A-Za-z0-9_+-]+`)
	quoted = regexp.MustCompile(`['"]([a-z0-9+-]+)['"]|policy\.([a-z0-9+-]+)`)
)

// allowedPolicyNames are places outside policies/ where the name of a policy means something
// else, or is required. The values are the reasons.
var allowedPolicyNames = map[string]string{
	"internal/alias/alias.go multipath":             "table of its keys",
	"internal/alias/alias.go wild-first":            "table of its keys",
	"engine/packet/transport.go spray":              "balance of the packets of a sender",
	"engine/packet/source.go uniform":               "distribution of destinations",
	"scenarios/assembly/inner/exchange.go uniform":  "distribution of message sizes",
	"scenarios/assembly/input/traffic.go uniform":   "distribution of message sizes",
	"scenarios/assembly/plans/system.go uniform":    "distribution of message sizes",
	"scenarios/assembly/input/scaleup.go uniform":   "distribution of message sizes",
	"scenarios/assembly/input/pods.go joint":        "the table of options that several jobs share",
	"scenarios/check_reconfiguration.go rotor":      "its options, which are compared with a fabric's delay",
	"scenarios/outputs.go route-optimised":          "a deprecated key, and the table that a flag requires",
	"scenarios/check_reconfiguration.go delta-fast": "the options of all allocators that save ports",
	"scenarios/check_scaleup.go uniform":            "distribution of message sizes",
	"scenarios/check_torus.go uniform":              "distribution of message sizes",
	"workloads/training/spec.go uniform":            "distribution of message sizes",
}

// namesIn returns the policies that a text names. Names with - or +, such as delta-joint, count
// wherever they occur. Names that are ordinary words, such as fixed, count if they are the
// complete text, quoted, or in a key of [policy]. If terse is true, each occurrence counts.
func namesIn(text string, names []string, terse bool) []string {
	var found []string
	for _, w := range word.FindAllString(text, -1) {
		if slices.Contains(names, w) && (terse || w == text || strings.ContainsAny(w, "-+")) {
			found = append(found, w)
		}
	}
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		if w := m[1] + m[2]; slices.Contains(names, w) {
			found = append(found, w)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// TestPolicyNames checks that only packages under policies/ name policies. Adding a policy then
// requires only a row in a table, whose fields hold all properties that other code reads.
func TestPolicyNames(t *testing.T) {
	names, used := policyNames(), map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path == "policies" || strings.HasPrefix(path, ".") && path != "." || d.Name() == "testdata" || writesScenarios(path) {
				return filepath.SkipDir
			}
			return nil
		}

		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		check := func(pos token.Pos, text string, terse bool) {
			for _, name := range namesIn(text, names, terse) {
				if place := path + " " + name; allowedPolicyNames[place] != "" {
					used[place] = true
					continue
				}
				t.Errorf("%s: policy %s is named in %.80q, want a field of its row instead",
					fset.Position(pos), name, text)
			}
		}

		var tags []*ast.BasicLit
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.Field:
				if n.Tag != nil {
					tags = append(tags, n.Tag)
					text, _ := strconv.Unquote(n.Tag.Value)
					for _, tag := range []string{"default", "else", "choices", "when", "table", "with"} {
						check(n.Tag.Pos(), reflect.StructTag(text).Get(tag), true)
					}
					check(n.Tag.Pos(), reflect.StructTag(text).Get("doc"), false)
				}
			case *ast.BasicLit:
				if n.Kind == token.STRING && !slices.Contains(tags, n) {
					text, _ := strconv.Unquote(n.Value)
					check(n.Pos(), text, false)
				}
			}

			return true
		})

		return nil
	})

	if err != nil {
		t.Fatal(err)
	}
	for place, reason := range allowedPolicyNames {
		if !used[place] {
			t.Errorf("allowed place %s (%s) does not exist; remove it from the list", place, reason)
		}
	}
}
