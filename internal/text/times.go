package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Unit is a unit of time and a number of decimals, for example for one column of a table.
type Unit struct {
	name   string  // printed after the number
	second float64 // one second in this unit
	digits int     // decimals
}

// UnitFor returns the unit for times of up to maxSeconds, with enough decimals for five
// significant digits of that time. Hours and days are used from two of them on.
func UnitFor(maxSeconds float64) Unit {
	u := Unit{name: "ns", second: 1e9, digits: 4}
	switch maxSeconds = math.Abs(maxSeconds); {
	case maxSeconds >= 2*86400:
		u = Unit{name: "d", second: 1.0 / 86400, digits: 4}
	case maxSeconds >= 2*3600:
		u = Unit{name: "h", second: 1.0 / 3600, digits: 4}
	case maxSeconds >= 1 || maxSeconds == 0:
		u = Unit{name: "s", second: 1, digits: 4}
	case maxSeconds >= 1e-3:
		u = Unit{name: "ms", second: 1e3, digits: 4}
	case maxSeconds >= 1e-6:
		u = Unit{name: "µs", second: 1e6, digits: 4}
	}
	for v := maxSeconds * u.second; v >= 100 && u.digits > 1; v /= 10 {
		u.digits--
	}
	return u
}

// Of formats v seconds with the unit.
func (u Unit) Of(v float64) string {
	return strconv.FormatFloat(v*u.second, 'f', u.digits, 64) + " " + u.name
}

// In converts v seconds to the unit.
func (u Unit) In(v float64) float64 { return v * u.second }

// Signed formats v seconds with a sign, unless the value is printed as zero.
func (u Unit) Signed(v float64) string {
	if text := u.Of(math.Abs(v)); strings.Trim(text, "0. "+u.name) != "" {
		return map[bool]string{true: "-", false: "+"}[v < 0] + text
	}
	return u.Of(0)
}

// AddUp rounds parts, in seconds, to the precision of u so that the printed parts sum to the
// printed total.
func (u Unit) AddUp(parts ...float64) []float64 {
	return AddUp(u.second*math.Pow10(u.digits), parts...)
}

// AddUp rounds parts to multiples of 1/scale so that they sum to their rounded total. Each
// part is rounded to the nearest multiple; the parts with the largest rounding errors are then
// moved by 1/scale until the sum is right (largest remainder method).
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
		maxError, at := 0.0, 0
		for i, v := range parts {
			if d := (v*scale - out[i]) * math.Copysign(1, left); d > maxError {
				maxError, at = d, i
			}
		}
		out[at] += math.Copysign(1, left)
	}
	for i := range out {
		out[i] /= scale
	}
	return out
}

// Seconds formats a time of v seconds with the unit that UnitFor selects.
func Seconds(v float64) string { return UnitFor(v).Of(v) }

// Class formats a percentile of packet delays, in seconds, with three significant digits. More
// would be meaningless: the value is the upper end of a histogram class whose relative width
// is 1/128.
func Class(v float64) string {
	u := UnitFor(v)
	u.digits = 2
	for s := v * u.second; s >= 10 && u.digits > 0; s /= 10 {
		u.digits--
	}
	return u.Of(v)
}

// Roughly formats a wall-clock time of v seconds with two significant digits.
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

// BytesPerSecond formats a rate of v bytes per second, the usual unit for networks of chips.
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
