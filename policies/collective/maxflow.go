package collective

import (
	"math"
	"slices"
)

// flowNetwork is a directed graph with capacities, for maximum flows by Dinic's algorithm (1970).
// Arcs are added in pairs: k and k^1, which differ in the lowest bit, are each other's reverse.
type flowNetwork struct {
	first    []int32   // the first arc of a node, indexed by node; -1 if there is no arc
	next     []int32   // the next arc from the same node, indexed by arc; -1 for the last one
	to       []int32   // the node that an arc leads to, indexed by arc
	cap      []float64 // capacity, indexed by arc
	residual []float64 // residual capacity of the last flow, indexed by arc

	// level is indexed by node: distance from the source in the residual graph, or -1.
	level []int32
	// nextArc is indexed by node: the arc from which its search continues.
	nextArc []int32
	queue   []int32 // scratch of buildLevels
}

// tolerance is the residual capacity above which an arc counts, in units of the maximum capacity,
// so that rounding errors do not.
const tolerance = 1e-9

// newFlowNetwork returns a network without arcs.
func newFlowNetwork(nodes int) *flowNetwork {
	return &flowNetwork{
		first:   slices.Repeat([]int32{-1}, nodes),
		level:   make([]int32, nodes),
		nextArc: make([]int32, nodes),
	}
}

// addArcs adds an arc in each direction and returns the number of the first.
func (g *flowNetwork) addArcs(a, b int32, there, back float64) int32 {
	k := int32(len(g.to))
	g.to = append(g.to, b, a)
	g.cap = append(g.cap, there, back)
	g.next = append(g.next, g.first[a], g.first[b])
	g.first[a], g.first[b] = k, k+1
	return k
}

// maxFlow returns the maximum flow between two nodes. It stops early if the flow is at least
// enough.
func (g *flowNetwork) maxFlow(from, to int32, enough float64) float64 {
	// In each phase, augment paths of minimum length until they are blocked.
	g.residual = append(g.residual[:0], g.cap...)
	sum := 0.0
	for sum < enough && g.buildLevels(from, to) {
		copy(g.nextArc, g.first)
		for {
			sent := g.augment(from, to, math.Inf(1))
			if sent == 0 {
				break
			}
			sum += sent
		}
	}

	return sum
}

// buildLevels computes the levels of all nodes, and reports whether the sink has one.
func (g *flowNetwork) buildLevels(from, to int32) bool {
	for i := range g.level {
		g.level[i] = -1
	}
	g.level[from] = 0
	g.queue = append(g.queue[:0], from)
	for i := 0; i < len(g.queue); i++ {
		u := g.queue[i]
		for k := g.first[u]; k >= 0; k = g.next[k] {
			if v := g.to[k]; g.residual[k] > tolerance && g.level[v] < 0 {
				g.level[v] = g.level[u] + 1
				g.queue = append(g.queue, v)
			}
		}
	}

	return g.level[to] >= 0
}

// augment sends flow of at most limit from u to a node along a path of increasing levels, and
// returns the amount. An arc that is blocked is not examined again in the phase.
func (g *flowNetwork) augment(u, to int32, limit float64) float64 {
	if u == to {
		return limit
	}
	for ; g.nextArc[u] >= 0; g.nextArc[u] = g.next[g.nextArc[u]] {
		k := g.nextArc[u]
		if v := g.to[k]; g.residual[k] > tolerance && g.level[v] == g.level[u]+1 {
			if sent := g.augment(v, to, min(limit, g.residual[k])); sent > 0 {
				g.residual[k] -= sent
				g.residual[k^1] += sent
				return sent
			}
		}
	}

	return 0
}

// onSourceSide reports whether a node is on the source's side of the minimum cut. It is valid
// after maxFlow returned less than enough.
func (g *flowNetwork) onSourceSide(u int32) bool { return g.level[u] >= 0 }
