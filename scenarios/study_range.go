// This file reads ranges of values, such as "1..8" or "200Gbps..1600Gbps times 2".

package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sim/scenarios/schema"
)

// rangePattern matches the text of a range: "1..8", "0..1 step 0.25" or "200Gbps..1600Gbps
// times 2". A range can also be written as a table with from, to and either step or factor.
var (
	rangePattern = regexp.MustCompile(`^(.*?)\.\.\s*(\S+)(?:\s+(step|times)\s+(\S+))?\s*$`)
	rangeForm    = "a range has from, to and either step or factor"
)

// parseRange parses the text of a range.
func parseRange(text string) (*valueSeries, *schema.Rejection) {
	const example = `write a list of values, or a range such as "1..8", "0..1 step 0.25" or "200Gbps..1600Gbps times 2"`
	m := rangePattern.FindStringSubmatch(text)
	switch {
	case !strings.Contains(text, ".."):
		return nil, rejection("is the text "+schema.Quote(text), example)
	case m == nil:
		return nil, rejection(schema.Quote(text)+" is no range", example)
	}

	return valueRange{
		low:   strings.TrimSpace(m[1]),
		high:  m[2],
		step:  cmp.Or(m[4], "1"),
		times: m[3] == "times",
	}.series()
}

// tableRange reads a range from a table.
func tableRange(m map[string]any) (*valueSeries, *schema.Rejection) {
	// Numbers are treated as text, so that they can have a unit.
	part := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains([]string{"from", "to", "step", "factor"}, name) {
			return nil, rejection("is a range with an unknown "+schema.Quote(name), rangeForm)
		}

		part[name] = strings.Trim(schema.Literal(m[name]), `"`)
	}

	_, hasStep := m["step"]
	_, isFactor := m["factor"]
	if part["to"] == "" || hasStep && isFactor {
		return nil, rejection("is an unfinished range", rangeForm)
	}

	// The step is 1 by default.
	stepText := "1"
	if hasStep || isFactor {
		stepText = part["step"] + part["factor"]
	}
	return valueRange{low: part["from"], high: part["to"], step: stepText, times: isFactor}.series()
}

// valueRange is a range of numbers from low to high, with or without a unit. Each value is
// the one before plus step, or multiplied by step.
type valueRange struct {
	low, high, step string // numbers, possibly with a unit
	times           bool   // step is a factor
}

// series returns the values of a range. It includes high if a whole number of steps leads
// to it.
func (r valueRange) series() (*valueSeries, *schema.Rejection) {
	// Both ends have the same unit. A step can have it too, but a factor has none.
	low, unit, isLowNumber := splitQuantity(r.low)
	high, highUnit, isHighNumber := splitQuantity(r.high)
	step, stepUnit, isStepNumber := splitQuantity(r.step)
	mixesUnits := highUnit != unit || stepUnit != "" && (r.times || stepUnit != unit)
	text := r.low + ".." + r.high
	switch {
	case !isLowNumber || !isHighNumber || !isStepNumber:
		return nil, rejection(schema.Quote(text)+" is no range of numbers",
			`write a range such as "1..8" or "200Gbps..1600Gbps times 2"`)
	case mixesUnits:
		return nil, rejection(schema.Quote(text)+" mixes units", "write both ends of a range in one unit")
	case high < low:
		return nil, rejection(schema.Quote(text)+" runs backwards and is empty", "write the smaller end first")
	case r.times && (step <= 1 || low <= 0):
		return nil, rejection("never arrives: it is multiplied by "+schema.Quote(r.step),
			"start above 0 and multiply by more than 1")
	case !r.times && step <= 0:
		return nil, rejection("never arrives: its step is "+schema.Quote(r.step), "write a step above 0")
	}

	// steps is the number of steps from low to high, and valueAt returns value i.
	steps := (high - low) / step
	largest := max(math.Abs(low), math.Abs(high), step)
	valueAt := func(i int) float64 { return roundDecimal(low+float64(i)*step, largest) }
	if r.times {
		steps = math.Log(high/low) / math.Log(step)
		valueAt = func(i int) float64 {
			v := low * math.Pow(step, float64(i))
			return roundDecimal(v, v)
		}
	}

	if !(steps < maxVariants) {
		return nil, rejection(fmt.Sprintf("is a range of more than %d values", maxVariants), "write fewer")
	}

	const rounding = 1e-9 // tolerance for rounding errors of the number of steps
	n := int(steps+rounding) + 1

	// Values keep the type that the same number has in a list: text with a unit, integer or
	// float.
	whole := unit == "" && isInteger(r.low) && isInteger(r.step)
	return &valueSeries{n: n, at: func(i int) any {
		v := valueAt(i)
		switch {
		case unit != "":
			return strconv.FormatFloat(v, 'f', -1, 64) + unit
		case whole && v == math.Trunc(v) && math.Abs(v) < 1<<53:
			return int64(v)
		}

		return v
	}}, nil
}

// roundDecimal removes errors of binary arithmetic from a sum of numbers up to largest: 0.1
// x 3 becomes 0.3, and -0.3 + 0.1 x 3 becomes 0. It keeps 14 significant digits of largest.
func roundDecimal(v, largest float64) float64 {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return v + 0 // turns -0 into 0
	}

	// A sum of numbers up to largest is exact to about 15 significant digits.
	places := 0
	if largest > 0 {
		places = max(0, 13-int(math.Floor(math.Log10(largest))))
	}
	t, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', places, 64), 64)
	if err != nil {
		return v
	}
	return t + 0 // turns -0 into 0
}

// isInteger reports whether a text is an integer.
func isInteger(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

// splitQuantity splits a text into a number and the unit behind it. ok is false if there is
// no finite number.
func splitQuantity(text string) (v float64, unit string, ok bool) {
	// The number ends at the last digit or point.
	end := len(text)
	for end > 0 && (text[end-1] < '0' || text[end-1] > '9') && text[end-1] != '.' {
		end--
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(text[:end]), 64)
	return v, strings.TrimSpace(text[end:]), err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
}

// rejection describes an invalid value and its remedy.
func rejection(problem, remedy string) *schema.Rejection {
	return &schema.Rejection{Problem: problem, Remedy: remedy}
}
