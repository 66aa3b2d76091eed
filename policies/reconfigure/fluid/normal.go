package fluid

import (
	"math"
	"slices"
)

// assemble builds and factors the normal matrix.
func (m *master) assemble() {
	n := len(m.length)
	a := m.matrix
	clear(a)
	for e := range n {
		a[e*n+e] = m.slack[e] / m.length[e]
	}
	for _, c := range m.split {
		m.stop.Check()
		m.curvature(c)
		u := len(c.union)
		for x, e := range c.union {
			row := a[int(e)*n : int(e)*n+int(e)+1]
			for y, v := range m.local[x*u : x*u+x+1] {
				row[c.union[y]] += v
			}
		}
	}
	// Steps keep the sum of links x length, so a multiple of links links' changes no solution; but it makes the one
	// direction regular in which the lengths of full links can all but grow together.
	for e, l := range m.in.links {
		m.scale[e] = a[e*n+e] / (l * l)
	}
	slices.Sort(m.scale)
	weight := m.scale[n/2]
	for e, l := range m.in.links {
		for f, k := range m.in.links[:e+1] {
			a[e*n+f] += weight * l * k
		}
	}
	for e := range n {
		m.scale[e] = 1 / math.Sqrt(a[e*n+e])
	}
	for e := range n {
		for f := range e + 1 {
			a[e*n+f] *= m.scale[e] * m.scale[f]
		}
	}
	factor(a, n, m.stop)
}

// backsolve solves the normal equations in place.
func (m *master) backsolve(b []float64) {
	for e := range b {
		b[e] *= m.scale[e]
	}
	substitute(m.matrix, len(b), b)
	for e := range b {
		b[e] *= m.scale[e]
	}
}

// curvature sets local to the commodity's part of the normal matrix, by rank in union: the sum over its paths of theta a
// a', where a counts a path's classes, less the part along which all its flows change alike.
func (m *master) curvature(c *commodity) {
	u := len(c.union)
	if len(m.local) < u*u {
		m.local = make([]float64, u*u)
		m.mean = make([]float64, u)
	}
	local, mean := m.local[:u*u], m.mean[:u]
	clear(local)
	clear(mean)
	c.theta = 0
	for i := range c.paths {
		p := &c.paths[i]
		theta := p.flow / p.slack
		c.theta += theta
		for x, e := range p.ranks {
			row := local[int(e)*u : int(e)*u+int(e)+1]
			for _, f := range p.ranks[:x] {
				if f == e {
					row[f] += theta
				}
				row[f] += theta
			}
			row[e] += theta
			mean[e] += theta
		}
	}
	for x, v := range mean {
		v /= c.theta
		row := local[x*u : x*u+x+1]
		for y := range row {
			row[y] -= v * mean[y]
		}
	}
}
