package graph

import (
	"math"
	"slices"

	"sim/internal/csr"
)

// Digraph is a directed graph: arcs Start[a]..Start[a+1]-1 leave node a, and arc k leads from From[k] to To[k]. Lengths
// of arcs are by Class[k].
type Digraph struct{ Start, From, To, Class []int32 }

// Arc is an arc of a Digraph.
type Arc struct{ From, To, Class int32 }

// NewDigraph returns the graph of so many nodes with these arcs. Those of a node keep their order.
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

// Add appends an arc of the last node. Arcs of a node are added together, and Close ends them.
func (g *Digraph) Add(from, to, class int32) {
	g.From, g.To, g.Class = append(g.From, from), append(g.To, to), append(g.Class, class)
}

// Close ends the arcs of the next node.
func (g *Digraph) Close() {
	if g.Start == nil {
		g.Start = []int32{0}
	}
	g.Start = append(g.Start, int32(len(g.To)))
}

// Tree is shortest paths from a node of a Digraph. It can be grown again and again, and allocates nothing then.
type Tree struct {
	*Digraph
	Dist      []float64 // by node; negative where no path leads there
	ParentArc []int32   // by node: the arc by which the path comes to it; -1 for the root
	Order     []int32   // nodes in the order in which they were reached, the nearest first

	heap []heapEntry
}

// heapEntry is an arc to a node that may be reached by it next. The queue is a heap of its own, as searches of paths are
// most of what some policies compute. Distances are their bits, which are in the same order and compared without a
// branch.
type heapEntry struct {
	dist uint64
	arc  int32
}

// NewTree returns a tree of a graph that has no nodes yet.
func NewTree(g *Digraph) *Tree {
	n := g.Nodes()
	t := &Tree{Digraph: g, Dist: make([]float64, n), ParentArc: make([]int32, n), Order: make([]int32, 0, n)}
	t.Clear()
	return t
}

// Clear takes all nodes away.
func (t *Tree) Clear() {
	for i := range t.Dist {
		t.Dist[i] = -1
	}
	t.Order = t.Order[:0]
}

// Grow finds the shortest paths from a node by the lengths of arcs, by class, which are not negative (Dijkstra).
func (t *Tree) Grow(root int32, length []float64) {
	t.Clear()
	t.Dist[root], t.ParentArc[root] = 0, -1
	t.Order = append(t.Order, root)
	t.heap = t.heap[:0]
	start, to, class := t.Start, t.To, t.Class
	for node, d := root, 0.0; ; {
		for k := start[node]; k < start[node+1]; k++ {
			if t.Dist[to[k]] < 0 {
				t.push(heapEntry{math.Float64bits(d + length[class[k]]), k})
			}
		}
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

// Breadth finds the paths of the fewest arcs from a node: of those as short, the one that leaves the node reached
// first, by its first arc.
func (t *Tree) Breadth(root int32) {
	t.Clear()
	t.Reach(root)
}

// Reach is Breadth that leaves what was reached before, and where a path leads there goes no further.
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

// Path appends the arcs from the root to a node that was reached.
func (t *Tree) Path(node int32, into []int32) []int32 {
	start := len(into)
	for k := t.ParentArc[node]; k >= 0; k = t.ParentArc[t.From[k]] {
		into = append(into, k)
	}
	slices.Reverse(into[start:])
	return into
}

// push and pop keep a heap of four children a node.
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

func (t *Tree) pop() heapEntry {
	h := t.heap
	first, x := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	t.heap = h
	if len(h) == 0 {
		return first
	}
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
