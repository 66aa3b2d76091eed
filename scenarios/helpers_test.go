package scenarios

import (
	"context"
	"math"
	"strings"
	"testing"
)

// mustParse parses a scenario with overrides.
func mustParse(t testing.TB, text string, overrides ...string) *Scenario {
	t.Helper()
	s, err := Parse("text.toml", []byte(text), overrides)
	if err != nil {
		t.Fatalf("%v: got error %v, in\n%s", overrides, err, text)
	}
	return s
}

// runText parses and runs a scenario with overrides and two workers.
func runText(t testing.TB, text string, overrides ...string) *Outcome {
	t.Helper()
	o, err := Run(context.Background(), mustParse(t, text, overrides...), RunOptions{Workers: 2})
	if err != nil {
		t.Fatalf("%v: got error %v", overrides, err)
	}
	return o
}

// runMetrics parses and runs a scenario, and returns the metrics of its first row.
func runMetrics(t testing.TB, text string, overrides ...string) map[string]float64 {
	t.Helper()
	return runText(t, text, overrides...).Document.Rows[0].Metrics
}

// runScenario loads and runs a built-in scenario with overrides.
func runScenario(t testing.TB, name string, workers int, overrides ...string) *Outcome {
	t.Helper()
	s, err := Load(name, overrides)
	if err != nil {
		t.Fatal(err)
	}
	return runParsed(t, s, workers)
}

// runParsed runs a scenario with the given number of workers.
func runParsed(t testing.TB, s *Scenario, workers int) *Outcome {
	t.Helper()
	o, err := Run(context.Background(), s, RunOptions{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// metricByPolicy returns a metric of all rows, indexed by policy. It fails if a row lacks the
// metric.
func metricByPolicy(t testing.TB, o *Outcome, name string) map[string]float64 {
	t.Helper()
	m := map[string]float64{}
	for _, r := range o.Document.Rows {
		v, ok := r.Metrics[name]
		if !ok {
			t.Fatalf("row of %s has no metric %s", r.Policy, name)
		}
		m[r.Policy] = v
	}
	return m
}

// checkError fails unless the text of err contains want. An empty want requires that err is nil.
// input describes the rejected input in the failure.
func checkError(t testing.TB, err error, want string, input any) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%v: got error %v, want none", input, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%v: got error %v, want %q", input, err, want)
	}
}

// checkClose fails if two times or loads differ by more than rounding.
func checkClose(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*max(math.Abs(got), math.Abs(want)) {
		t.Errorf("%s: got %g, want %g", what, got, want)
	}
}

// isClose reports whether a and b are equal up to rounding.
func isClose(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(a) }
