package units

import "testing"

// TestUnits: the value of each unit, and formatting with the largest unit that fits.
func TestUnits(t *testing.T) {
	for text, want := range map[string]Bytes{
		"3PB": 3e15, "3TB": 3e12, "3GB": 3e9, "3MB": 3e6, "3KB": 3e3, "3kB": 3e3, "3B": 3,
		"3PiB": 3 << 50, "3TiB": 3 << 40, "3GiB": 3 << 30, "3MiB": 3 << 20, "3KiB": 3 << 10,
	} {
		got, err := ParseBytes(text)
		if err != nil || got != want {
			t.Errorf("%s is %d B (%v), want %d", text, got, err, want)
		}
		if again, err := ParseBytes(got.String()); err != nil || again != want {
			t.Errorf("%s is written as %s and read back as %d (%v)", text, got, again, err)
		}
	}
	for r, want := range map[Rate]string{0: "0bps", 1: "1bps", 0.25: "0.25bps", 1500: "1.5kbps", 999: "999bps", 1e3: "1kbps", 1e6: "1Mbps", 1e9: "1Gbps", 1e12: "1Tbps", 123456: "123.456kbps", -2500: "-2500bps"} {
		if got := r.String(); got != want {
			t.Errorf("%v b/s is written as %s, want %s", float64(r), got, want)
		}
	}
}
