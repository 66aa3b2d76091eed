package fluid

import (
	"math"
	"slices"
)

// generate runs the oracle at the lengths, raises the bound and adds the shortest paths that are missing where all
// commodities together would lose more than loss of the bound by going without. mu is the complementarity that new paths start with at least; what they shorten,
// weighed by the demand, if that is more: flow then moves over little by little.
func (m *master) generate(mu, loss float64) {
	in := m.in
	for e, c := range in.class {
		m.byLink[e] = m.length[c]
	}
	bound, total := 0.0, 0.0
	for e, l := range in.links {
		total += l * m.length[e]
	}
	each := loss / float64(len(m.commodities))
	for i, s := range in.source {
		m.stop.Check()
		m.o.run(s, m.byLink)
		for k := in.first[i]; k < in.first[i+1]; k++ {
			c := &m.commodities[k]
			d := m.o.dist[in.sink[k]]
			bound += c.demand * d
			short := math.Inf(1)
			for j := range c.paths {
				short = min(short, c.paths[j].length)
			}
			if !((short-d)*c.demand > each) {
				continue
			}
			var p path
			for v := in.sink[k]; v != s; {
				e := m.o.parent[v]
				p.classes = append(p.classes, in.class[e])
				v = in.from[e]
			}
			slices.Sort(p.classes)
			for _, e := range p.classes {
				p.length += m.length[e]
			}
			if c.paths = append(c.paths, p); len(c.paths) == 2 {
				m.split = append(m.split, c)
			}
			c.rank()
			c.centre(max(mu, (short-d)*c.demand))
		}
	}
	if bound /= total; bound > m.best.Bound {
		m.best.Bound = bound
		copy(m.proof, m.length)
	}
}

// centre sets price and flows so that flow x slack is mu for every path at the present lengths. The equation for the
// price, sum of mu/(length - price) = demand, is convex and solved from above by Newton's method.
func (c *commodity) centre(mu float64) {
	if len(c.paths) == 1 {
		c.paths[0].flow = c.demand
		return
	}
	short := math.Inf(1)
	for i := range c.paths {
		short = min(short, c.paths[i].length)
	}
	u := short - mu/c.demand
	for range 50 {
		g, h := 0.0, 0.0
		for i := range c.paths {
			x := 1 / (c.paths[i].length - u)
			g += mu * x
			h += mu * x * x
		}
		if g <= c.demand*(1+1e-9) {
			break
		}
		u -= (g - c.demand) / h
	}
	c.price = u
	sum := 0.0
	for i := range c.paths {
		p := &c.paths[i]
		p.slack = p.length - u
		p.flow = mu / p.slack
		sum += p.flow
	}
	c.normalise(sum)
}

// normalise scales the flows, which sum to sum, to the demand.
func (c *commodity) normalise(sum float64) {
	for i := range c.paths {
		c.paths[i].flow *= c.demand / sum
	}
}

// rank renews union and all ranks.
func (c *commodity) rank() {
	if len(c.paths) < 2 {
		return
	}
	c.union = c.union[:0]
	for i := range c.paths {
		c.union = append(c.union, c.paths[i].classes...)
	}
	slices.Sort(c.union)
	c.union = slices.Compact(c.union)
	for i := range c.paths {
		p := &c.paths[i]
		p.ranks = p.ranks[:0]
		r := int32(0)
		for _, e := range p.classes {
			for c.union[r] < e {
				r++
			}
			p.ranks = append(p.ranks, r)
		}
	}
}
