package engine

import (
	"fmt"
	"math"
)

// Time is a point in simulated time or a time span, in picoseconds (ticks). Its range is 106 days.
type Time int64

// Units of simulated time.
const (
	Picosecond  Time = 1
	Nanosecond       = 1000 * Picosecond
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond

	// Never is later than any event.
	Never Time = math.MaxInt64
)

// Seconds returns t in seconds.
func (t Time) Seconds() float64 { return float64(t) / float64(Second) }

// String formats t in seconds with up to 12 significant digits.
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	return fmt.Sprintf("%.12gs", t.Seconds())
}

// FromSeconds returns the tick nearest to s seconds. It returns an error if s is not a number or
// outside the range of Time.
func FromSeconds(s float64) (Time, error) {
	p := math.Round(s * float64(Second))
	if math.IsNaN(p) || math.Abs(p) >= math.MaxInt64 {
		return 0, fmt.Errorf("engine: %g s is outside the range of simulated time (106 days)", s)
	}
	return Time(p), nil
}
