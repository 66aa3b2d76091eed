package graph

import (
	"math"
	"testing"

	"sim/fabric/scaleup"
)

// offsets returns the optimum of the uniform all-to-all on Circulant(n, a, b) by its dual problem
// with one unknown. With length y on links of offset a and 1-y on links of offset b, it is the
// sum of distances to all destinations, maximised over y.
func offsets(n, a, b int) float64 {
	value := func(y float64) float64 {
		dist := make([]float64, n)
		for i := range dist {
			dist[i] = math.Inf(1)
		}
		for x := range n {
			for z := range n {
				i := (x*a + z*b) % n
				dist[i] = min(dist[i], float64(x)*y+float64(z)*(1-y))
			}
		}
		sum := 0.0
		for _, d := range dist {
			sum += d
		}
		return sum
	}
	lo, hi := 0.0, 1.0 // concave in y
	for range 90 {
		x, z := lo+(hi-lo)/3, hi-(hi-lo)/3
		if value(x) < value(z) {
			lo = x
		} else {
			hi = z
		}
	}
	return value((lo + hi) / 2)
}

// TestCirculants compares MinCongestion with the optimum for all pairs of offsets that join n
// GPUs.
func TestCirculants(t *testing.T) {
	for n := 3; n <= 12; n++ {
		d := demands(n, "uniform")
		for a := 1; a < n; a++ {
			for b := a; b < n; b++ {
				if math.IsInf(offsets(n, a, b), 1) {
					continue
				}
				want := offsets(n, a, b)
				if a == b {
					want = float64(n*(n-1)) / 4 // a ring of double links
				}
				r := bracket(t, scaleup.Circulant(n, a, b), n, d, CongestionOptions{})
				if r.Load < want*(1-1e-12) || r.Bound > want*(1+1e-12) {
					t.Fatalf("n = %d, offsets %d and %d: %+v, want %v", n, a, b, *r, want)
				}
			}
		}
	}
	for _, c := range []struct {
		a, b int
		want float64
	}{{2, 3, 7.2}, {1, 3, 7}} {
		if got := offsets(8, c.a, c.b); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("n = 8, offsets %d and %d: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
