package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

var uxCases = []correctedCase{
	{
		name:   "t",
		args:   []string{"run", "@/t.toml", "--policy", "prop-alloc", "--policy", "uniform"},
		before: "sim report, explain and plot: detail.json.gz is corrupt",
		right:  "they read the run",
		check:  checkReadable,
	},
	{
		name:   "ideal",
		args:   []string{"sweep", "@/ideal.toml"},
		before: "rows of pods and of a fat tree ranked by NCT, relative to different ideal fabrics",
		right:  "iteration time comes first, and a line says why NCTs are not ranked",
		check: func(o caseOutcome) (string, error) {
			if !strings.Contains(o.stdout, "makespan_s by policy") {
				return o.stdout, fmt.Errorf("the table is not of makespan_s (exit code %d): %s", o.code, o.stderr)
			}
			if !strings.Contains(o.stdout, "so nothing is ranked by") || !strings.Contains(o.stdout, `fabric.reference = "interfaces"`) {
				return o.stdout, errors.New("no line says why NCTs are not ranked, and what would make them comparable")
			}
			return "makespan_s by policy, and NCT is not ranked", nil
		},
	},
	{
		name:   "a2a",
		args:   []string{"run", "@/a2a.toml"},
		before: "1.6 billion hops of packets by default: a minute",
		right:  "level flow by default: the same completion within 0.1 %",
		check:  checkMetricValues("completion_s", map[string]float64{"dor": 0.01024}),
	},
	{
		name:   "shapes-4x4x32",
		args:   []string{"run", "@/a2a.toml", "--set", "engine.level=static", "--set", "fabric.dims=[4, 4, 32]", "--set", `policy.routers=["dor", "route-optimised"]`},
		before: "dor 2048, route-optimised 2176 after 93 s",
		right:  "2048 each: route-optimised is never worse than a router whose routes it may choose",
		check:  checkMetricValues("max_link_load", map[string]float64{"dor": 2048, "route-optimised": 2048}),
	},
}

// checkReadable checks that the commands that read a run directory accept it.
func checkReadable(o caseOutcome) (string, error) {
	if o.code != exitOK {
		return o.stderr, fmt.Errorf("exit code %d, want 0", o.code)
	}
	for _, args := range [][]string{
		{"explain", o.dir},
		{"report", o.dir, "-o", filepath.Join(filepath.Dir(o.dir), "report.html")},
		{"plot", o.dir, "--out", filepath.Join(filepath.Dir(o.dir), "figures")},
	} {
		c, _, stderr := newBufferedCommand()
		if code := c.mainUntilCancelled(context.Background(), append([]string{"sim"}, args...)); code != exitOK {
			return stderr.String(), fmt.Errorf("sim %s ends with code %d, want 0", args[0], code)
		}
	}
	return "they read the run", nil
}
