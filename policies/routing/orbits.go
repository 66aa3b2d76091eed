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

// Orbits holds the paths of uniform traffic on a torus, one per class of flows. Flows that are
// translations of each other take the same ports, on channels of their own. The loads of 16
// million flows thus follow from 32,000 paths.
type Orbits struct {
	*Symmetry                    // the classes of flows: Sources, Orbit, Class and Flow
	ports        [][]engine.Step // path of each class, on channel 0; empty from a node to itself
	geometry     *geometry
	usesSegments bool  // channels follow the segment rule
	classSize    int64 // flows per class
}

// symmetricRouter is a router whose choices may commute with translations.
type symmetricRouter interface {
	// routeOrbits returns nil if they do not.
	routeOrbits(ctx context.Context, p *Problem, o Options) (*Orbits, *Decision, error)
}

// Orbits returns the paths that Route would choose, and its decision without paths. The result is
// nil unless the router's choices are known to be equal for flows that are translations of each
// other.
func (r *Row) Orbits(ctx context.Context, p *Problem, o Options) (*Orbits, *Decision, error) {
	if symmetric, ok := r.router(o).(symmetricRouter); ok && p.Torus != nil {
		return symmetric.routeOrbits(ctx, p, o)
	}
	return nil, nil, nil
}

// routeOrbits chooses one path per class. DimensionOrder depends only on the displacement of a
// flow along each dimension and, for ties, on the parity of the coordinates. It therefore
// commutes with translations that preserve the parity of all coordinates, which is checked here
// for all nodes.
func (r DimensionOrder) routeOrbits(ctx context.Context, p *Problem, _ Options) (*Orbits, *Decision, error) {
	_, l, err := r.assigner(p, noSeed)
	if err != nil {
		return nil, nil, err
	}
	l.symmetry = p.Symmetry(evenTranslation)
	for a, orbit := range l.symmetry.Orbit {
		for d := range l.geometry.Dims {
			if (l.geometry.Coord(int32(a), d)-l.geometry.Coord(l.symmetry.Sources[orbit], d))%2 != 0 {
				return nil, nil, nil
			}
		}
	}

	// Paths are kept for all classes, so each needs memory of its own.
	choose := l.choose // reuses its result
	l.choose = func(f engine.Flow) []engine.Step { return slices.Clone(choose(f)) }
	z, err := l.routeOrbits(ctx)
	if z == nil || err != nil {
		return nil, nil, err
	}
	d := &Decision{Labels: map[string]string{"order": dimString(l.geometry.order)}}
	d.setHopBound(p, z.sumHops())
	return z, d, nil
}

// routeOrbits chooses one path per class, as Route does.
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

// routeOrbits chooses one path per class. It returns nil if each class is one flow, and if a
// class has no path.
func (l *pathAssigner) routeOrbits(ctx context.Context) (*Orbits, error) {
	if len(l.symmetry.Sources) == l.geometry.Nodes() {
		return nil, nil
	}
	z := &Orbits{
		Symmetry:     l.symmetry,
		ports:        make([][]engine.Step, l.symmetry.Classes()),
		geometry:     l.geometry,
		usesSegments: l.usesSegments,
		classSize:    int64(l.geometry.Nodes() / len(l.symmetry.Sources)),
	}

	// Verify that each path is live and ends at its destination.
	for c := range z.ports {
		if c%flowsPerCheck == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f := l.symmetry.Flow(int32(c))
		if f.Src == f.Dst {
			continue
		}
		ports := l.choose(f)
		if ports == nil { // Route reports the pairs
			return nil, nil
		}
		z.ports[c] = make([]engine.Step, len(ports))

		// Store the path without its channels.
		const channel = 0
		node := f.Src
		for i, s := range ports {
			z.ports[c][i] = engine.MakeStep(s.Port(), channel)
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

// sumHops returns the total hops of all flows.
func (z *Orbits) sumHops() (sum int64) {
	for _, ports := range z.ports {
		sum += z.classSize * int64(len(ports))
	}
	return sum
}

// visitHops calls do with node and port of every hop of the representative of a class.
func (z *Orbits) visitHops(class int32, do func(node int32, port int)) {
	node := z.Flow(class).Src
	for _, s := range z.ports[class] {
		do(node, s.Port())
		node = z.geometry.neighbour[int(node)*z.geometry.degree+s.Port()]
	}
}

// Loads implements Sums. Translations map the paths of a class to each other, and a link to links
// of the same port at the nodes of an orbit. Each of these links carries as many paths of the
// class as one path has hops over them.
func (z *Orbits) Loads() *static.Loads {
	// load counts hops by orbit of nodes and port.
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

	// Each link has the load of its orbit and port.
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

// Paths implements Sums. The class of a flow is its class in the symmetry.
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

// channelScope is a part of a path whose channels do not depend on the rest: two consecutive
// segments, or a complete path with wild hops.
type channelScope struct {
	orbit int32 // orbit of its first node
	ports []engine.Step
}

// channelScopes returns the distinct scopes of all paths. Every pair of consecutive hops lies
// within one.
func (z *Orbits) channelScopes() []channelScope {
	var all []channelScope
	known := map[string]bool{}
	var key []byte
	add := func(from int32, ports []engine.Step) {
		// The key of a scope is the orbit of its first node and its ports.
		w := channelScope{orbit: z.Orbit[from], ports: ports}
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

		// A segment has one port. A scope ports[first:i] starts at node start; its second segment
		// starts at index middle. Scopes start at every segment except the last.
		first := 0
		middle := 0
		node := from
		start := from
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

// Channels implements Sums. A hop and the next one lie within a scope. Each scope is translated
// to all nodes of its orbit, which gives the dependencies of all paths.
func (z *Orbits) Channels(ctx context.Context, n *engine.Network) (channels int, cycle packet.Cycle, err error) {
	from := make([][]int32, len(z.Sources))
	for a, orbit := range z.Orbit {
		from[orbit] = append(from[orbit], int32(a))
	}
	all := z.channelScopes()
	path := []engine.Step(nil)

	// each calls do with every translation of every scope, with its channels, until do returns
	// false.
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

	// Count the channels in use.
	channels = 1
	if err = each(func(_ int32, path []engine.Step) bool {
		for _, s := range path {
			channels = max(channels, 1+s.Channel())
		}
		return channels < 2 // two is the maximum
	}); err != nil {
		return 0, nil, err
	}

	// Add the dependencies of all translations.
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
