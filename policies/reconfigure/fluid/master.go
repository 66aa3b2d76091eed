package fluid

import (
	"math"

	"sim/policies/reconfigure/halt"
)

// path is one way of a commodity: the classes of its connections, sorted, one entry a connection.
type path struct {
	classes             []int32
	ranks               []int32 // of classes in the commodity's union
	flow, slack, length float64 // x > 0, length - price > 0, sum of the lengths of classes
	kept                float64 // flow in the best routing so far; 0 if added later
	push                float64 // aimed-for change of flow x slack, over slack
	stepFlow, stepSlack float64
}

// commodity is an orbit of pairs. price is the dual of its demand, below the length of its shortest path.
type commodity struct {
	demand, price, stepPrice float64
	theta, push              float64 // sums over paths of flow / slack and of push
	paths                    []path
	union                    []int32 // classes of all paths, sorted
}

// headroom times the first routing's load is the first iterate's high. Measured: 1.02..3 take as many steps.
const headroom = 1.5

// aimed is the part of the bracket asked for that the interior point's own gap may be in the end: to go on below it makes
// the equations worse and nothing better.
const aimed = 0.1

// lost is the part of the bracket that the bound may lose by paths left out. Measured on n = 64 and 256: 0.3..0.6 take
// as many steps as 0.1 with half the paths.
const lost = 0.6

// master is the program over the paths known so far, and an interior point of it: minimise high subject to
//
//	sum of flows over a class + slack(class) = high x links(class), flows of a commodity sum to its demand
//
// whose dual has the lengths as variables.
type master struct {
	in          *instance
	o           *oracle
	commodities []commodity
	split       []*commodity // those of two paths or more
	high        float64
	length      []float64 // y by class, sum of links x length = 1
	slack       []float64 // by class
	load        []float64 // by class, of the flows
	byLink      []float64 // lengths by connection
	best        Result
	found       bool      // best.Load is that of flows here, not of the start
	proof       []float64 // lengths of the best bound

	matrix, scale, rhs, unit   []float64
	stepLength, stepSlack, aim []float64
	local, mean                []float64
	stop                       halt.When
}

func newMaster(in *instance) *master {
	n := len(in.links)
	m := &master{in: in, o: newOracle(in), commodities: make([]commodity, len(in.sink))}
	for _, p := range []*[]float64{&m.length, &m.slack, &m.load, &m.scale, &m.rhs, &m.unit, &m.stepLength, &m.stepSlack, &m.aim, &m.proof} {
		*p = make([]float64, n)
	}
	m.matrix = make([]float64, n*n)
	m.byLink = make([]float64, len(in.to))
	for k := range m.commodities {
		m.commodities[k].demand = in.demand[k]
	}
	return m
}

// solve is a primal-dual interior-point method (Mehrotra's predictor and corrector) whose columns are generated on the
// way: after every step shortest paths are added where they are shorter than all known. Prices and flows of commodities
// are eliminated, so a step costs little more than the Cholesky factor of a matrix of links.
// start is the bracket that is known before, of load +Inf and bound 0 where none is.
func (m *master) solve(o Options, start *Result) *Result {
	in := m.in
	total := 0.0
	for _, l := range in.links {
		total += l
	}
	for e := range m.length {
		m.length[e] = 1 / total
	}
	m.best = *start
	m.stop = o.Stop
	m.generate(0, 0)
	m.loads()
	m.high = headroom * m.worst()
	for e, l := range in.links {
		m.slack[e] = m.high*l - m.load[e]
	}
	for {
		if m.best.Load-m.best.Bound <= o.Gap*m.best.Bound {
			m.best.Certified = true
			break
		}
		if m.best.Iterations == o.Iterations {
			break
		}
		m.best.Iterations++
		mu := m.step(aimed * o.Gap * m.best.Load)
		if !(mu > 0) || math.IsInf(mu, 1) { // rounding has spoilt the point; what was found before holds
			break
		}
		m.generate(mu, lost*max(o.Gap*m.best.Load, m.best.Load-m.best.Bound))
		m.loads()
	}
	if m.found {
		m.best.Load = m.kept()
	}
	return &m.best
}

// loads recomputes what every class carries from the flows alone, and keeps flows that are better than all before.
func (m *master) loads() {
	clear(m.load)
	for k := range m.commodities {
		c := &m.commodities[k]
		for i := range c.paths {
			p := &c.paths[i]
			for _, e := range p.classes {
				m.load[e] += p.flow
			}
		}
	}
	worst := m.worst()
	if !(worst < m.best.Load) {
		return
	}
	m.best.Load, m.found = worst, true
	for k := range m.commodities {
		c := &m.commodities[k]
		for i := range c.paths {
			c.paths[i].kept = c.paths[i].flow
		}
	}
}

// worst returns the largest load of a link.
func (m *master) worst() float64 {
	w := 0.0
	for e, l := range m.in.links {
		w = max(w, m.load[e]/l)
	}
	return w
}

// kept returns the largest load of the flows kept, each commodity's made to sum to its demand once more.
func (m *master) kept() float64 {
	clear(m.load)
	for k := range m.commodities {
		c := &m.commodities[k]
		sum := 0.0
		for i := range c.paths {
			sum += c.paths[i].kept
		}
		for i := range c.paths {
			p := &c.paths[i]
			p.kept *= c.demand / sum
			for _, e := range p.classes {
				m.load[e] += p.kept
			}
		}
	}
	return m.worst()
}
