package routing

import (
	"context"
	"math"
	"slices"

	"sim/engine"
	"sim/policies/graph"
)

// upDownGraph is the paths that cannot deadlock on any network: on each virtual channel, of which two at most are taken one
// after the other, links towards lower places of an order of the nodes and then links towards higher ones (up*/down*,
// Schroeder et al., Autonet, IEEE JSAC 9, 1991).
func (in *routeInstance) upDownGraph(place []int32, channels int) *stateGraph {
	states := 2 * min(channels, channelsPerLink)
	w := &stateGraph{states: states}
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
				w.Add(a*int32(states)+int32(phase), to*int32(states)+int32(next), in.orbit[int(a)*in.degree+port])
				w.steps = append(w.steps, engine.MakeStep(port, next/2))
			}
			w.Close()
		}
	}
	return w
}

// breadthOrder orders the nodes breadth-first from a root; what that does not reach comes from the lowest node that is left
// on.
func (in *routeInstance) breadthOrder(root int32) []int32 {
	t, place := graph.NewTree(in.out), make([]int32, in.nodes)
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

// maxBoundArcs is how many arcs searches that only compare paths or bounds look at, about: some seconds.
const maxBoundArcs = 100_000_000

// largeGraphArcs is the arcs of all sources' searches beyond which pairs are searched one by one where they are few, those of
// the fewest hops breadth-first, paths that may deadlock are taken up where others are sought that cannot, the search
// for a bound is as long as its work allows, and searches for more paths are given up that the budget does not cover.
var largeGraphArcs = 2_000_000 // tests have less

// searchArcs returns how many arcs searches from all sources look at.
func (in *routeInstance) searchArcs(w *stateGraph) int { return max(1, len(in.sources)*len(w.To)) }

// deadlockFree returns the layered paths on the channels that a problem's links have, of nodes in the order of their distance
// from the first.
func (in *routeInstance) deadlockFree(p *Problem) *stateGraph {
	channels := math.MaxInt32
	for _, l := range p.Network.Links {
		if l.Rate > 0 {
			channels = min(channels, int(max(1, l.Channels)))
		}
	}
	return in.upDownGraph(in.breadthOrder(0), channels)
}

// pathGenerator adds paths to choices: for each pair the one that costs least of all.
type pathGenerator struct {
	*pathFinder
	candidates *candidatePaths
	length     []float64
}

// maxStoredSteps bounds what choices keep of paths that were searched for.
const maxStoredSteps = 1 << 27

// startPaths gives each pair a path of the fewest hops. It names pairs that none joins, and says why. On large graphs pairs
// keep the first paths of others, which are as short as any, where w has them; nil is none.
func (in *routeInstance) startPaths(ctx context.Context, w *stateGraph, preferred *candidatePaths, reason string) (*pathGenerator, error) {
	generator := &pathGenerator{pathFinder: newPathFinder(in, w), candidates: newCandidatePaths(len(in.pairs)), length: slices.Repeat([]float64{1}, in.numOrbits)}
	var unreachable unreachablePairs
	for s, src := range in.sources {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		searched := false
		for i := in.firstPair[s]; i < in.firstPair[s+1]; i++ {
			if preferred != nil && generator.between != nil {
				if generator.arcs = w.follow(src, preferred.pathSteps(preferred.first[i]), generator.arcs[:0]); generator.arcs != nil {
					w.addPath(generator.candidates, i, generator.arcs)
					continue
				}
			}
			if !searched {
				generator.startSource(s, generator.length, true)
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

// Why pairs are not joined.
const (
	reasonDisconnected = "links that are up do not join them"
	reasonNoUpDownPath = "links that are up join them, but not by ways of an order of the nodes, on which nothing deadlocks"
)

// costRatio is how much less a path must cost than the present one to be added.
const costRatio = 0.98

// addCheaper adds paths that cost less than those that a search has chosen.
func (x *pathGenerator) addCheaper(ctx context.Context, s *pathAssignmentSearch) error {
	if len(x.candidates.steps) > maxStoredSteps {
		return nil
	}
	if n := x.in.searchArcs(x.tree.w); n > largeGraphArcs && int64(n/4) > s.budget {
		s.budget = 0 // with no more paths there is little to choose
		return nil
	}
	sum := 0.0
	for _, c := range s.cost {
		sum += c
	}
	for o, c := range s.cost {
		x.length[o] = c + 1e-3*sum/float64(len(s.cost)) // so that hops count where nothing is loaded
	}
	for k := range x.in.sources {
		if err := ctx.Err(); err != nil {
			return err
		}
		x.startSource(k, x.length, false)
		s.budget -= int64(len(x.tree.To)+int(x.in.firstPair[k+1]-x.in.firstPair[k])) / 4 // about as much work as weighing so many paths
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
