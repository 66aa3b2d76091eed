package collective

import (
	"context"
	"math"
	"slices"

	"sim/internal/numbers"
)

// edge is a capacity between two nodes, both directions together.
type edge struct {
	a, b     int32
	capacity float64
}

// strength returns the least, over all partitions of the nodes of a graph into at least two parts, of the capacity
// between parts over the number of parts but one, and a partition that attains it, by node. That is the most that
// fractional spanning trees can carry (Tutte 1961; Nash-Williams 1961). Greatest capacities should be about 1.
//
// A partition whose capacity is less than a value times its parts but one has the least sum over its parts of half the
// capacity that leaves a part, less the value; from a first value the search goes on with the ratio of the partition
// found until there is none (Dinkelbach 1967, as Cunningham 1985).
func strength(ctx context.Context, nodes int, edges []edge) (float64, []int32) {
	part := numbers.Below(int32(nodes))
	value := partitionRatio(nodes, part, edges)
	incident := make([]float64, nodes)
	for _, e := range edges {
		incident[e.a] += e.capacity
		incident[e.b] += e.capacity
	}
	if v := slices.Index(incident, slices.Min(incident)); nodes > 2 && incident[v] < value {
		value = incident[v]
		part = make([]int32, nodes)
		part[v] = 1
	}
	for ctx.Err() == nil {
		p := weakestPartition(ctx, nodes, edges, incident, value)
		lower := partitionRatio(nodes, p, edges)
		if !(lower < value*(1-1e-9)) {
			break
		}
		value, part = lower, p
	}
	return value, part
}

// partitionRatio returns the capacity between parts over the parts but one, infinite where there is one part.
func partitionRatio(nodes int, part []int32, edges []edge) float64 {
	count := len(slices.Compact(slices.Sorted(slices.Values(part))))
	if count < 2 {
		return math.Inf(1)
	}
	sum := 0.0
	for _, e := range edges {
		if part[e.a] != part[e.b] {
			sum += e.capacity
		}
	}
	return sum / float64(count-1)
}

// weakestPartition returns the partition with the least sum over its parts S of f(S), half the capacity that leaves S less a
// value. Node by node it finds the most that y of the node may be so that y(S) is at most f(S) for every set S of the
// nodes so far, by a least cut, and joins the parts that the set touches which allows no more (the greedy algorithm for
// the Dilworth truncation of a submodular function; Frank and Tardos 1988).
func weakestPartition(ctx context.Context, nodes int, edges []edge, incident []float64, value float64) []int32 {
	byLater := make([][]edge, nodes) // by the later of its ends
	for _, e := range edges {
		a, b := min(e.a, e.b), max(e.a, e.b)
		byLater[b] = append(byLater[b], edge{a, b, e.capacity})
	}
	var (
		y     = make([]float64, nodes)
		part  = numbers.Below(int32(nodes))
		sink  = int32(nodes)
		g     = newFlowNetwork(nodes + 1)
		out   = make([]int32, nodes) // the arc to the sink: what y costs, and edges to later nodes
		later = slices.Clone(incident)
	)
	for i := range int32(nodes) {
		if ctx.Err() != nil {
			return make([]int32, nodes)
		}
		out[i] = g.addArcs(i, sink, 0, 0)
		for _, e := range byLater[i] {
			later[e.a] -= e.capacity
			later[i] -= e.capacity
			g.addArcs(e.a, i, e.capacity/2, e.capacity/2)
		}
		// a set gains y of its nodes where that is positive: what is left out of it pays
		gain, first := 0.0, len(g.to)
		for u := range i {
			g.cap[out[u]] = max(0, later[u])/2 + max(0, -y[u])
			if y[u] > 0 {
				g.addArcs(i, u, y[u], 0)
				gain += y[u]
			}
		}
		g.cap[out[i]] = max(0, later[i]) / 2
		y[i] = g.maxFlow(i, sink, math.Inf(1)) - gain - value
		for u := range i {
			if g.onSourceSide(u) && part[u] != part[i] {
				for w, from, to := int32(0), part[u], part[i]; w <= i; w++ {
					if part[w] == from {
						part[w] = to
					}
				}
			}
		}
		g.removeArcs(first)
	}
	return part
}

// removeArcs takes the arcs from a number on away again, the last added.
func (g *flowNetwork) removeArcs(first int) {
	for k := len(g.to) - 1; k >= first; k-- {
		g.first[g.to[k^1]] = g.next[k]
	}
	g.to, g.cap, g.next = g.to[:first], g.cap[:first], g.next[:first]
}
