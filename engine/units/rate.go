package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rate is a data rate in bits per second.
type Rate float64

// rateUnits are the decimal exponents of the prefixes.
var rateUnits = []struct {
	prefix string
	exp    int
}{{"P", 15}, {"T", 12}, {"G", 9}, {"M", 6}, {"k", 3}, {"K", 3}, {"", 0}}

// ParseRate reads a rate in bits ("400Gbps", "448kb/s") or bytes ("50GB/s") per second. It fails on anything else, and
// on a negative or infinite rate.
func ParseRate(text string) (Rate, error) {
	number, unit, problem := split(text)
	for _, per := range []struct {
		suffix string
		bits   float64
	}{{"bps", 1}, {"b/s", 1}, {"B/s", 8}} {
		prefix, ok := strings.CutSuffix(unit, per.suffix)
		for _, u := range rateUnits {
			if problem == "" && ok && u.prefix == prefix {
				// in decimal, so that "0.3Gbps" is exactly 3e8
				v, err := strconv.ParseFloat(number+"e"+strconv.Itoa(u.exp), 64)
				if v *= per.bits; err == nil && !math.IsInf(v, 0) {
					return Rate(v), nil
				}
				problem = "it is too large"
			}
		}
	}
	if problem != "" {
		problem = ", " + problem
	}
	return 0, fmt.Errorf(`%s is no rate%s: write bits or bytes per second, such as "400Gbps" or "50GB/s"`, clip(text), problem)
}

// String formats r in bits per second with the largest prefix that leaves at least 1. ParseRate reads back the same
// rate for 1e-30 <= r < 1e48, and 0.
func (r Rate) String() string {
	v := float64(r)
	for _, u := range rateUnits {
		if u.prefix == "K" || u.exp > 0 && v < math.Pow10(u.exp) {
			continue
		}
		return shift(v, u.exp) + u.prefix + "bps"
	}
	return shift(v, 0) + "bps"
}

// shift writes v / 10^exp in plain decimal with as many digits as tell v from its neighbours.
func shift(v float64, exp int) string {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	mantissa, e, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	point, _ := strconv.Atoi(e)
	point += 1 - exp // digits before the decimal point
	sign := ""
	if mantissa[0] == '-' {
		sign, mantissa = "-", mantissa[1:]
	}
	digits := strings.Replace(mantissa, ".", "", 1)
	switch {
	case point <= 0:
		return sign + "0." + strings.Repeat("0", -point) + digits
	case point >= len(digits):
		return sign + digits + strings.Repeat("0", point-len(digits))
	default:
		return sign + digits[:point] + "." + digits[point:]
	}
}
