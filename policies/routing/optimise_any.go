package routing

import (
	"context"
	"math"
	"slices"

	"sim/engine"
	"sim/policies/graph"
)

// layered is the paths that cannot deadlock on any network: on each virtual channel, of which two at most are taken one
// after the other, links towards lower places of an order of the nodes and then links towards higher ones (up*/down*,
// Schroeder et al., Autonet, IEEE JSAC 9, 1991).
func (in *instance) layered(place []int32, channels int) *stateGraph {
	states := 2 * min(channels, channelsEach)
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
				w.step = append(w.step, engine.MakeStep(port, next/2))
			}
			w.Close()
		}
	}
	return w
}

// breadth orders the nodes breadth-first from a root; what that does not reach comes from the lowest node that is left
// on.
func (in *instance) breadth(root int32) []int32 {
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

// mostArcs is how many arcs searches that only compare paths or bounds look at, about: some seconds.
const mostArcs = 100_000_000

// fewArcs is the arcs of all sources' searches beyond which pairs are searched one by one where they are few, those of
// the fewest hops breadth-first, paths that may deadlock are taken up where others are sought that cannot, the search
// for a bound is as long as its work allows, and searches for more paths are given up that the budget does not cover.
var fewArcs = 2_000_000 // tests have less

// arcs returns how many arcs searches from all sources look at.
func (in *instance) arcs(w *stateGraph) int { return max(1, len(in.sources)*len(w.To)) }

// safest returns the layered paths on the channels that a problem's links have, of nodes in the order of their distance
// from the first.
func (in *instance) safest(p *Problem) *stateGraph {
	channels := math.MaxInt32
	for _, l := range p.Network.Links {
		if l.Rate > 0 {
			channels = min(channels, int(max(1, l.Channels)))
		}
	}
	return in.layered(in.breadth(0), channels)
}

// pathGenerator adds paths to choices: for each pair the one that costs least of all.
type pathGenerator struct {
	*finder
	c      *choices
	length []float64
}

// mostSteps bounds what choices keep of paths that were searched for.
const mostSteps = 1 << 27

// begin gives each pair a path of the fewest hops. It names pairs that none joins, and says why. On large graphs pairs
// keep the first paths of others, which are as short as any, where w has them; nil is none.
func (in *instance) begin(ctx context.Context, w *stateGraph, others *choices, why string) (*pathGenerator, error) {
	x := &pathGenerator{finder: newFinder(in, w), c: newChoices(len(in.pair)), length: slices.Repeat([]float64{1}, in.orbits)}
	var apart unjoined
	for s, src := range in.sources {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		searched := false
		for i := in.first[s]; i < in.first[s+1]; i++ {
			if others != nil && x.between != nil {
				if x.arcs = w.follow(src, others.steps(others.first[i]), x.arcs[:0]); x.arcs != nil {
					w.into(x.c, i, x.arcs)
					continue
				}
			}
			if !searched {
				x.source(s, x.length, true)
				searched = true
			}
			if x.find(i, math.MaxFloat64) == math.MaxFloat64 {
				apart.add(in.pair[i])
			} else {
				x.into(x.c, i)
			}
		}
	}
	return x, apart.err(why)
}

// Why pairs are not joined.
const (
	notJoined = "links that are up do not join them"
	mayCycle  = "links that are up join them, but not by ways of an order of the nodes, on which nothing deadlocks"
)

// better is how much less a path must cost than the present one to be added.
const better = 0.98

// more adds paths that cost less than those that a search has chosen.
func (x *pathGenerator) more(ctx context.Context, s *search) error {
	if len(x.c.step) > mostSteps {
		return nil
	}
	if n := x.in.arcs(x.t.w); n > fewArcs && int64(n/4) > s.budget {
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
		x.source(k, x.length, false)
		s.budget -= int64(len(x.t.To)+int(x.in.first[k+1]-x.in.first[k])) / 4 // about as much work as weighing so many paths
		for i := x.in.first[k]; i < x.in.first[k+1]; i++ {
			now := 0.0
			path := x.c.of(s.path[i])
			for _, o := range path {
				now += x.length[o]
			}
			s.budget -= int64(len(path)) / longPath
			if now *= better; x.find(i, now) < now {
				x.into(x.c, i)
			}
		}
	}
	return nil
}
