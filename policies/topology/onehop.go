package topology

import (
	"context"
	"math"

	"sim/engine"
	"sim/engine/flow"
)

// oneHopDemand is the demand of a job in which no transfer waits for another one, for
// example a traffic matrix, an all-to-all, a permutation or a hotspot. Circuits then
// limit each pair of pods independently, and the minimum circuits for a completion time
// have a closed form.
type oneHopDemand struct {
	// circuitTime is the time in ticks, indexed by bundle, in which one circuit carries
	// the bundle's busier direction. A circuit carries both directions at full rate.
	circuitTime []float64
	// overhead is the minimum time before a transfer starts plus the minimum time after
	// one ends.
	overhead engine.Time
}

// newOneHopDemand returns the one-hop demand of the graph, or nil if a transfer waits for
// another one.
func (p *Problem) newOneHopDemand() *oneHopDemand {
	g := p.Graph
	if len(p.Fabric.Bundles) == 0 {
		return nil
	}

	// Longest path to each transfer, without transfers; fail if a transfer precedes
	// another.
	head, tail := make([]engine.Time, len(g.Tasks)), make([]engine.Time, len(g.Tasks))
	follows := make([]bool, len(g.Tasks)) // a transfer precedes the task
	before, after := engine.Never, engine.Never
	for _, i := range g.Order() {
		t := &g.Tasks[i]
		if t.Kind == engine.Transfer {
			if follows[i] {
				return nil
			}
			before = min(before, head[i])
		}
		for _, e := range g.Out(i) {
			follows[e.To] = follows[e.To] || follows[i] || t.Kind == engine.Transfer
			head[e.To] = max(head[e.To], head[i]+t.Duration+e.Lag)
		}
	}

	// Longest path after each transfer.
	order := g.Order()
	for k := len(order) - 1; k >= 0; k-- {
		i := order[k]
		for _, e := range g.Out(i) {
			tail[i] = max(tail[i], e.Lag+g.Tasks[e.To].Duration+tail[e.To])
		}
		if g.Tasks[i].Kind == engine.Transfer {
			after = min(after, tail[i])
		}
	}

	// The load of each link, then of each bundle.
	bits := make([]float64, len(p.Fabric.Network.Links))
	for i := range g.Tasks {
		for _, u := range p.Fabric.Routes.Of(int32(i)) {
			if int(u.Resource) < len(bits) {
				bits[u.Resource] += 8 * float64(g.Tasks[i].Bytes) * u.Weight
			}
		}
	}

	d := &oneHopDemand{circuitTime: make([]float64, len(p.Fabric.Bundles)), overhead: before + after}
	for e, b := range p.Fabric.Bundles {
		for _, l := range b.Links {
			d.circuitTime[e] = max(d.circuitTime[e], bits[l]/p.Fabric.Rate(e)*float64(engine.Second))
		}
	}

	return d
}

// minCircuits returns the minimum circuits of each bundle with which the job can end by
// the given time, up to rounding errors.
func (d *oneHopDemand) minCircuits(end engine.Time) []int {
	x := make([]int, len(d.circuitTime))
	ticks := float64(end-d.overhead)*(1+1e-12) + 0.01 // slightly more, because load has rounding errors
	for e, load := range d.circuitTime {
		n := math.MaxInt32 // more than the ports of any pod
		if needed := math.Ceil(load / ticks); ticks > 0 && needed < float64(n) {
			n = max(1, int(needed))
		}
		x[e] = n
	}
	return x
}

// bestOneHop returns the shortest completion time, at least minTime, that the ports of
// all pods permit, and the minimum circuits for it. No topology is faster under any
// sharing of capacity. The problem must have a one-hop demand.
func (p *Problem) bestOneHop(minTime engine.Time) (engine.Time, []int) {
	d := p.oneHop
	low, high := minTime, max(minTime, d.overhead+1)
	for _, load := range d.circuitTime {
		high = max(high, d.overhead+engine.Time(load)+1) // one circuit per bundle fits
	}
	for low < high {
		if middle := low + (high-low)/2; p.exceedsPorts(d.minCircuits(middle)) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, d.minCircuits(low)
}

// solveOneHop returns an optimal decision for one-hop demand, under the first of the
// services with which the simulation meets the bound. It returns nil if the problem has
// no one-hop demand, or if no service meets the bound, which can happen if NICs are
// shared so that some idle. The bound is returned in the second case also.
func (p *Problem) solveOneHop(ctx context.Context, services ...flow.Service) (*Decision, engine.Time) {
	if p.oneHop == nil {
		return nil, 0
	}
	w := p.acquire(ctx, services[0])
	defer p.release(w)
	bound, minimum := p.bestOneHop(w.bound(p.Useful))
	d := &Decision{Bound: bound, BoundModel: AnyService, Searched: true, Evaluations: 1}
	for _, x := range [][]int{minimum, p.withFreePortsFilled(minimum)} {
		for _, d.Service = range services {
			w.SetService(d.Service)
			d.Evaluations++
			c, ok := w.simulate(x, never)
			if ok && meetsBound(c, bound) {
				d.Circuits, d.Makespan, d.Bound = x, c, min(bound, c)
				return d, bound
			}
		}
	}

	return nil, bound
}
