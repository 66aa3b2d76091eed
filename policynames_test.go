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

// policyNames are the names in the tables of policies.
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

// named are texts in which a name is no mere word: what a prose text quotes, and keys of policies.
var (
	word   = regexp.MustCompile(`[A-Za-z0-9_+-]+`)
	quoted = regexp.MustCompile(`['"]([a-z0-9+-]+)['"]|policy\.([a-z0-9+-]+)`)
)

// allowed are places outside policies/ that hold a name, with the reason.
var allowed = map[string]string{
	"engine/packet/source.go uniform":               "draws of destinations",
	"scenarios/assembly/inner/inner.go uniform":     "sizes of messages",
	"scenarios/assembly/input/traffic.go uniform":   "sizes of messages",
	"scenarios/assembly/plans/system.go uniform":    "sizes of messages",
	"scenarios/assembly/input/domain.go uniform":    "sizes of messages",
	"scenarios/assembly/input/pods.go joint":        "the table of what several jobs share",
	"scenarios/check_reconfiguration.go rotor":      "its options, which are held against a fabric's delay",
	"scenarios/outputs.go route-optimised":          "a key of earlier versions, and the table that a flag needs",
	"scenarios/check_reconfiguration.go delta-fast": "the table of options that all allocators read which save ports",
	"scenarios/check_scaleup.go uniform":            "sizes of messages",
	"scenarios/check_torus.go uniform":              "sizes of messages",
	"workloads/training/spec.go uniform":            "sizes of messages",
}

// namesIn returns the policies that a text names: one of a name such as delta-joint by any mention, one of a word such as
// fixed where it is all of the text, is quoted in it, or is the table of its options.
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

// TestPolicyNames holds that only package policies and what is in it knows policies by name: who adds one adds a row, and
// what others must know of it is a field of that.
func TestPolicyNames(t *testing.T) {
	names, used := policyNames(), map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path == "policies" || strings.HasPrefix(path, ".") && path != "." || d.Name() == "testdata" {
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
		told := func(at token.Pos, text string, terse bool) {
			for _, name := range namesIn(text, names, terse) {
				if at := path + " " + name; allowed[at] != "" {
					used[at] = true
					continue
				}
				t.Errorf("%s: %s in %.80q", fset.Position(at), name, text)
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
						told(n.Tag.Pos(), reflect.StructTag(text).Get(tag), true)
					}
					told(n.Tag.Pos(), reflect.StructTag(text).Get("doc"), false)
				}
			case *ast.BasicLit:
				if n.Kind == token.STRING && !slices.Contains(tags, n) {
					text, _ := strconv.Unquote(n.Value)
					told(n.Pos(), text, false)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for at, why := range allowed {
		if !used[at] {
			t.Errorf("%s (%s) is allowed and not there: take it off the list", at, why)
		}
	}
}
