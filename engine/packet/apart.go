package packet

import (
	"cmp"
	"math/bits"
	"slices"
	"unsafe"

	"sim/engine"
)

// apart simulates links under credits one after the other, each alone for a window that is no longer than the least
// latency: all that comes to a link in a window, packets and credits, was sent before it (conservative windows; Nicol
// 1993, "The cost of conservative synchronization in parallel discrete event simulations"). What a link needs is then
// in the cache, and of what comes nothing goes through the calendar. Between windows the state is that of the loop of
// events, so either goes on where the other stops: this one where much is to be done in a window.
type apart struct {
	*sim
	span    engine.Time   // of a window
	start   engine.Time   // of the one that is simulated
	number  int           // and its number
	flights []engine.Time // by link: its latency
	flying  []flying      // by link
	windows []ahead       // those to come, round about
	opening bool          // what is injected is put before its link when that is simulated
	sent    int64         // packets, by links in windows
	never   bool          // it takes too much memory
	due     []due         // of a link in a window
	window  *ahead        // that is simulated
	events  []int32       // scratch
}

// ahead is what comes to links in a window.
type ahead struct {
	landings []landing
	credits  []credit
	first    []mail // by link
}

// mail is the first landing and credit of a link in a window, -1 of none.
type mail struct{ landing, credit int32 }

// landing is a packet that gets to a queue or, over its last link, to its end.
type landing struct {
	record
	next    int32 // to the same link; -1 at the end
	channel uint8 // exit at its end
}

const exit = 255

// credit is room on a channel.
type credit struct {
	at             engine.Time
	channel, bytes int32
	next           int32
}

// due is a landing in its order: by time, those that come over links by these, then those that are injected.
type due struct {
	at    engine.Time
	order uint64 // and the place of the landing
}

const injected = 1 << 63

// flying is when the packets that have left a link get to its end.
type flying struct {
	at         []engine.Time // round about
	head, tail uint
	feed       int32 // one more than the source that keeps a packet before the link, 0 of none
}

const (
	// mostAhead is how many windows the longest latency may span: each has a list for every link.
	mostAhead = 16
	// mostSent is how many packets a link can send in a window, where latencies allow more.
	mostSent = 32
)

// newApart returns nil where links cannot be simulated apart: where something but packets and credits goes from one to
// another, or latencies differ too much.
func (z *sim) newApart() *apart {
	if !z.byNumber || z.o.apart < 0 || z.errors > 0 || !z.paths.single() || z.windowOf != nil || z.job != nil || z.log != nil || len(z.injectors) == 0 {
		return nil
	}
	least, greedy := z.injectors[0].bytes, z.injectors[0].process == Greedy
	for i := range z.injectors {
		m := &z.injectors[i]
		if m.process == Greedy != greedy {
			return nil // both may inject before one link at one time
		}
		least = min(least, m.bytes)
	}
	p := &apart{sim: z}
	shortest, longest, takes := engine.Never, engine.Time(0), engine.Never
	of := func(rate float64) {
		if rate > 0 {
			t, _ := serialise(perByte(rate), uint64(least), 0)
			takes = min(takes, t)
		}
	}
	for _, l := range z.n.Links {
		of(l.Rate)
		p.flights = append(p.flights, l.Latency)
		shortest, longest = min(shortest, l.Latency), max(longest, l.Latency)
	}
	for _, c := range z.n.Changes {
		of(c.Rate)
	}
	span := min(shortest, max(mostSent*min(takes, engine.Never/mostSent), longest/mostAhead))
	if takes == 0 || longest > engine.Never/8 || span < longest/mostAhead || span == 0 {
		return nil
	}
	p.span = span
	p.windows = make([]ahead, 1<<bits.Len64(uint64(longest/span)+1))
	return p
}

// at returns the window of a time.
func (p *apart) at(t engine.Time) *ahead {
	k, after := p.number, t-p.start
	switch {
	case after < p.span:
	case after < 2*p.span:
		k++
	default:
		k += int(after / p.span)
	}
	return &p.windows[k&(len(p.windows)-1)]
}

