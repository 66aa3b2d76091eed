package routing

import (
	"context"

	"sim/engine"
	"sim/engine/packet"
	"sim/engine/static"
	"sim/internal/csr"
	"sim/internal/random"
)

// Sums holds the link loads of all flows of a problem without their paths.
type Sums interface {
	// Loads returns the result of static.PathLoads for these paths.
	Loads() *static.Loads
	// Channels returns the number of virtual channels in use and a cycle of their dependencies;
	// nil if there is no cycle.
	Channels(ctx context.Context, n *engine.Network) (channels int, cycle packet.Cycle, err error)
	// Paths returns the paths of the given flows, which belong to the problem, on channel 0.
	Paths(ctx context.Context, flows []engine.Flow) (*engine.Paths, error)
}

// Sums returns the link loads of the paths that Route would choose, and its decision without
// paths. The result is nil if the router can only compute the paths themselves.
func (r *Row) Sums(ctx context.Context, p *Problem, o Options) (Sums, *Decision, error) {
	if selectable, ok := r.router(o).(interface {
		selector(seed uint64) *nextHopSelector
	}); ok && p.Demand == nil {
		c := selectable.selector(o.Seed)
		if c == nil {
			return nil, nil, nil
		}
		return p.sumLoads(ctx, c)
	}

	z, d, err := r.Orbits(ctx, p, o)
	if z == nil {
		return nil, nil, err
	}
	return z, d, nil
}

// arcLoads implements Sums by following paths on channel 0 without storing them.
type arcLoads struct {
	loads    static.Loads     // result of Loads
	problem  *Problem         // flows
	selector *nextHopSelector // selects the paths
	net      *adjacency       // network
	load     []int64          // paths over an arc, indexed by arc of net.out
	nextHops []nextHop        // arcs of the current destination, indexed like selector.arcs
	// continues reports whether some path continues after an arc by a port, indexed by
	// arc*degree+port.
	continues []bool
}

// sumLoads follows the paths that routeShortest would choose. If the paths to a destination
// merge, their loads are summed up along the tree. Otherwise all flows to the destination advance
// together, one hop at a time. ruleUniform follows one flow after the other, as each has its own
// random numbers.
func (p *Problem) sumLoads(ctx context.Context, c *nextHopSelector) (Sums, *Decision, error) {
	if err := p.validate(); err != nil {
		return nil, nil, err
	}
	g, err := newAdjacency(p)
	if err != nil {
		return nil, nil, err
	}

	// The arcs are the links of the graph, sorted by source. Arc number arcs stands for the
	// start of a path.
	arcs := len(g.out.To)
	s := &arcLoads{
		problem:   p,
		selector:  c,
		net:       g,
		load:      make([]int64, arcs),
		continues: make([]bool, (arcs+1)*g.degree),
	}

	s.loads.Flows, s.loads.MaxLink = int64(len(p.Flows)), -1

	z := newDestinationTree(g)
	numFlows := make([]int64, g.nodes)
	positions := []flowPosition(nil)
	if err := c.prepare(ctx, p, z); err != nil {
		return nil, nil, err
	}

	// Flows are sorted by destination, because all paths to a destination follow one tree.
	start, flows := csr.Sort(p.Flows, g.nodes, func(f engine.Flow) int32 { return f.Dst })
	var unreachable unreachablePairs
	for dst := range int32(g.nodes) {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if start[dst] == start[dst+1] {
			continue
		}

		// Compute the distances to dst and the arcs on shortest paths.
		z.Breadth(dst)
		c.setDestination(z, dst)
		s.nextHops = s.nextHops[:0]
		for _, k := range c.arcs {
			s.nextHops = append(s.nextHops, nextHop{to: g.out.To[k], arc: k, port: g.out.Class[k]})
		}
		positions = positions[:0]

		for _, f := range flows[start[dst]:start[dst+1]] {
			// Register the flow: count it at its source if paths merge, otherwise start to
			// follow it.
			hops := z.hops(f.Src)
			s.loads.SumHops += hops
			s.loads.MaxHops = max(s.loads.MaxHops, int32(hops))
			switch {
			case hops < 0:
				unreachable.add(f)
			case c.merges():
				numFlows[f.Src]++
			case hops > 0:
				if positions = append(positions, c.startFlow(f, int32(arcs))); c.rule == ruleUniform {
					s.addFlows(c, positions, dst)
					positions = positions[:0]
				}
			}
		}

		// All flows to dst are counted; add their paths.
		s.addTree(c, numFlows, dst)
		s.addFlows(c, positions, dst)
		for _, h := range s.nextHops {
			s.load[h.arc] += int64(h.flows)
		}
	}

	if err := unreachable.err(reasonDisconnected); err != nil {
		return nil, nil, err
	}

	// Each arc is one link of the network.
	s.loads.Link = make([]int64, len(p.Network.Links))
	for k, load := range s.load {
		s.loads.Link[s.networkLink(int32(k))] = load
	}
	for l, load := range s.loads.Link {
		if load > s.loads.Max {
			s.loads.Max, s.loads.MaxLink = load, int32(l)
		}
	}

	d := &Decision{}
	d.setHopBound(p, s.loads.SumHops)
	return s, d, nil
}

