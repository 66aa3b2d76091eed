package calibration

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestRegression: the parameters of sums of exponentials are recovered from exact values, with
// one outlier among them, within bounds. The spread of variables that the residuals do not depend
// on is the width of the prior, and their value is the start.
func TestRegression(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := []float64{rapid.Float64Range(-0.8, 0.8).Draw(t, "a"), rapid.Float64Range(-0.8, 0.8).Draw(t, "b"), 0.3}
		outlier := rapid.IntRange(0, 29).Draw(t, "outlier")
		value := func(x []float64, i int) float64 {
			s := math.Exp(float64(i) / 3)
			return math.Log(50*math.Exp(x[0]) + s*math.Exp(x[1]))
		}
		p := regression{
			residuals: func(x []float64) []float64 {
				r := make([]float64, 30)
				for i := range r {
					r[i] = value(x, i) - value(want, i)
				}
				r[outlier] += 1
				return r
			},
			weights: make([]float64, 30), start: []float64{0, 0, 0.3}, lower: []float64{-2, -2, -2}, upper: []float64{2, 2, 2},
		}
		for i := range p.weights {
			p.weights[i] = 1
		}
		x, spread := p.solve()
		for j, tolerance := range []float64{0.06, 0.06, 1e-12} {
			if math.Abs(x[j]-want[j]) > tolerance {
				t.Errorf("variable %d: got %g, want %g", j, x[j], want[j])
			}
		}
		if spread[0] > 0.1 || spread[1] > 0.1 || math.Abs(spread[2]/priorWidth-1) > 0.5 {
			t.Errorf("got spreads %v, want two small ones and about %g", spread, priorWidth)
		}
		p.upper[0] = want[0] - 0.2
		p.lower[0] = p.upper[0] - 1
		p.start[0] = p.lower[0]
		if x, _ := p.solve(); math.Abs(x[0]-p.upper[0]) > 1e-9 {
			t.Errorf("got %g at the upper bound %g", x[0], p.upper[0])
		}
	})
}
