package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sim/scenarios/compare"
	"sim/scenarios/result"
)

// TestReadShare compares parsed shares with a table of valid and invalid texts.
func TestReadShare(t *testing.T) {
	for text, want := range map[string]float64{
		"0.5%": 0.005, "0.005": 0.005, "0": 0, " 3 % ": 0.03, "150%": 1.5, "1e-6": 1e-6, formatShare(compare.Rounding): compare.Rounding,
	} {
		if got, err := parseShare("fail-over", text); err != nil || got != want {
			t.Errorf("%q is %g, %v; want %g", text, got, err, want)
		}
	}
	for _, text := range []string{"", "%", "x", "-1%", "-0.1", "NaN", "Inf", "5", "1", "5 percent"} {
		if got, err := parseShare("fail-over", text); err == nil {
			t.Errorf("%q is %g", text, got)
		}
	}
}

// TestReportRegressions: there is one line per missing row and per metric that became worse,
// up to a limit, and the exit code is 3.
func TestReportRegressions(t *testing.T) {
	var all regressionList
	for i := range maxReportedRegressions + 2 {
		metric := ""
		if i%2 == 1 {
			metric = fmt.Sprint("m", i)
		}
		all = append(all, compare.Regression{Row: result.Name{{Key: "scenario", Value: "gpt7b"}, {Key: "policy", Value: "sqrt-alloc"}}, Metric: metric, Why: "is worse"})
	}
	for n, lines := range map[int]int{1: 1, maxReportedRegressions: maxReportedRegressions, len(all): maxReportedRegressions + 1} {
		c, stdout, stderr := newBufferedCommand()
		if got := c.reportError(context.Background(), all[:n]); got != 3 {
			t.Errorf("%d regressions exit with %d", n, got)
		}
		out := stderr.String()
		if stdout.Len() > 0 || strings.Count(out, "\n") != lines || !strings.HasPrefix(out, "sim: regression: gpt7b sqrt-alloc: is worse\n") {
			t.Errorf("%d regressions printed %q and %q", n, stdout, out)
		}
		if n > maxReportedRegressions && !strings.HasSuffix(out, "sim: and 2 more regressions\n") {
			t.Errorf("the last line of %q", out)
		}
	}
}

// TestWorst: for each metric, the largest regression is listed with the number of rows that
// have one.
func TestWorst(t *testing.T) {
	bench := func(a, b float64) string {
		return fmt.Sprintf("Unit nct better=lower assume=exact\nBenchmarkX/scenario=s/policy=a 1 %g nct\nBenchmarkX/scenario=s/policy=b 1 %g nct\n", a, b)
	}
	dir := t.TempDir()
	sides := make([]*compare.Set, 2)
	for i, text := range []string{bench(1, 1), bench(1.5, 2)} {
		path := filepath.Join(dir, fmt.Sprint(i, ".bench"))
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		var err error
		if sides[i], err = compare.Read(path, nil); err != nil {
			t.Fatal(err)
		}
	}
	c, err := compare.Compare(sides[0], sides[1], compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := compare.Worst(c.Regressions)
	if len(got) != 1 || !strings.HasPrefix(got[0], "X s b: nct is 2, it was 1 (+100.0 % worse") || !strings.HasSuffix(got[0], "; so in 2 rows") {
		t.Errorf("%q", got)
	}
}
