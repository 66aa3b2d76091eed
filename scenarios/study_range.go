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

// A range is written "1..8", "0..1 step 0.25" or "200Gbps..1600Gbps times 2", or as a table of from, to and either step
// or factor.

var (
	rangeText  = regexp.MustCompile(`^(.*?)\.\.\s*(\S+)(?:\s+(step|times)\s+(\S+))?\s*$`)
	rangeShape = "a range has from, to and either step or factor"
)

// parseRange reads a range from its text.
func parseRange(text string) (*series, *schema.Rejection) {
	const example = `write a list of values, or a range such as "1..8", "0..1 step 0.25" or "200Gbps..1600Gbps times 2"`
	m := rangeText.FindStringSubmatch(text)
	switch {
	case !strings.Contains(text, ".."):
		return nil, wrong("is the text "+schema.Quote(text), example)
	case m == nil:
		return nil, wrong(schema.Quote(text)+" is no range", example)
	}
	return span{low: strings.TrimSpace(m[1]), high: m[2], step: cmp.Or(m[4], "1"), times: m[3] == "times"}.series()
}

// tableRange reads a range from a table.
func tableRange(m map[string]any) (*series, *schema.Rejection) {
	part := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains([]string{"from", "to", "step", "factor"}, name) {
			return nil, wrong("is a range with an unknown "+schema.Quote(name), rangeShape)
		}
		part[name] = strings.Trim(schema.Literal(m[name]), `"`)
	}
	_, step := m["step"]
	_, times := m["factor"]
	if part["to"] == "" || step && times {
		return nil, wrong("is an unfinished range", rangeShape)
	}
	by := "1"
	if step || times {
		by = part["step"] + part["factor"]
	}
	return span{part["from"], part["to"], by, times}.series()
}

// span is a range: from low to high by adding or multiplying with step.
type span struct {
	low, high, step string
	times           bool
}

// series are the values of a range, both ends included where they are met. They are counted, not listed.
func (r span) series() (*series, *schema.Rejection) {
	low, unit, ok1 := quantityParts(r.low)
	high, unit2, ok2 := quantityParts(r.high)
	step, unit3, ok3 := quantityParts(r.step)
	text := r.low + ".." + r.high
	switch {
	case !ok1 || !ok2 || !ok3:
		return nil, wrong(schema.Quote(text)+" is no range of numbers", `write a range such as "1..8" or "200Gbps..1600Gbps times 2"`)
	case unit != unit2 || unit3 != "" && unit3 != unit || r.times && unit3 != "":
		return nil, wrong(schema.Quote(text)+" mixes units", "write both ends of a range in one unit")
	case high < low:
		return nil, wrong(schema.Quote(text)+" runs backwards and is empty", "write the smaller end first")
	case r.times && (step <= 1 || low <= 0):
		return nil, wrong("never arrives: it is multiplied by "+schema.Quote(r.step), "start above 0 and multiply by more than 1")
	case !r.times && step <= 0:
		return nil, wrong("never arrives: its step is "+schema.Quote(r.step), "write a step above 0")
	}
	steps := (high - low) / step
	largest := max(math.Abs(low), math.Abs(high), step)
	at := func(i int) float64 { return tidy(low+float64(i)*step, largest) }
	if r.times {
		steps = math.Log(high/low) / math.Log(step)
		at = func(i int) float64 {
			v := low * math.Pow(step, float64(i))
			return tidy(v, v)
		}
	}
	if !(steps < mostVariants) {
		return nil, wrong(fmt.Sprintf("is a range of more than %d values", mostVariants), "write fewer")
	}
	const rounding = 1e-9 // of what floats make of whole numbers of steps
	n := int(steps+rounding) + 1
	whole := unit == "" && isWhole(r.low) && isWhole(r.step)
	return &series{n: n, at: func(i int) any {
		v := at(i)
		switch {
		case unit != "":
			return strconv.FormatFloat(v, 'f', -1, 64) + unit
		case whole && v == math.Trunc(v) && math.Abs(v) < 1<<53:
			return int64(v)
		}
		return v
	}}, nil
}

// tidy takes off what adding up numbers as large as one in binary leaves: 0.1 x 3 is 0.3, and -0.3 + 0.1 x 3 is 0.
func tidy(v, largest float64) float64 {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return v + 0 // -0 would be written differently
	}
	places := 0
	if largest > 0 {
		places = max(0, 13-int(math.Floor(math.Log10(largest))))
	}
	t, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', places, 64), 64)
	if err != nil {
		return v
	}
	return t + 0 // as above
}

func isWhole(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

// quantityParts splits a number from the unit behind it.
func quantityParts(text string) (v float64, unit string, ok bool) {
	end := len(text)
	for end > 0 && (text[end-1] < '0' || text[end-1] > '9') && text[end-1] != '.' {
		end--
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(text[:end]), 64)
	return v, strings.TrimSpace(text[end:]), err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
}

// wrong says what is wrong with a value, and what would be right.
func wrong(problem, remedy string) *schema.Rejection {
	return &schema.Rejection{Problem: problem, Remedy: remedy}
}