// landing returns the place of one more landing.
func (w *ahead) landing(to int32, channel uint8) *landing {
	n := len(w.landings)
	if n == cap(w.landings) {
		w.landings = slices.Grow(w.landings, 1)
	}
	w.landings = w.landings[:n+1]
	of, first := &w.landings[n], &w.first[to].landing
	of.next, of.channel = *first, channel
	*first = int32(n)
	return of
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
	n := len(w.credits)
	if n == cap(w.credits) {
		w.credits = slices.Grow(w.credits, 1)
	}
	w.credits = w.credits[:n+1]
	c, first := &w.credits[n], &w.first[id].credit
	c.at, c.channel, c.bytes, c.next = at, channel, bytes, *first
	*first = int32(n)
}

// inject has a packet come from a source.
func (p *apart) inject(id int32, channel uint8, r *record, now engine.Time) {
	of := p.at(now).landing(id, channel)
	of.record = *r
	of.at = now
}

// enter goes over from the loop of events.
func (p *apart) enter() {
	z := p.sim
	p.events = p.events[:0]
	var at []engine.Time
	for _, k := range z.calendar.drain() {
		t := z.calendar.runs[k].time
		for ; k >= 0; k = z.calendar.next[k] {
			if k >= z.base {
				p.events, at = append(p.events, k), append(at, t)
			}
		}
	}
	for i, k := range p.events {
		z.calendar.set(k, at[i])
	}
	if p.flying == nil {
		p.flying = make([]flying, len(z.servers))
		for i := range p.windows {
			p.windows[i].first = slices.Repeat([]mail{{-1, -1}}, len(z.servers))
		}
	}
	p.start, p.number = z.calendar.now+1, 0
	for i := range z.servers {
		l := &z.servers[i]
		l.awaits = false
		for ; l.credits.length > 0; z.chunks.drop(&l.credits) {
			if c := z.chunks.first(&l.credits); c.at <= z.calendar.now {
				z.room[c.route] += int64(c.bytes)
			} else {
				p.give(int32(i), c.route, c.bytes, c.at)
			}
		}
		for ; l.wire.length > 0; z.chunks.drop(&l.wire) {
			r := z.chunks.first(&l.wire)
			to, channel := z.paths.after(l.to, r.route)
			p.land(int32(i), &p.flying[i], r, to, channel, r.at)
		}
	}
	z.alone = true
}

// leave goes over to the loop of events. All up to a time has been simulated.
func (p *apart) leave(done engine.Time) {
	z := p.sim
	z.alone = false
	var wires []landing
	var credits []credit
	links := int32(len(z.servers))
	for id := range links {
		l := &z.servers[id]
		for k := range p.windows {
			w := &p.windows[(p.number+k)&(len(p.windows)-1)]
			from := len(credits)
			for i := w.first[id].credit; i >= 0; i = w.credits[i].next {
				if c := w.credits[i]; c.at > done {
					credits = append(credits, c)
				} else {
					z.room[c.channel] += int64(c.bytes)
				}
			}
			slices.SortFunc(credits[from:], func(a, b credit) int { return cmp.Compare(a.at, b.at) })
			for i := w.first[id].landing; i >= 0; i = w.landings[i].next {
				wires = append(wires, w.landings[i])
			}
			w.first[id] = mail{-1, -1}
		}
		for _, c := range credits {
			at := p.chunks.add(&l.credits)
			*at = record{at: c.at, route: c.channel, bytes: c.bytes}
		}
		credits = credits[:0]
		p.landed(l, &p.flying[id], done)
		p.flying[id].head = p.flying[id].tail
		if l.state&sending != 0 {
			z.calendar.set(id, l.end)
		}
		if l.state == 0 && l.waiting > 0 {
			z.await(id, l)
		}
	}
	slices.SortFunc(wires, func(a, b landing) int { return cmp.Compare(a.at, b.at) })
	for i := range wires {
		id := z.linkOf[wires[i].hold]
		l := &z.servers[id]
		at := z.chunks.add(&l.wire)
		*at = wires[i].record
		if at.route--; l.wire.length == 1 {
			z.calendar.set(links+id, at.at)
		}
	}
	for k := range p.windows {
		p.windows[k].landings, p.windows[k].credits = p.windows[k].landings[:0], p.windows[k].credits[:0]
	}
}

