package graph

import (
	"math"
	"slices"

	"sim/internal/csr"
)

// Digraph is a directed graph. The arcs of node a are Start[a] up to Start[a+1]. Arc k leads from
// From[k] to To[k] and has the length of its class Class[k].
type Digraph struct{ Start, From, To, Class []int32 }

// Arc is an arc of a Digraph.
type Arc struct{ From, To, Class int32 }

// NewDigraph returns the graph with the given number of nodes and the given arcs. The arcs of a
// node keep their order.
func NewDigraph(nodes int, arcs []Arc) *Digraph {
	g := new(Digraph)
	g.Start, arcs = csr.Sort(arcs, nodes, func(a Arc) int32 { return a.From })
	for _, a := range arcs {
		g.Add(a.From, a.To, a.Class)
	}
	return g
}

// Nodes returns the number of nodes.
func (g *Digraph) Nodes() int { return len(g.Start) - 1 }

// Add appends an arc. A graph is built node by node: Add is called for all arcs of a node, and then
// Close.
func (g *Digraph) Add(from, to, class int32) {
	g.From = append(g.From, from)
	g.To = append(g.To, to)
	g.Class = append(g.Class, class)
}

// Close ends the arcs of the present node, from node 0 on.
func (g *Digraph) Close() {
	if g.Start == nil {
		g.Start = []int32{0}
	}
	g.Start = append(g.Start, int32(len(g.To)))
}

// Tree holds shortest paths from a node of a Digraph. It can be computed repeatedly without
// allocations.
type Tree struct {
	*Digraph
	Dist      []float64 // distance, indexed by node; negative if unreachable
	ParentArc []int32   // last arc of the path, indexed by node; -1 for the root
	Order     []int32   // reached nodes, by rising distance

	heap []heapEntry // candidate arcs of Dijkstra's algorithm
}

// heapEntry is an arc by which a node may be reached next. Its distance is stored as the bits of
// a float64. Non-negative floats and their bits have the same order, and bits are compared
// without a branch. The tree has its own heap because path searches dominate the running time of
// some policies.
type heapEntry struct {
	dist uint64
	arc  int32
}

// NewTree returns an empty tree of a graph.
func NewTree(g *Digraph) *Tree {
	n := g.Nodes()
	t := &Tree{
		Digraph:   g,
		Dist:      make([]float64, n),
		ParentArc: make([]int32, n),
		Order:     make([]int32, 0, n),
	}

	t.Clear()
	return t
}

// Clear removes all nodes from the tree.
func (t *Tree) Clear() {
	for i := range t.Dist {
		t.Dist[i] = -1
	}
	t.Order = t.Order[:0]
}

// Grow finds the shortest paths from a node by Dijkstra's algorithm. length is indexed by arc
// class and non-negative.
func (t *Tree) Grow(root int32, length []float64) {
	t.Clear()
	t.Dist[root], t.ParentArc[root] = 0, -1
	t.Order = append(t.Order, root)
	t.heap = t.heap[:0]

	// node is the last node that was reached, at distance d.
	start, to, class := t.Start, t.To, t.Class
	for node, d := root, 0.0; ; {
		for k := start[node]; k < start[node+1]; k++ {
			if t.Dist[to[k]] < 0 {
				t.push(heapEntry{dist: math.Float64bits(d + length[class[k]]), arc: k})
			}
		}

		// Reach the nearest candidate that was not reached meanwhile.
		for {
			if len(t.heap) == 0 {
				return
			}
			entry := t.pop()
			if node = to[entry.arc]; t.Dist[node] < 0 {
				d = math.Float64frombits(entry.dist)
				t.Dist[node], t.ParentArc[node] = d, entry.arc
				t.Order = append(t.Order, node)
				break
			}
		}
	}
}

// Breadth finds the paths with the minimum number of arcs from a node. Among equal paths it takes
// the path via the node that was reached first, and then the first arc.
func (t *Tree) Breadth(root int32) {
	t.Clear()
	t.Reach(root)
}

// Reach is like Breadth, but keeps the nodes of the tree and does not search beyond them.
func (t *Tree) Reach(root int32) {
	head := len(t.Order)
	t.Dist[root], t.ParentArc[root] = 0, -1
	t.Order = append(t.Order, root)
	for ; head < len(t.Order); head++ {
		node := t.Order[head]
		for k := t.Start[node]; k < t.Start[node+1]; k++ {
			if to := t.To[k]; t.Dist[to] < 0 {
				t.Dist[to], t.ParentArc[to] = t.Dist[node]+1, k
				t.Order = append(t.Order, to)
			}
		}
	}
}

// Path appends the arcs from the root to a node of the tree.
func (t *Tree) Path(node int32, into []int32) []int32 {
	start := len(into)
	for k := t.ParentArc[node]; k >= 0; k = t.ParentArc[t.From[k]] {
		into = append(into, k)
	}
	slices.Reverse(into[start:])
	return into
}

// push adds an entry to the heap. Nodes of the heap have four children.
func (t *Tree) push(x heapEntry) {
	h := append(t.heap, x)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 4
		if h[up].dist <= x.dist {
			break
		}
		h[i] = h[up]
		i = up
	}

	h[i] = x
	t.heap = h
}

// pop removes and returns the entry with the smallest distance. The comparisons of four children
// are written out because this is faster than a loop.
func (t *Tree) pop() heapEntry {
	h := t.heap
	first, x := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	t.heap = h
	if len(h) == 0 {
		return first
	}

	// Move the last entry x from the top down, until no child is nearer. c is the first child of i.
	i := 0
	for {
		c := 4*i + 1
		if c >= len(h) {
			break
		}
		best, minDist := c, h[c].dist
		if children := h[c:]; len(children) >= 4 {
			if d := children[1].dist; d < minDist {
				best, minDist = c+1, d
			}
			if d := children[2].dist; d < minDist {
				best, minDist = c+2, d
			}
			if d := children[3].dist; d < minDist {
				best, minDist = c+3, d
			}
		} else {
			for k := 1; k < len(children); k++ {
				if d := children[k].dist; d < minDist {
					best, minDist = c+k, d
				}
			}
		}

		if minDist >= x.dist {
			break
		}
		h[i] = h[best]
		i = best
	}

	h[i] = x
	return first
}
