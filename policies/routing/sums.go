package routing

import (
	"context"

	"sim/engine"
	"sim/engine/packet"
	"sim/engine/static"
	"sim/internal/csr"
)

// Sums is what the paths of all flows of a problem come to, without these.
type Sums interface {
	// Loads returns what static.OfPaths would.
	Loads() *static.Loads
	// Channels returns the virtual channels that paths take, and a cycle in the dependencies of these; nil where there
	// is none.
	Channels(ctx context.Context, n *engine.Network) (channels int, cycle packet.Cycle, err error)
	// Paths returns the paths of some of the flows, on channel 0.
	Paths(ctx context.Context, flows []engine.Flow) (*engine.Paths, error)
}

// Sums returns what the paths that Route would choose come to, and its decision without them; nil where that takes the
// paths.
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

// arcLoads is Sums of paths on channel 0 that are followed one after the other.
type arcLoads struct {
	loads     static.Loads
	problem   *Problem
	selector  *nextHopSelector
	net       *adjacency
	load      []int64   // by arc of g.out: paths on it
	nextHops  []nextHop // by place in chooser.links
	continues []bool    // by arc and port of the node behind it: some path goes on so
}

// sumLoads follows the paths that along would choose: to a destination by its tree where they merge, else all at once, hop
// by hop.
func (p *Problem) sumLoads(ctx context.Context, c *nextHopSelector) (Sums, *Decision, error) {
	if err := p.validate(); err != nil {
		return nil, nil, err
	}
	g, err := newAdjacency(p)
	if err != nil {
		return nil, nil, err
	}
	arcs := len(g.out.To)
	s := &arcLoads{problem: p, selector: c, net: g, load: make([]int64, arcs), continues: make([]bool, (arcs+1)*g.degree)}
	s.loads.Flows, s.loads.MaxLink = int64(len(p.Flows)), -1
	z, numFlows, positions := newDestinationTree(g), make([]int64, g.nodes), []flowPosition(nil)
	if err := c.prepare(ctx, p, z); err != nil {
		return nil, nil, err
	}
	start, flows := csr.Sort(p.Flows, g.nodes, func(f engine.Flow) int32 { return f.Dst })
	var unreachable unreachablePairs
	for dst := range int32(g.nodes) {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if start[dst] == start[dst+1] {
			continue
		}
		z.Breadth(dst)
		c.setDestination(z, dst)
		s.nextHops = s.nextHops[:0]
		for _, k := range c.arcs {
			s.nextHops = append(s.nextHops, nextHop{to: g.out.To[k], arc: k, port: g.out.Class[k]})
		}
		positions = positions[:0]
		for _, f := range flows[start[dst]:start[dst+1]] {
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
		s.addTree(c, numFlows, dst)
		s.addFlows(c, positions, dst)
		for _, h := range s.nextHops {
			s.load[h.arc] += int64(h.flows)
		}
	}
	if err := unreachable.err(reasonDisconnected); err != nil {
		return nil, nil, err
	}
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

func (s *arcLoads) networkLink(arc int32) int32 {
	return s.net.link[int(s.net.out.From[arc])*s.net.degree+int(s.net.out.Class[arc])]
}

// addTree adds the paths of so many flows at each node to a destination, from the farthest node on, and leaves none.
func (s *arcLoads) addTree(c *nextHopSelector, numFlows []int64, dst int32) {
	for i := len(c.tree.Order) - 1; i > 0; i-- { // 0 is the destination
		a := c.tree.Order[i]
		if numFlows[a] == 0 {
			continue
		}
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
	flows         int32 // that take it
}

// addFlows adds paths to a destination, all a hop at a time.
func (s *arcLoads) addFlows(c *nextHopSelector, flows []flowPosition, dst int32) {
	nextHops, continues, degree := s.nextHops, s.continues, int32(s.net.degree)
	start, count, isHashed := c.start, c.count, c.rule == ruleHashed
	for len(flows) > 0 {
		remaining := 0
		for _, u := range flows {
			var i int32
			if isHashed { // as pick does, which is not inlined
				i = start[u.node] + int32(uniformInt(mix(u.pairHash, uint64(u.node)), int(count[u.node])))
			} else {
				i = c.nextArc(&u)
			}
			h := &nextHops[i]
			h.flows++
			continues[u.lastArc*degree+h.port] = true
			if h.to != dst {
				flows[remaining] = flowPosition{u.pairHash, h.to, h.arc}
				remaining++
			}
		}
		flows = flows[:remaining]
	}
}

// Loads returns what static.OfPaths would.
func (s *arcLoads) Loads() *static.Loads { return &s.loads }

// Channels returns 1, and a cycle in the dependencies of links.
func (s *arcLoads) Channels(_ context.Context, n *engine.Network) (int, packet.Cycle, error) {
	d := packet.NewDependencies(n, s.net.degree, s.net.link, 1)
	for k := range s.load {
		for port, then := range s.continues[k*s.net.degree : (k+1)*s.net.degree] {
			if then {
				if err := d.Add(s.net.out.From[k], []engine.Step{s.net.step(int32(k)), engine.MakeStep(port, 0)}); err != nil {
					return 0, nil, err
				}
			}
		}
	}
	return 1, d.Cycle(), nil
}

// Paths returns the paths of some of the flows.
func (s *arcLoads) Paths(ctx context.Context, flows []engine.Flow) (*engine.Paths, error) {
	reduced := *s.problem
	reduced.Flows = flows
	d, err := reduced.routeShortest(ctx, s.selector)
	if err != nil {
		return nil, err
	}
	return d.Paths, nil
}
