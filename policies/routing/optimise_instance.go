package routing

import (
	"slices"

	"sim/engine"
	"sim/policies/graph"
)

// routeInstance is a problem as the route optimiser sees it: one pair of nodes of each class of flows, and links by orbit.
// As translations take the flows of a class into each other, all links of an orbit carry the same: what the paths of
// one flow of each class lay on the orbit.
type routeInstance struct {
	*adjacency
	symmetry    *Symmetry // nil on other graphs than tori
	numOrbits   int       // of links
	orbit       []int32   // by node and port; -1 where there is no link that may be taken
	rateKind    []int32   // by orbit: which of the rates it has
	loadPerUnit []float64 // by kind: what a unit of demand adds to loads; nil where rates are equal
	isAllToAll  bool      // every node sends one unit to every other
	isUniform   bool      // and all nodes are identical as built

	pairs           []engine.Flow // by class that has flows
	class           []int32       // by pair: its class of symmetry, or flow
	demand          []float64     // by pair
	hasWholeDemands bool          // all demands are whole numbers
	isNeighbour     []bool        // by pair: its nodes are neighbours in the network as built
	sources         []int32       // of pairs
	firstPair       []int32       // pairs of sources[i] are first[i]..first[i+1]-1
}

// newRouteInstance describes a problem. Flows from a node to itself are left out.
func newRouteInstance(p *Problem, y *Symmetry) (*routeInstance, error) {
	g, err := newAdjacency(p)
	if err != nil {
		return nil, err
	}
	in := &routeInstance{adjacency: g, symmetry: y, orbit: slices.Repeat([]int32{-1}, len(g.link)), hasWholeDemands: true}
	in.numberOrbits(p)
	in.classifyRates(p)
	in.isAllToAll = p.Uniform()
	in.isUniform = in.isAllToAll && y != nil && y.Torus.Symmetric() && in.loadPerUnit == nil
	if y != nil && len(y.Sources) < g.nodes { // then every node sends one unit to every other
		for s, src := range y.Sources {
			for dst := range int32(g.nodes) {
				if src != dst {
					in.pairs = append(in.pairs, engine.Flow{Src: src, Dst: dst})
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
			w, class := 1.0, in.classOf(i, p.Flows[i])
			if p.Demand != nil {
				w = p.Demand[i]
			}
			in.pairs, in.class, in.demand = append(in.pairs, p.Flows[i]), append(in.class, class), append(in.demand, w)
			in.hasWholeDemands = in.hasWholeDemands && w == float64(int64(w))
		}
	}
	in.hasWholeDemands = in.hasWholeDemands && in.loadPerUnit == nil
	in.isNeighbour = make([]bool, len(in.pairs))
	next := slices.Repeat([]int32{-1}, in.nodes) // by node: the last source that it is a neighbour of
	for i, f := range in.pairs {
		if i == 0 || f.Src != in.pairs[i-1].Src {
			in.sources = append(in.sources, f.Src)
			in.firstPair = append(in.firstPair, int32(i))
			for _, l := range g.link[int(f.Src)*g.degree : int(f.Src+1)*g.degree] {
				if l >= 0 {
					next[p.Network.Links[l].To] = f.Src
				}
			}
		}
		in.isNeighbour[i] = next[f.Dst] == f.Src
	}
	in.firstPair = append(in.firstPair, int32(len(in.pairs)))
	return in, nil
}

// classOf returns the class of a flow, by its number where flows are not all.
func (in *routeInstance) classOf(i int32, f engine.Flow) int32 {
	switch {
	case !in.isAllToAll:
		return i
	case in.symmetry != nil:
		return in.symmetry.Class(f)
	}
	return f.Src*int32(in.nodes) + f.Dst
}

// classes returns the number of classes.
func (in *routeInstance) classes(p *Problem) int {
	switch {
	case !in.isAllToAll:
		return len(p.Flows)
	case in.symmetry != nil:
		return in.symmetry.Classes()
	}
	return in.nodes * in.nodes
}

// numberOrbits numbers the orbits of live links.
func (in *routeInstance) numberOrbits(p *Problem) {
	orbit := slices.Repeat([]int32{-1}, len(in.link))
	for k, l := range in.link {
		if l < 0 || p.Network.Links[l].Rate <= 0 {
			continue
		}
		node := int32(k / in.degree)
		if in.symmetry != nil {
			node = in.symmetry.Orbit[node]
		}
		index := int(node)*in.degree + k%in.degree
		if orbit[index] < 0 {
			orbit[index] = int32(in.numOrbits)
			in.numOrbits++
		}
		in.orbit[k] = orbit[index]
	}
}

// stateGraph is a graph of states on which paths are searched: a node and what rule of channels allows there next.
// Paths begin in state 0 of their source and end in any of their destination. Arcs are of the class of their links'
// orbit.
type stateGraph struct {
	graph.Digraph
	states int           // states of a node, which are node*states and on
	steps  []engine.Step // by arc
}

// unrestricted is the state graph of any paths at all, all hops on channel 0.
func (in *routeInstance) unrestricted() *stateGraph {
	w := &stateGraph{Digraph: *in.out, states: 1}
	w.Class = make([]int32, len(w.To))
	for k, from := range w.From {
		w.Class[k] = in.orbit[int(from)*in.degree+int(in.out.Class[k])]
		w.steps = append(w.steps, in.step(int32(k)))
	}
	return w
}

// stateTree is the shortest paths from a node by lengths of orbits.
type stateTree struct {
	*graph.Tree
	w *stateGraph
}

func newStateTree(w *stateGraph) *stateTree { return &stateTree{graph.NewTree(&w.Digraph), w} }

// grow finds the shortest paths from a node.
func (t *stateTree) grow(node int32, length []float64) { t.Grow(node*int32(t.w.states), length) }

// nearestState returns the state of a node that is nearest, -1 where none is reached.
func (t *stateTree) nearestState(node int32) int32 {
	best := int32(-1)
	for s := node * int32(t.w.states); s < (node+1)*int32(t.w.states); s++ {
		if t.Dist[s] >= 0 && (best < 0 || t.Dist[s] < t.Dist[best]) {
			best = s
		}
	}
	return best
}
