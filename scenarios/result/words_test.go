package result

import "testing"

func TestEdits(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"kitten", "sitting", 3}, {"ca", "abc", 3}, {"abcd", "bacd", 1}} {
		if got := Edits(tt.a, tt.b); got != tt.want || Edits(tt.b, tt.a) != got {
			t.Errorf("%q, %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestWords(t *testing.T) {
	for key, want := range map[string]string{
		"seed": "seed", "fabric.port_bandwidth": "port_bandwidth", "job.0.weight": "job 0 weight",
		"job.1.workload.pp": "job 1 pp", "job.mixtral.nct": "job mixtral nct",
	} {
		if got := ShortKey(key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := Thousands(v); got != want {
			t.Errorf("%g: %q, want %q", v, got, want)
		}
	}
}
