package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sim/scenarios/result"
)

// allowedMetricNames are places where the name of a metric means something else. The values are
// those meanings.
var allowedMetricNames = map[string]string{
	"scenarios/report/compare.go tasks":     "head of a column",
	"scenarios/report/explain.go tasks":     "head of a column",
	"scenarios/report/explain.go transfers": "head of a column",
	"scenarios/report/page/document.go gap": "how values are printed",
	"scenarios/report/plan.go links":        "head of a column",
	"scenarios/report/plan.go slots":        "head of a column",
	"scenarios/report/plan.go steps":        "head of a column",
	"scenarios/report/traffic.go links":     "head of a column",
	"scenarios/report/chain.go transfers":   "head of a column",
	"plots/fleet.go fragmentation":          "name of a figure",
}

// metricTable is the file with the table of metrics and the constants of names that code reads.
const metricTable = "scenarios/result/metric_table.go"

// TestMetricNames checks that the packages that store, describe and draw results contain no
// name of a metric. Names belong next to the table of metrics.
func TestMetricNames(t *testing.T) {
	isMetric := func(name string) bool {
		name = strings.TrimPrefix(name, "job.")
		for _, m := range result.Metrics {
			if m.Name == name || "bound_"+m.Name == name {
				return true
			}
		}

		return false
	}

	found := map[string]bool{}
	for _, root := range []string{"scenarios/report", "scenarios/compare", "scenarios/result", "plots"} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") ||
				filepath.ToSlash(path) == metricTable {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					if text, err := strconv.Unquote(literal.Value); err == nil && isMetric(text) {
						found[filepath.ToSlash(path)+" "+text] = true
					}
				}
				return true
			})

			return nil
		})

		if err != nil {
			t.Fatal(err)
		}
	}

	for place := range found {
		if _, ok := allowedMetricNames[place]; !ok {
			t.Errorf("%s: name of a metric outside its table; use the table or a function of "+
				"package result", place)
		}
	}

	for place := range allowedMetricNames {
		if !found[place] {
			t.Errorf("allowed place %s does not exist; remove it from the list", place)
		}
	}
}
