package routing

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"sim/engine"
)

// Shortest leads every pair along a shortest path on any graph: as a breadth-first search from each destination finds
// it, where the link created first (of the lowest number) wins among those that lead as near. So ns-3's global routing
// does. All hops take channel 0, and credits may deadlock.
type Shortest struct{}

// Route leads the flows of any graph. It fails, with ErrUnserved, on nodes of more than 4096 links, and names pairs
// that live links do not join.
func (Shortest) Route(ctx context.Context, p *Problem, _ Options) (*Decision, error) {
	return p.along(ctx, &chooser{rule: createdFirst})
}

// first sets the first arc of out from every node on a shortest path; -1 where there is none.
func (z *field) first(of []int32) {
	out := z.g.out
	for a := range of {
		of[a] = -1
		for k := out.Start[a]; k < out.Start[a+1] && of[a] < 0; k++ {
			if z.Dist[a] > 0 && z.nearer(k) {
				of[a] = k
			}
		}
	}
}

// ECMP leads every pair along shortest paths, picking evenly among the links that begin one at each node: equal-cost
// multi-path (Hopps, RFC 2992). All hops take channel 0, and credits may deadlock.
type ECMP struct {
	// Draw is what a link is picked for: DrawPair, which "" is, by a hash of the seed, the pair and the node, as
	// switches do it for a flow; DrawNode, by a hash of seed, node and destination; or DrawPacket, anew for each packet
	// at each node, as ns-3's global routing does where its attribute RandomEcmpRouting is set
	// (Ipv4GlobalRouting::LookupGlobal, which draws one of all equal routes; where it is not set the first is taken, as
	// Shortest does).
	Draw string `key:"draw" doc:"what a link among the equal ones at each node is picked for: 'pair', by a hash of pair and node; 'node', by one of destination and node, so that routes to a destination merge; 'packet', at random, as ns-3's RandomEcmpRouting does" default:"pair" choices:"@draws"`
}

// Route leads the flows of any graph; see Shortest.Route on errors.
func (e ECMP) Route(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	return p.drawn(ctx, e.Draw, false, o.Seed)
}

// RandomShortest leads every pair along one of its shortest paths, all of them as likely. All hops take channel 0, and
// credits may deadlock.
type RandomShortest struct {
	// Draw is what a path is drawn for: DrawPair, which "" is; DrawPacket; or DrawNode, where each node draws a link
	// for each destination, in proportion to the shortest paths behind it.
	Draw string `key:"draw" doc:"what one of all shortest paths, drawn uniformly, is drawn for: each 'pair', each 'packet', or at each 'node' for each destination the next link, in proportion to the routes behind it" default:"pair" choices:"@draws"`
}

// Route leads the flows of any graph; see Shortest.Route on errors.
func (r RandomShortest) Route(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	return p.drawn(ctx, r.Draw, true, o.Seed)
}

// chooser picks links on shortest paths by one of the rules.
type chooser struct {
	rule   int8
	node   bool // links are drawn for each node and destination
	seed   uint64
	z      *field
	first  []int32   // createdFirst: by node
	paths  []float64 // drawn: by node, in proportion
	stream rand.PCG
	links  []int32
}

const (
	createdFirst int8 = iota
	hashed
	drawn
)

// begin prepares for flows to the destination that z is towards.
func (c *chooser) begin(z *field) {
	if c.z == nil {
		c.z, c.first, c.paths = z, make([]int32, z.g.nodes), make([]float64, z.g.nodes)
	}
	switch c.rule {
	case createdFirst:
		z.first(c.first)
	case drawn:
		z.count(c.paths)
	}
}

// path appends the steps of a flow.
func (c *chooser) path(f engine.Flow, path []engine.Step) []engine.Step {
	if c.rule == drawn {
		c.stream.Seed(c.seed^randomShortestStream, uint64(f.Src)<<32|uint64(f.Dst))
	}
	for at := f.Src; at != f.Dst; {
		k := int32(0)
		switch c.rule {
		case createdFirst:
			k = c.first[at]
		case hashed:
			c.links = c.z.next(at, c.links[:0])
			k = c.links[below(c.hash(f, at), len(c.links))]
		case drawn:
			u := c.stream.Uint64()
			if c.node {
				u = c.hash(f, at)
			}
			k = c.z.draw(at, c.paths, float(u))
		}
		path = append(path, c.z.g.step(k))
		at = c.z.g.out.To[k]
	}
	return path
}

