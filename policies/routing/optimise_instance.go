package routing

import (
	"slices"

	"sim/engine"
	"sim/policies/graph"
)

// routeInstance is a problem in the form that the optimiser uses: one pair of nodes per class of
// flows, and link orbits instead of links. Translations map the flows of a class to each other,
// so all links of an orbit have the same load. It is the number of times that the paths of one
// flow per class cross the orbit.
type routeInstance struct {
	*adjacency           // the network: nodes, degree, link and out (live links)
	symmetry   *Symmetry // nil on graphs that are not tori
	numOrbits  int       // number of link orbits
	orbit      []int32   // link orbit, indexed by node*degree+port; -1 if there is no usable link
	rateKind   []int32   // index in loadPerUnit, indexed by orbit
	// loadPerUnit is the load that one unit of demand adds to a link of each rate; nil if rates are
	// equal.
	loadPerUnit []float64
	isAllToAll  bool // the demand is uniform all-to-all
	isUniform   bool // isAllToAll, and all nodes of the fault-free network are identical

	// Pairs are sorted by source. The pairs of sources[i] are firstPair[i] up to firstPair[i+1].
	pairs           []engine.Flow // one per class with flows
	class           []int32       // class of the symmetry, or flow, indexed by pair
	demand          []float64     // indexed by pair
	hasWholeDemands bool          // all demands are whole numbers
	// isNeighbour reports whether the nodes are adjacent in the fault-free network, indexed by
	// pair.
	isNeighbour []bool
	sources     []int32 // sources of pairs
	firstPair   []int32
}

// withoutSymmetry is the argument of newRouteInstance for an instance whose paths need not be
// translations of each other.
var withoutSymmetry *Symmetry

// newRouteInstance describes a problem. It excludes flows from a node to itself.
func newRouteInstance(p *Problem, y *Symmetry) (*routeInstance, error) {
	g, err := newAdjacency(p)
	if err != nil {
		return nil, err
	}
	in := &routeInstance{
		adjacency:       g,
		symmetry:        y,
		orbit:           slices.Repeat([]int32{-1}, len(g.link)),
		hasWholeDemands: true,
	}

	in.numberOrbits(p)
	in.classifyRates(p)
	in.isAllToAll = p.Uniform()
	in.isUniform = in.isAllToAll && y != nil && y.Torus.Symmetric() && in.loadPerUnit == nil

	// The pairs: one flow per class, or all flows sorted by source.
	if y != nil && len(y.Sources) < g.nodes { // only uniform all-to-all has symmetry
		for s, src := range y.Sources {
			for dst := range int32(g.nodes) {
				if src != dst {
					in.pairs = append(in.pairs, engine.Flow{Src: src, Dst: dst})
					in.class = append(in.class, int32(s*g.nodes)+dst) // as Symmetry.Class
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
			w := 1.0
			class := in.classOf(i, p.Flows[i])
			if p.Demand != nil {
				w = p.Demand[i]
			}
			in.pairs = append(in.pairs, p.Flows[i])
			in.class = append(in.class, class)
			in.demand = append(in.demand, w)
			in.hasWholeDemands = in.hasWholeDemands && w == float64(int64(w))
		}
	}

	in.hasWholeDemands = in.hasWholeDemands && in.loadPerUnit == nil

	// Group the pairs by source, and find neighbours among them. Links that are down count as
	// well.
	in.isNeighbour = make([]bool, len(in.pairs))

	// The last source that the node is adjacent to, indexed by node.
	next := slices.Repeat([]int32{-1}, in.nodes)
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

// classOf returns the class of flow i: the index itself unless the demand is all-to-all.
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

// numberOrbits numbers the orbits of live links in order of their first link.
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

// stateGraph is a graph in which paths are searched. A state is a node with a phase of the
// channel rule that restricts the next hops. Paths start in state 0 of their source and end in
// any state of their destination. The class of an arc is the orbit of its link.
type stateGraph struct {
	graph.Digraph               // its nodes are states; the class of an arc is the orbit of its link
	states        int           // states per node; node a has a*states up to (a+1)*states
	steps         []engine.Step // port and channel of each arc
}

// unrestricted returns the state graph of all paths, with all hops on channel 0.
func (in *routeInstance) unrestricted() *stateGraph {
	w := &stateGraph{Digraph: *in.out, states: 1}
	w.Class = make([]int32, len(w.To))
	for k, from := range w.From {
		w.Class[k] = in.orbit[int(from)*in.degree+int(in.out.Class[k])]
		w.steps = append(w.steps, in.step(int32(k)))
	}
	return w
}

// stateTree holds the shortest paths from a node, with lengths per orbit.
type stateTree struct {
	*graph.Tree
	w *stateGraph
}

// newStateTree returns an empty tree over a state graph.
func newStateTree(w *stateGraph) *stateTree {
	return &stateTree{Tree: graph.NewTree(&w.Digraph), w: w}
}

// grow finds the shortest paths from a node.
func (t *stateTree) grow(node int32, length []float64) {
	t.Grow(node*int32(t.w.states), length)
}

// nearestState returns the state of a node with the shortest distance; -1 if none is reachable.
func (t *stateTree) nearestState(node int32) int32 {
	best := int32(-1)
	for s := node * int32(t.w.states); s < (node+1)*int32(t.w.states); s++ {
		if t.Dist[s] >= 0 && (best < 0 || t.Dist[s] < t.Dist[best]) {
			best = s
		}
	}
	return best
}
