package calibration

// This file minimises sums of squares.

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// regression is a robust nonlinear least-squares problem: it minimises
//
//	sum_i w_i 2 s^2 (sqrt(1 + (r_i/s)^2) - 1) + sum_j (s (x_j - start_j) / priorWidth)^2
//
// over x within bounds, where r are the residuals, w their weights and s is noise. The first sum
// counts small residuals squared and outliers by their absolute value. The second sum keeps
// variables that the residuals do not determine near their start.
type regression struct {
	// residuals returns the residuals at x.
	residuals           func(x []float64) []float64
	weights             []float64 // indexed by residual
	start, lower, upper []float64 // indexed by variable
}

const (
	// noise is the residual of a typical measurement.
	noise = 0.05
	// priorWidth is the standard deviation that the prior of a variable has. Variables are
	// logarithms, so a value is known within a factor of 2 before it is measured.
	priorWidth = 0.7
	// maxSteps limits the steps of a fit. Smooth models need about ten.
	maxSteps = 60
)

// solve returns the minimum near the start, and the standard deviation of each variable that the
// noise of the residuals causes. It takes steps of Levenberg and Marquardt (Nocedal and Wright,
// Numerical Optimization, 2006, Sec. 10.3) with Jacobians by differences, and reweights the
// residuals between steps.
func (p *regression) solve() (x, spread []float64) {
	x = append([]float64(nil), p.start...)
	n := len(x)
	r := p.residuals(x)
	cost := p.cost(x, r)
	damping := 1e-3
	var normal *mat.SymDense
	for range maxSteps {
		var gradient []float64
		normal, gradient = p.normalEquations(x, r, false)

		// Raise the damping until a step reduces the cost.
		improved := 0.0
		for ; damping < 1e8; damping *= 5 {
			damped := mat.NewSymDense(n, nil)
			damped.CopySym(normal)
			for j := range n {
				damped.SetSym(j, j, normal.At(j, j)*(1+damping))
			}
			var c mat.Cholesky
			var step mat.VecDense
			if !c.Factorize(damped) || c.SolveVecTo(&step, mat.NewVecDense(n, gradient)) != nil {
				continue
			}
			next := make([]float64, n)
			for j := range n {
				next[j] = min(max(x[j]-step.AtVec(j), p.lower[j]), p.upper[j])
			}
			nextR := p.residuals(next)
			if nextCost := p.cost(next, nextR); nextCost < cost {
				improved = cost - nextCost
				x, r, cost = next, nextR, nextCost
				damping /= 20
				break
			}
		}
		const tolerance = 1e-5
		if improved <= tolerance*cost {
			break
		}
	}

	// The covariance is the inverse of the normal equations, scaled by the noise.
	spread = make([]float64, n)
	normal, _ = p.normalEquations(x, r, true)
	var c mat.Cholesky
	var inverse mat.SymDense
	scale := max(noise, p.rms(r))
	if c.Factorize(normal) && c.InverseTo(&inverse) == nil {
		for j := range n {
			spread[j] = scale * math.Sqrt(inverse.At(j, j))
		}
	}
	return x, spread
}

// cost returns the function that solve minimises.
func (p *regression) cost(x, r []float64) (sum float64) {
	for i := range r {
		z := r[i] / noise
		sum += p.weights[i] * 2 * noise * noise * (math.Sqrt(1+z*z) - 1)
	}
	for j := range x {
		z := noise * (x[j] - p.start[j]) / priorWidth
		sum += z * z
	}
	if math.IsNaN(sum) {
		return math.Inf(1)
	}
	return sum
}

// rms returns the weighted root mean square of r without its outliers.
func (p *regression) rms(r []float64) float64 {
	sum, weights := 0.0, 0.0
	for i := range r {
		w := p.weights[i] * robustWeight(r[i])
		sum += w * r[i] * r[i]
		weights += w
	}
	return math.Sqrt(sum / max(weights, 1e-9))
}

// norm returns the weighted sum of the squares of a column of derivatives.
func (p *regression) norm(column, r []float64) (sum float64) {
	for i, v := range column {
		sum += p.weights[i] * robustWeight(r[i]) * v * v
	}
	return sum
}

// robustWeight is the weight of a residual in the linear problem of a step.
func robustWeight(r float64) float64 {
	z := r / noise
	return 1 / math.Sqrt(1+z*z)
}

// derivatives returns the derivatives of the residuals r at x by variable j, by a difference of h.
func (p *regression) derivatives(x, r []float64, j int, h float64) []float64 {
	moved := append([]float64(nil), x...)
	moved[j] += h
	column := p.residuals(moved)
	for i := range column {
		column[i] = (column[i] - r[i]) / h
	}
	return column
}

// normalEquations returns J'WJ and J'Wr of the linear problem at x, with the prior. Models choose
// the fastest of several algorithms, so derivatives of both sides can differ. For twoSided, the side
// with the smaller derivatives counts: a variable on whose increase alone the residuals depend is not
// determined by them.
func (p *regression) normalEquations(x, r []float64, twoSided bool) (normal *mat.SymDense, gradient []float64) {
	n := len(x)
	columns := make([][]float64, n)
	for j := range n {
		// Models have small steps, such as waves of tiles, so the difference is not tiny.
		h := 1e-3
		if twoSided {
			h = noise
		}
		if x[j]+h > p.upper[j] {
			h = -h
		}
		columns[j] = p.derivatives(x, r, j, h)
		if twoSided {
			if other := p.derivatives(x, r, j, -h); p.norm(other, r) < p.norm(columns[j], r) {
				columns[j] = other
			}
		}
	}
	normal, gradient = mat.NewSymDense(n, nil), make([]float64, n)
	prior := noise * noise / (priorWidth * priorWidth)
	for j := range n {
		for k := range j + 1 {
			sum := 0.0
			for i := range r {
				sum += p.weights[i] * robustWeight(r[i]) * columns[j][i] * columns[k][i]
			}
			if j == k {
				sum += prior
			}
			normal.SetSym(j, k, sum)
		}
		gradient[j] = prior * (x[j] - p.start[j])
		for i := range r {
			gradient[j] += p.weights[i] * robustWeight(r[i]) * columns[j][i] * r[i]
		}
	}
	return normal, gradient
}
