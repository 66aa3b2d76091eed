package fluid

import (
	"math"

	"sim/policies/reconfigure/halt"
)

// factor replaces the lower triangle of the symmetric positive definite n x n matrix a (row by row) by its Cholesky
// factor. A pivot that rounding has spoilt is replaced by a huge one, which fixes its unknown (Wright, Primal-Dual
// Interior-Point Methods, ch. 11).
func factor(a []float64, n int, stop halt.When) {
	const block = 48
	for lo := 0; lo < n; lo += block {
		hi := min(lo+block, n)
		for j := lo; j < hi; j++ {
			rj := a[j*n+lo : j*n+j]
			d := a[j*n+j]
			for _, x := range rj {
				d -= x * x
			}
			if !(d > tinyPivot) {
				d = hugePivot
			}
			d = math.Sqrt(d)
			a[j*n+j] = d
			for i := j + 1; i < n; i++ {
				ri := a[i*n+lo : i*n+j+1]
				x := ri[len(rj)]
				for k, v := range rj {
					x -= v * ri[k]
				}
				ri[len(rj)] = x / d
			}
		}
		// The rest loses what the block's columns explain, two rows and two columns at a time.
		for i := hi; i < n; i += 2 {
			stop.Check()
			p := a[i*n+lo : i*n+hi]
			if i+1 == n {
				for j := hi; j <= i; j++ {
					a[i*n+j] -= dot(p, a[j*n+lo:j*n+hi])
				}
				break
			}
			q := a[(i+1)*n+lo : (i+1)*n+hi]
			for j := hi; j <= i; j += 2 {
				r := a[j*n+lo : j*n+hi][:len(p)]
				s := a[(j+1)*n+lo : (j+1)*n+hi][:len(p)]
				qq := q[:len(p)]
				var pr, ps, qr, qs float64
				for k, x := range p {
					y, u, v := qq[k], r[k], s[k]
					pr += x * u
					ps += x * v
					qr += y * u
					qs += y * v
				}
				a[i*n+j] -= pr
				a[(i+1)*n+j] -= qr
				a[(i+1)*n+j+1] -= qs
				if j < i {
					a[i*n+j+1] -= ps
				}
			}
		}
	}
}

// Pivots below the first, in a matrix scaled to a diagonal of 1, are replaced by the second.
const (
	tinyPivot = 1e-13
	hugePivot = 1e60
)

func dot(p, q []float64) float64 {
	q = q[:len(p)]
	x := 0.0
	for k, v := range p {
		x += v * q[k]
	}
	return x
}

// substitute solves L L' x = b in place for the factor in the lower triangle of a.
func substitute(a []float64, n int, b []float64) {
	for i := range n {
		b[i] = (b[i] - dot(a[i*n:i*n+i], b[:i])) / a[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		x := b[i] / a[i*n+i]
		b[i] = x
		row := a[i*n : i*n+i]
		for k, v := range row {
			b[k] -= v * x
		}
	}
}