// networkLink returns the link of an arc.
func (s *arcLoads) networkLink(arc int32) int32 {
	return s.net.link[int(s.net.out.From[arc])*s.net.degree+int(s.net.out.Class[arc])]
}

// addTree adds merging paths to dst. numFlows has the number of flows that start at each node; it
// is zero afterwards. Nodes are visited from the farthest to the nearest.
func (s *arcLoads) addTree(c *nextHopSelector, numFlows []int64, dst int32) {
	for i := len(c.tree.Order) - 1; i > 0; i-- { // 0 is the destination
		a := c.tree.Order[i]
		if numFlows[a] == 0 {
			continue
		}

		// All flows that have reached node a, or start there, leave it by the same arc.
		arc := c.mergedArc[a]
		to := s.net.out.To[arc]
		s.load[arc] += numFlows[a]
		numFlows[to] += numFlows[a]
		numFlows[a] = 0
		if to != dst {
			s.continues[int(arc)*s.net.degree+int(s.net.out.Class[c.mergedArc[to]])] = true
		}
	}

	numFlows[dst] = 0
}

// nextHop is an arc on a shortest path.
type nextHop struct {
	to, arc, port int32
	flows         int32 // number of flows over the arc
}

// addFlows adds the paths of flows to dst. In each pass every flow advances by one hop.
func (s *arcLoads) addFlows(c *nextHopSelector, flows []flowPosition, dst int32) {
	nextHops := s.nextHops
	continues := s.continues
	degree := int32(s.net.degree)
	start := c.start
	count := c.count
	isHashed := c.rule == ruleHashed
	for len(flows) > 0 {
		remaining := 0
		for _, u := range flows {
			var i int32
			if isHashed { // as pickArc, which is not inlined
				i = start[u.node] + int32(uniformInt(random.Mix(u.pairHash+uint64(u.node)), int(count[u.node])))
			} else {
				i = c.nextArc(&u)
			}

			// Count the hop and the turn from the previous arc. Flows that have not arrived stay
			// in the list.
			h := &nextHops[i]
			h.flows++
			continues[u.lastArc*degree+h.port] = true
			if h.to != dst {
				flows[remaining] = flowPosition{pairHash: u.pairHash, node: h.to, lastArc: h.arc}
				remaining++
			}
		}

		flows = flows[:remaining]
	}
}

// Loads implements Sums.
func (s *arcLoads) Loads() *static.Loads { return &s.loads }

// Channels implements Sums. All paths use one channel.
func (s *arcLoads) Channels(_ context.Context, n *engine.Network) (int, packet.Cycle, error) {
	const channels, channel = 1, 0
	d := packet.NewDependencies(n, s.net.degree, s.net.link, channels)
	for k := range s.load {
		for port, then := range s.continues[k*s.net.degree : (k+1)*s.net.degree] {
			if then {
				if err := d.Add(s.net.out.From[k], []engine.Step{s.net.step(int32(k)),
					engine.MakeStep(port, channel)}); err != nil {
					return 0, nil, err
				}
			}
		}
	}

	return channels, d.Cycle(), nil
}

// Paths implements Sums.
func (s *arcLoads) Paths(ctx context.Context, flows []engine.Flow) (*engine.Paths, error) {
	reduced := *s.problem
	reduced.Flows = flows
	d, err := reduced.routeShortest(ctx, s.selector)
	if err != nil {
		return nil, err
	}
	return d.Paths, nil
}
