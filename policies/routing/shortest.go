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
	return p.routeShortest(ctx, Shortest{}.selector(0))
}

// selector returns how its paths are picked.
func (Shortest) selector(uint64) *nextHopSelector { return &nextHopSelector{rule: ruleFirstCreated} }

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
	return p.routeByDraw(ctx, e.Draw, false, e.selector(o.Seed))
}

// selector returns how its paths are picked; nil where packets draw their links.
func (e ECMP) selector(seed uint64) *nextHopSelector {
	return newDrawSelector(ruleHashed, e.Draw, seed)
}

// RandomShortest leads every pair along one of its shortest paths, all of them as likely. All hops take channel 0, and
// credits may deadlock.
type RandomShortest struct {
	// Draw is what a path is drawn for: DrawPair, which "" is; DrawPacket; or DrawNode, where each node draws a link
	// for each destination, in proportion to the shortest paths behind it.
	Draw string `key:"draw" doc:"unit for which one of all shortest paths is drawn uniformly: each 'pair', each 'packet', or, at each 'node' for each destination, the next link in proportion to the number of paths over it" default:"pair" choices:"@draws"`
}

// Route leads the flows of any graph; see Shortest.Route on errors.
func (r RandomShortest) Route(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	return p.routeByDraw(ctx, r.Draw, true, r.selector(o.Seed))
}

// selector returns how its paths are picked; nil where packets draw their links.
func (r RandomShortest) selector(seed uint64) *nextHopSelector {
	return newDrawSelector(ruleUniform, r.Draw, seed)
}

// nextHopSelector picks links on shortest paths by one of the rules.
type nextHopSelector struct {
	rule      int8
	perNode   bool // links are drawn for each node and destination
	seed      uint64
	tree      *destinationTree
	mergedArc []int32 // by node: the arc by which all paths go on there, where they merge
	// parallel spreads the paths of createdFirst over parallel links; nil if there are none.
	parallel *parallelChoice
	prepared bool
	numPaths []float64 // drawn: by node, in proportion
	random   rand.PCG
	start    []int32 // but createdFirst: by node, its arcs on shortest paths are count[a] of links, from begin[a] on
	count    []int32
	arcs     []int32
	shares   []float64 // drawn: by place in links, of the shortest paths from the node
}

const (
	ruleFirstCreated int8 = iota
	ruleHashed
	ruleUniform
)

// newDrawSelector returns how paths are picked by draws; nil where packets draw their links.
func newDrawSelector(rule int8, draw string, seed uint64) *nextHopSelector {
	if draw != "" && draw != DrawPair && draw != DrawNode {
		return nil
	}
	return &nextHopSelector{rule: rule, perNode: draw == DrawNode, seed: seed}
}

// merges reports whether all paths to a destination go on from a node by one link.
func (c *nextHopSelector) merges() bool { return c.perNode || c.rule == ruleFirstCreated }

// prepare has the paths of createdFirst spread over parallel links, by the traffic of p. Only the first call counts, so
// that some of the flows have the same paths in a problem of their own.
func (c *nextHopSelector) prepare(ctx context.Context, p *Problem, z *destinationTree) (err error) {
	if c.rule == ruleFirstCreated && !c.prepared {
		c.prepared = true
		c.parallel, err = newParallelChoice(ctx, p, z)
	}
	return err
}

// setDestination prepares for flows to the destination that z leads to.
func (c *nextHopSelector) setDestination(z *destinationTree, dst int32) {
	if n := z.net.nodes; c.tree != z {
		c.tree, c.mergedArc, c.numPaths, c.start, c.count = z, make([]int32, n), make([]float64, n), make([]int32, n), make([]int32, n)
	}
	if c.rule == ruleUniform {
		z.countPaths(c.numPaths)
	}
	c.arcs, c.shares = c.arcs[:0], c.shares[:0]
	for a := range int32(z.net.nodes) { // so that what flows from near nodes look at is near
		if c.start[a] = int32(len(c.arcs)); c.rule != ruleFirstCreated && z.Dist[a] > 0 {
			c.arcs = z.nextArcs(a, c.arcs)
		}
		nodeArcs := c.arcs[c.start[a]:]
		if c.count[a] = int32(len(nodeArcs)); c.rule == ruleUniform && len(nodeArcs) > 0 {
			sum := z.pathsBehind(a, c.numPaths)
			for _, k := range nodeArcs {
				c.shares = append(c.shares, c.numPaths[z.net.out.To[k]]/sum)
			}
		}
	}
	for a := range int32(z.net.nodes) {
		switch {
		case z.Dist[a] <= 0 || !c.merges():
		case c.rule == ruleFirstCreated:
			c.mergedArc[a] = z.firstArc(a)
		default:
			c.mergedArc[a] = c.arcs[c.pickArc(a, hash(c.seed^nodeStream, uint64(dst), uint64(a)))]
		}
	}
	if c.parallel != nil {
		c.parallel.apply(dst, c.mergedArc)
	}
}

// pickArc returns the place in links of an arc of a node that random bits pick: where links are drawn, in proportion to
// the shortest paths behind it.
func (c *nextHopSelector) pickArc(node int32, bits uint64) int32 {
	start, end := c.start[node], c.start[node]+c.count[node]
	if c.rule == ruleHashed {
		return start + int32(uniformInt(bits, int(end-start)))
	}
	u, i := unitFloat(bits), start
	for _, share := range c.shares[start : end-1] { // past the last only by rounding
		u -= share
		i += 1 - int32(math.Float64bits(u)>>63) // while u is not below 0, without a branch
	}
	return i
}

