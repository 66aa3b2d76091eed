package packet

import (
	"math"
	"math/bits"
	"runtime"
	"unsafe"

	"sim/engine"
)

// apart simulates links under credits one after the other, each alone for a window that is no longer than the shortest
// packet takes to be sent and the least latency together: all that comes to a link in a window, packets and credits, is
// of packets that began to be sent before it (conservative windows; Nicol 1993, "The cost of conservative
// synchronization in parallel discrete event simulations"). What a link needs is then in the cache, and of what comes
// nothing goes through the calendar. Where links may fail, what they lose gives room up at once, and windows are the
// least latency. Between windows the state is that of the loop of events, so either goes on where the other stops: this
// one where much is to be done in a window.
//
// Several of this kind share the links of a network and work at the same time, each with memory and counts of its own. What
// a link sends to one of another's is put aside, and taken by that other in the window in which it comes. Results do not
// depend on how many they are.
type apart struct {
	*sim                  // the run's own, or one beside it
	*crew                 // that this is of
	who       int         // its place among all
	from, end int32       // its links
	windows   []ahead     // what comes to its links, and what these send to others, by window, round about
	now, next *ahead      // the window that is simulated, and the one behind it
	sent      int64       // packets, by its links
	packets   descriptors // packets on and before its links
	landings  pool[landing]
	credits   pool[credit]
	due       []due    // scratch
	owed      []due    // the credits that come to the link that is simulated
	learnt    int      // so many of them have been taken, -1 where they are not known yet
	_         [64]byte // a line of the cache, which another of these may lie behind
}

// ahead is what comes to links in a window.
type ahead struct {
	ends    list[landing] // of packets that end there
	credits list[credit]
	first   []mail // by link
	aside   []aside
}

// aside is what comes to links of another, who takes it; next of a credit is the link.
type aside struct {
	landings list[landing]
	credits  list[credit]
	_        [48]byte // a line of the cache, as others use the next
}

// mail is the first packet that comes to a link in a window, and the first credit, -1 of none.
type mail struct{ packet, credit int32 }

// landing is a packet that gets to a link of another or to its end.
type landing struct {
	record
	to      int32
	channel uint8
}

// credit is room on a channel.
type credit struct {
	at             engine.Time
	channel, bytes int32
	next           int32
}

// due is a landing or a credit in its order: by time, landings over links by these, then those that are injected.
type due struct {
	at    engine.Time
	order uint64 // its low bits are its place in its list
}

const injected = 1 << 63

// flying is when the packets that have left a link get to its end.
type flying struct {
	at         []engine.Time // round about
	head, tail uint
	feed       int32 // 1 + the sender that keeps a packet before the link, 0 if there is none
}

const (
	// mostAhead is how many windows what comes of a packet may be ahead: each has a list for every link.
	mostAhead = 32
	// mostSent is how many packets a link can send in a window, where latencies allow more and what comes of a packet is no
	// more than mostAhead of such windows ahead.
	mostSent = 32
	// leastLinks and leastSent are how many links each has that works beside others, and how many packets all have sent in
	// a window for it to be worth their while.
	leastLinks = 64
	leastSent  = 2048
	// leastWindows is how many windows a time must have, and leastEvents how many events a window, for windows to be worth
	// it.
	leastWindows = 16
	leastEvents  = 16

	mostCrew = 16
)

// newApart returns nil where links cannot be simulated apart: where something but packets and credits goes from one to
// another, or latencies and what packets take differ too much.
func (z *sim) newApart() *apart {
	if !z.byNumber || z.o.apart < 0 || z.errors > 0 || !z.paths.single() || z.windowOf != nil || z.job != nil || z.log != nil || len(z.injectors) == 0 {
		return nil
	}
	least, largest, greedy := z.injectors[0].last, z.injectors[0].bytes, z.injectors[0].process == Greedy
	for i := range z.injectors {
		m := &z.injectors[i]
		if m.process == Greedy != greedy {
			return nil // both may inject before one link at one time
		}
		least, largest = min(least, m.last), max(largest, m.bytes)
	}
	p := &apart{sim: z, crew: &crew{greedy: greedy}}
	shortest, longest, takes, most := engine.Never, engine.Time(0), engine.Never, engine.Time(0)
	of := func(rate float64) {
		if rate > 0 {
			t, _ := serialise(perByte(rate), uint64(least), 0)
			takes = min(takes, t)
			t, _ = serialise(perByte(rate), uint64(largest), math.MaxUint32)
			most = max(most, t)
		}
	}
	loses := false // packets before links that are down
	for _, l := range z.n.Links {
		of(l.Rate)
		loses = loses || l.Rate == 0
		p.flights = append(p.flights, l.Latency)
		shortest, longest = min(shortest, l.Latency), max(longest, l.Latency)
	}
	for _, c := range z.n.Changes {
		of(c.Rate)
		loses = loses || c.Rate == 0 && !c.Planned
	}
	reach := most + 2*longest // until the credit for a packet that ends comes
	if takes == 0 || most > engine.Never/8 || longest > engine.Never/8 {
		return nil
	}
	from := shortest + takes // at the earliest something comes of a packet that begins to be sent
	if loses {
		from = shortest // the room of one that is lost is given up at once
	}
	span := min(from, max(mostSent*min(takes, engine.Never/mostSent), reach/mostAhead))
	if span < reach/mostAhead || span == 0 {
		return nil
	}
	p.span, p.until = span, engine.Never-reach-2*span
	n := max(1, min(z.o.Workers, len(z.servers)/leastLinks, runtime.GOMAXPROCS(0), mostCrew))
	if z.o.apart > 0 {
		n = max(1, min(z.o.Workers, len(z.servers), mostCrew))
	}
	windows := 1 << bits.Len64(uint64(reach/span)+1)
	if int64(len(z.servers))*int64(n*windows)*int64(unsafe.Sizeof(mail{})) > z.o.MaxBytes/8 {
		return nil
	}
	for i := range n {
		q := p
		if i > 0 {
			q = &apart{sim: &sim{}, crew: p.crew}
			q.chunks.grow()
		}
		q.packets.free = -1
		q.windows = make([]ahead, windows)
		p.whole = append(p.whole, q)
	}
	p.share(n)
	p.barrier = newBarrier(n)
	return p
}

