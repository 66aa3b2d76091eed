package fluid

import "math"

// step takes one step of Mehrotra's method towards a complementarity of all products together of least, below which there
// is no use in going, and returns the mean product that it ends with.
func (m *master) step(least float64) float64 {
	m.assemble()
	copy(m.unit, m.in.links)
	m.backsolve(m.unit)
	curve := dot(m.unit, m.in.links)

	// The predictor aims at products of 0. How far it gets says what the corrector can aim at.
	mu, count := m.complementarity(0, 0)
	for e, s := range m.slack {
		m.aim[e] = -s * m.length[e]
	}
	for _, c := range m.split {
		for i := range c.paths {
			c.paths[i].push = -c.paths[i].flow
		}
	}
	m.direction(curve)
	after, _ := m.complementarity(m.longest(1))
	goal := min(mu, max(mu*math.Pow(after/mu, 3), mu*fastest, least/count))
	for e, s := range m.slack {
		m.aim[e] = goal - s*m.length[e] - m.stepSlack[e]*m.stepLength[e]
	}
	for _, c := range m.split {
		for i := range c.paths {
			p := &c.paths[i]
			p.push = (goal-p.stepFlow*p.stepSlack)/p.slack - p.flow
		}
	}
	high := m.direction(curve)
	m.move(high)
	mu, _ = m.complementarity(0, 0)
	return mu
}

// fastest is the most by which a step lowers the aim, boundary how much of the way to the first number that would become
// 0 it goes: the usual values.
const (
	fastest  = 1e-4
	boundary = 0.98
)

// move goes along the direction, in which high changes by high.
func (m *master) move(high float64) {
	primal, dual := m.longest(boundary)
	m.high += primal * high
	for e := range m.slack {
		m.slack[e] += primal * m.stepSlack[e]
		m.length[e] += dual * m.stepLength[e]
	}
	for _, c := range m.split {
		c.price += dual * c.stepPrice
		sum := 0.0
		for i := range c.paths {
			p := &c.paths[i]
			p.flow += primal * p.stepFlow
			p.slack += dual * p.stepSlack
			sum += p.flow
		}
		c.normalise(sum)
	}
	for k := range m.commodities {
		c := &m.commodities[k]
		for i := range c.paths {
			p := &c.paths[i]
			p.length = 0
			for _, e := range p.classes {
				p.length += m.length[e]
			}
		}
	}
}

// complementarity returns the mean of the products slack x length of links and flow x slack of paths, and their number,
// where the direction has been followed so far.
func (m *master) complementarity(primal, dual float64) (mu, count float64) {
	for e, s := range m.slack {
		mu += (s + primal*m.stepSlack[e]) * (m.length[e] + dual*m.stepLength[e])
	}
	count = float64(len(m.slack))
	for _, c := range m.split {
		for i := range c.paths {
			p := &c.paths[i]
			mu += (p.flow + primal*p.stepFlow) * (p.slack + dual*p.stepSlack)
		}
		count += float64(len(c.paths))
	}
	return mu / count, count
}

// direction computes the step for the pushes set and returns that of high.
func (m *master) direction(curve float64) float64 {
	in := m.in
	for e, l := range in.links {
		residual := m.high*l - m.load[e] - m.slack[e]
		m.rhs[e] = m.aim[e]/m.length[e] - residual
	}
	for _, c := range m.split {
		c.push = 0
		for i := range c.paths {
			c.push += c.paths[i].push
		}
		for i := range c.paths {
			p := &c.paths[i]
			x := p.push - p.flow/p.slack*c.push/c.theta
			for _, e := range p.classes {
				m.rhs[e] += x
			}
		}
	}
	m.backsolve(m.rhs)
	high := dot(m.rhs, in.links) / curve
	for e := range m.stepLength {
		m.stepLength[e] = m.rhs[e] - high*m.unit[e]
		m.stepSlack[e] = (m.aim[e] - m.slack[e]*m.stepLength[e]) / m.length[e]
	}
	for _, c := range m.split {
		c.stepPrice = -c.push
		for i := range c.paths {
			p := &c.paths[i]
			p.stepSlack = 0
			for _, e := range p.classes {
				p.stepSlack += m.stepLength[e]
			}
			c.stepPrice += p.flow / p.slack * p.stepSlack
		}
		c.stepPrice /= c.theta
		for i := range c.paths {
			p := &c.paths[i]
			p.stepSlack -= c.stepPrice
			p.stepFlow = p.push - p.flow/p.slack*p.stepSlack
		}
	}
	return high
}

// longest returns the longest steps of flows and of lengths, at most 1, that leave the fraction 1-part of every number.
func (m *master) longest(part float64) (primal, dual float64) {
	primal, dual = 1, 1
	for e := range m.slack {
		if d := m.stepSlack[e]; d < 0 {
			primal = min(primal, -part*m.slack[e]/d)
		}
		if d := m.stepLength[e]; d < 0 {
			dual = min(dual, -part*m.length[e]/d)
		}
	}
	for _, c := range m.split {
		for i := range c.paths {
			p := &c.paths[i]
			if p.stepFlow < 0 {
				primal = min(primal, -part*p.flow/p.stepFlow)
			}
			if p.stepSlack < 0 {
				dual = min(dual, -part*p.slack/p.stepSlack)
			}
		}
	}
	return primal, dual
}
