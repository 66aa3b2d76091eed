package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rate is a data rate in bits per second.
type Rate float64

// rateUnits lists the prefixes with their decimal exponents, largest first.
var rateUnits = []struct {
	prefix string
	exp    int
}{{"P", 15}, {"T", 12}, {"G", 9}, {"M", 6}, {"k", 3}, {"K", 3}, {"", 0}}

// ParseRate parses a rate in bits per second ("400Gbps", "448kb/s") or bytes per second
// ("50GB/s"). It returns an error for negative and infinite rates.
func ParseRate(text string) (Rate, error) {
	number, unit, problem := split(text)
	for _, per := range []struct {
		suffix string
		bits   float64
	}{{"bps", 1}, {"b/s", 1}, {"B/s", 8}} {
		prefix, ok := strings.CutSuffix(unit, per.suffix)
		for _, u := range rateUnits {
			if problem == "" && ok && u.prefix == prefix {
				// The prefix is applied in decimal, so that "0.3Gbps" is exactly 3e8.
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
	return 0, fmt.Errorf(`%s is no rate%s: write bits or bytes per second, such as "400Gbps" or "50GB/s"`,
		clip(text), problem)
}

// String formats r in bits per second with the largest prefix for which the number is at least 1.
// ParseRate returns the same rate for 0 and for 1e-30 <= r < 1e48.
func (r Rate) String() string {
	v := float64(r)
	for _, u := range rateUnits {
		if u.prefix == "K" || u.exp > 0 && v < math.Pow10(u.exp) {
			continue
		}
		return shift(v, u.exp) + u.prefix + "bps"
	}
	const noPrefix = 0
	return shift(v, noPrefix) + "bps"
}

// shift formats v / 10^exp as a plain decimal number, with enough digits to identify v.
func shift(v float64, exp int) string {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	mantissa, e, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	point, _ := strconv.Atoi(e)
	point += 1 - exp // number of digits before the decimal point
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
