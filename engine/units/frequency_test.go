package units

import (
	"math"
	"testing"
)

// TestParseFrequency: each unit of a frequency, and invalid frequencies.
func TestParseFrequency(t *testing.T) {
	for _, c := range []struct {
		text string
		want float64
	}{
		{"0/day", 0}, {"3/day", 3}, {"0.5/h", 12}, {"14/week", 2}, {"365.25/year", 1}, {" 2 /week", 2.0 / 7}, {"1e6/day", 1e6},
	} {
		f, err := ParseFrequency(c.text)
		if err != nil || math.Abs(float64(f)-c.want) > 1e-12*c.want {
			t.Errorf("%q is %v per day (error %v), want %v", c.text, float64(f), err, c.want)
		}
		again, err := ParseFrequency(f.String())
		if err != nil || again != f {
			t.Errorf("%q is written as %q and read back as %v (error %v)", c.text, f, float64(again), err)
		}
	}
	for _, text := range []string{"", "1", "1/", "/day", "-1/day", "-0/day", "1e6/h", "1000001/day", "NaN/day", "Inf/day", "1/month", "1/day/day", "x/day"} {
		if f, err := ParseFrequency(text); err == nil {
			t.Errorf("%q is read as %v, want an error", text, f)
		}
	}
}
