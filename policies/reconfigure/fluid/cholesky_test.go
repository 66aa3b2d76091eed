package fluid

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
)

var long = flag.Bool("long", false, "also run the tests that take minutes")

// The factor solves what it was made from, at all sizes around those of its blocks.
func TestFactor(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 2, 3, 7, 47, 48, 49, 50, 95, 96, 97, 101, 145} {
		// B B' + 1
		b, a := make([]float64, n*n), make([]float64, n*n)
		for i := range b {
			b[i] = r.NormFloat64()
		}
		x, y := make([]float64, n), make([]float64, n)
		for i := range n {
			x[i] = r.NormFloat64()
			for j := range n {
				a[i*n+j] = dot(b[i*n:(i+1)*n], b[j*n:(j+1)*n])
			}
			a[i*n+i]++
		}
		for i := range n {
			y[i] = dot(a[i*n:(i+1)*n], x)
		}
		factor(a, n, nil)
		substitute(a, n, y)
		for i := range y {
			if math.Abs(y[i]-x[i]) > 1e-8 {
				t.Fatalf("n = %d: unknown %d is %v, want %v", n, i, y[i], x[i])
			}
		}
	}
}
