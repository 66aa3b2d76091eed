package routing

import (
	"slices"

	"sim/engine"
	"sim/policies/graph"
)

// instance is a problem as the route optimiser sees it: one pair of nodes of each class of flows, and links by orbit.
// As translations take the flows of a class into each other, all links of an orbit carry the same: what the paths of
// one flow of each class lay on the orbit.
type instance struct {
	*adjacency
	symmetry *Symmetry // nil on other graphs than tori
	orbits   int       // of links
	orbit    []int32   // by node and port; -1 where there is no link that may be taken
	kind     []int32   // by orbit: which of the rates it has
	slow     []float64 // by kind: what a unit of demand adds to loads; nil where rates are equal
	all      bool      // every node sends one unit to every other
	uniform  bool      // and all nodes are identical as built

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
	g, err := newAdjacency(p)
	if err != nil {
		return nil, err
	}
	in := &instance{adjacency: g, symmetry: y, orbit: slices.Repeat([]int32{-1}, len(g.link)), whole: true}
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

// stateGraph is a graph of states on which paths are searched: a node and what rule of channels allows there next.
// Paths begin in state 0 of their source and end in any of their destination. Arcs are of the class of their links'
// orbit.
type stateGraph struct {
	graph.Digraph
	states int           // states of a node, which are node*states and on
	step   []engine.Step // by arc
}

// free is the state graph of any paths at all, all hops on channel 0.
func (in *instance) free() *stateGraph {
	w := &stateGraph{Digraph: *in.out, states: 1}
	w.Class = make([]int32, len(w.To))
	for k, from := range w.From {
		w.Class[k] = in.orbit[int(from)*in.degree+int(in.out.Class[k])]
		w.step = append(w.step, in.step(int32(k)))
	}
	return w
}

// tree is the shortest paths from a node by lengths of orbits.
type tree struct {
	*graph.Tree
	w *stateGraph
}

func newTree(w *stateGraph) *tree { return &tree{graph.NewTree(&w.Digraph), w} }

// grow finds the shortest paths from a node.
func (t *tree) grow(node int32, length []float64) { t.Grow(node*int32(t.w.states), length) }

// end returns the state of a node that is nearest, -1 where none is reached.
func (t *tree) end(node int32) int32 {
	best := int32(-1)
	for s := node * int32(t.w.states); s < (node+1)*int32(t.w.states); s++ {
		if t.Dist[s] >= 0 && (best < 0 || t.Dist[s] < t.Dist[best]) {
			best = s
		}
	}
	return best
}
