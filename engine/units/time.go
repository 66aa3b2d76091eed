package units

import (
	"strconv"

	"sim/engine"
)

// second is the number of ticks per second.
const second = int64(engine.Second)

// times lists the units of engine.Time.
var times = quantity{
	noun: "time", advice: `a number and ps, ns, us, ms, s, min or h, such as "500ns"`,
	units: []unit{
		{"h", 3600 * second}, {"min", 60 * second}, {"s", second}, {"ms", second / 1e3},
		{"us", second / 1e6}, {"µs", second / 1e6}, {"μs", second / 1e6}, {"ns", second / 1e9}, {"ps", 1},
	},
	max:             int64(engine.Never - 1),
	fractionProblem: "it is finer than a picosecond", sizeProblem: "it is longer than 106 days",
}

// ParseTime parses a time such as "500ns", "1.5us", "10ms" or "2h". It returns an error for
// negative times, fractions of a picosecond and values beyond engine.Time.
func ParseTime(text string) (engine.Time, error) {
	n, err := times.parse(text)
	return engine.Time(n), err
}

// FormatTime formats t as a whole number of the largest unit that divides it. ParseTime returns the
// same time.
func FormatTime(t engine.Time) string {
	if t == 0 {
		return "0s"
	}
	return times.format(int64(t))
}

// ShortTime formats t for display with six digits, such as "283.5us". The unit is the largest
// one up to seconds for which the number is at least 1. FormatTime is exact.
func ShortTime(t engine.Time) string {
	for _, u := range times.units {
		if int64(t) >= u.scale && u.scale <= second {
			return strconv.FormatFloat(float64(t)/float64(u.scale), 'g', 6, 64) + u.name
		}
	}
	return FormatTime(t)
}
