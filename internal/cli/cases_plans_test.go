package cli

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

var planCases = []correctedCase{
	exhaustiveSearchCase("plan-beaten-k2-4", "121.5 us", "81.0 us: two slots of one topology", 81.0e-6),
	exhaustiveSearchCase("plan-beaten-k2-18", "161.0 us", "121.0 us: two slots of one topology", 121.0e-6),
	exhaustiveSearchCase("plan-beaten-k2-28", "126.5 us", "86.0 us: two slots of one topology", 86.0e-6),
	exhaustiveSearchCase("plan-beaten-k1-148", "201.5 us", "161.5 us: three slots of one topology", 161.5e-6),
	exhaustiveSearchCase("plan-one-large-flow", "172.0 us", "172.0 us, its bound", 172.0e-6),
	{
		name:   "fluid-below-bound",
		args:   []string{"run", "@/plan-fluid-below-bound.toml"},
		before: "printed bound 10.9750 ms, starred row 10.8126 ms with gap +0.5 %",
		right:  "each row's gap belongs to the bound that is printed for its model; the starred row is at 10.9750 ms",
		check:  checkPrintedBounds,
	},
}

// exhaustiveSearchCase is the case of a small demand. Its minimum completion time of plans was
// found by exhaustive search.
func exhaustiveSearchCase(file, before, right string, seconds float64) correctedCase {
	return correctedCase{
		name: file, args: []string{"run", "@/" + file + ".toml"}, before: before, right: right,
		check: checkMetricValues("completion_s", map[string]float64{"reconfigure-during+": seconds}),
	}
}

// checkPrintedBounds checks that the gap of each row refers to the bound that is printed for
// its policy, and that the row with a star is not below any bound.
func checkPrintedBounds(o caseOutcome) (string, error) {
	if o.code != exitOK {
		return o.stderr, fmt.Errorf("exit code %d, want 0", o.code)
	}
	text := strings.Join(strings.Fields(o.stdout), " ")
	bounds := map[string]float64{}
	var all []float64
	for _, m := range regexp.MustCompile(`gap to bound \(([^)]*)\): above ([0-9.]+) ms`).FindAllStringSubmatch(text, -1) {
		ms, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return text, err
		}
		all = append(all, ms*1e-3)
		for _, policy := range strings.Split(m[1], ", ") {
			bounds[policy] = ms * 1e-3
		}
	}
	star := regexp.MustCompile(`\* ([a-z+-]+) is fastest`).FindStringSubmatch(text)
	if star == nil || len(all) != 2 {
		return text, fmt.Errorf("%d bounds are printed, want 2, and starred is %v", len(all), star)
	}
	var errs []error
	for _, r := range o.document.Rows {
		value := r.Metrics["completion_s"]
		if got, want := r.Metrics["gap_completion"], value/bounds[r.Policy]-1; !(math.Abs(got-want) < 1e-4) {
			errs = append(errs, fmt.Errorf("%s has a gap of %g; the bound printed for it gives %g", r.Policy, got, want))
		}
		for _, bound := range all {
			if r.Policy == star[1] && value < bound*(1-1e-5) {
				errs = append(errs, fmt.Errorf("%s is starred with %g s, below a bound of %g s", r.Policy, value, bound))
			}
		}
	}
	return fmt.Sprint("bounds ", bounds, ", starred ", star[1]), errors.Join(errs...)
}
