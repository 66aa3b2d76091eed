package topology

import (
	"slices"

	"sim/engine"
)

// pathMean is a mean of paths through the graph. A path takes what its compute takes, and for each of its transfers no less
// than that takes alone on the circuits of its bundle: a cost for each bundle by its circuits. No iteration is shorter
// than any path of it, nor than any mean of paths; and what a mean costs at least, of all topologies that fit the ports
// of chains, chains find exactly. So any mean bounds the makespan of every topology and service, and knows that ports
// which one bundle has the others have not, as the upper corner of a box does not.
type pathMean struct {
	fixed    float64     // what takes as long under any topology, in ticks
	cost     [][]float64 // by bundle and circuits, counted from 1
	numPaths int         // that were mixed
}

// pathCosts is what transfers cost.
type pathCosts struct {
	p        *Problem
	times    [][]float64 // by task that is a transfer on a bundle: its time by circuits, counted from 1
	bundleOf []int32     // by task: its bundle, -1 for none
}

func newPathCosts(p *Problem) *pathCosts {
	z := &pathCosts{p: p, bundleOf: make([]int32, len(p.Graph.Tasks)), times: make([][]float64, len(p.Graph.Tasks))}
	bundle := p.bundleOfLink()
	for i := range p.Graph.Tasks {
		z.bundleOf[i] = -1
		t := &p.Graph.Tasks[i]
		if t.Kind != engine.Transfer {
			continue
		}
		rate, slow := p.Fabric.Routes.Cap(int32(i), t.Flows), 0.0 // of its own; what a circuit's part of it takes
		for _, u := range p.Fabric.Routes.Of(int32(i)) {
			if int(u.Resource) >= len(bundle) {
				rate = min(rate, p.Fabric.Network.Rate(u.Resource)/u.Weight)
			} else if e := bundle[u.Resource]; u.Weight/p.Fabric.Rate(int(e)) > slow {
				z.bundleOf[i], slow = e, u.Weight/p.Fabric.Rate(int(e))
			}
		}
		if e := z.bundleOf[i]; e >= 0 {
			for n := range p.Useful[e] {
				z.times[i] = append(z.times[i], 8*float64(t.Bytes)*float64(engine.Second)/min(rate, float64(n+1)/slow))
			}
		}
	}
	return z
}

// newMean is a mean of no path yet.
func (z *pathCosts) newMean() *pathMean {
	m := &pathMean{}
	for _, n := range z.p.Useful {
		m.cost = append(m.cost, make([]float64, n))
	}
	return m
}

func (m *pathMean) clone() *pathMean {
	c := *m
	c.cost = make([][]float64, len(m.cost))
	for e := range m.cost {
		c.cost[e] = slices.Clone(m.cost[e])
	}
	return &c
}

// mix has a path be part of a mean, and what it was the rest.
func (z *pathCosts) mix(m *pathMean, path []int32, part float64) {
	m.numPaths++
	m.fixed *= 1 - part
	for _, cost := range m.cost {
		for n := range cost {
			cost[n] *= 1 - part
		}
	}
	for k, i := range path {
		if e := z.bundleOf[i]; e >= 0 {
			for n, t := range z.times[i] {
				m.cost[e][n] += part * t
			}
		} else {
			m.fixed += part * z.otherTime(i)
		}
		if k > 0 {
			m.fixed += part * float64(z.lag(path[k-1], i))
		}
	}
}

// otherTime is how long a task takes that no circuit serves.
func (z *pathCosts) otherTime(i int32) float64 {
	t := &z.p.Graph.Tasks[i]
	if t.Kind == engine.Compute {
		return float64(t.Duration)
	}
	return 8 * float64(t.Bytes) * float64(engine.Second) / z.p.Fabric.Routes.Cap(i, t.Flows)
}

// lag returns the longest of the edges from i to j.
func (z *pathCosts) lag(i, j int32) (lag engine.Time) {
	for _, e := range z.p.Graph.Out(i) {
		if e.To == j {
			lag = max(lag, e.Lag)
		}
	}
	return lag
}
