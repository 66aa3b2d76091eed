package cli

import (
	"context"
	"strings"
	"testing"

	"sim/scenarios/compare"
)

func TestReadShare(t *testing.T) {
	for text, want := range map[string]float64{
		"0.5%": 0.005, "0.005": 0.005, "0": 0, " 3 % ": 0.03, "150%": 1.5, "1e-6": 1e-6, showShare(compare.Rounding): compare.Rounding,
	} {
		if got, err := readShare("fail-over", text); err != nil || got != want {
			t.Errorf("%q is %g, %v; want %g", text, got, err, want)
		}
	}
	for _, text := range []string{"", "%", "x", "-1%", "-0.1", "NaN", "Inf", "5", "1", "5 percent"} {
		if got, err := readShare("fail-over", text); err == nil {
			t.Errorf("%q is %g", text, got)
		}
	}
}

// TestReportRegressions wants each named in a line, up to a number, and exit code 3.
func TestReportRegressions(t *testing.T) {
	var all regressions
	for range mostRegressions + 2 {
		all = append(all, compare.Regression{Row: compare.Name{{Key: "scenario", Value: "gpt7b"}, {Key: "policy", Value: "sqrt-alloc"}}, Metric: "nct", Why: "is worse"})
	}
	for n, lines := range map[int]int{1: 1, mostRegressions: mostRegressions, len(all): mostRegressions + 1} {
		c, stdout, stderr := buffered()
		if got := c.report(context.Background(), all[:n]); got != 3 {
			t.Errorf("%d regressions exit with %d", n, got)
		}
		out := stderr.String()
		if stdout.Len() > 0 || strings.Count(out, "\n") != lines || !strings.HasPrefix(out, "sim: regression: gpt7b sqrt-alloc: nct is worse\n") {
			t.Errorf("%d regressions printed %q and %q", n, stdout, out)
		}
		if n > mostRegressions && !strings.HasSuffix(out, "sim: and 2 more regressions\n") {
			t.Errorf("the last line of %q", out)
		}
	}
}
