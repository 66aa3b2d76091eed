package packet

import (
	"math"
	"testing"

	"sim/engine"
)

// TestLongDelays: the sum of delays may exceed 64 bits, also where those of parts are joined.
func TestLongDelays(t *testing.T) {
	const long = engine.Time(math.MaxInt64)
	var d, more Delay
	for range 5 {
		d.add(long)
		more.add(long)
	}
	d.join(&more)
	if got, want := d.MeanSeconds(), long.Seconds(); math.Abs(got-want) > 1e-9*want {
		t.Errorf("the mean of ten delays of %g s is %g s", want, got)
	}
}