// flowPosition is a flow on its way to a destination.
type flowPosition struct {
	pairHash uint64 // hashed: of seed and pair
	node     int32
	lastArc  int32 // the arc that it came by
}

// startFlow has a flow begin, of which only one may be under way where links are drawn.
func (c *nextHopSelector) startFlow(f engine.Flow, lastArc int32) flowPosition {
	u, pair := flowPosition{node: f.Src, lastArc: lastArc}, uint64(f.Src)<<32|uint64(f.Dst)
	if c.rule == ruleUniform {
		c.random.Seed(c.seed^randomShortestStream, pair)
	} else {
		u.pairHash = hash(c.seed, pair)
	}
	return u
}

// nextArc returns the place in links of the next arc of a flow, where paths do not merge.
func (c *nextHopSelector) nextArc(u *flowPosition) int32 {
	if c.rule == ruleHashed {
		return c.pickArc(u.node, mix(u.pairHash, uint64(u.node)))
	}
	return c.pickArc(u.node, c.random.Uint64())
}

// appendPath appends the steps of a flow.
func (c *nextHopSelector) appendPath(f engine.Flow, path []engine.Step) []engine.Step {
	for u := c.startFlow(f, -1); u.node != f.Dst; {
		k := c.mergedArc[u.node]
		if !c.merges() {
			k = c.arcs[c.nextArc(&u)]
		}
		path = append(path, c.tree.net.step(k))
		u.node = c.tree.net.out.To[k]
	}
	return path
}

// unitFloat turns 64 random bits into a number from 0 to just below 1.
func unitFloat(bits uint64) float64 { return float64(bits>>11) / (1 << 53) }

// Streams of random numbers, beside the seed.
const (
	randomShortestStream = 0x72616e646f6d2d73 // "random-s"
	multipathStream      = 0x6d756c7469706174 // "multipat"
	nodeStream           = 0x6e6f6465         // "node"
)

// countPaths sets how many shortest paths lead from each node, in proportion to others as far away. (Their numbers may be
// beyond what floats hold.)
func (z *destinationTree) countPaths(paths []float64) {
	paths[z.Order[0]] = 1
	for i := 1; i < len(z.Order); {
		end, maxPaths := i, 0.0
		for ; end < len(z.Order) && z.Dist[z.Order[end]] == z.Dist[z.Order[i]]; end++ {
			a := z.Order[end]
			paths[a] = z.pathsBehind(a, paths)
			maxPaths = max(maxPaths, paths[a])
		}
		for ; i < end; i++ {
			paths[z.Order[i]] = max(paths[z.Order[i]]/maxPaths, math.SmallestNonzeroFloat64*(1<<60))
		}
	}
}

// pathsBehind sums up the shortest paths behind the links of a node.
func (z *destinationTree) pathsBehind(node int32, paths []float64) (sum float64) {
	out, nearer := z.net.out, z.Dist[node]-1
	for k := out.Start[node]; k < out.Start[node+1]; k++ {
		if to := out.To[k]; z.Dist[to] == nearer {
			sum += paths[to]
		}
	}
	return sum
}

// routeShortest leads flows of a problem on any graph by shortest paths. Those of createdFirst that take the same ports share
// paths; the others hardly would.
func (p *Problem) routeShortest(ctx context.Context, c *nextHopSelector) (*Decision, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	g, err := newAdjacency(p)
	if err != nil {
		return nil, err
	}
	hops := int64(0)
	z := newDestinationTree(g)
	if err := c.prepare(ctx, p, z); err != nil {
		return nil, err
	}
	if err := z.visitByDestination(ctx, p, func(_ int32, f engine.Flow) error {
		hops += z.hops(f.Src)
		return nil
	}); err != nil {
		return nil, err
	}
	paths := &engine.Paths{Degree: g.degree, Link: g.link}
	var set *pathSet
	if c.rule == ruleFirstCreated {
		set = newPathSet(g.degree, g.link, len(p.Flows))
		paths = set.paths
	} else {
		if hops+int64(len(p.Flows)) > math.MaxInt32 {
			return nil, fmt.Errorf("routing: %d flows have paths of %d steps in all; at most %d can be kept", len(p.Flows), hops, math.MaxInt32)
		}
		paths.Start, paths.Step = make([]int64, len(p.Flows)), make([]engine.Step, 0, hops+int64(len(p.Flows)))
	}
	dst := int32(-1)
	var path []engine.Step
	if err := z.visitByDestination(ctx, p, func(i int32, f engine.Flow) error {
		if f.Dst != dst {
			dst = f.Dst
			c.setDestination(z, dst)
		}
		if set == nil {
			paths.Start[i] = int64(len(paths.Step))
			paths.Step = append(c.appendPath(f, paths.Step), engine.Arrived)
			return nil
		}
		path = c.appendPath(f, path[:0])
		return set.add(int(i), path)
	}); err != nil {
		return nil, err
	}
	d := &Decision{Paths: paths}
	d.setHopBound(p, hops)
	return d, nil
}
