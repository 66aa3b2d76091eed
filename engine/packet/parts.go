package packet

import (
	"cmp"
	"runtime"
	"slices"

	"sim/engine"
	"sim/internal/csr"
)

// parts divides the links of a network so that packets go from a part to itself or to those behind it alone: the strongly
// connected components of the graph of links that paths take one after the other, each a ring or a link alone. Under
// dimension-order routing a part is the links of one ring in one direction, on a tree a link. What becomes of packets in a
// part does not depend on those behind it, so each is simulated for a while before the next (window.go), in memory that
// caches hold, and parts of one level at the same time.
type parts struct {
	*sim
	size    int32         // bytes of every packet
	unit    engine.Time   // of which what links take for a packet and their latencies are multiples
	least   engine.Time   // that a link takes for a packet
	late    bool          // some link has a latency
	port    []int32       // by node and port: a place in links
	link    []int32       // by place: which link it is
	links   []partLink    // by part
	event   []engine.Time // by link of these: when its first packet gets to its end
	key     []key         // of this event
	in      []int32       // by link: its part, and its place in it
	part    []part
	levels  []int32   // the first part of each level, and the number of parts
	wait    []waiting // greedy injectors, by part, then others
	timed   int32     // the place in wait of the first of these
	place   []int32   // by injector: its place in wait
	workers []worker
	barrier *barrier
	boxes   []*box // scratch
	window
}

// part is links[from:end], and wait[feedsFrom:feedsEnd] of greedy injectors.
type part struct {
	from, end           int32
	feedsFrom, feedsEnd int32
	ring                bool // its links follow each other, the first the last
}

// newParts returns the parts of a network. It returns nil if packets cannot be simulated by parts: if events depend on
// what becomes of packets elsewhere, if packets have several sizes, if times are no multiples of a unit, or if some part
// would be neither a ring nor a single link.
func (z *sim) newParts(w *Work) *parts {
	if z.on || !z.paths.single() || z.windowOf != nil || z.job != nil || z.log != nil || z.o.SampleEvery > 0 || len(z.injectors) == 0 || len(z.links)+len(z.injectors) >= 1<<rankBits {
		return nil
	}
	p := &parts{sim: z, size: z.injectors[0].bytes}
	for i := range z.injectors {
		m := &z.injectors[i]
		if m.process == Periodic && m.every < 1 || m.process == Greedy && m.link < 0 || m.process == Poisson || m.bytes != p.size || m.last != p.size {
			return nil
		}
	}
	for i := range z.links {
		if z.n.Links[i].Rate == 0 {
			continue // no path takes it
		}
		pace := &z.paces[z.links[i].pace]
		takes, late := serialise(pace.perByte, uint64(p.size), 0)
		if takes == 0 || late != 0 {
			return nil
		}
		if p.least == 0 || takes < p.least {
			p.least = takes
		}
		p.late = p.late || pace.latency > 0
		p.unit = gcd(p.unit, gcd(takes, pace.latency))
	}
	if p.least == 0 || p.least > engine.Never>>10 || p.unit < p.least/32 || p.manyPhases() || !p.divide(w) {
		return nil
	}
	workers := min(max(1, z.o.Workers), runtime.GOMAXPROCS(0))
	if int64(len(p.part)*workers)*boxBytes > p.most*chunkBytes/4 {
		return nil
	}
	p.lay()
	return p
}

// manyPhases reports whether sources send at times of which more than mostPhases are no multiples of the unit apart.
func (p *parts) manyPhases() bool {
	for i := range p.injectors {
		m := &p.injectors[i]
		for k := range min(m.total, mostPhases+1) {
			p.residue(m.start + engine.Time(m.every*float64(k)))
		}
		if len(p.residues) > mostPhases {
			return true
		}
	}
	return false
}

