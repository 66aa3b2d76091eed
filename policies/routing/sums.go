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
	// Loads returns what static.PathLoads would.
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
	if of, ok := r.router(o).(interface{ chooser(seed uint64) *chooser }); ok && p.Demand == nil {
		c := of.chooser(o.Seed)
		if c == nil {
			return nil, nil, nil
		}
		return p.sums(ctx, c)
	}
	z, d, err := r.Orbits(ctx, p, o)
	if z == nil {
		return nil, nil, err
	}
	return z, d, nil
}

// arcSums is Sums of paths on channel 0 that are followed one after the other.
type arcSums struct {
	loads static.Loads
	p     *Problem
	c     *chooser
	g     *adjacency
	arc   []int64 // by arc of g.out: paths on it
	hops  []hop   // by place in chooser.links
	then  []bool  // by arc and port of the node behind it: some path goes on so
}

// sums follows the paths that along would choose: to a destination by its tree where they merge, else all at once, hop
// by hop.
func (p *Problem) sums(ctx context.Context, c *chooser) (Sums, *Decision, error) {
	if err := p.check(); err != nil {
		return nil, nil, err
	}
	g, err := newAdjacency(p)
	if err != nil {
		return nil, nil, err
	}
	arcs := len(g.out.To)
	s := &arcSums{p: p, c: c, g: g, arc: make([]int64, arcs), then: make([]bool, (arcs+1)*g.degree)}
	s.loads.Flows, s.loads.MaxLink = int64(len(p.Flows)), -1
	z, at, under := newField(g), make([]int64, g.nodes), []underway(nil)
	if err := c.prepare(ctx, p, z); err != nil {
		return nil, nil, err
	}
	start, flows := csr.Sort(p.Flows, g.nodes, func(f engine.Flow) int32 { return f.Dst })
	var apart unjoined
	for dst := range int32(g.nodes) {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if start[dst] == start[dst+1] {
			continue
		}
		z.Breadth(dst)
		c.towards(z, dst)
		s.hops = s.hops[:0]
		for _, k := range c.links {
			s.hops = append(s.hops, hop{to: g.out.To[k], arc: k, port: g.out.Class[k]})
		}
		under = under[:0]
		for _, f := range flows[start[dst]:start[dst+1]] {
			hops := z.hops(f.Src)
			s.loads.SumHops += hops
			s.loads.MaxHops = max(s.loads.MaxHops, int32(hops))
			switch {
			case hops < 0:
				apart.add(f)
			case c.merges():
				at[f.Src]++
			case hops > 0:
				if under = append(under, c.start(f, int32(arcs))); c.rule == drawn {
					s.follow(c, under, dst)
					under = under[:0]
				}
			}
		}
		s.tree(c, at, dst)
		s.follow(c, under, dst)
		for _, h := range s.hops {
			s.arc[h.arc] += int64(h.flows)
		}
	}
	if err := apart.err(notJoined); err != nil {
		return nil, nil, err
	}
	s.loads.Link = make([]int64, len(p.Network.Links))
	for k, load := range s.arc {
		s.loads.Link[s.link(int32(k))] = load
	}
	for l, load := range s.loads.Link {
		if load > s.loads.Max {
			s.loads.Max, s.loads.MaxLink = load, int32(l)
		}
	}
	d := &Decision{}
	d.bound(p, s.loads.SumHops)
	return s, d, nil
}

func (s *arcSums) link(arc int32) int32 {
	return s.g.link[int(s.g.out.From[arc])*s.g.degree+int(s.g.out.Class[arc])]
}

// tree adds the paths of so many flows at each node to a destination, from the farthest node on, and leaves none.
func (s *arcSums) tree(c *chooser, at []int64, dst int32) {
	for i := len(c.z.Order) - 1; i > 0; i-- { // 0 is the destination
		a := c.z.Order[i]
		if at[a] == 0 {
			continue
		}
		k := c.first[a]
		to := s.g.out.To[k]
		s.arc[k] += at[a]
		at[to] += at[a]
		at[a] = 0
		if to != dst {
			s.then[int(k)*s.g.degree+int(s.g.out.Class[c.first[to]])] = true
		}
	}
	at[dst] = 0
}

// hop is an arc on a shortest path.
type hop struct {
	to, arc, port int32
	flows         int32 // that take it
}

// follow adds paths to a destination, all a hop at a time.
func (s *arcSums) follow(c *chooser, flows []underway, dst int32) {
	hops, then, degree := s.hops, s.then, int32(s.g.degree)
	begin, count, hashed := c.begin, c.count, c.rule == hashed
	for len(flows) > 0 {
		left := 0
		for _, u := range flows {
			var i int32
			if hashed { // as pick does, which is not inlined
				i = begin[u.at] + int32(below(mix(u.pair, uint64(u.at)), int(count[u.at])))
			} else {
				i = c.next(&u)
			}
			h := &hops[i]
			h.flows++
			then[u.last*degree+h.port] = true
			if h.to != dst {
				flows[left] = underway{u.pair, h.to, h.arc}
				left++
			}
		}
		flows = flows[:left]
	}
}

// Loads returns what static.PathLoads would.
func (s *arcSums) Loads() *static.Loads { return &s.loads }

// Channels returns 1, and a cycle in the dependencies of links.
func (s *arcSums) Channels(_ context.Context, n *engine.Network) (int, packet.Cycle, error) {
	d := packet.NewDependencies(n, s.g.degree, s.g.link, 1)
	for k := range s.arc {
		for port, then := range s.then[k*s.g.degree : (k+1)*s.g.degree] {
			if then {
				if err := d.Add(s.g.out.From[k], []engine.Step{s.g.step(int32(k)), engine.MakeStep(port, 0)}); err != nil {
					return 0, nil, err
				}
			}
		}
	}
	return 1, d.Cycle(), nil
}

// Paths returns the paths of some of the flows.
func (s *arcSums) Paths(ctx context.Context, flows []engine.Flow) (*engine.Paths, error) {
	some := *s.p
	some.Flows = flows
	d, err := some.along(ctx, s.c)
	if err != nil {
		return nil, err
	}
	return d.Paths, nil
}