// hash is what a flow's link at a node is picked by.
func (c *chooser) hash(f engine.Flow, at int32) uint64 {
	if c.node {
		return hash(c.seed^nodeStream, uint64(f.Dst), uint64(at))
	}
	return hash(c.seed, uint64(f.Src)<<32|uint64(f.Dst), uint64(at))
}

// float turns 64 random bits into a number from 0 to just below 1.
func float(bits uint64) float64 { return float64(bits>>11) / (1 << 53) }

// Streams of random numbers, beside the seed.
const (
	randomShortestStream = 0x72616e646f6d2d73 // "random-s"
	multipathStream      = 0x6d756c7469706174 // "multipat"
	nodeStream           = 0x6e6f6465         // "node"
)

// count sets how many shortest paths lead from each node, in proportion to others as far away. (Their numbers may be
// beyond what floats hold.)
func (z *field) count(paths []float64) {
	paths[z.Order[0]] = 1
	for i := 1; i < len(z.Order); {
		end, most := i, 0.0
		for ; end < len(z.Order) && z.Dist[z.Order[end]] == z.Dist[z.Order[i]]; end++ {
			a := z.Order[end]
			paths[a] = z.behind(a, paths)
			most = max(most, paths[a])
		}
		for ; i < end; i++ {
			paths[z.Order[i]] = max(paths[z.Order[i]]/most, math.SmallestNonzeroFloat64*(1<<60))
		}
	}
}

// behind sums up the shortest paths behind the links of a node.
func (z *field) behind(at int32, paths []float64) (sum float64) {
	out := z.g.out
	for k := out.Start[at]; k < out.Start[at+1]; k++ {
		if z.nearer(k) {
			sum += paths[out.To[k]]
		}
	}
	return sum
}

// draw picks a link of a node on a shortest path, in proportion to the shortest paths behind it, by a number from 0 to
// 1.
func (z *field) draw(at int32, paths []float64, u float64) int32 {
	out, sum, last := z.g.out, z.behind(at, paths), int32(-1)
	for k := out.Start[at]; k < out.Start[at+1]; k++ {
		if z.nearer(k) {
			if u -= paths[out.To[k]] / sum; u < 0 {
				return k
			}
			last = k
		}
	}
	return last // rounding left u at 0 or a little above
}

// along leads flows of a problem on any graph by shortest paths. Those of createdFirst that take the same ports share
// paths; the others hardly would.
func (p *Problem) along(ctx context.Context, c *chooser) (*Decision, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	g, err := newAdjacency(p)
	if err != nil {
		return nil, err
	}
	hops := int64(0)
	z := newField(g)
	if err := z.byDestination(ctx, p, func(_ int32, f engine.Flow) error {
		hops += z.hops(f.Src)
		return nil
	}); err != nil {
		return nil, err
	}
	w := &engine.Paths{Degree: g.degree, Link: g.link}
	var set *pathSet
	if c.rule == createdFirst {
		set = newPathSet(g.degree, g.link, len(p.Flows))
		w = set.paths
	} else {
		if hops+int64(len(p.Flows)) > math.MaxInt32 {
			return nil, fmt.Errorf("routing: %d flows have paths of %d steps in all; at most %d can be kept", len(p.Flows), hops, math.MaxInt32)
		}
		w.Start, w.Step = make([]int64, len(p.Flows)), make([]engine.Step, 0, hops+int64(len(p.Flows)))
	}
	dst := int32(-1)
	var path []engine.Step
	if err := z.byDestination(ctx, p, func(i int32, f engine.Flow) error {
		if f.Dst != dst {
			dst = f.Dst
			c.begin(z)
		}
		if set == nil {
			w.Start[i] = int64(len(w.Step))
			w.Step = append(c.path(f, w.Step), engine.Arrived)
			return nil
		}
		path = c.path(f, path[:0])
		return set.add(int(i), path)
	}); err != nil {
		return nil, err
	}
	d := &Decision{Paths: w}
	d.bound(p, hops)
	return d, nil
}
