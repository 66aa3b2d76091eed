package machine

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestExpectedMaximum compares the approximation with numerical integration of n x phi(x)
// Phi(x)^(n-1) x, whose error is below 1e-6.
func TestExpectedMaximum(t *testing.T) {
	for _, n := range []int{1, 2, 8, 64, 1024, 16384} {
		want := 0.0
		const step = 1e-3
		for x := -9.0; x < 9; x += step {
			density := math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
			below := (1 + math.Erf(x/math.Sqrt2)) / 2
			want += step * x * float64(n) * density * math.Pow(below, float64(n-1))
		}
		if got := expectedMaximum(n); math.Abs(got-want) > 0.03 {
			t.Errorf("maximum of %d: got %.4f, want %.4f", n, got, want)
		}
	}
}

// TestSlowdown checks that the slowdown does not decrease with the number of GPUs or with any
// parameter, and that GPUs without variation are not slowed down.
func TestSlowdown(t *testing.T) {
	if got := new(Variation).Slowdown(1 << 20); got != 1 {
		t.Errorf("without variation: got %g, want 1", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.Float64Range(0, 1)
		s := Variation{share.Draw(t, "jitter"), share.Draw(t, "share")}
		n := rapid.IntRange(1, 1<<20).Draw(t, "n")
		more := rapid.IntRange(n, 1<<21).Draw(t, "more")
		got := s.Slowdown(n)
		if got < 1 || s.Slowdown(more) < got {
			t.Fatalf("%+v: got %g for %d GPUs and %g for %d, want at least 1 and no decrease",
				s, got, n, s.Slowdown(more), more)
		}
		s.Jitter += 0.1
		if s.Slowdown(n) < got {
			t.Fatalf("%+v: got %g with more jitter, want at least %g", s, s.Slowdown(n), got)
		}
	})
}
