package units

import (
	"fmt"
	"hash/fnv"
	"testing"
)

// TestDamagedUnits: what parsing a quantity comes to when its text is cut off anywhere, or when any of its characters is
// another, is as stored: the quantity and how it is written, or that it is refused.
func TestDamagedUnits(t *testing.T) {
	digest := fnv.New64a()
	read := func(text string) {
		if v, err := ParseRate(text); err == nil {
			fmt.Fprintf(digest, "%q %v %.12g\n", text, v, float64(v))
		}
		if v, err := ParseBytes(text); err == nil {
			fmt.Fprintf(digest, "%q %v %d\n", text, v, int64(v))
		}
		if v, err := ParseTime(text); err == nil {
			fmt.Fprintf(digest, "%q %v %v %d\n", text, FormatTime(v), ShortTime(v), int64(v))
		}
		if v, err := ParseFrequency(text); err == nil {
			fmt.Fprintf(digest, "%q %v %.12g\n", text, v, float64(v))
		}
	}
	for _, text := range []string{
		"400Gbps", " 12.50 Mbps ", "8.Kbps", ".5Tbps", "1500bps", "4MB", "1.5KiB", "17B", "2GiB", "3TB", "500ns", "1.25us", "7 ms", "90s", "2m", "1h", "3ps",
		"1.98GHz", "940MHz", "50kHz", "1Hz", "-3GB", "+4s", "1e3ns", "999999999999999999999Gbps", "0.0001B", "0s", "1..5s", "1.5.5MB",
	} {
		read(text)
		for i := range text {
			read(text[:i])
			for _, other := range "0.9 -kMGTbBsiHmun" {
				read(text[:i] + string(other) + text[i+1:])
			}
		}
	}
	if got, want := digest.Sum64(), uint64(0xb2ae4f7ae2d6b492); got != want {
		t.Errorf("units: digest %#x, want %#x", got, want)
	}
}
