package graph

import (
	"fmt"
	"math"
	"slices"

	"sim/internal/csr"
)

// bushAssignment is a routing of all demand that is improved source by source: Algorithm B of traffic assignment (Dial,
// Transportation Research B 40, 2006). All demand of a source is one flow on its bush, an acyclic subgraph. At every
// node that two paths of the bush reach, flow moves from the costliest path in use to the cheapest until both cost the
// same. Paths are never listed, so many paths of one length cost nothing.
//
// The price of an arc is length x exp(steep x (load / level - 1)). The length is fixed during a sweep over the sources,
// and the price after it is the next length. This is the exponential method of multipliers (Tseng and Bertsekas,
// Mathematical Programming 60, 1993) for "load at most level", with a sweep in place of the exact minimum. So prices can
// differ between arcs of one load, and steep need not grow with 1/gap.
type bushAssignment struct {
	*Digraph
	capacity []float64 // by arc
	source   []int32   // nodes with demand
	// By source and node.
	demand     []float64
	order      []int32 // the reach[i] reachable nodes, in a topological order of the bush
	byDistance []int32 // the same nodes by distance, at the prices of the last call of distances
	numReached []int   // by source
	// By source and arc.
	flow, bestFlow []float64
	member         []bool // in the bush
	// By arc.
	length, price, slope, load, bestLoad, bestPrice []float64
	steepness, level                                float64
	totalCapacity                                   float64 // sum of capacity
	best                                            Congestion
	check                                           func()

	// Arcs into v are enter[first[v]]..enter[first[v+1]].
	firstEnter, enter []int32
	// Scratch, by node.
	minPrice, maxPrice []float64 // price of the cheapest and of the costliest path
	minArc, maxArc     []int32   // last arcs of these paths, -1 if there is none
	rank               []int32   // position in order
	through            []float64
}

// newBushAssignment routes all demand on paths of fewest arcs, and splits it evenly among the arcs into each node. demand sums
// to total. It fails if no path joins two nodes with demand.
func newBushAssignment(g *Digraph, capacity, demand []float64, total float64) (*bushAssignment, error) {
	n, m := g.Nodes(), len(g.To)
	b := &bushAssignment{Digraph: g, capacity: capacity, check: func() {}}
	for s := range n {
		if row := demand[s*n : (s+1)*n]; slices.Max(row) > 0 {
			b.source = append(b.source, int32(s))
			for _, d := range row {
				b.demand = append(b.demand, d/total)
			}
		}
	}
	sources := len(b.source)
	b.numReached, b.member = make([]int, sources), make([]bool, sources*m)
	for _, p := range []*[]float64{&b.length, &b.price, &b.slope, &b.load, &b.bestLoad, &b.bestPrice} {
		*p = make([]float64, m)
	}
	for _, p := range []*[]float64{&b.minPrice, &b.maxPrice, &b.through} {
		*p = make([]float64, n)
	}
	for _, p := range []*[]int32{&b.minArc, &b.maxArc, &b.rank} {
		*p = make([]int32, n)
	}
	b.order, b.byDistance = make([]int32, sources*n), make([]int32, sources*n)
	b.flow, b.bestFlow = make([]float64, sources*m), make([]float64, sources*m)
	b.firstEnter, b.enter = csr.Index(g.To, n)
	for e, c := range capacity {
		b.length[e], b.price[e] = 1, 1
		b.totalCapacity += c
	}
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

// initBush makes the first bush of source i: all arcs that lead away from it. t holds the paths of fewest arcs.
func (b *bushAssignment) initBush(i int, t *Tree) {
	n, m := b.Nodes(), len(b.To)
	b.numReached[i] = len(t.Order)
	copy(b.order[i*n:], t.Order)
	copy(b.byDistance[i*n:], t.Order)
	for e, v := range b.To {
		if d := t.Dist[b.From[e]]; d >= 0 && d < t.Dist[v] {
			b.member[i*m+e] = true
			b.flow[i*m+e] = 1 // a share, until made a flow by conserve
		}
	}
	b.conserve(i)
}

// conserve makes the flows of source i meet its demand, without what rounding has lost of them: by the shares in which
// they enter each node, from the last to the first.
func (b *bushAssignment) conserve(i int) {
	n, m := b.Nodes(), len(b.To)
	order, flow := b.order[i*n:i*n+b.numReached[i]], b.flow[i*m:(i+1)*m]
	through := b.through
	copy(through, b.demand[i*n:(i+1)*n])
	for k := len(order) - 1; k > 0; k-- {
		v := order[k]
		enter := b.enter[b.firstEnter[v]:b.firstEnter[v+1]]
		sum := 0.0
		for _, e := range enter {
			sum += flow[e]
		}
		if sum == 0 {
			if through[v] > 0 { // too little to have been a number before
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
		x := through[v] / sum
		for _, e := range enter {
			if flow[e] > 0 {
				flow[e] *= x
				through[b.From[e]] += flow[e]
			}
		}
	}
}

// setDistances sets low to the price of the cheapest path to every node that source i reaches. It corrects labels in the
// order of the distances found the last time, which few changes of prices upset by much.
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

// sortBy sorts nodes that are nearly sorted by rising key.
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
