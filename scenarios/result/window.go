// This file declares a part of simulated time.

package result

import (
	"fmt"
	"math"
)

// Window is a part of simulated time: From <= time < To, in picoseconds. The zero value is all
// time.
type Window struct {
	From, To int64 // To is 0 if the window has no end
}

// end returns the end of the window.
func (w Window) end() int64 {
	if w.To == 0 {
		return math.MaxInt64
	}
	return w.To
}

// Includes reports whether a span of time has a part in the window. A span without duration is a
// point in time.
func (w Window) Includes(start, end int64) bool {
	return start < w.end() && (end > w.From || start >= w.From)
}

// String describes the window, such as "0.01 to 0.02 s".
func (w Window) String() string {
	if w.To == 0 {
		return fmt.Sprintf("%.4g s to the end", seconds(w.From))
	}
	return fmt.Sprintf("%.4g to %.4g s", seconds(w.From), seconds(w.To))
}