func gcd(a, b engine.Time) engine.Time {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// divide makes the parts and their levels; it reports false where some part would be no ring nor a link alone.
func (p *parts) divide(w *Work) bool {
	for _, follow := range []func(w *Work) (start, to []int32){p.byPorts, p.byFlows} {
		start, to := follow(w)
		if start == nil {
			continue
		}
		of, n := csr.Components(start, to, func(int32) bool { return true })
		from, links := csr.Index(of, n)
		if !rings(start, to, of, from, links) {
			continue
		}
		level := make([]int32, n)
		for c := n - 1; c >= 0; c-- { // links lead to components of lower numbers
			for _, l := range links[from[c]:from[c+1]] {
				for _, next := range to[start[l]:start[l+1]] {
					if d := of[next]; int(d) != c {
						level[d] = max(level[d], level[c]+1)
					}
				}
			}
		}
		levels, ordered := csr.Index(level, int(slices.Max(level))+1)
		p.levels = levels
		for _, c := range ordered {
			one := part{from: int32(len(p.link)), end: int32(len(p.link)) + from[c+1] - from[c]}
			l := links[from[c]]
			one.ring = one.end-one.from > 1 || slices.Contains(to[start[l]:start[l+1]], l)
			p.part = append(p.part, one)
			p.link = append(p.link, links[from[c]:from[c+1]]...)
		}
		return true
	}
	return false
}

// rings puts the links of each component in the order in which paths take them; it reports false where some component is
// no ring, of mostLinks at most, nor a link alone.
func rings(start, to, of, from, links []int32) bool {
	for c := range len(from) - 1 {
		ring := links[from[c]:from[c+1]]
		if len(ring) > mostLinks {
			return false
		}
		for i, l := range ring {
			next := int32(-1)
			for _, k := range to[start[l]:start[l+1]] {
				if int(of[k]) == c {
					if next >= 0 && next != k {
						return false
					}
					next = k
				}
			}
			if i+1 < len(ring) {
				ring[i+1] = next
			}
		}
	}
	return true
}

// mostArcs is how many arcs from link to link are looked at.
const mostArcs = 1 << 24

// byPorts returns arcs from each link to those behind it over ports that some path takes one after the other.
func (p *parts) byPorts(w *Work) (start, to []int32) {
	degree := w.Paths.Degree
	if len(w.Paths.Link)*degree > mostArcs {
		return nil, nil
	}
	follows := make([]bool, degree*degree)
	for i, s := range w.Paths.Step {
		if s != engine.Arrived && s.Port() >= degree { // of a path that no flow takes
			return nil, nil
		}
		if s != engine.Arrived && w.Paths.Step[i+1] != engine.Arrived && w.Paths.Step[i+1].Port() < degree {
			follows[s.Port()*degree+w.Paths.Step[i+1].Port()] = true
		}
	}
	return p.arcs(w, func(node, port, next int) bool { return follows[port*degree+next] })
}

// mostSteps is how many steps of flows are looked at: some tenths of a second.
const mostSteps = 1 << 26

// byFlows returns arcs from each link to those that the path of some flow takes next.
func (p *parts) byFlows(w *Work) (start, to []int32) {
	degree := w.Paths.Degree
	if len(w.Paths.Link)*degree > mostArcs {
		return nil, nil
	}
	follows, steps := make([]bool, len(w.Paths.Link)*degree), 0
	for f, flow := range w.Flows {
		at, last := int(flow.Src), -1
		for k := p.paths.path(int32(f)); w.Paths.Step[k] != engine.Arrived; k++ {
			port := w.Paths.Step[k].Port()
			if last >= 0 {
				follows[last*degree+port] = true
			}
			last = at*degree + port
			at = int(p.n.Links[w.Paths.Link[last]].To)
			steps++
		}
		if steps > mostSteps {
			return nil, nil
		}
	}
	return p.arcs(w, func(node, port, next int) bool { return follows[(node*degree+port)*degree+next] })
}

// arcs returns those from each link to the ports behind it that follow a port of its node.
func (p *parts) arcs(w *Work, follows func(node, port, next int) bool) (start, to []int32) {
	degree := w.Paths.Degree
	ports := slices.Repeat([]int32{-1}, len(p.sim.links)) // by link: the port that it is
	for i, l := range w.Paths.Link {
		if l < 0 {
			continue
		}
		if ports[l] >= 0 { // two of one link
			return nil, nil
		}
		ports[l] = int32(i)
	}
	start = make([]int32, 1, len(ports)+1)
	for i, l := range p.n.Links {
		if ports[i] >= 0 {
			for next, behind := range w.Paths.Link[int(l.To)*degree : int(l.To+1)*degree] {
				if behind >= 0 && follows(int(l.From), int(ports[i])%degree, next) {
					to = append(to, behind)
				}
			}
		}
		start = append(start, int32(len(to)))
	}
	return start, to
}

// linkAt returns the place in links of a part's link.
func (p *parts) linkAt(in int32) int32 { return p.part[in>>linkBits].from + in&(mostLinks-1) }

// lay makes the links and sources of the parts.
func (p *parts) lay() {
	p.links, p.event, p.key = make([]partLink, len(p.link)), make([]engine.Time, len(p.link)), make([]key, len(p.link))
	p.in = make([]int32, len(p.link))
	for k, q := range p.part {
		for at := q.from; at < q.end; at++ {
			l := &p.sim.links[p.link[at]]
			pace := &p.paces[l.pace]
			takes, _ := serialise(pace.perByte, uint64(p.size), 0)
			if takes == 0 {
				takes = engine.Never // no path takes it
			}
			p.links[at] = partLink{takes: takes, latency: pace.latency, ports: l.to * int32(p.paths.degree)}
			p.in[p.link[at]] = int32(k)<<linkBits | (at - q.from)
		}
	}
	p.port = slices.Clone(p.paths.port)
	for i, l := range p.port {
		if l >= 0 {
			p.port[i] = p.in[l]
		}
	}
	row := make([]int32, len(p.injectors))
	var timed []int32
	for i := range p.injectors {
		if m := &p.injectors[i]; m.process == Greedy {
			row[i] = p.in[m.link] >> linkBits
		} else {
			row[i] = -1
			timed = append(timed, int32(i))
		}
	}
	from, feeds := csr.Index(row, len(p.part))
	p.place, p.timed = make([]int32, len(p.injectors)), int32(len(feeds))
	for at, i := range append(feeds, timed...) {
		w := waiting{at: engine.Never, link: -1, source: i}
		if at < len(feeds) {
			w.link = p.in[p.injectors[i].link]
		}
		p.place[i], p.wait = int32(at), append(p.wait, w)
	}
	for k := range p.part {
		p.part[k].feedsFrom, p.part[k].feedsEnd = from[k], from[k+1]
	}
}

// enter takes over packets and events.
func (p *parts) enter() {
	k := &p.workers[0]
	for i := range p.links {
		l := &p.links[i]
		b := &p.sim.links[p.link[i]]
		l.free, l.waited, l.head, l.tail, l.mostHeld = b.free, b.waited, uint64(b.packets)-uint64(b.queue.length), uint64(b.packets)-uint64(b.queue.length), b.mostHeld
		p.event[i] = engine.Never
		for b.queue.length > 0 {
			r := p.chunks.first(&b.queue)
			if int(l.tail-l.head) == len(l.room) {
				k.grow(l)
			}
			next := r.hold
			if next >= 0 {
				next = p.in[next]
			}
			at := l.tail & uint64(len(l.room)-1)
			l.room[at] = moving{r.inject, r.route, next}
			if p.late {
				l.ends[at] = r.at
				p.residue(r.at)
			}
			l.tail++
			p.chunks.drop(&b.queue)
		}
	}
	for i := range p.wait {
		p.wait[i].at = engine.Never
	}
	a := p.calendar
	rank := uint64(0)
	for _, first := range a.drain() {
		for id := first; id >= 0; id = a.next[id] {
			at := a.runs[first].time
			of := key{rest: rank << keyTimes}
			rank++
			if id < p.base {
				to := p.linkAt(p.in[id])
				p.key[to], p.event[to] = of, at
				k.waits(of, at, to)
				continue
			}
			place := p.place[id-p.base]
			w := &p.wait[place]
			if w.key, w.at = of, at; w.link >= 0 {
				k.waits(of, at, -1-place)
			}
		}
	}
}

// leave gives packets and events back.
func (p *parts) leave() {
	p.gather()
	for i := range p.workers {
		k := &p.workers[i]
		k.grown, k.rooms, k.free = 0, [32][]room{}, nil
	}
	for i := range p.links {
		l := &p.links[i]
		b := &p.sim.links[p.link[i]]
		b.free, b.waited, b.packets, b.bytes, b.mostHeld, b.part = l.free, l.waited, int64(l.tail), int64(l.tail)*int64(p.size), l.mostHeld, 0
		at := p.event[i]
		for ; l.head < l.tail; l.head++ {
			k := l.head & uint64(len(l.room)-1)
			r := &l.room[k]
			next := r.next
			if next >= 0 {
				next = p.link[p.linkAt(next)]
			}
			if p.late {
				at = l.ends[k]
			}
			*p.chunks.add(&b.queue) = record{at: at, inject: r.inject, route: r.route, bytes: p.size, hold: next}
			at += l.takes
		}
		l.room, l.ends = nil, nil
	}
	slices.SortStableFunc(p.order, func(a, b rankedKey) int { return cmp.Compare(p.when(a.id), p.when(b.id)) })
	a := p.calendar
	a.now = p.s.End
	a.cursor = int64(a.now >> a.shift)
	for _, e := range p.order {
		if e.id >= 0 {
			a.set(p.link[e.id], p.event[e.id])
		} else {
			w := &p.wait[-1-e.id]
			a.set(p.base+w.source, w.at)
		}
	}
}
