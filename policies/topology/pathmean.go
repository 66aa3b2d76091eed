package topology

import (
	"slices"

	"sim/engine"
)

// pathMean is a weighted mean of paths through the task graph, as a function of the
// topology. A path takes at least the time of its compute tasks plus, for each transfer,
// its time alone on the circuits of its bundle. Its cost is therefore a constant plus one
// function of the circuit count per bundle. No iteration is shorter than any of its
// paths, nor than any weighted mean of them. The minimum of a mean over all topologies
// that satisfy the port constraints of podChains is found exactly. It bounds the makespan
// of every topology under any service. Unlike the upper corner of a box, it accounts for
// ports that several bundles compete for.
type pathMean struct {
	fixed    float64     // time that does not depend on the topology, in ticks
	cost     [][]float64 // cost[e][n-1] is the time of the transfers of bundle e on n circuits, in ticks
	numPaths int         // number of paths mixed into the mean
}

// pathCosts holds the costs of the transfers.
type pathCosts struct {
	p *Problem
	// times[i][n-1] is the time of transfer i on n circuits of its bundle, in ticks.
	// times[i] is nil for other tasks.
	times    [][]float64
	bundleOf []int32 // bundle of each task; -1 if it uses none
}

// newPathCosts computes the costs of all transfers. If a transfer uses several bundles,
// only the slowest one counts.
func newPathCosts(p *Problem) *pathCosts {
	z := &pathCosts{p: p, bundleOf: make([]int32, len(p.Graph.Tasks)),
		times: make([][]float64, len(p.Graph.Tasks))}
	bundle := p.bundleOfLink()
	for i := range p.Graph.Tasks {
		z.bundleOf[i] = -1
		t := &p.Graph.Tasks[i]
		if t.Kind != engine.Transfer {
			continue
		}
		// rate is the limit outside bundles; slow is the share of a circuit's rate that
		// the slowest bundle needs.
		rate, slow := p.Fabric.Routes.Cap(int32(i), t.Flows), 0.0
		for _, u := range p.Fabric.Routes.Of(int32(i)) {
			if int(u.Resource) >= len(bundle) {
				rate = min(rate, p.Fabric.Network.Rate(u.Resource)/u.Weight)
			} else if e := bundle[u.Resource]; u.Weight/p.Fabric.Rate(int(e)) > slow {
				z.bundleOf[i], slow = e, u.Weight/p.Fabric.Rate(int(e))
			}
		}
		if e := z.bundleOf[i]; e >= 0 {
			for n := range p.Useful[e] {
				z.times[i] = append(z.times[i],
					8*float64(t.Bytes)*float64(engine.Second)/min(rate, float64(n+1)/slow))
			}
		}
	}

	return z
}

// newMean returns a mean of no paths.
func (z *pathCosts) newMean() *pathMean {
	m := &pathMean{}
	for _, n := range z.p.Useful {
		m.cost = append(m.cost, make([]float64, n))
	}
	return m
}

// clone returns an independent copy.
func (m *pathMean) clone() *pathMean {
	c := *m
	c.cost = make([][]float64, len(m.cost))
	for e := range m.cost {
		c.cost[e] = slices.Clone(m.cost[e])
	}
	return &c
}

// mix adds a path to a mean with weight part; the previous mean has weight 1-part.
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

// otherTime returns the time of a task that uses no bundle, in ticks.
func (z *pathCosts) otherTime(i int32) float64 {
	t := &z.p.Graph.Tasks[i]
	if t.Kind == engine.Compute {
		return float64(t.Duration)
	}
	return 8 * float64(t.Bytes) * float64(engine.Second) / z.p.Fabric.Routes.Cap(i, t.Flows)
}

// lag returns the maximum lag of the edges from task i to task j.
func (z *pathCosts) lag(i, j int32) (lag engine.Time) {
	for _, e := range z.p.Graph.Out(i) {
		if e.To == j {
			lag = max(lag, e.Lag)
		}
	}
	return lag
}
