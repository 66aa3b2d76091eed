package routing

import (
	"slices"

	"sim/engine"
)

// instance is a problem as the route optimiser sees it: one pair of nodes of each
// class of flows, and links by orbit. As translations take the flows of a class into
// each other, all links of an orbit carry the same: what the ways of one flow of
// each class lay on the orbit.
type instance struct {
	*graph
	symmetry *Symmetry // nil on other graphs than tori
	orbits   int       // of links
	orbit    []int32   // by node and port; -1 where there is no link that may be taken
	kind     []int32   // by orbit: which of the rates it has
	slow     []float64 // by kind: what a unit of demand adds to loads; nil where rates are equal
	all      bool      // every node sends one unit to every other
	uniform  bool      // and all nodes are alike as built

	pair    []engine.Flow // by class that has flows
	class   []int32       // by pair: its class of symmetry, or flow
	demand  []float64     // by pair
	whole   bool          // all demands are whole numbers
	near    []bool        // by pair: its nodes are neighbours in the network as built
	sources []int32       // of pairs
	first   []int32       // pairs of sources[i] are first[i]..first[i+1]-1
}

// newInstance describes a problem. Flows from a node to itself are left out.
func newInstance(p *Problem, y *Symmetry) (*instance, error) {
	g, err := newGraph(p)
	if err != nil {
		return nil, err
	}
	in := &instance{graph: g, symmetry: y, orbit: slices.Repeat([]int32{-1}, len(g.link)), whole: true}
	in.number(p)
	in.rates(p)
	in.all = p.Uniform()
	in.uniform = in.all && y != nil && y.Torus.Symmetric() && in.slow == nil
	if y != nil && len(y.Sources) < g.nodes { // then every node sends one unit to every other
		for s, src := range y.Sources {
			for dst := range int32(g.nodes) {
				if src != dst {
					in.pair = append(in.pair, engine.Flow{Src: src, Dst: dst})
					in.class = append(in.class, int32(s*g.nodes)+dst)
					in.demand = append(in.demand, 1)
				}
			}
		}
	} else {
		order := make([]int32, 0, len(p.Flows))
		for i, f := range p.Flows {
			if f.Src != f.Dst {
				order = append(order, int32(i))
			}
		}
		slices.SortStableFunc(order, func(a, b int32) int { return int(p.Flows[a].Src - p.Flows[b].Src) })
		for _, i := range order {
			w, of := 1.0, in.classOf(i, p.Flows[i])
			if p.Demand != nil {
				w = p.Demand[i]
			}
			in.pair, in.class, in.demand = append(in.pair, p.Flows[i]), append(in.class, of), append(in.demand, w)
			in.whole = in.whole && w == float64(int64(w))
		}
	}
	in.whole = in.whole && in.slow == nil
	in.near = make([]bool, len(in.pair))
	next := slices.Repeat([]int32{-1}, in.nodes) // by node: the last source that it is a neighbour of
	for i, f := range in.pair {
		if i == 0 || f.Src != in.pair[i-1].Src {
			in.sources = append(in.sources, f.Src)
			in.first = append(in.first, int32(i))
			for _, l := range g.link[int(f.Src)*g.degree : int(f.Src+1)*g.degree] {
				if l >= 0 {
					next[p.Network.Links[l].To] = f.Src
				}
			}
		}
		in.near[i] = next[f.Dst] == f.Src
	}
	in.first = append(in.first, int32(len(in.pair)))
	return in, nil
}

// classOf returns the class of a flow, by its number where flows are not all.
func (in *instance) classOf(i int32, f engine.Flow) int32 {
	switch {
	case !in.all:
		return i
	case in.symmetry != nil:
		return in.symmetry.Class(f)
	}
	return f.Src*int32(in.nodes) + f.Dst
}

// classes returns the number of classes.
func (in *instance) classes(p *Problem) int {
	switch {
	case !in.all:
		return len(p.Flows)
	case in.symmetry != nil:
		return in.symmetry.Classes()
	}
	return in.nodes * in.nodes
}

// number numbers the orbits of live links.
func (in *instance) number(p *Problem) {
	of := slices.Repeat([]int32{-1}, len(in.link))
	for k, l := range in.link {
		if l < 0 || p.Network.Links[l].Rate <= 0 {
			continue
		}
		node := int32(k / in.degree)
		if in.symmetry != nil {
			node = in.symmetry.Orbit[node]
		}
		at := int(node)*in.degree + k%in.degree
		if of[at] < 0 {
			of[at] = int32(in.orbits)
			in.orbits++
		}
		in.orbit[k] = of[at]
	}
}

