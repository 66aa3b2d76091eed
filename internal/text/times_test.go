package text

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"
)

// TestPartsAddUp: the printed parts sum to the printed total, and each differs from its value
// by at most one unit of the last digit.
func TestPartsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.Float64Range(-0.5, 4), 1, 6).Draw(t, "parts")
		total, largest := 0.0, 0.0
		for _, v := range parts {
			total, largest = total+v, max(largest, math.Abs(v))
		}
		u := UnitFor(largest)
		last := math.Pow10(-u.digits) / u.second
		rounded := u.AddUp(parts...)
		for i, v := range rounded {
			if math.Abs(v-parts[i]) > last*(1+1e-6) {
				t.Errorf("%v became %v", parts[i], v)
			}
		}
		sum := 0.0
		for _, v := range rounded {
			sum += v
		}
		if off := math.Abs(sum - total); off > last/2*(1+1e-6) {
			t.Errorf("%v add up to %v, %v off", rounded, sum, off)
		}
	})
}

// TestFormats compares the formats of times, ratios and whole numbers with text written by
// hand.
func TestFormats(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Seconds(3.6834), "3.6834 s"},
		{Seconds(0.0036834), "3.6834 ms"},
		{Seconds(40.5e-6), "40.5000 µs"},
		{Seconds(0.5833059), "583.306 ms"},
		{Seconds(12345.678), "3.4294 h"},
		{Seconds(0), "0.0000 s"},
		{Class(1.2345678e-6), "1.23 µs"},
		{Class(12.345678e-6), "12.3 µs"},
		{Class(999.4e-9), "999 ns"},
		{Class(0), "0.00 s"},
		{Roughly(0.0123), "12 ms"},
		{Roughly(1.26), "1.3 s"},
		{Roughly(0.00012), "120 µs"},
		{Seconds(0.999), "999.000 ms"},
		{Seconds(1), "1.0000 s"},
		{Seconds(7199), "7199.00 s"},
		{Seconds(7200), "2.0000 h"},
		{Seconds(2*86400 - 1), "47.9997 h"},
		{Seconds(2 * 86400), "2.0000 d"},
		{Seconds(1e-3), "1.0000 ms"},
		{Seconds(1e-6), "1.0000 µs"},
		{Seconds(0.9e-6), "900.000 ns"},
		{Seconds(99.9), "99.9000 s"},
		{Seconds(100), "100.000 s"},
		{Seconds(1000), "1000.00 s"},
		{Percent(0.234), "23.4 %"},
		{Percent(0.00012), "0.012 %"},
		{Percent(0.0000012), "0.00012 %"},
		{Percent(-0.01), "-1.0 %"},
		{Percent(0), "0.0 %"},
		{Thousands(41210), "41,210"},
		{Thousands(999), "999"},
		{Thousands(-1234567), "-1,234,567"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
