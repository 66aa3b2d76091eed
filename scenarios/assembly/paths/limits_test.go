package paths

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"sim/engine/units"
)

// TestRoundUp checks that roundUp returns a time that can be formatted and parsed
// without loss. It must be at least the given time, and at most 11 % longer, which
// is the distance of two-digit numbers.
func TestRoundUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := math.Pow(10, rapid.Float64Range(-14, 6).Draw(t, "power"))
		got, err := units.ParseTime(units.FormatTime(roundUp(want)))
		if err != nil || got.Seconds() < want || got.Seconds() > want*1.11+2e-12 {
			t.Fatalf("roundUp(%g s) is %v after formatting (error %v), want at most 1.11 times as much", want, got, err)
		}
	})
}