// ways is a graph of states on which walks are searched: a node and what rule of
// channels allows there next. Walks begin in state 0 of their source and end in any
// of their destination.
type ways struct {
	fold  int // states of a node, which are node*fold and on
	start []int32
	from  []int32 // by arc: the states that it joins, the orbit of its link, its step
	to    []int32
	orbit []int32
	step  []engine.Step
}

// free is the ways of any walks at all, all hops on channel 0.
func (in *instance) free() *ways {
	w := &ways{fold: 1, start: make([]int32, 1, in.nodes+1)}
	for a := range int32(in.nodes) {
		for k := in.outStart[a]; k < in.outStart[a+1]; k++ {
			port := int(in.outPort[k])
			w.add(a, in.outTo[k], in.orbit[int(a)*in.degree+port], engine.MakeStep(port, 0))
		}
		w.start = append(w.start, int32(len(w.to)))
	}
	return w
}

func (w *ways) add(from, to, orbit int32, step engine.Step) {
	w.from, w.to = append(w.from, from), append(w.to, to)
	w.orbit, w.step = append(w.orbit, orbit), append(w.step, step)
}

// tree is the shortest ways from a node by lengths of orbits (Dijkstra).
type tree struct {
	w     *ways
	dist  []float64 // by state; negative where none leads there
	by    []int32   // by state: the arc that leads to it; -1
	order []int32   // states as they were settled
	heap  []item
	sum   []float64 // by state: for loads
}

type item struct {
	dist float64
	arc  int32 // that leads to a state; -1 to the first one
}

func newTree(w *ways) *tree {
	n := len(w.start) - 1
	return &tree{w: w, dist: make([]float64, n), by: make([]int32, n), order: make([]int32, 0, n), sum: make([]float64, n)}
}

// grow finds the shortest ways from a node. Lengths are not negative.
func (t *tree) grow(node int32, length []float64) {
	for i := range t.dist {
		t.dist[i] = -1
	}
	t.order = t.order[:0]
	w, root := t.w, node*int32(t.w.fold)
	t.dist[root], t.by[root] = 0, -1
	t.order = append(t.order, root)
	t.heap = t.heap[:0]
	for at, d := root, 0.0; ; {
		for k := w.start[at]; k < w.start[at+1]; k++ {
			if t.dist[w.to[k]] < 0 {
				t.push(item{d + length[w.orbit[k]], k})
			}
		}
		for {
			if len(t.heap) == 0 {
				return
			}
			least := t.pop()
			if at = w.to[least.arc]; t.dist[at] < 0 {
				d = least.dist
				t.dist[at], t.by[at] = d, least.arc
				t.order = append(t.order, at)
				break
			}
		}
	}
}

// breadth finds the ways of the fewest hops from a node: grow where all lengths are 1,
// but for which of ways as short is taken.
func (t *tree) breadth(node int32) {
	for i := range t.dist {
		t.dist[i] = -1
	}
	w, root := t.w, node*int32(t.w.fold)
	t.dist[root], t.by[root] = 0, -1
	t.order = append(t.order[:0], root)
	for head := 0; head < len(t.order); head++ {
		at := t.order[head]
		for k := w.start[at]; k < w.start[at+1]; k++ {
			if to := w.to[k]; t.dist[to] < 0 {
				t.dist[to], t.by[to] = t.dist[at]+1, k
				t.order = append(t.order, to)
			}
		}
	}
}

func (t *tree) push(x item) {
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

func (t *tree) pop() item {
	h := t.heap
	least, x := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	t.heap = h
	if len(h) == 0 {
		return least
	}
	i := 0
	for {
		c := 4*i + 1
		if c >= len(h) {
			break
		}
		b := c
		for k := c + 1; k < min(c+4, len(h)); k++ {
			if h[k].dist < h[b].dist {
				b = k
			}
		}
		if h[b].dist >= x.dist {
			break
		}
		h[i] = h[b]
		i = b
	}
	h[i] = x
	return least
}

// end returns the state of a node that is nearest, -1 where none is reached.
func (t *tree) end(node int32) int32 {
	best := int32(-1)
	for s := node * int32(t.w.fold); s < (node+1)*int32(t.w.fold); s++ {
		if t.dist[s] >= 0 && (best < 0 || t.dist[s] < t.dist[best]) {
			best = s
		}
	}
	return best
}

// way appends the arcs that lead to a state.
func (t *tree) way(state int32, into []int32) []int32 {
	first := len(into)
	for k := t.by[state]; k >= 0; k = t.by[t.w.from[k]] {
		into = append(into, k)
	}
	slices.Reverse(into[first:])
	return into
}
