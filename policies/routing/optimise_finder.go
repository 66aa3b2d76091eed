package routing

import (
	"sim/engine"
	"sim/policies/graph"
)

// pathFinder finds shortest paths of pairs, source by source. It computes the tree of a source
// once, or on large graphs with few pairs per source a bidirectional search per pair.
type pathFinder struct {
	in      *routeInstance
	tree    *stateTree                 // tree of the current source
	between *graph.BidirectionalSearch // search per pair; nil on small graphs
	length  []float64                  // of the arcs, indexed by orbit
	// isPairwise reports whether pairs of the current source are searched one by one.
	isPairwise  bool
	endState    int32   // state at which the last path found ends
	arcs        []int32 // scratch: the last path
	arcsScanned int     // approximate work so far
}

// maxPairwisePairs limits the number of pairs of a source, times the states per node, that are
// searched one by one. With more pairs, one tree takes less time.
const maxPairwisePairs = 16

// Values of the parameter hops of startSource.
const (
	givenLengths = false
	unitLengths  = true
)

// newPathFinder returns a finder for paths of w.
func newPathFinder(in *routeInstance, w *stateGraph) *pathFinder {
	f := &pathFinder{in: in, tree: newStateTree(w)}
	if in.searchArcs(w) > largeGraphArcs {
		f.between = graph.NewBidirectionalSearch(&w.Digraph)
	}
	return f
}

// startSource starts the pairs of in.sources[s]. hops means that all lengths are 1.
func (f *pathFinder) startSource(s int, length []float64, hops bool) {
	f.length = length
	f.isPairwise = f.between != nil && int(f.in.firstPair[s+1]-f.in.firstPair[s])*f.tree.w.states <= maxPairwisePairs
	switch {
	case f.isPairwise:
		return
	case hops && f.between != nil:
		f.tree.Breadth(f.in.sources[s] * int32(f.tree.w.states))
	default:
		f.tree.grow(f.in.sources[s], length)
	}

	f.arcsScanned += len(f.tree.To)
}

// findPath returns the length of the shortest path of a pair of the current source; at least
// limit if no path is shorter.
func (f *pathFinder) findPath(pair int32, limit float64) float64 {
	p := f.in.pairs[pair]
	states := int32(f.tree.w.states)
	if f.isPairwise {
		d := f.between.Find(p.Src*states, p.Dst*states, (p.Dst+1)*states, f.length, limit)
		f.arcsScanned += f.between.NumVisited() * len(f.tree.To) / f.tree.Nodes()
		return d
	}
	if f.endState = f.tree.nearestState(p.Dst); f.endState < 0 {
		return limit
	}
	return f.tree.Dist[f.endState]
}

// addPath adds the path of the last findPath, which must have been shorter than its limit, to the
// candidates of a pair and returns its index.
func (f *pathFinder) addPath(candidates *candidatePaths, pair int32) int32 {
	if f.isPairwise {
		f.arcs = f.between.Path(f.arcs[:0])
	} else {
		f.arcs = f.tree.Path(f.endState, f.arcs[:0])
	}
	return f.tree.w.addPath(candidates, pair, f.arcs)
}

// addPath adds a path to the candidates of a pair and returns its index.
func (w *stateGraph) addPath(candidates *candidatePaths, pair int32, arcs []int32) int32 {
	for _, k := range arcs {
		candidates.orbits = append(candidates.orbits, w.Class[k])
		candidates.steps = append(candidates.steps, w.steps[k])
	}
	return candidates.add(pair)
}

// follow appends the arcs of the path from a node with the ports of steps; nil if the channel
// rule does not allow it.
func (w *stateGraph) follow(node int32, steps []engine.Step, into []int32) []int32 {
	state := node * int32(w.states)
	for _, s := range steps {
		k := w.Start[state]
		for ; k < w.Start[state+1] && w.steps[k].Port() != s.Port(); k++ {
		}
		if k == w.Start[state+1] {
			return nil
		}
		into, state = append(into, k), w.To[k]
	}

	return into
}
