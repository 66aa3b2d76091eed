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
	ports    [][]engine.Step // by class, on channel 0; empty of a node with itself
	z        *geometry
	segments bool
	alike    int64 // flows of a class
}

// orbiter is a router whose choices may commute with translations.
type orbiter interface {
	// orbits returns nil where they do not.
	orbits(ctx context.Context, p *Problem, o Options) (*Orbits, *Decision, error)
}

// Orbits returns the paths that Route would choose, and its decision without them; nil where the router's choices for
// flows that translations take into each other are not known to be the same.
func (r *Row) Orbits(ctx context.Context, p *Problem, o Options) (*Orbits, *Decision, error) {
	if of, ok := r.router(o).(orbiter); ok && p.Torus != nil {
		return of.orbits(ctx, p, o)
	}
	return nil, nil, nil
}

// orbits chooses for a flow of each class. DimensionOrder chooses by how far a flow goes along each dimension and, of
// equal vectors, by which coordinates of its ends are even: by nothing else. Translations that keep even coordinates
// even, as is checked here for all nodes, thus change nothing.
func (r DimensionOrder) orbits(ctx context.Context, p *Problem, _ Options) (*Orbits, *Decision, error) {
	_, l, err := r.leader(p, 0)
	if err != nil {
		return nil, nil, err
	}
	l.y = p.Symmetry(2)
	for a, orbit := range l.y.Orbit {
		for d := range l.z.Dims {
			if (l.z.Coord(int32(a), d)-l.z.Coord(l.y.Sources[orbit], d))%2 != 0 {
				return nil, nil, nil
			}
		}
	}
	choose := l.choose // which uses its paths again
	l.choose = func(f engine.Flow) []engine.Step { return slices.Clone(choose(f)) }
	z, err := l.orbits(ctx)
	if z == nil || err != nil {
		return nil, nil, err
	}
	d := &Decision{Labels: map[string]string{"order": dimNames(l.z.order)}}
	d.bound(p, z.hops())
	return z, d, nil
}

// orbits chooses for a flow of each class, as Route does for all flows of it.
func (w WildRule) orbits(ctx context.Context, p *Problem, o Options) (*Orbits, *Decision, error) {
	c, l, err := w.leader(p, o.Seed)
	if err != nil {
		return nil, nil, err
	}
	z, err := l.orbits(ctx)
	if z == nil || err != nil {
		return nil, nil, err
	}
	wild := int64(0)
	for _, ports := range z.ports {
		if z.z.wild(ports) > 0 {
			wild += z.alike
		}
	}
	return z, &Decision{Metrics: map[string]float64{"wild_pairs": float64(wild)}, Labels: c.labels()}, nil
}

// orbits chooses for a flow of each class; nil where there are no two flows of one, or some have no path.
func (l *leader) orbits(ctx context.Context) (*Orbits, error) {
	if len(l.y.Sources) == l.z.Nodes() {
		return nil, nil
	}
	z := &Orbits{Symmetry: l.y, ports: make([][]engine.Step, l.y.Classes()), z: l.z, segments: l.segments, alike: int64(l.z.Nodes() / len(l.y.Sources))}
	for c := range z.ports {
		if c&0xfff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f := l.y.Flow(int32(c))
		if f.Src == f.Dst {
			continue
		}
		ports := l.choose(f)
		if ports == nil { // lead names the pairs
			return nil, nil
		}
		z.ports[c] = make([]engine.Step, len(ports))
		at := f.Src
		for i, s := range ports {
			z.ports[c][i] = engine.MakeStep(s.Port(), 0)
			if k := int(at)*z.z.degree + s.Port(); !z.z.live[k] {
				return nil, fmt.Errorf("routing: the path from node %d to %d takes port %d of node %d, which is down", f.Src, f.Dst, s.Port(), at)
			}
			at = z.z.next[int(at)*z.z.degree+s.Port()]
		}
		if at != f.Dst {
			return nil, fmt.Errorf("routing: the path from node %d to %d ends at %d", f.Src, f.Dst, at)
		}
	}
	return z, nil
}

