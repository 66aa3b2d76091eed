package units

import (
	"fmt"
	"strconv"

	"sim/engine"
)

// timeUnits are ordered as FormatTime tries them.
var timeUnits = []struct {
	name  string
	scale engine.Time
}{
	{"h", 3600 * engine.Second}, {"min", 60 * engine.Second}, {"s", engine.Second},
	{"ms", engine.Millisecond}, {"us", engine.Microsecond}, {"µs", engine.Microsecond}, {"μs", engine.Microsecond},
	{"ns", engine.Nanosecond}, {"ps", engine.Picosecond},
}

// ParseTime reads a span of time such as "500ns", "1.5us", "10ms" or "2h". It
// fails on anything else, on a negative span, on a fraction of a picosecond and
// on more than engine.Time holds.
func ParseTime(text string) (engine.Time, error) {
	number, unit, wrong := split(text)
	if wrong == "" {
		for _, u := range timeUnits {
			if u.name != unit {
				continue
			}
			n, fits, isWhole := whole(number, int64(u.scale))
			if fits && isWhole && engine.Time(n) != engine.Never {
				return engine.Time(n), nil
			}
			wrong = "it is longer than 106 days"
			if !isWhole {
				wrong = "it is finer than a picosecond"
			}
			break
		}
	}
	if wrong != "" {
		wrong = ", " + wrong
	}
	return 0, fmt.Errorf(`%s is no time%s: write a number and ps, ns, us, ms, s, min or h, such as "500ns"`, clip(text), wrong)
}

// FormatTime formats t as a whole number of the largest unit that divides it.
// ParseTime reads back the same time.
func FormatTime(t engine.Time) string {
	if t == 0 {
		return "0s"
	}
	for _, u := range timeUnits {
		if t%u.scale == 0 {
			return strconv.FormatInt(int64(t/u.scale), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(t), 10) + "ps" // not reached: ps divides all
}

// ShortTime formats t for reading, in the largest unit from seconds down of
// which it has one, to six digits: "283.5us". FormatTime is exact.
func ShortTime(t engine.Time) string {
	for _, u := range timeUnits {
		if t >= u.scale && u.scale <= engine.Second {
			return strconv.FormatFloat(float64(t)/float64(u.scale), 'g', 6, 64) + u.name
		}
	}
	return FormatTime(t)
}
