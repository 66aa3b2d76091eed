package text

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
	for v, want := range map[float64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := Thousands(v); got != want {
			t.Errorf("%g: %q, want %q", v, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"delta-fast", "delta-joint", "prop-alloc", "run"}
	for word, want := range map[string]string{
		"delta-jont": "delta-joint", "dleta-fast": "delta-fast", "prop": "prop-alloc", "pro": "", "delta": "", "rnu": "run", "r": "", "": "", "propalloc": "prop-alloc", "DELTA-FAST": "delta-fast", "allocate": "", "dp": "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	known := []string{"delta-fast", "delta-joint", "prop-alloc", "prop-second", "prop-third", "prop-fourth", "prop-fifth"}
	for word, want := range map[string]string{
		"delta": "; did you mean delta-fast or delta-joint?", "delta-fest": "; did you mean delta-fast?", "prop-": "; see there", "x": "; see there",
	} {
		if got := DidYouMean(word, known, "see there"); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
