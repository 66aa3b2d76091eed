package numbers

import (
	"slices"
	"testing"
)

// TestBelow checks a short slice and the empty one.
func TestBelow(t *testing.T) {
	if got := Below(int32(3)); !slices.Equal(got, []int32{0, 1, 2}) {
		t.Errorf("numbers below 3: got %v, want 0 1 2", got)
	}
	if got := Below(0); len(got) != 0 {
		t.Errorf("numbers below 0: got %v, want none", got)
	}
}

// TestFactors compares the sum of factors with the smallest sum by brute force.
func TestFactors(t *testing.T) {
	for n := 1; n <= 150; n++ {
		best := 3 * n
		for a := 1; a <= n; a++ {
			for b := 1; b <= n; b++ {
				if n%(a*b) == 0 {
					best = min(best, a+b+n/(a*b))
				}
			}
		}
		if g := Factors(n); g[0]*g[1]*g[2] != n || g[0]+g[1]+g[2] != best || !slices.IsSorted(g[:]) {
			t.Errorf("factors of %d: got %v, want a sum of %d", n, g, best)
		}
	}
}

// TestQuantile checks quantiles by the nearest-rank method.
func TestQuantile(t *testing.T) {
	v := make([]float64, 100)
	for i := range v {
		v[i] = float64(100 - i)
	}
	for p, want := range map[float64]float64{0.5: 50, 0.95: 95, 0.99: 99, 0.001: 1, 1: 100, 0.951: 96} {
		if got := Quantile(v, p); got != want {
			t.Errorf("quantile %v of 1 to 100 is %v, want %v", p, got, want)
		}
	}
	if got := Quantile([]float64{3}, 0.5); got != 3 {
		t.Errorf("quantile of one value: got %v, want 3", got)
	}
}
