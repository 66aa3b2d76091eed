package routing

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/engine/packet"
	"sim/engine/static"
)

// Orbits are the paths of uniform traffic on a torus, of one flow of each class: flows that translations take into each
// other take the same ports, on channels of their own. What 16 million flows load needs no more than the paths of
// 32,000 of them.
type Orbits struct {
	*Symmetry
	ports        [][]engine.Step // by class, on channel 0; empty of a node with itself
	geometry     *geometry
	usesSegments bool
	classSize    int64 // flows of a class
}

// symmetricRouter is a router whose choices may commute with translations.
type symmetricRouter interface {
	// routeOrbits returns nil where they do not.
	routeOrbits(ctx context.Context, p *Problem, o Options) (*Orbits, *Decision, error)
}

// Orbits returns the paths that Route would choose, and its decision without them; nil where the router's choices for
// flows that translations take into each other are not known to be the same.
func (r *Row) Orbits(ctx context.Context, p *Problem, o Options) (*Orbits, *Decision, error) {
	if symmetric, ok := r.router(o).(symmetricRouter); ok && p.Torus != nil {
		return symmetric.routeOrbits(ctx, p, o)
	}
	return nil, nil, nil
}

// routeOrbits chooses for a flow of each class. DimensionOrder chooses by how far a flow goes along each dimension and, of
// equal vectors, by which coordinates of its ends are even: by nothing else. Translations that keep even coordinates
// even, as is checked here for all nodes, thus change nothing.
func (r DimensionOrder) routeOrbits(ctx context.Context, p *Problem, _ Options) (*Orbits, *Decision, error) {
	_, l, err := r.assigner(p, 0)
	if err != nil {
		return nil, nil, err
	}
	l.symmetry = p.Symmetry(2)
	for a, orbit := range l.symmetry.Orbit {
		for d := range l.geometry.Dims {
			if (l.geometry.Coord(int32(a), d)-l.geometry.Coord(l.symmetry.Sources[orbit], d))%2 != 0 {
				return nil, nil, nil
			}
		}
	}
	choose := l.choose // which uses its paths again
	l.choose = func(f engine.Flow) []engine.Step { return slices.Clone(choose(f)) }
	z, err := l.routeOrbits(ctx)
	if z == nil || err != nil {
		return nil, nil, err
	}
	d := &Decision{Labels: map[string]string{"order": dimString(l.geometry.order)}}
	d.setHopBound(p, z.sumHops())
	return z, d, nil
}

// routeOrbits chooses for a flow of each class, as Route does for all flows of it.
func (w WildRule) routeOrbits(ctx context.Context, p *Problem, o Options) (*Orbits, *Decision, error) {
	c, l, err := w.assigner(p, o.Seed)
	if err != nil {
		return nil, nil, err
	}
	z, err := l.routeOrbits(ctx)
	if z == nil || err != nil {
		return nil, nil, err
	}
	wild := int64(0)
	for _, ports := range z.ports {
		if z.geometry.countWild(ports) > 0 {
			wild += z.classSize
		}
	}
	return z, &Decision{Metrics: map[string]float64{"wild_pairs": float64(wild)}, Labels: c.labels()}, nil
}

// routeOrbits chooses for a flow of each class; nil where there are no two flows of one, or some have no path.
func (l *pathAssigner) routeOrbits(ctx context.Context) (*Orbits, error) {
	if len(l.symmetry.Sources) == l.geometry.Nodes() {
		return nil, nil
	}
	z := &Orbits{Symmetry: l.symmetry, ports: make([][]engine.Step, l.symmetry.Classes()), geometry: l.geometry, usesSegments: l.usesSegments, classSize: int64(l.geometry.Nodes() / len(l.symmetry.Sources))}
	for c := range z.ports {
		if c&0xfff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f := l.symmetry.Flow(int32(c))
		if f.Src == f.Dst {
			continue
		}
		ports := l.choose(f)
		if ports == nil { // lead names the pairs
			return nil, nil
		}
		z.ports[c] = make([]engine.Step, len(ports))
		node := f.Src
		for i, s := range ports {
			z.ports[c][i] = engine.MakeStep(s.Port(), 0)
			if k := int(node)*z.geometry.degree + s.Port(); !z.geometry.isUp[k] {
				return nil, fmt.Errorf("routing: the path from node %d to %d takes port %d of node %d, which is down", f.Src, f.Dst, s.Port(), node)
			}
			node = z.geometry.neighbour[int(node)*z.geometry.degree+s.Port()]
		}
		if node != f.Dst {
			return nil, fmt.Errorf("routing: the path from node %d to %d ends at %d", f.Src, f.Dst, node)
		}
	}
	return z, nil
}

// sumHops returns the links of all flows' paths.
func (z *Orbits) sumHops() (sum int64) {
	for _, ports := range z.ports {
		sum += z.classSize * int64(len(ports))
	}
	return sum
}

