package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Frequency is a number of events per day.
type Frequency float64

// frequencies maps each unit to its length in days.
var frequencies = map[string]float64{"day": 1, "h": 1.0 / 24, "week": 7, "year": 365.25}

// maxFrequency is the highest frequency that is accepted, about 12 events per second. A higher
// one is most likely a mistake.
const maxFrequency = 1e6

// ParseFrequency parses a frequency such as "0.0008/day", "2/week" or "0/day". It returns an
// error for negative values and for more than maxFrequency.
func ParseFrequency(text string) (Frequency, error) {
	number, unit, _ := strings.Cut(strings.TrimSpace(text), "/")
	days, isUnit := frequencies[unit]
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if f := n / days; isUnit && err == nil && n >= 0 && f <= maxFrequency && !math.Signbit(n) {
		return Frequency(f), nil
	}
	return 0, fmt.Errorf(`%.40q is no frequency: write a number up to 1e6 a day and /h, /day, /week or /year, such as "0.0008/day"`,
		text)
}

// String formats f such that ParseFrequency returns the same value.
func (f Frequency) String() string { return strconv.FormatFloat(float64(f), 'g', -1, 64) + "/day" }
