package routing

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"sim/engine"
	"sim/internal/random"
)

// Shortest routes every pair along one shortest path of any graph. The path is the result of a
// breadth-first search from the destination. Among links that lead equally close, the link with
// the lowest index wins, as in ns-3's global routing. Parallel links share the destinations so
// that their loads are nearly equal (see parallelChoice). All hops use channel 0, so credit-based
// flow control may deadlock.
type Shortest struct{}

// Route routes the flows of any graph. The error wraps ErrUnserved if a node has more than 4096
// links, and names pairs that live links do not join.
func (Shortest) Route(ctx context.Context, p *Problem, _ Options) (*Decision, error) {
	return p.routeShortest(ctx, Shortest{}.selector(0))
}

// selector returns the rule by which paths continue.
func (Shortest) selector(uint64) *nextHopSelector {
	return &nextHopSelector{rule: ruleFirstCreated}
}

// ECMP routes every pair along shortest paths. At each node it picks uniformly among the links
// that start a shortest path: equal-cost multi-path (Hopps, RFC 2992). All hops use channel 0, so
// credit-based flow control may deadlock.
type ECMP struct {
	// Draw is the unit for which a link is picked. DrawPair, also "", hashes seed, pair and node,
	// as switches do for a flow. DrawNode hashes seed, node and destination. DrawPacket draws for
	// each packet at each node, as ns-3's global routing does with attribute RandomEcmpRouting
	// (Ipv4GlobalRouting::LookupGlobal). Without that attribute ns-3 takes the first route, as
	// Shortest does.
	Draw string `key:"draw" doc:"unit for which a node picks one of the equal links: each 'pair', by a hash of pair and node; each 'node', by a hash of destination and node, so paths to a destination merge; each 'packet', at random, as ns-3's RandomEcmpRouting does" default:"pair" choices:"@draws"`
}

// Route routes the flows of any graph; for errors see Shortest.Route.
func (e ECMP) Route(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	return p.routeByDraw(ctx, e.Draw, uniformLinks, e.selector(o.Seed))
}

// selector returns the rule by which paths continue; nil if each packet draws its links.
func (e ECMP) selector(seed uint64) *nextHopSelector {
	return newDrawSelector(ruleHashed, e.Draw, seed)
}

// RandomShortest routes every pair along one of its shortest paths, drawn uniformly. All hops use
// channel 0, so credit-based flow control may deadlock.
type RandomShortest struct {
	// Draw is the unit for which a path is drawn: DrawPair, also "", DrawPacket, or DrawNode.
	// With DrawNode each node draws one link per destination, in proportion to the number of
	// shortest paths over the link.
	Draw string `key:"draw" doc:"unit for which one of all shortest paths is drawn uniformly: each 'pair', each 'packet', or, at each 'node' for each destination, the next link in proportion to the number of paths over it" default:"pair" choices:"@draws"`
}

// Route routes the flows of any graph; for errors see Shortest.Route.
func (r RandomShortest) Route(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	return p.routeByDraw(ctx, r.Draw, byNumPaths, r.selector(o.Seed))
}

// selector returns the rule by which paths continue; nil if each packet draws its links.
func (r RandomShortest) selector(seed uint64) *nextHopSelector {
	return newDrawSelector(ruleUniform, r.Draw, seed)
}

// nextHopSelector selects the next arc of a flow on a shortest path, by one of the rules below.
// setDestination prepares it for the flows to one destination.
type nextHopSelector struct {
	rule int8 // a rule constant
	// perNode reports whether draws are per node and destination, so paths to a destination
	// merge.
	perNode bool
	seed    uint64
	tree    *destinationTree // of the current destination
	// mergedArc is the arc by which all paths continue, indexed by node; only if paths merge.
	mergedArc []int32
	// parallel spreads paths of ruleFirstCreated over parallel links; nil without such links.
	parallel *parallelChoice
	prepared bool      // prepare was called
	numPaths []float64 // ruleUniform: relative number of shortest paths, indexed by node
	random   rand.PCG  // ruleUniform: draws of the current flow
	// The arcs of node a on shortest paths are arcs[start[a] : start[a]+count[a]]; not set for
	// ruleFirstCreated.
	start  []int32
	count  []int32
	arcs   []int32
	shares []float64 // ruleUniform: share of the node's shortest paths, indexed like arcs
}

// Rules by which the next arc is selected.
const (
	// ruleFirstCreated is the arc with the lowest index, or a parallel one.
	ruleFirstCreated int8 = iota
	ruleHashed            // uniform among the arcs, by a hash
	ruleUniform           // in proportion to the number of shortest paths
)

// newDrawSelector returns a selector for a rule with draws; nil if each packet draws its links.
func newDrawSelector(rule int8, draw string, seed uint64) *nextHopSelector {
	if draw != "" && draw != DrawPair && draw != DrawNode {
		return nil
	}
	return &nextHopSelector{rule: rule, perNode: draw == DrawNode, seed: seed}
}

// merges reports whether all paths to a destination leave a node by the same arc.
func (c *nextHopSelector) merges() bool {
	return c.perNode || c.rule == ruleFirstCreated
}