// share shares the links among so many of those that there are.
func (c *crew) share(n int) {
	c.all = c.whole[:n]
	links := len(c.flights)
	for i, q := range c.all {
		q.who, q.from, q.end = i, int32(links*i/n), int32(links*(i+1)/n)
	}
}

// leave gives the memory of a run back.
func (z *sim) leave() {
	z.chunks.leave()
	if z.apart != nil {
		for _, q := range z.apart.whole[1:] {
			q.chunks.leave()
		}
	}
}

// worth simulates events up to a time at most, as long as they are too few in a window for windows to be worth it, and
// reports whether they are.
func (p *apart) worth(until engine.Time) bool {
	z := p.sim
	if p.never || until-z.calendar.now < leastWindows*p.span && z.o.apart == 0 {
		return false
	}
	if z.o.apart > 0 {
		return z.events(until, z.o.apart) >= z.o.apart && !z.full
	}
	some, n, from := max(1024, 2*len(z.servers)), 0, engine.Time(-1)
	for {
		more := z.events(until, some)
		if more < some || z.full {
			return false
		}
		if n += more; from < 0 {
			from = z.began
		}
		switch windows := int((z.calendar.now-from)/p.span) + 1; {
		case windows < 4: // it may be but a burst
		case until-z.calendar.now < leastWindows*p.span:
			return false
		case n/windows >= max(leastEvents, len(z.servers)/6):
			if p.share(1); n/windows > 3*leastSent { // a packet is two events or three
				p.share(len(p.whole))
			}
			return true
		default:
			n, from = 0, -1
		}
	}
}

// at returns its list of what comes in the window of a time.
func (p *apart) at(t engine.Time) *ahead {
	if uint64(t-p.since-p.span) < uint64(p.span) {
		return p.next
	}
	return &p.windows[(p.number+int((t-p.since)/p.span))&(len(p.windows)-1)]
}

// mine reports whether a link is among its own.
func (p *apart) mine(id int32) bool { return uint32(id-p.from) < uint32(p.end-p.from) }

// whose returns the place among all of that whose link it is.
func (c *crew) whose(id int32) int {
	for i, q := range c.all {
		if id < q.end {
			return i
		}
	}
	return 0
}

func (f *flying) grow() {
	all := make([]engine.Time, max(4, 2*len(f.at)))
	for i := f.head; i != f.tail; i++ {
		all[i&uint(len(all)-1)] = f.at[i&uint(len(f.at)-1)]
	}
	f.at = all
}

// give has a credit come to a link at a time.
func (p *apart) give(id, channel, bytes int32, at engine.Time) {
	w := p.at(at)
	if !p.mine(id) {
		_, c := w.aside[p.whose(id)].credits.add()
		*c = credit{at, channel, bytes, id}
		return
	}
	w.credit(id, channel, bytes, at)
}

func (w *ahead) credit(id, channel, bytes int32, at engine.Time) {
	n, c := w.credits.add()
	first := &w.first[id].credit
	c.at, c.channel, c.bytes, c.next = at, channel, bytes, *first
	*first = n
}

// take takes what others have put aside of one of the windows.
func (p *apart) take(k int) {
	w := &p.windows[k]
	for _, q := range p.all {
		of := &q.windows[k].aside[p.who]
		for i := range of.landings.used() {
			l := &of.landings.all[i]
			w.put(p, p.packets.take(&l.record, l.channel), l.to)
		}
		for _, c := range of.credits.used() {
			w.credit(c.next, c.channel, c.bytes, c.at)
		}
		of.landings.n, of.credits.n = 0, 0 // a window that is cut is looked at again
	}
}

// open has a packet come from a source.
func (p *apart) open(id int32, channel uint8, r *record, now engine.Time) {
	if r.at = now; !p.opening {
		l := &p.servers[id]
		l.count()
		p.line(l, channel+l.channels, p.packets.take(r, channel))
		return
	}
	q := p.all[p.whose(id)]
	k := q.packets.take(r, channel)
	q.packets.inject[k] = engine.Time(p.opened) // until it comes: the order of those of one time
	q.now.put(q, k, id)
	p.opened++
}
