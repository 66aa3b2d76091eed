package paths

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"sim/engine/units"
)

// TestRoundUp: the least time between samples that is proposed can be written, is enough, and is little more than that.
func TestRoundUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := math.Pow(10, rapid.Float64Range(-14, 6).Draw(t, "power"))
		got, err := units.ParseTime(units.FormatTime(roundUp(want)))
		if err != nil || got.Seconds() < want || got.Seconds() > want*1.11+2e-12 {
			t.Fatalf("%g s: %v, %v", want, got, err)
		}
	})
}
