package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sim/scenarios/result"
)

// TestDocsNameMetrics checks that a document other than the list of all metrics explains each
// metric of the printed tables.
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

	for _, m := range result.Metrics {
		metric := m.Name
		// Documents explain p99_delay_s with other percentiles.
		if m.Head == "" && m.Main == 0 && !m.FailsComparison || metric == "p99_delay_s" {
			continue
		}
		var in []string
		for file, text := range all {
			if file != "docs/metrics.md" && strings.Contains(text, "`"+metric+"`") {
				in = append(in, file)
			}
		}

		if in == nil {
			t.Errorf("metric %s is explained in docs/metrics.md only, want another document", metric)
		}
	}
}
