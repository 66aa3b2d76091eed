package routing

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"sim/engine"
)

// Paths that Multipath spreads a pair over (Multipath.Over), and how (Split).
const (
	OverShortest  = "shortest"   // any shortest paths of any graph, on channel 0
	OverWildFirst = "wild-first" // live candidates of wild-first routing, on their channels

	PerPath = "per-path" // the same share on every path
	PerHop  = "per-hop"  // as packets take them that pick evenly among the next links at each node
)

// maxRouteSteps bounds the hops of all paths that are kept, of 2 bytes each.
const maxRouteSteps = 1 << 28

// Multipath spreads every pair over several shortest paths of any graph, of which each packet takes one at random: the
// randomised routing that Zu et al. (NSDI 24, Sec. 7) plan for nearest-neighbour traffic round faults. All hops take
// channel 0.
type Multipath struct {
	// Routes is the most routes of a pair, at least 1. Where there are more, they are drawn at random by Split.
	Routes int `key:"ways" doc:"maximum number of paths per pair, of which each packet takes one at random; if there are more shortest paths, a random subset is used, and loads with per-hop splitting are then approximate" default:"8" min:"1" max:"1024"`
	// Over is which paths: OverShortest, or OverWildFirst.
	Over string `key:"over" doc:"shortest paths or wild-first paths" default:"shortest" choices:"shortest|wild-first" called:"multipath over"`
	// Split is how packets spread over shortest paths: PerPath, which "" is, or PerHop. Candidates of wild-first
	// routing share evenly.
	Split string `key:"split" doc:"whether packets spread evenly over the paths of a pair, or at each hop over the next links" default:"per-path" choices:"per-path|per-hop" when:"policy.multipath.over=shortest"`
	// Extra is by how many hops candidates of wild-first routing may be longer than the pair's shortest.
	Extra int `key:"extra_hops" doc:"number of hops by which wild-first paths may be longer than the shortest" default:"0" max:"1000" when:"policy.multipath.over=wild-first"`
}

// Route leads the flows of any graph. It names pairs that cannot be joined.
func (m Multipath) Route(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	g, err := newAdjacency(p)
	if err != nil {
		return nil, err
	}
	// one flow of each class; those with themselves are left out
	symmetry, reduced := p.Symmetry(1), *p
	if symmetry != nil && len(symmetry.Sources) == g.nodes {
		symmetry = nil
	}
	if symmetry != nil {
		reduced.Flows = nil
		for c := range int32(symmetry.Classes()) {
			if f := symmetry.Flow(c); f.Src != f.Dst {
				reduced.Flows = append(reduced.Flows, f)
			}
		}
	}
	paths := &engine.Paths{Degree: g.degree, Link: g.link, Class: make([]int32, len(reduced.Flows)), First: []int32{0}}
	sampler := pathSampler{options: m, tree: newDestinationTree(g), paths: paths, selector: &nextHopSelector{rule: ruleUniform}, seed: o.Seed}
	dst, hops := int32(-1), int64(0)
	err = sampler.tree.visitByDestination(ctx, &reduced, func(i int32, f engine.Flow) error {
		if f.Dst != dst && m.Split != PerHop {
			sampler.selector.setDestination(sampler.tree, f.Dst)
		}
		dst = f.Dst
		paths.Class[i] = int32(len(paths.First) - 1)
		hops += sampler.tree.hops(f.Src)
		if len(paths.Step) > maxRouteSteps {
			return fmt.Errorf("%w: its ways have more than %d hops in all; give a pair fewer", ErrUnserved, maxRouteSteps)
		}
		return sampler.add(f)
	})
	if err != nil {
		return nil, err
	}
	if symmetry != nil {
		class := slices.Repeat([]int32{-1}, symmetry.Classes())
		for i, f := range reduced.Flows {
			class[symmetry.Class(f)] = paths.Class[i]
		}
		paths.Class = make([]int32, len(p.Flows))
		for i, f := range p.Flows {
			paths.Class[i] = class[symmetry.Class(f)]
		}
		hops *= int64(g.nodes / len(symmetry.Sources))
	}
	d := &Decision{Paths: paths, Metrics: map[string]float64{"walks": float64(len(paths.Start))}}
	d.setSplitHopBound(p, hops)
	return d, nil
}

// pathSampler lists or draws shortest paths of flows.
type pathSampler struct {
	options  Multipath
	tree     *destinationTree
	paths    *engine.Paths
	selector *nextHopSelector // in proportion to shortest paths
	seed     uint64
	random   rand.PCG
	results  [][]engine.Step
	shares   []float64
	path     []engine.Step
	arcs     []int32
}

