package graph

import (
	"fmt"
	"math"
	"slices"

	"sim/internal/csr"
)

// bushAssignment is a routing of all demand that is improved source by source: Algorithm B of
// traffic assignment (Dial, Transportation Research B 40, 2006). The demand of a source is one
// flow on its bush, an acyclic subgraph. At every node that several paths of the bush reach, flow
// moves from the costliest path in use to the cheapest until both cost the same. Paths are not
// stored, and the number of paths of equal length does not matter.
//
// The price of an arc is length x exp(steepness x (load / level - 1)). The length is fixed during
// a sweep over the sources; the price after the sweep is the next length. This is the exponential
// method of multipliers (Tseng and Bertsekas, Mathematical Programming 60, 1993) for "load at
// most level", with a sweep instead of the exact minimum. Arcs of equal load can therefore differ
// in price, and steepness need not grow with 1/gap.
type bushAssignment struct {
	*Digraph
	capacity []float64 // indexed by arc
	source   []int32   // nodes with demand

	// Indexed by source*nodes+node. Only the first numReached[i] values of source i are used in
	// order and byDistance.
	demand     []float64 // shares of the total demand
	order      []int32   // reachable nodes in a topological order of the bush
	byDistance []int32   // the same nodes by distance, at the prices of the last setDistances
	numReached []int     // reachable nodes, indexed by source

	// Indexed by source*arcs+arc. bestFlow is the mix of flows with the smallest maximum load so
	// far.
	flow, bestFlow []float64
	member         []bool // whether the arc is in the bush

	// Indexed by arc. slope is the derivative of price by load; bestPrice proves best.Bound.
	length, price, slope, load, bestLoad, bestPrice []float64
	steepness, level                                float64    // parameters of the price
	totalCapacity                                   float64    // sum of capacity
	best                                            Congestion // result so far
	check                                           func()     // called before each source of a sweep

	// The arcs into node v are enter[firstEnter[v]:firstEnter[v+1]].
	firstEnter, enter []int32

	// Scratch, indexed by node.
	minPrice, maxPrice []float64 // prices of the cheapest and the costliest path from the source
	minArc, maxArc     []int32   // last arcs of these paths; -1 if there is no path
	rank               []int32   // position in order
	through            []float64 // flow through a node
}

// newBushAssignment routes all demand on paths with the minimum number of arcs, split evenly
// among the arcs into each node. total is the sum of demand. It fails if no path joins two nodes
// with demand.
func newBushAssignment(g *Digraph, capacity, demand []float64, total float64) (*bushAssignment, error) {
	n, m := g.Nodes(), len(g.To)
	b := &bushAssignment{Digraph: g, capacity: capacity, check: func() {}}

	// Only nodes with demand are sources.
	for s := range n {
		if row := demand[s*n : (s+1)*n]; slices.Max(row) > 0 {
			b.source = append(b.source, int32(s))
			for _, d := range row {
				b.demand = append(b.demand, d/total)
			}
		}
	}

	// Allocate the slices: one value per source, arc or node, or per pair of them.
	sources := len(b.source)
	b.numReached = make([]int, sources)
	b.member = make([]bool, sources*m)
	for _, p := range []*[]float64{&b.length, &b.price, &b.slope, &b.load, &b.bestLoad,
		&b.bestPrice} {
		*p = make([]float64, m)
	}
	for _, p := range []*[]float64{&b.minPrice, &b.maxPrice, &b.through} {
		*p = make([]float64, n)
	}
	for _, p := range []*[]int32{&b.minArc, &b.maxArc, &b.rank} {
		*p = make([]int32, n)
	}

	b.order = make([]int32, sources*n)
	b.byDistance = make([]int32, sources*n)
	b.flow = make([]float64, sources*m)
	b.bestFlow = make([]float64, sources*m)
	b.firstEnter, b.enter = csr.Index(g.To, n)
	for e, c := range capacity {
		b.length[e], b.price[e] = 1, 1
		b.totalCapacity += c
	}

	// The first bush of each source.
	t := NewTree(g)
	for i, s := range b.source {
		t.Breadth(s)
		for v, d := range b.demand[i*n : (i+1)*n] {
			if d > 0 && t.Dist[v] < 0 {
				return nil, fmt.Errorf("graph: no path from node %d to node %d", s, v)
			}
		}
		b.initBush(i, t)
	}

	return b, nil
}

// initBush sets the first bush of source i: all arcs that lead away from it. t has the paths with
// the minimum number of arcs.
func (b *bushAssignment) initBush(i int, t *Tree) {
	n, m := b.Nodes(), len(b.To)
	b.numReached[i] = len(t.Order)
	copy(b.order[i*n:], t.Order)
	copy(b.byDistance[i*n:], t.Order)
	for e, v := range b.To {
		if d := t.Dist[b.From[e]]; d >= 0 && d < t.Dist[v] {
			b.member[i*m+e] = true
			b.flow[i*m+e] = 1 // a share, which conserve scales to a flow
		}
	}

	b.conserve(i)
}

// conserve scales the flows of source i to its demand, which corrects rounding errors. It keeps
// the shares in which flow enters each node, from the last node to the first.
func (b *bushAssignment) conserve(i int) {
	n, m := b.Nodes(), len(b.To)
	order := b.order[i*n : i*n+b.numReached[i]]
	flow := b.flow[i*m : (i+1)*m]
	through := b.through
	copy(through, b.demand[i*n:(i+1)*n])

	// All flow out of a node is known when the node is visited. It is the flow that must enter.
	for k := len(order) - 1; k > 0; k-- {
		v := order[k]
		enter := b.enter[b.firstEnter[v]:b.firstEnter[v+1]]
		sum := 0.0
		for _, e := range enter {
			sum += flow[e]
		}
		// Without shares, the first arc of the bush takes all flow.
		if sum == 0 {
			if through[v] > 0 { // flow that was rounded to 0
				for _, e := range enter {
					if b.member[i*m+int(e)] {
						flow[e] = through[v]
						through[b.From[e]] += through[v]
						break
					}
				}
			}

			continue
		}

		scale := through[v] / sum
		for _, e := range enter {
			if flow[e] > 0 {
				flow[e] *= scale
				through[b.From[e]] += flow[e]
			}
		}
	}
}

// setDistances sets minPrice to the price of the cheapest path to every reachable node of source
// i. It corrects labels in the order of the previous distances, which change little.
func (b *bushAssignment) setDistances(i int) {
	n, minPrice := b.Nodes(), b.minPrice
	nodes := b.byDistance[i*n : i*n+b.numReached[i]]
	for _, v := range nodes {
		minPrice[v] = math.Inf(1)
	}
	minPrice[b.source[i]] = 0
	for changed := true; changed; {
		changed = false
		for _, u := range nodes {
			d := minPrice[u]
			for e := b.Start[u]; e < b.Start[u+1]; e++ {
				if x := d + b.price[e]; x < minPrice[b.To[e]] {
					minPrice[b.To[e]] = x
					changed = true
				}
			}
		}

		if changed {
			sortBy(nodes, minPrice)
		}
	}
}

// sortBy sorts nodes by rising key; it is fast if they are nearly sorted (insertion sort).
func sortBy(list []int32, key []float64) {
	for i := 1; i < len(list); i++ {
		v := list[i]
		x := key[v]
		j := i
		for ; j > 0 && key[list[j-1]] > x; j-- {
			list[j] = list[j-1]
		}
		list[j] = v
	}
}
