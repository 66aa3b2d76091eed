// This file formats values of metrics with one unit, and with enough digits to show a
// difference.

package compare

import (
	"math"
	"strconv"
	"strings"

	"golang.org/x/perf/benchunit"

	"sim/internal/text"
	"sim/scenarios/result"
)

// unitOf returns the unit of a metric, or of a unit of Go's benchmarks.
func unitOf(metric string) (unit string, class benchunit.Class) {
	switch {
	case strings.HasPrefix(metric, "sec/"):
		return "s", benchunit.Decimal
	case strings.HasPrefix(metric, "B/"):
		return "B", benchunit.Binary
	}
	m, _ := result.Find(metric)
	switch m.Unit {
	case "hops":
		// Hops are shown without a unit.
		return "", benchunit.Decimal
	}
	return strings.TrimPrefix(m.Unit, "1"), benchunit.Decimal
}

// minDecimalRatio is the value below which ratios are printed with an exponent. As a percentage,
// it would be printed as 0.01 %.
const minDecimalRatio = 1e-4

// maxExtraDigits is the number of additional digits that may be printed to show a
// difference. Smaller differences are rounding errors.
const maxExtraDigits = 9

// maxExactInteger is the limit below which floats represent all integers exactly.
const maxExactInteger = 1e15

// scale formats the values of a metric in one unit.
type scale struct {
	format func(v float64, more int) string // more is the number of additional digits
	unit   string
}

// scaleFor returns the scale for the values of a metric in diffs. The largest value determines
// the prefix of the unit. Ratios and counts have no prefix.
func scaleFor(metric string, diffs []Difference) scale {
	// Find the largest value, and whether all values are integers.
	largest, whole := 0.0, true
	for i := range diffs {
		for _, v := range []*float64{diffs[i].Old, diffs[i].New} {
			if v != nil {
				largest = max(largest, math.Abs(*v))
				whole = whole && *v == math.Trunc(*v) && math.Abs(*v) < maxExactInteger
			}
		}
	}
	name, class := unitOf(metric)
	if name == "%" && largest < minDecimalRatio {
		name = ""
	}
	switch {
	case name == "%":
		return scale{unit: " %", format: func(v float64, more int) string { return strconv.FormatFloat(100*v, 'f', 2+more, 64) }}
	case name == "" && whole:
		return scale{format: func(v float64, _ int) string { return text.Thousands(v) }}
	case name == "" && largest < minDecimalRatio:
		return scale{format: func(v float64, more int) string { return strconv.FormatFloat(v, 'g', 4+more, 64) }}
	}
	// Measured values and times have a unit with a prefix.
	by := benchunit.CommonScale([]float64{largest}, class)

	// Seconds have no larger unit, and numbers no prefix: 1234.5 s and 0.0423 instead of 1.2345 ks
	// and 42.3 m. The decimals lose as many digits as the value gains.
	if name == "" || name == "s" && by.Factor > 1 {
		by.Prec = max(0, by.Prec-int(math.Round(math.Log10(by.Factor))))
		by.Factor, by.Prefix = 1, ""
	}

	// At least four digits: a change of a percent is large.
	by.Prec++
	unit := strings.TrimRight(" "+by.Prefix+name, " ")
	by.Prefix = ""
	return scale{unit: unit, format: func(v float64, more int) string {
		s := by
		s.Prec += more
		return s.Format(v)
	}}
}

// digitsFor returns a function that formats the values of d with the minimum number of digits that
// show the difference.
func (s scale) digitsFor(d *Difference) func(float64) string {
	more := 0
	for d.Old != nil && d.New != nil && *d.Old != *d.New && more < maxExtraDigits && s.format(*d.Old, more) == s.format(*d.New, more) {
		more++
	}
	return func(v float64) string { return s.format(v, more) + s.unit }
}

// share formats a limit in percent.
func share(limit float64) string { return strconv.FormatFloat(100*limit, 'g', 6, 64) + " %" }