// add gives the next class the paths of a flow.
func (s *pathSampler) add(f engine.Flow) error {
	s.results, s.shares, s.path = s.results[:0], s.shares[:0], s.path[:0]
	if !s.listPaths(f.Src, f.Dst, 1) {
		s.results, s.shares = s.results[:0], s.shares[:0]
		s.random.Seed(s.seed^multipathStream, uint64(f.Src)<<32|uint64(f.Dst))
		for range maxDrawsPerPath * s.options.Routes {
			if s.drawPath(f); len(s.results) == s.options.Routes {
				break
			}
		}
	}
	sum := 0.0
	for _, share := range s.shares {
		sum += share
	}
	for i, path := range s.results {
		if len(s.paths.Step)+len(path) >= math.MaxInt32 {
			return fmt.Errorf("routing: paths of more than %d steps in all are too many to keep; want fewer routes than %d a pair", math.MaxInt32, s.options.Routes)
		}
		s.paths.Add(path...)
		s.paths.Share = append(s.paths.Share, s.shares[i]/sum)
	}
	s.paths.First = append(s.paths.First, int32(len(s.paths.Start)))
	return nil
}

// maxDrawsPerPath bounds the draws for a path, as some may come again and again.
const maxDrawsPerPath = 16

// listPaths finds all shortest paths from a node, with their shares; false where they are more than wanted.
func (s *pathSampler) listPaths(node, dst int32, share float64) bool {
	if node == dst {
		if len(s.results) == s.options.Routes {
			return false
		}
		s.results = append(s.results, slices.Clone(s.path))
		s.shares = append(s.shares, share)
		return true
	}
	start := len(s.arcs)
	s.arcs = s.tree.nextArcs(node, s.arcs)
	end := len(s.arcs)
	if s.options.Split == PerHop {
		share /= float64(end - start)
	}
	ok := true
	for i := start; ok && i < end; i++ {
		k := s.arcs[i]
		s.path = append(s.path, s.tree.net.step(k))
		ok = s.listPaths(s.tree.net.out.To[k], dst, share)
		s.path = s.path[:len(s.path)-1]
	}
	s.arcs = s.arcs[:start]
	return ok
}

// drawPath draws a shortest path of a flow, and keeps it if it is new.
func (s *pathSampler) drawPath(f engine.Flow) {
	path, share := s.path[:0], 1.0
	for node := f.Src; node != f.Dst; {
		var k int32
		u := s.random.Uint64()
		if s.options.Split == PerHop {
			s.arcs = s.tree.nextArcs(node, s.arcs[:0])
			k = s.arcs[int(unitFloat(u)*float64(len(s.arcs)))]
			share /= float64(len(s.arcs))
		} else {
			k = s.selector.arcs[s.selector.pickArc(node, u)]
		}
		path = append(path, s.tree.net.step(k))
		node = s.tree.net.out.To[k]
	}
	s.path, s.arcs = path[:0], s.arcs[:0]
	if !slices.ContainsFunc(s.results, func(known []engine.Step) bool { return slices.Equal(known, path) }) {
		s.results, s.shares = append(s.results, slices.Clone(path)), append(s.shares, share)
	}
}

// wildMultipath spreads every pair over live candidates of wild-first routing, on their channels.
type wildMultipath struct {
	Multipath
	rule WildRule
}

// Route leads the flows of a torus or mesh. It fails, with ErrUnserved, on other graphs, and names pairs that no
// candidate joins.
func (m wildMultipath) Route(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	c, l, err := m.assigner(p, o.Seed)
	if err != nil {
		return nil, err
	}
	paths, err := l.assignPaths(ctx)
	if err != nil {
		return nil, err
	}
	// what is one path so far is several
	starts := append(paths.Start, int64(len(paths.Step)))
	paths.Start, paths.First = nil, []int32{0}
	for class, start := range starts[:len(starts)-1] {
		for paths.Start = append(paths.Start, start); start < starts[class+1]-1; start++ {
			if paths.Step[start] == engine.Arrived {
				paths.Start = append(paths.Start, start+1)
			}
		}
		paths.First = append(paths.First, int32(len(paths.Start)))
	}
	return &Decision{Paths: paths, Metrics: map[string]float64{"walks": float64(len(paths.Start))}, Labels: c.labels()}, nil
}

func (m wildMultipath) assigner(p *Problem, seed uint64) (*Candidates, *pathAssigner, error) {
	c, err := NewCandidates(p, m.rule)
	if err != nil {
		return nil, nil, err
	}
	var stream rand.PCG
	return c, c.assigner(p, 1, func(f engine.Flow) (all []engine.Step) {
		for k, ports := range m.candidates(c, f, seed, &stream) {
			if k > 0 {
				all = append(all, engine.Arrived)
			}
			all = append(all, ports...)
		}
		return all
	}), nil
}

// candidates chooses among a flow's live candidates of few enough hops.
func (m Multipath) candidates(c *Candidates, f engine.Flow, seed uint64, stream *rand.PCG) [][]engine.Step {
	all := c.Paths(f)
	n := 0
	for n < len(all) && len(all[n]) <= len(all[0])+m.Extra {
		n++
	}
	all = all[:n]
	if n > m.Routes {
		stream.Seed(seed^multipathStream, uint64(f.Src)<<32|uint64(f.Dst))
		rand.New(stream).Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:m.Routes]
	}
	return all
}
