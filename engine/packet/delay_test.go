package packet

import (
	"math"
	"testing"

	"sim/engine"
)

// TestSumOfLongDelays: the mean is correct if the sum of delays exceeds 64 bits, also
// after a merge.
func TestSumOfLongDelays(t *testing.T) {
	const long = engine.Time(math.MaxInt64)
	var d, other Delay
	for range 5 {
		d.add(long)
		other.add(long)
	}
	d.merge(&other)
	if got, want := d.MeanSeconds(), long.Seconds(); math.Abs(got-want) > 1e-9*want {
		t.Errorf("the mean of ten delays of %g s is %g s", want, got)
	}
}
