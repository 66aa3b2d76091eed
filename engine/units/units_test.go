package units

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/engine"
)

func TestParseRate(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Rate
		out  string
	}{
		{"400Gbps", 400e9, "400Gbps"},
		{"1.6Tbps", 1.6e12, "1.6Tbps"},
		{"50GB/s", 400e9, "400Gbps"},
		{"448kbps", 448e3, "448kbps"},
		{"448 Kb/s", 448e3, "448kbps"},
		{"0.3Gbps", 3e8, "300Mbps"},
		{".5bps", 0.5, "0.5bps"},
		{"0B/s", 0, "0bps"},
		{"3Pbps", 3e15, "3Pbps"},
		{"12345.678Mb/s", 12345.678e6, "12.345678Gbps"},
		{"9007199254740993bps", 9007199254740992, "9.007199254740992Pbps"},
	} {
		got, err := ParseRate(tt.text)
		if err != nil || got != tt.want || got.String() != tt.out {
			t.Errorf("%q: %v (%s), %v, want %v (%s)", tt.text, float64(got), got, err, float64(tt.want), tt.out)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Bytes
		out  string
	}{
		{"4MB", 4e6, "4MB"},
		{"64KiB", 65536, "64KiB"},
		{"64KB", 64e3, "64KB"},
		{"64kB", 64e3, "64KB"},
		{"542B", 542, "542B"},
		{"1.5GiB", 3 << 29, "1536MiB"},
		{"0B", 0, "0B"},
		{"0GB", 0, "0B"},
		{"9223372036854775807B", math.MaxInt64, "9223372036854775807B"},
		{"8191PiB", 8191 << 50, "8191PiB"},
	} {
		got, err := ParseBytes(tt.text)
		if err != nil || got != tt.want || got.String() != tt.out {
			t.Errorf("%q: %d (%s), %v, want %d (%s)", tt.text, int64(got), got, err, int64(tt.want), tt.out)
		}
	}
}

func TestParseTime(t *testing.T) {
	for _, tt := range []struct {
		text string
		want engine.Time
		out  string
	}{
		{"500ns", 500 * engine.Nanosecond, "500ns"},
		{"10ms", 10 * engine.Millisecond, "10ms"},
		{"1.5us", 1500 * engine.Nanosecond, "1500ns"},
		{"1.5µs", 1500 * engine.Nanosecond, "1500ns"},
		{"0ns", 0, "0s"},
		{"2h", 7200 * engine.Second, "2h"},
		{"0.5min", 30 * engine.Second, "30s"},
		{"0.001ns", 1, "1ps"},
		{"9223372036854775806ps", engine.Never - 1, "9223372036854775806ps"},
	} {
		got, err := ParseTime(tt.text)
		if err != nil || got != tt.want || FormatTime(got) != tt.out {
			t.Errorf("%q: %d (%s), %v, want %d (%s)", tt.text, int64(got), FormatTime(got), err, int64(tt.want), tt.out)
		}
	}
}

