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
// does. Destinations spread over the links that are parallel to it, so that these carry about the same. All hops take
// channel 0, and credits may deadlock.
type Shortest struct{}

// Route leads the flows of any graph. It fails, with ErrUnserved, on nodes of more than 4096 links, and names pairs
// that live links do not join.
func (Shortest) Route(ctx context.Context, p *Problem, _ Options) (*Decision, error) {
	return p.along(ctx, Shortest{}.chooser(0))
}

// chooser returns how its paths are picked.
func (Shortest) chooser(uint64) *chooser { return &chooser{rule: createdFirst} }

// ECMP leads every pair along shortest paths, picking evenly among the links that begin one at each node: equal-cost
// multi-path (Hopps, RFC 2992). All hops take channel 0, and credits may deadlock.
type ECMP struct {
	// Draw is what a link is picked for: DrawPair, which "" is, by a hash of the seed, the pair and the node, as
	// switches do it for a flow; DrawNode, by a hash of seed, node and destination; or DrawPacket, anew for each packet
	// at each node, as ns-3's global routing does where its attribute RandomEcmpRouting is set
	// (Ipv4GlobalRouting::LookupGlobal, which draws one of all equal routes; where it is not set the first is taken, as
	// Shortest does).
	Draw string `key:"draw" doc:"unit for which a node picks one of the equal links: each 'pair', by a hash of pair and node; each 'node', by a hash of destination and node, so paths to a destination merge; each 'packet', at random, as ns-3's RandomEcmpRouting does" default:"pair" choices:"@draws"`
}

// Route leads the flows of any graph; see Shortest.Route on errors.
func (e ECMP) Route(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	return p.drawn(ctx, e.Draw, false, e.chooser(o.Seed))
}

// chooser returns how its paths are picked; nil where packets draw their links.
func (e ECMP) chooser(seed uint64) *chooser { return drawing(hashed, e.Draw, seed) }

// RandomShortest leads every pair along one of its shortest paths, all of them as likely. All hops take channel 0, and
// credits may deadlock.
type RandomShortest struct {
	// Draw is what a path is drawn for: DrawPair, which "" is; DrawPacket; or DrawNode, where each node draws a link
	// for each destination, in proportion to the shortest paths behind it.
	Draw string `key:"draw" doc:"unit for which one of all shortest paths is drawn uniformly: each 'pair', each 'packet', or, at each 'node' for each destination, the next link in proportion to the number of paths over it" default:"pair" choices:"@draws"`
}

// Route leads the flows of any graph; see Shortest.Route on errors.
func (r RandomShortest) Route(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	return p.drawn(ctx, r.Draw, true, r.chooser(o.Seed))
}

// chooser returns how its paths are picked; nil where packets draw their links.
func (r RandomShortest) chooser(seed uint64) *chooser { return drawing(drawn, r.Draw, seed) }

// chooser picks links on shortest paths by one of the rules.
type chooser struct {
	rule  int8
	node  bool // links are drawn for each node and destination
	seed  uint64
	z     *field
	first []int32 // by node: the arc by which all paths go on there, where they merge
	// parallel spreads the paths of createdFirst over parallel links; nil if there are none.
	parallel *parallelChoice
	prepared bool
	paths    []float64 // drawn: by node, in proportion
	stream   rand.PCG
	begin    []int32 // but createdFirst: by node, its arcs on shortest paths are count[a] of links, from begin[a] on
	count    []int32
	links    []int32
	shares   []float64 // drawn: by place in links, of the shortest paths from the node
}

const (
	createdFirst int8 = iota
	hashed
	drawn
)

// drawing returns how paths are picked by draws; nil where packets draw their links.
func drawing(rule int8, draw string, seed uint64) *chooser {
	if draw != "" && draw != DrawPair && draw != DrawNode {
		return nil
	}
	return &chooser{rule: rule, node: draw == DrawNode, seed: seed}
}

// merges reports whether all paths to a destination go on from a node by one link.
func (c *chooser) merges() bool { return c.node || c.rule == createdFirst }

