package packet

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"sim/engine"
)

// link is the state of one.
type link struct {
	free    engine.Time // when what was put on it so far has left
	perByte uint64      // ticks a byte, times 2^32
	latency engine.Time
	busy    engine.Time
	bytes   int64
	packets int64
	part    uint32 // of a tick, by which it was late beyond free, times 2^32
	to      int32
	queue   fifo
}

// sim plays packets. The packets of a link stand in the order in which they
// arrive at its end, so only the first of them is an event: ids of the calendar
// are links and, after them, sources.
type sim struct {
	w         *Work
	nodes     int
	links     []link
	calendar  *calendar
	chunks    chunks
	injectors []injector
	s         Stats
}

// injector is a source being played: all its flows at once, or one of them where
// times are random.
type injector struct {
	Source
	sent int64
	at   float64 // of a Poisson process: when the next is sent
	rng  *rand.Rand
}

func newSim(n *engine.Network, w *Work) *sim {
	z := &sim{w: w, nodes: int(n.Nodes), links: make([]link, len(n.Links))}
	for i, l := range n.Links {
		z.links[i] = link{latency: l.Latency, to: l.To}
		if l.Rate > 0 {
			z.links[i].perByte = perByte(l.Rate)
		}
	}
	for _, s := range w.Sources {
		if s.Count == 0 || s.First == s.End {
			continue
		}
		if s.Seed == 0 {
			z.injectors = append(z.injectors, injector{Source: s})
			continue
		}
		for f := s.First; f < s.End; f++ {
			one := injector{Source: s, rng: rand.New(rand.NewPCG(s.Seed, uint64(f)))}
			one.First, one.End = f, f+1
			one.at = float64(s.Start) + s.Every*one.rng.ExpFloat64()
			z.injectors = append(z.injectors, one)
		}
	}
	z.calendar = newCalendar(len(z.links) + len(z.injectors))
	for i := range z.injectors {
		m := &z.injectors[i]
		first := m.Start
		if m.rng != nil {
			first = engine.Time(m.at)
		}
		z.calendar.set(int32(len(z.links)+i), first)
	}
	return z
}

// perByte returns the ticks that a byte takes at a rate in bits per second,
// times 2^32.
func perByte(rate float64) uint64 {
	return uint64(math.Round(math.Ldexp(8*float64(engine.Second)/rate, 32)))
}

func (z *sim) run(until engine.Time) {
	links := int32(len(z.links))
	for {
		id, now, ok := z.calendar.take(until)
		if !ok {
			return
		}
		if z.s.End = now; id >= links {
			z.inject(id, now)
			continue
		}
		l := &z.links[id]
		r := *l.queue.first()
		z.chunks.drop(&l.queue)
		if l.queue.length > 0 {
			z.calendar.set(id, l.queue.first().at)
		}
		l.packets++
		l.bytes += int64(r.bytes)
		z.s.Hops++
		var next int32
		if t := z.w.Table; t != nil {
			if r.way == l.to {
				z.deliver(&r, now)
				continue
			}
			next = t.Link[int(l.to)*t.Degree+int(t.Port[int(l.to)*z.nodes+int(r.way)])]
		} else {
			if r.way++; int64(r.way) == z.w.Paths.Start[r.flow+1] {
				z.deliver(&r, now)
				continue
			}
			next = z.w.Paths.Links[r.way]
		}
		z.send(next, &r, now)
	}
}

func (z *sim) deliver(r *record, now engine.Time) {
	z.s.Delivered++
	z.s.Bytes += int64(r.bytes)
	z.s.Delay.add(now - r.inject)
}

// send puts a packet on a link.
func (z *sim) send(id int32, r *record, now engine.Time) {
	l := &z.links[id]
	if now > l.free {
		l.free, l.part = now, 0
	}
	hi, lo := bits.Mul64(l.perByte, uint64(r.bytes))
	takes := engine.Time(hi<<32 | lo>>32)
	part, carry := bits.Add32(l.part, uint32(lo), 0)
	l.part = part
	takes += engine.Time(carry)
	l.free += takes
	l.busy += takes
	at := z.chunks.add(&l.queue)
	*at = *r
	at.at = l.free + l.latency
	if l.queue.length == 1 {
		z.calendar.set(id, at.at)
	}
}

// inject sends the next packets of a source.
func (z *sim) inject(id int32, now engine.Time) {
	m := &z.injectors[int(id)-len(z.links)]
	m.sent++
	if m.sent < m.Count {
		z.calendar.set(id, m.time())
	}
	r := record{inject: now, bytes: m.Bytes}
	for f := m.First; f < m.End; f++ {
		z.s.Injected++
		flow := &z.w.Flows[f]
		r.flow = f
		var first int32
		if t := z.w.Table; t != nil {
			if r.way = flow.Dst; flow.Src == flow.Dst {
				z.deliver(&r, now)
				continue
			}
			first = t.Link[int(flow.Src)*t.Degree+int(t.Port[int(flow.Src)*z.nodes+int(flow.Dst)])]
		} else {
			if r.way = int32(z.w.Paths.Start[f]); int64(r.way) == z.w.Paths.Start[f+1] {
				z.deliver(&r, now)
				continue
			}
			first = z.w.Paths.Links[r.way]
		}
		z.send(first, &r, now)
	}
}

// time returns when the next packets are sent.
func (m *injector) time() engine.Time {
	if m.rng == nil {
		return m.Start + engine.Time(m.Every*float64(m.sent))
	}
	m.at += m.Every * m.rng.ExpFloat64()
	return engine.Time(m.at)
}

func (z *sim) stats() *Stats {
	z.s.Links = make([]LinkStats, len(z.links))
	for i := range z.links {
		l := &z.links[i]
		z.s.Links[i] = LinkStats{l.packets, l.bytes, l.busy, l.queue.mostHeld}
	}
	return &z.s
}
