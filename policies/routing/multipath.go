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

// mostRouteSteps bounds the hops of all paths that are kept, of 2 bytes each.
const mostRouteSteps = 1 << 28

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
	if err := p.check(); err != nil {
		return nil, err
	}
	g, err := newAdjacency(p)
	if err != nil {
		return nil, err
	}
	// one flow of each class; those with themselves are left out
	y, some := p.Symmetry(1), *p
	if y != nil && len(y.Sources) == g.nodes {
		y = nil
	}
	if y != nil {
		some.Flows = nil
		for c := range int32(y.Classes()) {
			if f := y.Flow(c); f.Src != f.Dst {
				some.Flows = append(some.Flows, f)
			}
		}
	}
	w := &engine.Paths{Degree: g.degree, Link: g.link, Class: make([]int32, len(some.Flows)), First: []int32{0}}
	s := spread{m: m, z: newField(g), w: w, by: &chooser{rule: drawn}, seed: o.Seed}
	dst, hops := int32(-1), int64(0)
	err = s.z.byDestination(ctx, &some, func(i int32, f engine.Flow) error {
		if f.Dst != dst && m.Split != PerHop {
			s.by.towards(s.z, f.Dst)
		}
		dst = f.Dst
		w.Class[i] = int32(len(w.First) - 1)
		hops += s.z.hops(f.Src)
		if len(w.Step) > mostRouteSteps {
			return fmt.Errorf("%w: its ways have more than %d hops in all; give a pair fewer", ErrUnserved, mostRouteSteps)
		}
		return s.add(f)
	})
	if err != nil {
		return nil, err
	}
	if y != nil {
		class := slices.Repeat([]int32{-1}, y.Classes())
		for i, f := range some.Flows {
			class[y.Class(f)] = w.Class[i]
		}
		w.Class = make([]int32, len(p.Flows))
		for i, f := range p.Flows {
			w.Class[i] = class[y.Class(f)]
		}
		hops *= int64(g.nodes / len(y.Sources))
	}
	d := &Decision{Paths: w, Metrics: map[string]float64{"walks": float64(len(w.Start))}}
	d.spreadBound(p, hops)
	return d, nil
}

// spread lists or draws shortest paths of flows.
type spread struct {
	m      Multipath
	z      *field
	w      *engine.Paths
	by     *chooser // in proportion to shortest paths
	seed   uint64
	stream rand.PCG
	found  [][]engine.Step
	share  []float64
	path   []engine.Step
	links  []int32
}

// add gives the next class the paths of a flow.
func (s *spread) add(f engine.Flow) error {
	s.found, s.share, s.path = s.found[:0], s.share[:0], s.path[:0]
	if !s.list(f.Src, f.Dst, 1) {
		s.found, s.share = s.found[:0], s.share[:0]
		s.stream.Seed(s.seed^multipathStream, uint64(f.Src)<<32|uint64(f.Dst))
		for range mostDraws * s.m.Routes {
			if s.draw(f); len(s.found) == s.m.Routes {
				break
			}
		}
	}
	sum := 0.0
	for _, share := range s.share {
		sum += share
	}
	for i, path := range s.found {
		if len(s.w.Step)+len(path) >= math.MaxInt32 {
			return fmt.Errorf("routing: paths of more than %d steps in all are too many to keep; want fewer routes than %d a pair", math.MaxInt32, s.m.Routes)
		}
		s.w.Add(path...)
		s.w.Share = append(s.w.Share, s.share[i]/sum)
	}
	s.w.First = append(s.w.First, int32(len(s.w.Start)))
	return nil
}

// mostDraws bounds the draws for a path, as some may come again and again.
const mostDraws = 16

// list finds all shortest paths from a node, with their shares; false where they are more than wanted.
func (s *spread) list(at, dst int32, share float64) bool {
	if at == dst {
		if len(s.found) == s.m.Routes {
			return false
		}
		s.found = append(s.found, slices.Clone(s.path))
		s.share = append(s.share, share)
		return true
	}
	begin := len(s.links)
	s.links = s.z.next(at, s.links)
	end := len(s.links)
	if s.m.Split == PerHop {
		share /= float64(end - begin)
	}
	ok := true
	for i := begin; ok && i < end; i++ {
		k := s.links[i]
		s.path = append(s.path, s.z.g.step(k))
		ok = s.list(s.z.g.out.To[k], dst, share)
		s.path = s.path[:len(s.path)-1]
	}
	s.links = s.links[:begin]
	return ok
}

// draw draws a shortest path of a flow, and keeps it if it is new.
func (s *spread) draw(f engine.Flow) {
	path, share := s.path[:0], 1.0
	for at := f.Src; at != f.Dst; {
		var k int32
		u := s.stream.Uint64()
		if s.m.Split == PerHop {
			s.links = s.z.next(at, s.links[:0])
			k = s.links[int(float(u)*float64(len(s.links)))]
			share /= float64(len(s.links))
		} else {
			k = s.by.links[s.by.pick(at, u)]
		}
		path = append(path, s.z.g.step(k))
		at = s.z.g.out.To[k]
	}
	s.path, s.links = path[:0], s.links[:0]
	if !slices.ContainsFunc(s.found, func(have []engine.Step) bool { return slices.Equal(have, path) }) {
		s.found, s.share = append(s.found, slices.Clone(path)), append(s.share, share)
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
	c, l, err := m.leader(p, o.Seed)
	if err != nil {
		return nil, err
	}
	w, err := l.lead(ctx)
	if err != nil {
		return nil, err
	}
	// what is one path so far is several
	begin := append(w.Start, int64(len(w.Step)))
	w.Start, w.First = nil, []int32{0}
	for class, at := range begin[:len(begin)-1] {
		for w.Start = append(w.Start, at); at < begin[class+1]-1; at++ {
			if w.Step[at] == engine.Arrived {
				w.Start = append(w.Start, at+1)
			}
		}
		w.First = append(w.First, int32(len(w.Start)))
	}
	return &Decision{Paths: w, Metrics: map[string]float64{"walks": float64(len(w.Start))}, Labels: c.labels()}, nil
}

func (m wildMultipath) leader(p *Problem, seed uint64) (*Candidates, *leader, error) {
	c, err := NewCandidates(p, m.rule)
	if err != nil {
		return nil, nil, err
	}
	var stream rand.PCG
	return c, c.leader(p, 1, func(f engine.Flow) (all []engine.Step) {
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
	all := c.Of(f)
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
