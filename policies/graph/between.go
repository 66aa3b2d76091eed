package graph

import (
	"math"

	"sim/internal/csr"
)

// Between finds shortest paths between single nodes of a Digraph from both ends at once, which on graphs where nearly
// all is a few arcs away sees little of them. It allocates nothing once it has grown.
type Between struct {
	out, into *Tree
	arc       []int32 // of the graph, by arc of the reversed one
	length    []float64
	best      float64 // length of the best path yet,
	mid       int32   // and the arc of it where both halves meet
}

// NewBetween returns one for a graph.
func NewBetween(g *Digraph) *Between {
	b := &Between{out: NewTree(g)}
	back := &Digraph{}
	back.Start, b.arc = csr.Index(g.To, g.Nodes())
	for _, k := range b.arc {
		back.Add(g.To[k], g.From[k], g.Class[k])
	}
	b.into = NewTree(back)
	return b
}

// Find finds a shortest path from a node to any of the nodes from..until-1, which it is not among, by the lengths of
// arcs, by class, which are not negative (Pohl, Bi-directional Search, Machine Intelligence 6, 1971). It returns its
// length; limit where none is shorter.
func (b *Between) Find(root, from, until int32, length []float64, limit float64) float64 {
	b.length, b.best, b.mid = length, limit, -1
	b.out.restart()
	b.into.restart()
	for a := from; a < until; a++ {
		b.into.settle(a, -1, 0)
	}
	for a := from; a < until; a++ {
		b.scan(b.into, b.out, a)
	}
	b.out.settle(root, -1, 0)
	b.scan(b.out, b.into, root)
	for b.out.nearest()+b.into.nearest() < b.best {
		t, other := b.out, b.into
		if len(t.heap) > len(other.heap) {
			t, other = other, t
		}
		if k := t.pop(); t.Dist[t.To[k.arc]] < 0 {
			at := t.To[k.arc]
			t.settle(at, k.arc, math.Float64frombits(k.dist))
			b.scan(t, other, at)
		}
	}
	return b.best
}

// scan looks at the arcs of a node that one of the halves has reached.
func (b *Between) scan(t, other *Tree, at int32) {
	d := t.Dist[at]
	for k := t.Start[at]; k < t.Start[at+1]; k++ {
		to := t.To[k]
		far := d + b.length[t.Class[k]]
		if t.Dist[to] >= 0 || far >= b.best {
			continue
		}
		t.push(item{math.Float64bits(far), k})
		if rest := other.Dist[to]; rest >= 0 && far+rest < b.best {
			b.best, b.mid = far+rest, k
			if t == b.into {
				b.mid = b.arc[k]
			}
		}
	}
}

// Path appends the arcs of the path that Find found, which was shorter than its limit.
func (b *Between) Path(into []int32) []int32 {
	into = append(b.out.Path(b.out.From[b.mid], into), b.mid)
	for k := b.into.By[b.out.To[b.mid]]; k >= 0; k = b.into.By[b.into.From[k]] {
		into = append(into, b.arc[k])
	}
	return into
}

// Seen returns how many nodes the last search reached.
func (b *Between) Seen() int { return len(b.out.Order) + len(b.into.Order) }

// restart takes away the nodes that were reached.
func (t *Tree) restart() {
	for _, a := range t.Order {
		t.Dist[a] = -1
	}
	t.Order, t.heap = t.Order[:0], t.heap[:0]
}

// settle notes that the shortest path to a node comes by an arc.
func (t *Tree) settle(node, by int32, dist float64) {
	t.Dist[node], t.By[node] = dist, by
	t.Order = append(t.Order, node)
}

// nearest returns a distance that no node is nearer than that is yet to be reached.
func (t *Tree) nearest() float64 {
	if len(t.heap) == 0 {
		return math.Inf(1)
	}
	return math.Float64frombits(t.heap[0].dist)
}
