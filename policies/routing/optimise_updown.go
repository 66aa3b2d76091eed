package routing

import (
	"context"
	"math"
	"slices"

	"sim/engine"
	"sim/policies/graph"
)

// upDownGraph returns the state graph of paths that cannot deadlock on any network: up*/down*
// paths (Schroeder et al., Autonet, IEEE JSAC 9, 1991). On each virtual channel they first take
// links towards lower positions in an order of the nodes, then links towards higher positions. A
// path may use up to channelsPerLink channels one after the other, which gives two states per
// channel. place has the position of each node.
func (in *routeInstance) upDownGraph(place []int32, channels int) *stateGraph {
	states := 2 * min(channels, channelsPerLink)
	w := &stateGraph{states: states}

	// Phases alternate between links to lower positions (even) and to higher positions (odd). The
	// channel is phase/2.
	for a := range int32(in.nodes) {
		for phase := range states {
			for k := in.out.Start[a]; k < in.out.Start[a+1]; k++ {
				to, next := in.out.To[k], phase
				if up := place[to] > place[a]; up != (phase%2 == 1) {
					if next++; next == states {
						continue
					}
				}
				port := int(in.out.Class[k])
				w.Add(a*int32(states)+int32(phase), to*int32(states)+int32(next),
					in.orbit[int(a)*in.degree+port])
				w.steps = append(w.steps, engine.MakeStep(port, next/2))
			}

			w.Close()
		}
	}

	return w
}

// breadthOrder returns the position of each node in a breadth-first order from a root. Nodes that
// it does not reach follow in further searches from the lowest remaining node.
func (in *routeInstance) breadthOrder(root int32) []int32 {
	t := graph.NewTree(in.out)
	place := make([]int32, in.nodes)
	t.Reach(root)
	for a := range int32(in.nodes) {
		if t.Dist[a] < 0 {
			t.Reach(a)
		}
	}
	for i, a := range t.Order {
		place[a] = int32(i)
	}
	return place
}

// maxBoundArcs limits the arcs scanned by searches whose results serve only for comparison or
// bounds. Such a search takes some seconds, and then ends with the bound so far.
const maxBoundArcs = 100_000_000

// largeGraphArcs is the number of arcs scanned by searches from all sources above which a graph
// counts as large. On large graphs
//
//   - sources with few pairs are searched pair by pair;
//   - paths of the minimum number of hops use breadth-first search;
//   - the up*/down* search also starts from paths that may deadlock, where allowed;
//   - the search for a bound is limited by its work;
//   - further paths are not generated if the budget does not cover the search.
var largeGraphArcs = 2_000_000 // tests lower it

// searchArcs returns the number of arcs that searches from all sources scan.
func (in *routeInstance) searchArcs(w *stateGraph) int {
	return max(1, len(in.sources)*len(w.To))
}

// deadlockFree returns the up*/down* graph for the channels that all live links have, ordered
// breadth-first from node 0.
func (in *routeInstance) deadlockFree(p *Problem) *stateGraph {
	channels := math.MaxInt32
	for _, l := range p.Network.Links {
		if l.Rate > 0 {
			channels = min(channels, int(max(1, l.Channels)))
		}
	}
	const root = 0
	return in.upDownGraph(in.breadthOrder(root), channels)
}

// pathGenerator generates candidate paths: for each pair the path of minimum cost (the pricing
// step of column generation).
type pathGenerator struct {
	*pathFinder                 // finds shortest paths: startSource and findPath
	candidates  *candidatePaths // result
	length      []float64       // cost of a link, indexed by orbit
}

// maxStoredSteps limits the steps of generated candidates. With their orbits they take 6 bytes
// each, 0.8 GB at the limit. Beyond it, no further paths are generated.
const maxStoredSteps = 1 << 27

// startPaths returns a generator with one path of the minimum number of hops per pair. The error
// names pairs without a path and gives the reason. On large graphs a pair takes its first path of
// preferred if w allows it, since that is equally short. preferred may be nil.
func (in *routeInstance) startPaths(
	ctx context.Context,
	w *stateGraph,
	preferred *candidatePaths,
	reason string,
) (*pathGenerator, error) {
	generator := &pathGenerator{
		pathFinder: newPathFinder(in, w),
		candidates: newCandidatePaths(len(in.pairs)),
		length:     slices.Repeat([]float64{1}, in.numOrbits),
	}
	var unreachable unreachablePairs
	for s, src := range in.sources {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		searched := false
		for i := in.firstPair[s]; i < in.firstPair[s+1]; i++ {
			if preferred != nil && generator.between != nil {
				if generator.arcs = w.follow(src, preferred.pathSteps(preferred.first[i]),
					generator.arcs[:0]); generator.arcs != nil {
					w.addPath(generator.candidates, i, generator.arcs)
					continue
				}
			}

			if !searched {
				generator.startSource(s, generator.length, unitLengths)
				searched = true
			}
			if generator.findPath(i, math.MaxFloat64) == math.MaxFloat64 {
				unreachable.add(in.pairs[i])
			} else {
				generator.addPath(generator.candidates, i)
			}
		}
	}

	return generator, unreachable.err(reason)
}

// Reasons why pairs are not joined.
const (
	reasonDisconnected = "links that are up do not join them"
	reasonNoUpDownPath = "links that are up join them, but not by ways of an order of the nodes, on which nothing deadlocks"
)

// costRatio is the fraction of the present cost below which a path is added.
const costRatio = 0.98

// addCheaper adds paths that cost less than the paths chosen by a search, by the costs of that
// search.
func (x *pathGenerator) addCheaper(ctx context.Context, s *pathAssignmentSearch) error {
	if len(x.candidates.steps) > maxStoredSteps {
		return nil
	}
	if n := x.in.searchArcs(x.tree.w); n > largeGraphArcs && int64(n/4) > s.budget {
		s.budget = 0 // the existing paths leave little to choose
		return nil
	}

	// Lengths are the costs of the search, plus a small constant per hop.
	sum := 0.0
	for _, c := range s.cost {
		sum += c
	}
	for o, c := range s.cost {
		x.length[o] = c + 1e-3*sum/float64(len(s.cost)) // hops count even on idle links
	}

	// One search per source; a pair gets its path if it is cheaper by costRatio.
	for k := range x.in.sources {
		if err := ctx.Err(); err != nil {
			return err
		}
		x.startSource(k, x.length, givenLengths)

		// Charge the search: scanning four arcs takes about as long as one path evaluation.
		s.budget -= int64(len(x.tree.To)+int(x.in.firstPair[k+1]-x.in.firstPair[k])) / 4
		for i := x.in.firstPair[k]; i < x.in.firstPair[k+1]; i++ {
			cost := 0.0
			path := x.candidates.pathOrbits(s.path[i])
			for _, o := range path {
				cost += x.length[o]
			}
			s.budget -= int64(len(path)) / hopsPerEvaluation
			if cost *= costRatio; x.findPath(i, cost) < cost {
				x.addPath(x.candidates, i)
			}
		}
	}

	return nil
}