func TestInvalidQuantities(t *testing.T) {
	const rate, size, span = `: write bits or bytes per second, such as "400Gbps" or "50GB/s"`, `: write bytes, such as "4MB" or "64KiB"`,
		`: write a number and ps, ns, us, ms, s, min or h, such as "500ns"`
	for _, tt := range []struct{ text, rate, size, span string }{
		{"400Gb", `"400Gb" is no rate`, `"400Gb" is no size`, `"400Gb" is no time`},
		{"400", `"400" is no rate`, `"400" is no size`, `"400" is no time`},
		{"", `"" is no rate, it does not start with a number`, `"" is no size, it does not start with a number`, `"" is no time, it does not start with a number`},
		{".Gbps", `".Gbps" is no rate, it does not start with a number`, "", ""},
		{"NaN", `"NaN" is no rate, it does not start with a number`, "", ""},
		{"Infbps", `"Infbps" is no rate, it does not start with a number`, "", ""},
		{"-1Gbps", `"-1Gbps" is no rate, it is negative`, "", ""},
		{"-0B", "", `"-0B" is no size, it is negative`, ""},
		{"-5ms", "", "", `"-5ms" is no time, it is negative`},
		{"1e3bps", `"1e3bps" is no rate`, "", ""},
		{"0x1p4bps", `"0x1p4bps" is no rate`, "", ""},
		{"1_000bps", `"1_000bps" is no rate`, "", ""},
		{"1.2.3Gbps", `"1.2.3Gbps" is no rate`, "", ""},
		{"400gbps", `"400gbps" is no rate`, "", ""},
		{"400Gbps ", "", `"400Gbps " is no size`, ""},
		{"4  MB", "", `"4  MB" is no size`, ""},
		{"0.5B", "", `"0.5B" is no size, it is not a whole number of bytes`, ""},
		{"9223372036854775808B", "", `"9223372036854775808B" is no size, it is too large`, ""},
		{"8192PiB", "", `"8192PiB" is no size, it is too large`, ""},
		{"0.5ps", "", "", `"0.5ps" is no time, it is finer than a picosecond`},
		{"3000h", "", "", `"3000h" is no time, it is longer than 106 days`},
		{"9223372036854775807ps", "", "", `"9223372036854775807ps" is no time, it is longer than 106 days`},
		{strings.Repeat("9", 62) + "Tbps", `"` + strings.Repeat("9", 62) + `Tb..." is no rate, it is too long`, "", ""},
	} {
		check := func(want, tail string, err error) {
			t.Helper()
			if want != "" && (err == nil || err.Error() != want+tail) {
				t.Errorf("%q: %v, want %s", tt.text, err, want+tail)
			}
		}
		_, err := ParseRate(tt.text)
		check(tt.rate, rate, err)
		_, err = ParseBytes(tt.text)
		check(tt.size, size, err)
		_, err = ParseTime(tt.text)
		check(tt.span, span, err)
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rate(math.Exp(rapid.Float64Range(-30, 100).Draw(t, "log rate")))
		if again, err := ParseRate(r.String()); err != nil || again != r {
			t.Errorf("%s: %v, %v, want %v", r, float64(again), err, float64(r))
		}
		b := Bytes(rapid.Int64Range(0, math.MaxInt64).Draw(t, "bytes"))
		if again, err := ParseBytes(b.String()); err != nil || again != b {
			t.Errorf("%s: %d, %v, want %d", b, again, err, b)
		}
		p := engine.Time(rapid.Int64Range(0, math.MaxInt64-1).Draw(t, "time"))
		if again, err := ParseTime(FormatTime(p)); err != nil || again != p {
			t.Errorf("%s: %d, %v, want %d", FormatTime(p), again, err, p)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"400Gbps", "50GB/s", "4MB", "64KiB", "1.5us", "2h", "-1ns", "NaN", ".", "1e9bps"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := ParseRate(text); err == nil {
			if again, err := ParseRate(r.String()); r >= 1e-30 && again != r || math.IsInf(float64(r), 0) || r < 0 {
				t.Errorf("rate %q: %v, %v, %v", text, float64(r), float64(again), err)
			}
		}
		if b, err := ParseBytes(text); err == nil {
			if again, err := ParseBytes(b.String()); again != b || b < 0 {
				t.Errorf("size %q: %d, %d, %v", text, b, again, err)
			}
		}
		if p, err := ParseTime(text); err == nil {
			if again, err := ParseTime(FormatTime(p)); again != p || p < 0 {
				t.Errorf("time %q: %d, %d, %v", text, p, again, err)
			}
		}
	})
}

func TestShortTime(t *testing.T) {
	for text, want := range map[string]string{
		"0s": "0s", "283500ns": "283.5us", "10ms": "10ms", "1500ms": "1.5s", "90min": "5400s", "7ps": "7ps", "1234567891ps": "1.23457ms",
	} {
		p, err := ParseTime(text)
		if got := ShortTime(p); err != nil || got != want {
			t.Errorf("%s: %s (%v), want %s", text, got, err, want)
		}
	}
}
