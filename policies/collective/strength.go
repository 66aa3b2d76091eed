package collective

import (
	"context"
	"math"
	"slices"

	"sim/internal/numbers"
)

// edge is the capacity between two nodes, summed over both directions.
type edge struct {
	a, b     int32
	capacity float64
}

// strength returns the strength of a graph: the minimum over all partitions of the nodes of the
// capacity between parts, divided by the number of parts minus one. It also returns a partition
// that attains it, by node. By Tutte (1961) and Nash-Williams (1961) the strength equals the
// maximum fractional packing of spanning trees. The maximum capacity of an edge should be about
// 1. minCut is a lower bound on the capacity between any two parts, or 0.
//
// The search is Dinkelbach's (1967), applied to strength by Cunningham (1985). For a value v, it
// finds the partition with the minimum sum over its parts of (capacity that leaves the part)/2 -
// v. If this partition has a lower ratio than v, the ratio becomes the next v; otherwise v is the
// strength.
func strength(ctx context.Context, nodes int, edges []edge, minCut float64) (float64, []int32) {
	part := numbers.Below(int32(nodes))
	value := partitionRatio(nodes, part, edges)

	// k parts leave at least k minCut/2 between them. If each single node attains this, no partition
	// is better. This holds for tori and other vertex-transitive graphs (Mader 1971).
	if value*float64(nodes-1) <= float64(nodes)*minCut/2*(1+1e-9) {
		return value, part
	}
	incident := make([]float64, nodes)
	for _, e := range edges {
		incident[e.a] += e.capacity
		incident[e.b] += e.capacity
	}

	// Start with the better of two partitions: single nodes, or the weakest node alone.
	if v := slices.Index(incident, slices.Min(incident)); nodes > 2 && incident[v] < value {
		value = incident[v]
		part = make([]int32, nodes)
		part[v] = 1
	}

	// Dinkelbach's iteration. A decrease by less than 1e-9 is a rounding error.
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

// partitionRatio returns the capacity between parts divided by the number of parts minus one,
// infinite for a single part.
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

// weakestPartition returns the partition with the minimum sum over its parts S of f(S), half the
// capacity that leaves S minus value. f is submodular, and the partition is found by the greedy
// algorithm for the Dilworth truncation (Frank and Tardos 1988).
//
// Nodes are added one by one. The greedy algorithm maximises y(node) under the condition that
// y(S) <= f(S) for every set S of the nodes so far. A minimum cut finds this maximum and the set
// that limits it. All parts that intersect this set are joined. incident is the total capacity at
// each node.
func weakestPartition(ctx context.Context, nodes int, edges []edge, incident []float64, value float64) []int32 {
	byLater := make([][]edge, nodes) // edges by their end with the higher number
	for _, e := range edges {
		a, b := min(e.a, e.b), max(e.a, e.b)
		byLater[b] = append(byLater[b], edge{a, b, e.capacity})
	}
	var (
		y    = make([]float64, nodes)      // the greedy solution, indexed by node
		part = numbers.Below(int32(nodes)) // the parts so far, indexed by node
		sink = int32(nodes)
		g    = newFlowNetwork(nodes + 1)
		// out is the arc of each node to the sink, for negative y and edges to later nodes.
		out = make([]int32, nodes)
		// later is the capacity from each node to nodes that are not yet added.
		later = slices.Clone(incident)
	)

	for i := range int32(nodes) {
		if ctx.Err() != nil {
			return make([]int32, nodes)
		}

		// Add the node with half the capacity of its edges to earlier nodes.
		out[i] = g.addArcs(i, sink, 0, 0)
		for _, e := range byLater[i] {
			later[e.a] -= e.capacity
			later[i] -= e.capacity
			g.addArcs(e.a, i, e.capacity/2, e.capacity/2)
		}

		// A set gains the positive y of its nodes, so that nodes outside it cost theirs.
		gain, first := 0.0, len(g.to)
		for u := range i {
			g.cap[out[u]] = max(0, later[u])/2 + max(0, -y[u])
			if y[u] > 0 {
				g.addArcs(i, u, y[u], 0)
				gain += y[u]
			}
		}

		g.cap[out[i]] = max(0, later[i]) / 2

		// The minimum of f(S) - y(S) over sets S with node i is the maximum y(i).
		y[i] = g.maxFlow(i, sink, math.Inf(1)) - gain - value

		// The nodes on the side of i are the set that limits y(i). Join their parts with the part
		// of i.
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

// removeArcs removes all arcs from a number on, which were added last.
func (g *flowNetwork) removeArcs(first int) {
	for k := len(g.to) - 1; k >= first; k-- {
		g.first[g.to[k^1]] = g.next[k]
	}
	g.to = g.to[:first]
	g.cap = g.cap[:first]
	g.next = g.next[:first]
}
