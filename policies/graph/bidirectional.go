package graph

import (
	"math"

	"sim/internal/csr"
)

// BidirectionalSearch finds a shortest path between nodes of a Digraph by searches from both ends
// (Pohl, Bi-directional Search, Machine Intelligence 6, 1971). If nearly all nodes are a few arcs
// away, it visits only a small part of the graph. After the first searches it does not allocate.
type BidirectionalSearch struct {
	forward, reverse *Tree     // searches from the root and, over reversed arcs, from the targets
	forwardArc       []int32   // arc of the graph, indexed by arc of the reversed graph
	length           []float64 // indexed by arc class
	best             float64   // length of the best path so far
	meetingArc       int32     // its arc between the two searches; noArc if there is no path
}

// noArc means that no arc leads to a node, or that no path is known.
const noArc = -1

// NewBidirectionalSearch returns a search on a graph.
func NewBidirectionalSearch(g *Digraph) *BidirectionalSearch {
	b := &BidirectionalSearch{forward: NewTree(g)}
	back := &Digraph{}
	back.Start, b.forwardArc = csr.Index(g.To, g.Nodes())
	for _, k := range b.forwardArc {
		back.Add(g.To[k], g.From[k], g.Class[k])
	}
	b.reverse = NewTree(back)
	return b
}

// Find finds a shortest path from root to any of the nodes from..until-1, which do not include
// root. length is indexed by arc class and non-negative. It returns the length of the path, or
// limit if no path is shorter.
func (b *BidirectionalSearch) Find(root, from, until int32, length []float64, limit float64) float64 {
	b.length = length
	b.best = limit
	b.meetingArc = noArc
	b.forward.reset()
	b.reverse.reset()

	// Both searches start at distance 0.
	for a := from; a < until; a++ {
		b.reverse.settle(a, noArc, 0)
	}
	for a := from; a < until; a++ {
		b.relax(b.reverse, b.forward, a)
	}
	b.forward.settle(root, noArc, 0)
	b.relax(b.forward, b.reverse, root)

	// Extend the search with fewer candidates, until no path between nodes that are not reached
	// can be shorter than the best one.
	for b.forward.minPending()+b.reverse.minPending() < b.best {
		t, other := b.forward, b.reverse
		if len(t.heap) > len(other.heap) {
			t, other = other, t
		}
		if k := t.pop(); t.Dist[t.To[k.arc]] < 0 {
			node := t.To[k.arc]
			t.settle(node, k.arc, math.Float64frombits(k.dist))
			b.relax(t, other, node)
		}
	}

	return b.best
}

// relax examines the arcs of a node that search t has reached. An arc to a node of the other search
// closes a path.
func (b *BidirectionalSearch) relax(t, other *Tree, node int32) {
	d := t.Dist[node]
	for k := t.Start[node]; k < t.Start[node+1]; k++ {
		to := t.To[k]
		dist := d + b.length[t.Class[k]]
		if t.Dist[to] >= 0 || dist >= b.best {
			continue
		}
		t.push(heapEntry{dist: math.Float64bits(dist), arc: k})
		if rest := other.Dist[to]; rest >= 0 && dist+rest < b.best {
			b.best, b.meetingArc = dist+rest, k
			if t == b.reverse {
				b.meetingArc = b.forwardArc[k]
			}
		}
	}
}

// Path appends the arcs of the path of the last Find, which must have been shorter than its
// limit.
func (b *BidirectionalSearch) Path(into []int32) []int32 {
	into = append(b.forward.Path(b.forward.From[b.meetingArc], into), b.meetingArc)
	for k := b.reverse.ParentArc[b.forward.To[b.meetingArc]]; k >= 0; k = b.reverse.ParentArc[b.reverse.From[k]] {
		into = append(into, b.forwardArc[k])
	}
	return into
}

// NumVisited returns the number of nodes that the last search reached.
func (b *BidirectionalSearch) NumVisited() int {
	return len(b.forward.Order) + len(b.reverse.Order)
}

// reset removes the reached nodes, in time proportional to their number.
func (t *Tree) reset() {
	for _, a := range t.Order {
		t.Dist[a] = -1
	}
	t.Order, t.heap = t.Order[:0], t.heap[:0]
}

// settle records the shortest path to a node, which ends with arc.
func (t *Tree) settle(node, arc int32, dist float64) {
	t.Dist[node], t.ParentArc[node] = dist, arc
	t.Order = append(t.Order, node)
}

// minPending returns a lower bound on the distance of the nodes that are not reached yet.
func (t *Tree) minPending() float64 {
	if len(t.heap) == 0 {
		return math.Inf(1)
	}
	return math.Float64frombits(t.heap[0].dist)
}
