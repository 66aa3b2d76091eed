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

// metricWords are places that hold the name of a metric as a mere word, with what it means there.
var metricWords = map[string]string{
	"scenarios/report/compare.go tasks":     "head of a column",
	"scenarios/report/explain.go tasks":     "head of a column",
	"scenarios/report/explain.go transfers": "head of a column",
	"scenarios/report/page/document.go gap": "how values are printed",
	"scenarios/report/plan.go links":        "head of a column",
	"scenarios/report/plan.go slots":        "head of a column",
	"scenarios/report/plan.go steps":        "head of a column",
	"scenarios/report/traffic.go links":     "head of a column",
	"scenarios/report/traffic.go transfers": "head of a column",
	"plots/fleet.go fragmentation":          "name of a figure",
}

// metricTable holds the table of metrics and the names of those that code reads.
const metricTable = "scenarios/result/metric_table.go"

// TestMetricNames: what keeps, words and draws results knows no metric by its name: names stand beside the table of
// metrics alone.
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
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || filepath.ToSlash(path) == metricTable {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil && isMetric(text) {
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
		if _, ok := metricWords[place]; !ok {
			t.Errorf("%s: a metric by its name; read the table of metrics, or have package result say it", place)
		}
	}
	for place := range metricWords {
		if !found[place] {
			t.Errorf("%s is no longer there", place)
		}
	}
}
