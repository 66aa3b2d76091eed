package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sim/scenarios/compare"
)

// TestDocsNameMetrics: docs/compare.md lists the metrics that may fail, and what the tables show is explained in some document.
func TestDocsNameMetrics(t *testing.T) {
	files, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range append(files, "README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[file] = string(text)
	}
	for _, metric := range compare.Judged {
		if !strings.Contains(all["docs/compare.md"], "`"+metric+"`") {
			t.Errorf("docs/compare.md does not name %s, which may fail by default", metric)
		}
	}
	shown := append(slices.Clone(mainMetrics), compare.Judged...)
	for _, col := range append(slices.Clone(tableColumns), replayColumns...) {
		shown = append(shown, col.metric)
	}
	slices.Sort(shown)
	for _, metric := range slices.Compact(shown) {
		if metric == "p99_delay_s" { // written with others of its sort
			continue
		}
		var in []string
		for file, text := range all {
			if file != "docs/compare.md" && strings.Contains(text, "`"+metric+"`") {
				in = append(in, file)
			}
		}
		if in == nil {
			t.Errorf("no document but that of comparisons explains %s", metric)
		}
	}
}