// hops returns the links of all flows' paths.
func (z *Orbits) hops() (sum int64) {
	for _, ports := range z.ports {
		sum += z.alike * int64(len(ports))
	}
	return sum
}

// each calls do with every hop of the path of a class, from its node on.
func (z *Orbits) each(class int32, do func(at int32, port int)) {
	at := z.Flow(class).Src
	for _, s := range z.ports[class] {
		do(at, s.Port())
		at = z.z.next[int(at)*z.z.degree+s.Port()]
	}
}

// Loads returns what static.PathLoads would. Translations take the paths of a class to each other, and links to others of
// the same port of an orbit: each of these has as many paths of a class on it as a path of it passes such links.
func (z *Orbits) Loads() *static.Loads {
	load := make([]int64, len(z.Sources)*z.z.degree)
	out := &static.Loads{SumHops: z.hops(), MaxLink: -1}
	for c, ports := range z.ports {
		z.each(int32(c), func(at int32, port int) { load[int(z.Orbit[at])*z.z.degree+port]++ })
		out.MaxHops = max(out.MaxHops, int32(len(ports)))
	}
	nodes := int64(z.z.Nodes())
	out.Flows = nodes * (nodes - 1)
	links := 0
	for _, l := range z.z.link {
		links = max(links, int(l)+1)
	}
	out.Link = make([]int64, links)
	for k, l := range z.z.link {
		if l >= 0 {
			out.Link[l] = load[int(z.Orbit[k/z.z.degree])*z.z.degree+k%z.z.degree]
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
	w := &engine.Paths{Degree: z.z.degree, Link: z.z.link, Class: make([]int32, len(flows))}
	for _, ports := range z.ports {
		w.Add(ports...)
	}
	for i, f := range flows {
		w.Class[i] = z.Class(f)
	}
	return w, nil
}

// window is a part of a path that decides on channels of its own: two segments, or all of a path with wild hops.
type window struct {
	orbit int32 // of the node that it begins at
	ports []engine.Step
}

// windows returns the different windows of all paths.
func (z *Orbits) windows() []window {
	var all []window
	seen := map[string]bool{}
	var key []byte
	add := func(from int32, ports []engine.Step) {
		w := window{z.Orbit[from], ports}
		key = append(key[:0], byte(w.orbit), byte(w.orbit>>8), byte(w.orbit>>16), byte(w.orbit>>24))
		for _, s := range ports {
			key = append(key, byte(s), byte(s>>8))
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			all = append(all, w)
		}
	}
	for c, ports := range z.ports {
		from := z.Flow(int32(c)).Src
		if z.z.wild(ports) > 0 {
			add(from, ports)
			continue
		}
		// a segment ends where the next begins; a window begins with each but the last
		begin, middle, at, start := 0, 0, from, from
		for i := 1; i <= len(ports); i++ {
			at = z.z.next[int(at)*z.z.degree+ports[i-1].Port()]
			if i < len(ports) && ports[i] == ports[i-1] {
				continue
			}
			if middle > 0 || i == len(ports) {
				add(start, ports[begin:i])
			}
			if middle > 0 {
				for _, s := range ports[begin:middle] {
					start = z.z.next[int(start)*z.z.degree+s.Port()]
				}
				begin = middle
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
	all, path := z.windows(), []engine.Step(nil)
	each := func(do func(a int32, path []engine.Step) (more bool)) error {
		for _, w := range all {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			for _, a := range from[w.orbit] {
				path = append(path[:0], w.ports...)
				z.z.channels(a, path, z.segments)
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
	d := packet.NewDependencies(n, z.z.degree, z.z.link, channels)
	failed := error(nil)
	if err = each(func(a int32, path []engine.Step) bool {
		failed = d.Add(a, path)
		return failed == nil
	}); cmp.Or(err, failed) != nil {
		return 0, nil, cmp.Or(err, failed)
	}
	return channels, d.Cycle(), nil
}