// visitHops calls do with every hop of the path of a class, from its node on.
func (z *Orbits) visitHops(class int32, do func(node int32, port int)) {
	node := z.Flow(class).Src
	for _, s := range z.ports[class] {
		do(node, s.Port())
		node = z.geometry.neighbour[int(node)*z.geometry.degree+s.Port()]
	}
}

// Loads returns what static.OfPaths would. Translations take the paths of a class to each other, and links to others of
// the same port of an orbit: each of these has as many paths of a class on it as a path of it passes such links.
func (z *Orbits) Loads() *static.Loads {
	load := make([]int64, len(z.Sources)*z.geometry.degree)
	out := &static.Loads{SumHops: z.sumHops(), MaxLink: -1}
	for c, ports := range z.ports {
		z.visitHops(int32(c), func(node int32, port int) { load[int(z.Orbit[node])*z.geometry.degree+port]++ })
		out.MaxHops = max(out.MaxHops, int32(len(ports)))
	}
	nodes := int64(z.geometry.Nodes())
	out.Flows = nodes * (nodes - 1)
	links := 0
	for _, l := range z.geometry.link {
		links = max(links, int(l)+1)
	}
	out.Link = make([]int64, links)
	for k, l := range z.geometry.link {
		if l >= 0 {
			out.Link[l] = load[int(z.Orbit[k/z.geometry.degree])*z.geometry.degree+k%z.geometry.degree]
		}
	}
	for l, load := range out.Link {
		if load > out.Max {
			out.Max, out.MaxLink = load, int32(l)
		}
	}
	return out
}

// Paths returns the paths of flows by class, all on channel 0.
func (z *Orbits) Paths(_ context.Context, flows []engine.Flow) (*engine.Paths, error) {
	w := &engine.Paths{Degree: z.geometry.degree, Link: z.geometry.link, Class: make([]int32, len(flows))}
	for _, ports := range z.ports {
		w.Add(ports...)
	}
	for i, f := range flows {
		w.Class[i] = z.Class(f)
	}
	return w, nil
}

// channelScope is a part of a path that decides on channels of its own: two segments, or all of a path with wild hops.
type channelScope struct {
	orbit int32 // of the node that it begins at
	ports []engine.Step
}

// channelScopes returns the different windows of all paths.
func (z *Orbits) channelScopes() []channelScope {
	var all []channelScope
	known := map[string]bool{}
	var key []byte
	add := func(from int32, ports []engine.Step) {
		w := channelScope{z.Orbit[from], ports}
		key = append(key[:0], byte(w.orbit), byte(w.orbit>>8), byte(w.orbit>>16), byte(w.orbit>>24))
		for _, s := range ports {
			key = append(key, byte(s), byte(s>>8))
		}
		if !known[string(key)] {
			known[string(key)] = true
			all = append(all, w)
		}
	}
	for c, ports := range z.ports {
		from := z.Flow(int32(c)).Src
		if z.geometry.countWild(ports) > 0 {
			add(from, ports)
			continue
		}
		// a segment ends where the next begins; a window begins with each but the last
		first, middle, node, start := 0, 0, from, from
		for i := 1; i <= len(ports); i++ {
			node = z.geometry.neighbour[int(node)*z.geometry.degree+ports[i-1].Port()]
			if i < len(ports) && ports[i] == ports[i-1] {
				continue
			}
			if middle > 0 || i == len(ports) {
				add(start, ports[first:i])
			}
			if middle > 0 {
				for _, s := range ports[first:middle] {
					start = z.geometry.neighbour[int(start)*z.geometry.degree+s.Port()]
				}
				first = middle
			}
			middle = i
		}
	}
	return all
}

// Channels returns the virtual channels that the paths of all flows take, and a cycle in the dependencies of these; nil
// where there is none. What a hop depends on is within a window of its path; windows are followed from all nodes of
// their orbit.
func (z *Orbits) Channels(ctx context.Context, n *engine.Network) (channels int, cycle packet.Cycle, err error) {
	from := make([][]int32, len(z.Sources))
	for a, orbit := range z.Orbit {
		from[orbit] = append(from[orbit], int32(a))
	}
	all, path := z.channelScopes(), []engine.Step(nil)
	each := func(do func(a int32, path []engine.Step) (more bool)) error {
		for _, w := range all {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			for _, a := range from[w.orbit] {
				path = append(path[:0], w.ports...)
				z.geometry.setChannels(a, path, z.usesSegments)
				if !do(a, path) {
					return nil
				}
			}
		}
		return nil
	}
	channels = 1
	if err = each(func(_ int32, path []engine.Step) bool {
		for _, s := range path {
			channels = max(channels, 1+s.Channel())
		}
		return channels < 2 // there are no more
	}); err != nil {
		return 0, nil, err
	}
	d := packet.NewDependencies(n, z.geometry.degree, z.geometry.link, channels)
	failed := error(nil)
	if err = each(func(a int32, path []engine.Step) bool {
		failed = d.Add(a, path)
		return failed == nil
	}); cmp.Or(err, failed) != nil {
		return 0, nil, cmp.Or(err, failed)
	}
	return channels, d.Cycle(), nil
}
