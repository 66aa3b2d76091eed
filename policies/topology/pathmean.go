package topology

import (
	"slices"

	"sim/engine"
)

// This file implements the lower bound on the makespan that the search over topologies takes
// from paths of the task graph. A topology gives each bundle, the set of circuits between two
// pods, a number of circuits. A path is a sequence of tasks, each a successor of the one before.

// pathMean is a weighted mean of the costs of paths, as a function of the topology. The cost
// of a path is a lower bound on its duration: the durations of its compute tasks, the lags
// between its tasks, and the time that each of its transfers would take without other traffic.
// This is a constant plus, for each bundle, a function of the bundle's circuits.
//
// An iteration lasts at least as long as each of its paths, and thus at least as long as any
// weighted mean of them. The minimum of the mean over all topologies is therefore a lower
// bound on the makespan, whatever the order in which transfers are served. podChains.minimise
// computes a lower bound of this minimum: it divides the ports of each pod among the bundles
// that end there. It checks the ports at both ends of some bundles, and at one end of others.
//
// In this the bound is stronger than the makespan with the maximum number of circuits on all
// bundles at once. Such a topology uses the same port for several bundles.
type pathMean struct {
	fixed    float64     // time that does not depend on the topology, in ticks
	cost     [][]float64 // cost[e][n-1] is the time of the transfers of bundle e on n circuits, in ticks
	numPaths int         // number of paths mixed into the mean
}

// pathCosts holds the costs of the tasks of p on paths.
type pathCosts struct {
	p *Problem
	// times[i][n-1] is the time of transfer i on n circuits of its bundle, in ticks.
	// times[i] is nil for tasks that use no bundle.
	times    [][]float64
	bundleOf []int32 // bundle of each task; -1 if it uses none
}

// newPathCosts computes the costs of all transfers. If a transfer uses several bundles, its
// cost depends only on the bundle that needs the most circuits for it.
func newPathCosts(p *Problem) *pathCosts {
	z := &pathCosts{
		p:        p,
		bundleOf: slices.Repeat([]int32{-1}, len(p.Graph.Tasks)),
		times:    make([][]float64, len(p.Graph.Tasks)),
	}
	bundleOfLink := p.bundleOfLink()
	for i := range p.Graph.Tasks {
		t := &p.Graph.Tasks[i]
		if t.Kind != engine.Transfer {
			continue
		}
		bundle, circuitsPerRate, maxRate := transferLimits(p, bundleOfLink, int32(i))
		if bundle < 0 {
			continue
		}

		z.bundleOf[i] = bundle
		for n := 1; n <= p.Useful[bundle]; n++ {
			rate := min(maxRate, float64(n)/circuitsPerRate)
			z.times[i] = append(z.times[i], 8*float64(t.Bytes)*float64(engine.Second)/rate)
		}
	}
	return z
}

// transferLimits returns the limits on the rate of transfer i, in bit/s. maxRate is the limit
// of all resources other than circuits. bundle is the bundle that needs the most circuits,
// circuitsPerRate for each bit/s of the transfer; it is -1 if the transfer uses no bundle.
//
// The resources of the network are its links, followed by other shared capacities. Every link
// belongs to a bundle; bundleOfLink is indexed by link.
func transferLimits(p *Problem, bundleOfLink []int32, i int32) (bundle int32, circuitsPerRate, maxRate float64) {
	bundle = -1
	maxRate = p.Fabric.Routes.Cap(i, p.Graph.Tasks[i].Flows)
	for _, u := range p.Fabric.Routes.Of(i) {
		isLink := int(u.Resource) < len(bundleOfLink)
		if !isLink {
			maxRate = min(maxRate, p.Fabric.Network.Rate(u.Resource)/u.Weight)
			continue
		}
		e := bundleOfLink[u.Resource]
		if needed := u.Weight / p.Fabric.Rate(int(e)); needed > circuitsPerRate {
			bundle, circuitsPerRate = e, needed
		}
	}
	return bundle, circuitsPerRate, maxRate
}

// newMean returns a mean of no paths. All its costs are 0.
func (z *pathCosts) newMean() *pathMean {
	m := &pathMean{}
	for _, n := range z.p.Useful {
		m.cost = append(m.cost, make([]float64, n))
	}
	return m
}

// clone returns a copy that shares no memory with m.
func (m *pathMean) clone() *pathMean {
	c := *m
	c.cost = make([][]float64, len(m.cost))
	for e := range m.cost {
		c.cost[e] = slices.Clone(m.cost[e])
	}
	return &c
}

// mix adds a path, a list of tasks, to the mean m. The path gets the given weight, and the
// previous mean keeps the weight 1-weight.
func (z *pathCosts) mix(m *pathMean, path []int32, weight float64) {
	m.numPaths++
	m.fixed *= 1 - weight
	for _, cost := range m.cost {
		for n := range cost {
			cost[n] *= 1 - weight
		}
	}

	for k, i := range path {
		if e := z.bundleOf[i]; e >= 0 {
			for n, t := range z.times[i] {
				m.cost[e][n] += weight * t
			}
		} else {
			m.fixed += weight * z.otherTime(i)
		}
		if k > 0 {
			m.fixed += weight * float64(z.lag(path[k-1], i))
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

// lag returns the lag between task i and its successor j: the time for which j waits after
// the end of i. With several edges between the two it is the maximum of their lags.
func (z *pathCosts) lag(i, j int32) (lag engine.Time) {
	for _, e := range z.p.Graph.Out(i) {
		if e.To == j {
			lag = max(lag, e.Lag)
		}
	}
	return lag
}
