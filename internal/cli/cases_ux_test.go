package cli

import (
	"context"
	"fmt"
	"path/filepath"
)

var uxCases = []correctedCase{
	{
		name:   "t",
		args:   []string{"run", "@/t.toml", "--policy", "prop-alloc", "--policy", "uniform"},
		before: "sim report, explain and plot: detail.json.gz is corrupt",
		right:  "they read the run",
		check:  isReadable,
	},
}

// isReadable runs the commands that read a run directory.
func isReadable(o caseOutcome) (string, error) {
	if o.code != exitDone {
		return o.stderr, fmt.Errorf("exit code %d, want 0", o.code)
	}
	for _, args := range [][]string{
		{"explain", o.dir},
		{"report", o.dir, "-o", filepath.Join(filepath.Dir(o.dir), "report.html")},
		{"plot", o.dir, "--out", filepath.Join(filepath.Dir(o.dir), "figures")},
	} {
		c, _, stderr := buffered()
		if code := c.mainWithin(context.Background(), append([]string{"sim"}, args...)); code != exitDone {
			return stderr.String(), fmt.Errorf("sim %s ends with code %d, want 0", args[0], code)
		}
	}
	return "they read the run", nil
}
