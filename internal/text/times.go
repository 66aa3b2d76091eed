package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Unit is a unit of time that a column of times is printed in.
type Unit struct {
	name   string
	second float64
	digits int
}

// UnitFor returns the unit in which most seconds reads well, with up to six digits.
func UnitFor(most float64) Unit {
	u := Unit{"ns", 1e9, 4}
	switch most = math.Abs(most); {
	case most >= 2*86400:
		u = Unit{"d", 1.0 / 86400, 4}
	case most >= 2*3600:
		u = Unit{"h", 1.0 / 3600, 4}
	case most >= 1 || most == 0:
		u = Unit{"s", 1, 4}
	case most >= 1e-3:
		u = Unit{"ms", 1e3, 4}
	case most >= 1e-6:
		u = Unit{"µs", 1e6, 4}
	}
	for v := most * u.second; v >= 100 && u.digits > 1; v /= 10 {
		u.digits--
	}
	return u
}

// Of prints v seconds.
func (u Unit) Of(v float64) string {
	return strconv.FormatFloat(v*u.second, 'f', u.digits, 64) + " " + u.name
}

// In is v seconds as a number of the unit.
func (u Unit) In(v float64) float64 { return v * u.second }

// Signed prints v seconds with its sign.
func (u Unit) Signed(v float64) string {
	if text := u.Of(math.Abs(v)); strings.Trim(text, "0. "+u.name) != "" {
		return map[bool]string{true: "-", false: "+"}[v < 0] + text
	}
	return u.Of(0)
}

// AddUp rounds parts, in seconds, to what u prints, such that they add up to their sum as u prints it.
func (u Unit) AddUp(parts ...float64) []float64 {
	return AddUp(u.second*math.Pow10(u.digits), parts...)
}

// AddUp rounds parts to multiples of 1/scale such that they add up to their rounded sum: those that rounding took
// farthest from themselves go the other way.
func AddUp(scale float64, parts ...float64) []float64 {
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

// Seconds prints v with four decimals of the unit that fits it.
func Seconds(v float64) string { return UnitFor(v).Of(v) }

// Class prints a percentile of delays with the three digits that it has: it is the upper end of a class 1/128 wide.
func Class(v float64) string {
	u := UnitFor(v)
	u.digits = 2
	for s := v * u.second; s >= 10 && u.digits > 0; s /= 10 {
		u.digits--
	}
	return u.Of(v)
}

// Roughly prints a wall-clock time, of which two digits are worth reading.
func Roughly(v float64) string {
	u := UnitFor(v)
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

// BytesPerSecond prints a rate in bytes, as networks of chips have it.
func BytesPerSecond(v float64) string {
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