// prepare has the paths of createdFirst spread over parallel links, by the traffic of p. Only the first call counts, so
// that some of the flows have the same paths in a problem of their own.
func (c *chooser) prepare(ctx context.Context, p *Problem, z *field) (err error) {
	if c.rule == createdFirst && !c.prepared {
		c.prepared = true
		c.parallel, err = newParallelChoice(ctx, p, z)
	}
	return err
}

// towards prepares for flows to the destination that z leads to.
func (c *chooser) towards(z *field, dst int32) {
	if n := z.g.nodes; c.z != z {
		c.z, c.first, c.paths, c.begin, c.count = z, make([]int32, n), make([]float64, n), make([]int32, n), make([]int32, n)
	}
	if c.rule == drawn {
		z.count(c.paths)
	}
	c.links, c.shares = c.links[:0], c.shares[:0]
	for a := range int32(z.g.nodes) { // so that what flows from near nodes look at is near
		if c.begin[a] = int32(len(c.links)); c.rule != createdFirst && z.Dist[a] > 0 {
			c.links = z.next(a, c.links)
		}
		some := c.links[c.begin[a]:]
		if c.count[a] = int32(len(some)); c.rule == drawn && len(some) > 0 {
			sum := z.behind(a, c.paths)
			for _, k := range some {
				c.shares = append(c.shares, c.paths[z.g.out.To[k]]/sum)
			}
		}
	}
	for a := range int32(z.g.nodes) {
		switch {
		case z.Dist[a] <= 0 || !c.merges():
		case c.rule == createdFirst:
			c.first[a] = z.first(a)
		default:
			c.first[a] = c.links[c.pick(a, hash(c.seed^nodeStream, uint64(dst), uint64(a)))]
		}
	}
	if c.parallel != nil {
		c.parallel.apply(dst, c.first)
	}
}

// pick returns the place in links of an arc of a node that random bits pick: where links are drawn, in proportion to
// the shortest paths behind it.
func (c *chooser) pick(at int32, bits uint64) int32 {
	begin, end := c.begin[at], c.begin[at]+c.count[at]
	if c.rule == hashed {
		return begin + int32(below(bits, int(end-begin)))
	}
	u, i := float(bits), begin
	for _, share := range c.shares[begin : end-1] { // past the last only by rounding
		u -= share
		i += 1 - int32(math.Float64bits(u)>>63) // while u is not below 0, without a branch
	}
	return i
}

// underway is a flow on its way to a destination.
type underway struct {
	pair uint64 // hashed: of seed and pair
	at   int32
	last int32 // the arc that it came by
}

// start has a flow begin, of which only one may be under way where links are drawn.
func (c *chooser) start(f engine.Flow, last int32) underway {
	u, pair := underway{at: f.Src, last: last}, uint64(f.Src)<<32|uint64(f.Dst)
	if c.rule == drawn {
		c.stream.Seed(c.seed^randomShortestStream, pair)
	} else {
		u.pair = hash(c.seed, pair)
	}
	return u
}

// next returns the place in links of the next arc of a flow, where paths do not merge.
func (c *chooser) next(u *underway) int32 {
	if c.rule == hashed {
		return c.pick(u.at, mix(u.pair, uint64(u.at)))
	}
	return c.pick(u.at, c.stream.Uint64())
}

// path appends the steps of a flow.
func (c *chooser) path(f engine.Flow, path []engine.Step) []engine.Step {
	for u := c.start(f, -1); u.at != f.Dst; {
		k := c.first[u.at]
		if !c.merges() {
			k = c.links[c.next(&u)]
		}
		path = append(path, c.z.g.step(k))
		u.at = c.z.g.out.To[k]
	}
	return path
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
	out, nearer := z.g.out, z.Dist[at]-1
	for k := out.Start[at]; k < out.Start[at+1]; k++ {
		if to := out.To[k]; z.Dist[to] == nearer {
			sum += paths[to]
		}
	}
	return sum
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
	if err := c.prepare(ctx, p, z); err != nil {
		return nil, err
	}
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
			c.towards(z, dst)
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
