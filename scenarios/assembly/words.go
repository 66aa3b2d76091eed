package assembly

import (
	"fmt"
	"time"

	"sim/engine"
)

// Plural counts things for titles: "1 pod", "2 pods".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// MostNamed is how many things of a kind a title names.
const MostNamed = 4

// Wall converts a span of a scenario to wall-clock time, of which 0 is no limit: less than a nanosecond is one.
func Wall(t engine.Time) time.Duration {
	return time.Duration((t + engine.Nanosecond - 1) / engine.Nanosecond)
}
