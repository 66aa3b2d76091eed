package cli

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sim/scenarios"
	"sim/scenarios/result"
)

// correctedCase is a small input on which the program was once wrong. The right value was
// computed independently: by a closed form, an exhaustive search or a reference simulator.
// Each area of testdata/cases has a list of cases in its own file.
type correctedCase struct {
	name   string   // unique within the area
	args   []string // arguments of sim, without the program's name; "@/x" is file x in the area's folder
	before string   // wrong result
	right  string   // right result, as text
	// check returns the current result as text, and an error if it is wrong.
	check func(o caseOutcome) (string, error)
}

// caseOutcome is the outcome of the command of a correctedCase.
type caseOutcome struct {
	code           int
	stdout, stderr string
	dir            string          // output directory of a run; it does not exist for other commands
	document       result.Document // result of a run that ended with code 0, else empty
}

// correctedCases lists the cases of all areas, indexed by area.
var correctedCases = map[string][]correctedCase{
	"traffic": trafficCases,
	"traces":  traceCases,
	"during":  duringCases,
	"tiers":   tierCases,
	"fleet":   fleetCases,
	"plans":   planCases,
	"input":   inputCases,
	"ux":      uxCases,
	"speed":   speedCases,
}

// TestCorrectedCases runs every case and prints a table of wrong, current and right results.
func TestCorrectedCases(t *testing.T) {
	if testing.Short() {
		t.Skip("runs many commands")
	}
	for area, cases := range correctedCases {
		for _, c := range cases {
			t.Run(area+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				now, err := c.check(runCase(t, area, c.args))
				t.Logf("before: %s; now: %s; right: %s", c.before, now, c.right)
				if err != nil {
					t.Errorf("%v: %v", c.args, err)
				}
			})
		}
	}
}

// runCase runs a command in this process. For sim run and sim sweep, the output directory is
// temporary and no figures are drawn.
func runCase(t *testing.T, area string, args []string) caseOutcome {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join("testdata", "cases", area))
	if err != nil {
		t.Fatal(err)
	}
	args = slices.Clone(args)
	for i, a := range args {
		if len(a) > 2 && a[:2] == "@/" {
			args[i] = filepath.Join(folder, a[2:])
		}
	}
	o := caseOutcome{dir: filepath.Join(t.TempDir(), "out")}
	if args[0] == "run" || args[0] == "sweep" {
		args = append(args, "--no-plots", "--out", o.dir)
	}
	c, stdout, stderr := newBufferedCommand()
	c.run = scenarios.Run
	o.code = c.mainUntilCancelled(t.Context(), append([]string{"sim"}, args...))
	o.stdout, o.stderr = stdout.String(), stderr.String()
	if args[0] == "run" && o.code == exitOK {
		run, err := result.Read(o.dir)
		if err != nil {
			t.Fatal(err)
		}
		o.document = run.Document
	}
	return o
}

// checkMetricValues returns a check that the rows of the given policies have the given values of a
// metric, within a relative error of 1e-9.
func checkMetricValues(metric string, want map[string]float64) func(caseOutcome) (string, error) {
	return func(o caseOutcome) (string, error) {
		if o.code != exitOK {
			return o.stderr, fmt.Errorf("exit code %d, want 0", o.code)
		}
		got := map[string]float64{}
		for _, row := range o.document.Rows {
			if value, ok := row.Metrics[metric]; ok {
				got[row.Policy] = value
			}
		}
		var now []string
		var errs []error
		for _, policy := range slices.Sorted(maps.Keys(want)) {
			value, ok := got[policy]
			now = append(now, fmt.Sprintf("%s %g", policy, value))
			if !ok || math.Abs(value-want[policy]) > 1e-9*math.Abs(want[policy]) {
				errs = append(errs, fmt.Errorf("%s of %s is %g, want %g", metric, policy, value, want[policy]))
			}
		}
		return metric + ": " + strings.Join(now, ", "), errors.Join(errs...)
	}
}
