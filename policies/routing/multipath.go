package routing

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"sim/engine"
)

// Paths over which Multipath spreads a pair (Multipath.Over), and how packets are split
// (Multipath.Split).
const (
	OverShortest  = "shortest"   // shortest paths of any graph, on channel 0
	OverWildFirst = "wild-first" // live candidates of wild-first routing, on their channels

	PerPath = "per-path" // equal shares per path
	PerHop  = "per-hop"  // equal shares per next link at each node
)

// maxRouteSteps limits the hops of all stored paths, of 2 bytes each.
const maxRouteSteps = 1 << 28

// Multipath spreads every pair over several shortest paths of any graph; each packet takes one at
// random. Zu et al. (NSDI 24, Sec. 7) plan such randomised routing for nearest-neighbour traffic
// around faults. All hops use channel 0.
type Multipath struct {
	// Routes is the maximum number of paths per pair, at least 1. If there are more, a random
	// subset is drawn by Split.
	Routes int `key:"max_paths" doc:"maximum number of paths per pair, of which each packet takes one at random; if there are more shortest paths, a random subset is used, and loads with per-hop splitting are then approximate" default:"8" min:"1" max:"1024"`
	// Over selects the paths: OverShortest or OverWildFirst.
	Over string `key:"paths" doc:"shortest paths or wild-first paths" default:"shortest" choices:"shortest|wild-first" called:"multipath paths"`
	// Split is PerPath, also "", or PerHop. Wild-first candidates have equal shares.
	Split string `key:"split" doc:"whether packets spread evenly over the paths of a pair, or at each hop over the next links" default:"per-path" choices:"per-path|per-hop" when:"policy.multipath.paths=shortest"`
	// Extra is the number of hops by which wild-first candidates may exceed the shortest path of
	// the pair.
	Extra int `key:"extra_hops" doc:"number of hops by which wild-first paths may be longer than the shortest" default:"0" max:"1000" when:"policy.multipath.paths=wild-first"`
}

// Route routes the flows of any graph. The error names pairs that cannot be joined.
func (m Multipath) Route(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	g, err := newAdjacency(p)
	if err != nil {
		return nil, err
	}

	// With symmetry, one flow per class is routed. Flows from a node to itself need no path.
	symmetry, reduced := p.Symmetry(anyTranslation), *p
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

	paths := &engine.Paths{
		Degree: g.degree,
		Link:   g.link,
		Class:  make([]int32, len(reduced.Flows)),
		First:  []int32{0},
	}

	sampler := pathSampler{
		options:  m,
		tree:     newDestinationTree(g),
		paths:    paths,
		selector: &nextHopSelector{rule: ruleUniform},
		seed:     o.Seed,
	}

	dst, hops := int32(-1), int64(0)
	err = sampler.tree.visitByDestination(ctx, &reduced, func(i int32, f engine.Flow) error {
		if f.Dst != dst && m.Split != PerHop {
			sampler.selector.setDestination(sampler.tree, f.Dst)
		}
		dst = f.Dst
		paths.Class[i] = int32(len(paths.First) - 1)
		hops += sampler.tree.hops(f.Src)
		if len(paths.Step) > maxRouteSteps {
			return fmt.Errorf("%w: the paths have more than %d hops; want fewer paths per pair", ErrUnserved,
				maxRouteSteps)
		}
		return sampler.add(f)
	})
	if err != nil {
		return nil, err
	}

	// All flows take the paths of their class.
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

	d := &Decision{Paths: paths, Metrics: map[string]float64{"paths": float64(len(paths.Start))}}
	d.setSplitHopBound(p, hops)
	return d, nil
}

// pathSampler lists the shortest paths of a pair or draws some of them.
type pathSampler struct {
	options Multipath        // number of paths and split
	tree    *destinationTree // of the current destination
	paths   *engine.Paths    // result

	selector *nextHopSelector // draws links in proportion to the number of shortest paths
	seed     uint64
	random   rand.PCG
	results  [][]engine.Step // paths of the current pair
	shares   []float64       // of results, not normalised
	path     []engine.Step   // scratch of listPaths and drawPath
	arcs     []int32         // scratch: next arcs, a stack in listPaths
}

// add appends the paths of a flow as the next class.
func (s *pathSampler) add(f engine.Flow) error {
	s.results = s.results[:0]
	s.shares = s.shares[:0]
	s.path = s.path[:0]

	// If there are more paths than wanted, they are drawn.
	const wholeShare = 1
	if !s.listPaths(f.Src, f.Dst, wholeShare) {
		s.results = s.results[:0]
		s.shares = s.shares[:0]
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
			return fmt.Errorf("routing: the paths have more than %d steps; want fewer than %d paths per pair",
				math.MaxInt32, s.options.Routes)
		}
		s.paths.Add(path...)
		s.paths.Share = append(s.paths.Share, s.shares[i]/sum)
	}

	s.paths.First = append(s.paths.First, int32(len(s.paths.Start)))
	return nil
}

// maxDrawsPerPath limits the draws per wanted path, since a path can be drawn repeatedly.
const maxDrawsPerPath = 16

// listPaths appends all shortest paths from a node with their shares. It returns false if there
// are more than wanted.
func (s *pathSampler) listPaths(node, dst int32, share float64) bool {
	if node == dst {
		if len(s.results) == s.options.Routes {
			return false
		}
		s.results = append(s.results, slices.Clone(s.path))
		s.shares = append(s.shares, share)
		return true
	}

	// s.arcs is a stack: each level of the recursion appends its arcs and removes them.
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

// drawPath draws a shortest path of a flow and adds it if it is new.
func (s *pathSampler) drawPath(f engine.Flow) {
	path, share := s.path[:0], 1.0
	for node := f.Src; node != f.Dst; {
		var k int32

		// Draw the next arc: uniformly for PerHop, otherwise in proportion to the number of
		// shortest paths that continue by it.
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
		s.results = append(s.results, slices.Clone(path))
		s.shares = append(s.shares, share)
	}
}

// wildMultipath spreads every pair over live candidates of wild-first routing, on their channels.
type wildMultipath struct {
	Multipath
	rule WildRule
}

// Route routes the flows of a torus or mesh. The error wraps ErrUnserved on other graphs, and
// names pairs without a candidate.
func (m wildMultipath) Route(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	c, l, err := m.assigner(p, o.Seed)
	if err != nil {
		return nil, err
	}
	paths, err := l.assignPaths(ctx)
	if err != nil {
		return nil, err
	}

	// assignPaths stores the paths of a class as one, separated by engine.Arrived. They are split
	// here.
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

	return &Decision{
		Paths:   paths,
		Metrics: map[string]float64{"paths": float64(len(paths.Start))},
		Labels:  c.labels(),
	}, nil
}

// assigner prepares paths that consist of all candidates of a flow, separated by engine.Arrived.
func (m wildMultipath) assigner(p *Problem, seed uint64) (*Candidates, *pathAssigner, error) {
	c, err := NewCandidates(p, m.rule)
	if err != nil {
		return nil, nil, err
	}
	var stream rand.PCG
	return c, c.assigner(p, anyTranslation, func(f engine.Flow) (all []engine.Step) {
		for k, ports := range m.candidates(c, f, seed, &stream) {
			if k > 0 {
				all = append(all, engine.Arrived)
			}
			all = append(all, ports...)
		}
		return all
	}), nil
}

// candidates selects at most Routes live candidates of a flow with at most Extra additional hops.
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
