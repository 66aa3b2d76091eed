package routing

import (
	"sim/engine"
	"sim/policies/graph"
)

// pathFinder finds shortest paths of pairs, source by source: those of all nodes at once, or where a large graph has few
// pairs a source one by one.
type pathFinder struct {
	in          *routeInstance
	tree        *stateTree
	between     *graph.BidirectionalSearch // nil on small graphs
	length      []float64
	isPairwise  bool // pairs of the present source are searched one by one
	endState    int32
	arcs        []int32
	arcsScanned int // arcs that were looked at, about
}

// maxPairwisePairs is the pairs of a source times states of a node, at most, that are searched one by one.
const maxPairwisePairs = 16

func newPathFinder(in *routeInstance, w *stateGraph) *pathFinder {
	f := &pathFinder{in: in, tree: newStateTree(w)}
	if in.searchArcs(w) > largeGraphArcs {
		f.between = graph.NewBidirectionalSearch(&w.Digraph)
	}
	return f
}

// startSource begins with the pairs of in.sources[s] by lengths, which hops says to be all 1.
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

// findPath returns the length of the shortest path of a pair of the source; limit or more where none is shorter.
func (f *pathFinder) findPath(pair int32, limit float64) float64 {
	p, states := f.in.pairs[pair], int32(f.tree.w.states)
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

// addPath gives a pair the path that was found for it, shorter than the limit, and returns its number.
func (f *pathFinder) addPath(candidates *candidatePaths, pair int32) int32 {
	if f.isPairwise {
		f.arcs = f.between.Path(f.arcs[:0])
	} else {
		f.arcs = f.tree.Path(f.endState, f.arcs[:0])
	}
	return f.tree.w.addPath(candidates, pair, f.arcs)
}

// addPath gives a pair the path of some arcs.
func (w *stateGraph) addPath(candidates *candidatePaths, pair int32, arcs []int32) int32 {
	for _, k := range arcs {
		candidates.orbits, candidates.steps = append(candidates.orbits, w.Class[k]), append(candidates.steps, w.steps[k])
	}
	return candidates.add(pair)
}

// follow appends the arcs of a path from a node whose ports are those of steps; nil where rules of channels forbid it.
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
