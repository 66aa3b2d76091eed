package cli

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"sim/scenarios/result"
)

// unit is a power of ten of seconds that a column of times is printed in.
type unit struct {
	name   string
	second float64
	digits int
}

// unitFor returns the unit in which most seconds reads well, with up to six
// digits.
func unitFor(most float64) unit {
	u := unit{"ns", 1e9, 4}
	switch most = math.Abs(most); {
	case most >= 1 || most == 0:
		u = unit{"s", 1, 4}
	case most >= 1e-3:
		u = unit{"ms", 1e3, 4}
	case most >= 1e-6:
		u = unit{"µs", 1e6, 4}
	}
	for v := most * u.second; v >= 100 && u.digits > 1; v /= 10 {
		u.digits--
	}
	return u
}

// of prints v seconds.
func (u unit) of(v float64) string {
	return strconv.FormatFloat(v*u.second, 'f', u.digits, 64) + " " + u.name
}

// signed prints v seconds with its sign.
func (u unit) signed(v float64) string {
	if text := u.of(math.Abs(v)); strings.Trim(text, "0. "+u.name) != "" {
		return map[bool]string{true: "-", false: "+"}[v < 0] + text
	}
	return u.of(0)
}

// addUp rounds parts, in seconds, to what u prints, such that they add up to their sum as u prints it: those that rounding took
// farthest from themselves go the other way.
func (u unit) addUp(parts ...float64) []float64 {
	scale := u.second * math.Pow10(u.digits)
	out, off := make([]float64, len(parts)), 0.0
	for i, v := range parts {
		out[i] = math.Round(v * scale)
		off += v * scale
	}
	left := math.Round(off)
	for _, v := range out {
		left -= v
	}
	for ; left != 0; left -= math.Copysign(1, left) {
		most, at := 0.0, 0
		for i, v := range parts {
			if d := (v*scale - out[i]) * math.Copysign(1, left); d > most {
				most, at = d, i
			}
		}
		out[at] += math.Copysign(1, left)
	}
	for i := range out {
		out[i] /= scale
	}
	return out
}

// seconds prints v with four decimals of the unit that fits it.
func seconds(v float64) string { return unitFor(v).of(v) }

// ofClass prints a percentile of delays with the three digits that it has: it is the upper end of a class 1/128 wide.
func ofClass(v float64) string {
	u := unitFor(v)
	u.digits = 2
	for s := v * u.second; s >= 10 && u.digits > 0; s /= 10 {
		u.digits--
	}
	return u.of(v)
}

// roughly prints a wall-clock time, of which two digits are worth reading.
func roughly(v float64) string {
	u := unitFor(v)
	if v == 0 || u.name == "ns" {
		return "0 µs"
	}
	v *= u.second
	digits := 0
	if v < 9.95 {
		digits = 1
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + " " + u.name
}

// percent prints a ratio with two digits, and at least tenths.
func percent(ratio float64) string {
	p := 100 * ratio
	digits := 1
	if a := math.Abs(p); a > 1e-6 && a < 0.095 {
		digits = min(1-int(math.Floor(math.Log10(a))), 6)
	}
	return strconv.FormatFloat(p, 'f', digits, 64) + " %"
}

// count prints a whole number with its thousands apart.
func count(v float64) string { return result.Thousands(v) }

// amount prints a number, its thousands apart where it is whole.
func amount(v float64) string {
	if v == math.Trunc(v) {
		return count(v)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// bytesPerSecond prints a rate in bytes, as networks of chips have it.
func bytesPerSecond(v float64) string {
	for _, u := range []struct {
		name string
		of   float64
	}{{"GB/s", 1e9}, {"MB/s", 1e6}, {"kB/s", 1e3}} {
		if v >= u.of {
			return fmt.Sprintf("%.2f %s", v/u.of, u.name)
		}
	}
	return fmt.Sprintf("%.2f B/s", v)
}

// plural counts things: "1 policy", "2 policies" is plural(2, "policy", "policies").
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%s %s", count(float64(n)), many)
}

// indent puts n spaces before every line of s.
func indent(s string, n int) string {
	pad := strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+pad)
}

// figure is a number before its unit, which wrap keeps together.
var figure = regexp.MustCompile(`([0-9]) (s|ms|µs|ns|%)([^[:alnum:]]|$)`)

// wrap breaks s into lines of at most width, between words; its own line
// breaks stay. A longer word gets a line of its own.
func wrap(s string, width int) string {
	const glue = "\u00a0"
	s = figure.ReplaceAllString(s, "$1"+glue+"$2$3")
	var out []string
	for _, line := range strings.Split(strings.TrimSpace(s), "\n") {
		now := ""
		for _, word := range strings.Split(line, " ") {
			if word == "" {
				continue
			}
			if now != "" && utf8.RuneCountInString(now)+1+utf8.RuneCountInString(word) > width {
				out = append(out, now)
				now = ""
			}
			if now != "" {
				now += " "
			}
			now += word
		}
		out = append(out, now)
	}
	return strings.ReplaceAll(strings.Join(out, "\n"), glue, " ")
}