// prepare spreads the paths of ruleFirstCreated over parallel links, according to the traffic of
// p. Only the first call has an effect. A later problem with a subset of the flows therefore gets
// the same paths.
func (c *nextHopSelector) prepare(ctx context.Context, p *Problem, z *destinationTree) (err error) {
	if c.rule == ruleFirstCreated && !c.prepared {
		c.prepared = true
		c.parallel, err = newParallelChoice(ctx, p, z)
	}
	return err
}

// setDestination prepares the selector for flows to dst, the root of z.
func (c *nextHopSelector) setDestination(z *destinationTree, dst int32) {
	if n := z.net.nodes; c.tree != z {
		c.tree = z
		c.mergedArc = make([]int32, n)
		c.numPaths = make([]float64, n)
		c.start = make([]int32, n)
		c.count = make([]int32, n)
	}

	if c.rule == ruleUniform {
		z.countPaths(c.numPaths)
	}
	c.arcs, c.shares = c.arcs[:0], c.shares[:0]

	// List the arcs of each node, in node order for locality: neighbours often have close indices.
	for a := range int32(z.net.nodes) {
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

	// If paths merge, each node has one arc for all of them.
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

// pickArc returns the index in arcs that the random bits select for a node. ruleUniform weights
// the arcs by their number of shortest paths.
func (c *nextHopSelector) pickArc(node int32, bits uint64) int32 {
	start, end := c.start[node], c.start[node]+c.count[node]
	if c.rule == ruleHashed {
		return start + int32(uniformInt(bits, int(end-start)))
	}
	u, i := unitFloat(bits), start

	// The last arc takes the rest, including rounding.
	for _, share := range c.shares[start : end-1] {
		u -= share
		i += 1 - int32(math.Float64bits(u)>>63) // i++ while u >= 0, without a branch
	}
	return i
}

// flowPosition is the position of a flow on its path to the destination.
type flowPosition struct {
	pairHash uint64 // ruleHashed: hash of seed and pair
	node     int32  // current node
	lastArc  int32  // arc by which it arrived there
}

// startFlow returns the initial position of a flow. With ruleUniform it seeds the draws, so only
// one flow can be followed at a time.
func (c *nextHopSelector) startFlow(f engine.Flow, lastArc int32) flowPosition {
	u := flowPosition{node: f.Src, lastArc: lastArc}
	pair := uint64(f.Src)<<32 | uint64(f.Dst)
	if c.rule == ruleUniform {
		c.random.Seed(c.seed^randomShortestStream, pair)
	} else {
		u.pairHash = hash(c.seed, pair)
	}
	return u
}

// nextArc returns the index in arcs of a flow's next arc, if paths do not merge.
func (c *nextHopSelector) nextArc(u *flowPosition) int32 {
	if c.rule == ruleHashed {
		return c.pickArc(u.node, random.Mix(u.pairHash+uint64(u.node)))
	}
	return c.pickArc(u.node, c.random.Uint64())
}

// appendPath appends the steps of a flow to path.
func (c *nextHopSelector) appendPath(f engine.Flow, path []engine.Step) []engine.Step {
	const noArc = -1 // only arcLoads uses the last arc
	for u := c.startFlow(f, noArc); u.node != f.Dst; {
		k := c.mergedArc[u.node]
		if !c.merges() {
			k = c.arcs[c.nextArc(&u)]
		}
		path = append(path, c.tree.net.step(k))
		u.node = c.tree.net.out.To[k]
	}

	return path
}

// unitFloat maps 64 random bits to [0, 1).
func unitFloat(bits uint64) float64 { return float64(bits>>11) / (1 << 53) }

// Constants that are combined with the seed, so that routers draw independent random numbers.
const (
	randomShortestStream = 0x72616e646f6d2d73 // "random-s"
	multipathStream      = 0x6d756c7469706174 // "multipat"
	nodeStream           = 0x6e6f6465         // "node"
)

// countPaths sets the number of shortest paths from each node, divided by the maximum over all
// nodes at the same distance. The absolute numbers can exceed the range of float64.
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

// pathsBehind returns the number of shortest paths from a node: the sum over its next nodes.
func (z *destinationTree) pathsBehind(node int32, paths []float64) (sum float64) {
	out, nearer := z.net.out, z.Dist[node]-1
	for k := out.Start[node]; k < out.Start[node+1]; k++ {
		if to := out.To[k]; z.Dist[to] == nearer {
			sum += paths[to]
		}
	}
	return sum
}

// routeShortest routes flows on any graph along shortest paths. Equal paths of ruleFirstCreated
// are stored once. With other rules few paths are equal, and each flow has its own.
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

	// A first pass counts hops, so that the paths fit exactly.
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
			return nil, fmt.Errorf("routing: %d flows have paths of %d steps; want at most %d", len(p.Flows),
				hops, math.MaxInt32)
		}
		paths.Start = make([]int64, len(p.Flows))
		paths.Step = make([]engine.Step, 0, hops+int64(len(p.Flows)))
	}

	// The second pass stores the paths.
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