// end takes the credits that have come in a window and were not taken yet, and begins it anew.
func (w *ahead) end(room []int64) {
	for i := range w.credits {
		room[w.credits[i].channel] += int64(w.credits[i].bytes)
	}
	for i := range w.first {
		w.first[i] = mail{-1, -1}
	}
	w.landings, w.credits = w.landings[:0], w.credits[:0]
}

// run simulates windows up to a time, and returns up to which: less if little is done in them.
func (p *apart) run(until engine.Time) engine.Time {
	z := p.sim
	p.enter()
	done := z.calendar.now
	for windows, sent := 0, p.sent; done < until; windows++ {
		if windows == 16 {
			if few := p.sent - sent; few == 0 || few < int64(len(z.servers)/4) && z.o.apart == 0 || z.told() {
				break
			}
			windows, sent = 0, p.sent
		}
		end := p.start + p.span - 1
		last := min(until, end)
		if p.simulate(last); z.full {
			break
		}
		if done = last; done == end {
			p.window.end(z.room)
			p.start += p.span
			p.number++
		}
		if p.bytes()+z.chunks.made*chunkBytes > z.o.MaxBytes {
			p.never = true
			break
		}
	}
	p.leave(done)
	if p.never {
		p.windows, p.flying = nil, nil
	}
	return done
}

// bytes is the memory of what is to come.
func (p *apart) bytes() int64 {
	sum := 0
	for k := range p.windows {
		w := &p.windows[k]
		sum += cap(w.landings)*int(unsafe.Sizeof(landing{})) + cap(w.credits)*int(unsafe.Sizeof(credit{}))
	}
	return int64(sum)
}

// simulate simulates what is left of a window up to a time.
func (p *apart) simulate(last engine.Time) {
	z := p.sim
	p.window = p.at(p.start)
	p.opening = true
	for {
		ids, now, ok := z.calendar.takeAll(p.events[:0], last)
		if p.events = ids; !ok {
			break
		}
		z.s.End = max(z.s.End, now)
		for _, id := range ids {
			if z.fire(id-z.base, now); z.full {
				return
			}
		}
	}
	p.opening = false
	w := p.window
	for i := range z.servers {
		if i%atOnce == 0 {
			p.bring(w, i, min(i+atOnce, len(z.servers)))
		}
		l := &z.servers[i]
		if w.first[i].landing >= 0 || l.state&sending != 0 && l.end <= last || w.first[i].credit >= 0 && l.state == 0 && l.waiting > 0 {
			p.link(int32(i), l, w, last)
		}
	}
}

// bring reads what links will in a window, so that they find it in the cache; see sim.bring.
func (p *apart) bring(w *ahead, from, end int) {
	var landing, head, feed [atOnce]int32
	n, sum := 0, int32(0)
	for i := from; i < end; i++ {
		l, f := &p.servers[i], &p.flying[i]
		if landing[n&(atOnce-1)] = w.first[i].landing; w.first[i].landing < 0 {
			continue
		}
		place := bits.TrailingZeros32(l.ready>>(l.turn&31)<<(l.turn&31)) & 31
		head[n&(atOnce-1)] = p.queues[int(l.queue)+place].head
		if feed[n&(atOnce-1)] = -1; place >= int(l.channels) && f.feed > 0 {
			feed[n&(atOnce-1)] = f.feed - 1
			sum += p.injectors[f.feed-1].hold
		}
		n++
	}
	for i := range n {
		of := &w.landings[landing[i&(atOnce-1)]]
		sum += p.chunks.at(head[i&(atOnce-1)]).route
		landing[i&(atOnce-1)] = max(0, of.next)
	}
	for i := range n {
		sum += w.landings[landing[i&(atOnce-1)]].next
		if k := feed[i&(atOnce-1)]; k >= 0 {
			m := &p.injectors[k]
			sum += m.flows[m.then]
		}
	}
	p.touched += sum
}
