package fluid

import (
	"math"
	"math/rand/v2"
	"testing"

	"sim/fabric/scaleup"
)

// offsets returns the optimum of the uniform all-to-all on Circulant(n, a, b) by its dual of one unknown: with length y
// on links of offset a and 1-y on those of b, the sum over destinations of the distance, at the best y.
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

// All pairs of offsets that join n GPUs, with the symmetries and without.
func TestCirculants(t *testing.T) {
	for n := 3; n <= 12; n++ {
		d := demands(n, "uniform")
		for a := 1; a < n; a++ {
			for b := a; b < n; b++ {
				if gcd(gcd(a, b), n) > 1 {
					continue
				}
				want := offsets(n, a, b)
				if a == b {
					want = float64(n*(n-1)) / 4 // a ring of double links
				}
				for _, whole := range []bool{false, true} {
					r := bracket(t, scaleup.Circulant(n, a, b), n, d, Options{Gap: 1e-6, whole: whole})
					if r.Load < want*(1-1e-12) || r.Bound > want*(1+1e-12) {
						t.Fatalf("n = %d, offsets %d and %d: %+v, want %v", n, a, b, *r, want)
					}
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

// What is symmetric in which way, and that orbits are those of the whole group.
func TestOrbits(t *testing.T) {
	for _, c := range []struct {
		name         string
		g            scaleup.Topology
		n            int
		links, pairs int
	}{
		{"ring", scaleup.Circulant(6, 1), 6, 1, 5},
		{"circulant of 1 and 3", scaleup.Circulant(8, 1, 3), 8, 1, 4}, // u -> 3u swaps the offsets, 1 with 3, 2 with 6, 5 with 7
		{"circulant of 2 and 3", scaleup.Circulant(8, 2, 3), 8, 2, 7},
		{"generalised Kautz", scaleup.GeneralizedKautz(8, 2), 8, 7, 28},      // u -> -u-1
		{"generalised Kautz of 9", scaleup.GeneralizedKautz(9, 2), 9, 3, 12}, // and u -> u+3
		{"complete", scaleup.Circulant(7, 1, 2, 3, 4, 5, 6), 7, 1, 1},
	} {
		in := newGraph(c.g, c.n).instance(demands(c.n, "uniform"), float64(c.n*(c.n-1)), false, nil)
		if len(in.links) != c.links || len(in.sink) != c.pairs {
			t.Errorf("%s: %d orbits of connections and %d of pairs, want %d and %d", c.name, len(in.links), len(in.sink), c.links, c.pairs)
		}
	}
}

// Symmetric demands give the same optimum with symmetries and without; ones that are not find none.
func TestSymmetric(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for n := 4; n <= 16; n++ {
		byOffset := make([]float64, n)
		for i := range byOffset {
			byOffset[i] = r.Float64()
		}
		circulant := make([]float64, n*n)
		for i := range circulant {
			if i/n != i%n {
				circulant[i] = byOffset[(i%n-i/n+n)%n]
			}
		}
		for _, c := range []struct {
			g scaleup.Topology
			d []float64
		}{
			{scaleup.Circulant(n, 1, 2), circulant}, {scaleup.Circulant(n, 1, n-1), circulant}, {scaleup.Circulant(n, 1, 1, 3), circulant},
			{scaleup.GeneralizedKautz(n, 2), demands(n, "uniform")}, {scaleup.GeneralizedKautz(n, 3), demands(n, "uniform")},
		} {
			a := bracket(t, c.g, n, c.d, Options{Gap: 1e-6})
			for _, o := range []Options{{Gap: 1e-6, whole: true}, {}, {whole: true}} {
				if b := bracket(t, c.g, n, c.d, o); a.Bound > b.Load*(1+1e-12) || b.Bound > a.Load*(1+1e-12) {
					t.Fatalf("n = %d, %v: %+v, by %+v %+v", n, c.g, *a, o, *b)
				}
			}
		}
		d := demands(n, "random")
		if in := newGraph(scaleup.Circulant(n, 1, 2), n).instance(d, 1, false, nil); len(in.sink) != n*(n-1) {
			t.Fatalf("n = %d: %d orbits of demands that are all different", n, len(in.sink))
		}
	}
}
