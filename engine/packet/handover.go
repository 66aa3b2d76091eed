package packet

import (
	"cmp"
	"slices"

	"sim/engine"
)

// enter goes over from the loop of events.
func (p *apart) enter() {
	z := p.sim
	p.scratch = p.scratch[:0]
	var at []engine.Time
	for _, k := range z.calendar.drain() {
		t := z.calendar.runs[k].time
		for ; k >= 0; k = z.calendar.next[k] {
			if k >= z.base {
				p.scratch, at = append(p.scratch, k), append(at, t)
			}
		}
	}
	for i, k := range p.scratch {
		z.calendar.set(k, at[i])
	}
	if p.flying == nil {
		p.flying = make([]flying, len(z.servers))
		for _, q := range p.whole {
			for i := range q.windows {
				w := &q.windows[i]
				w.ends.pool, w.credits.pool = &q.landings, &q.credits
				w.first = slices.Repeat([]mail{{-1, -1}}, len(z.servers))
				w.aside = make([]aside, len(p.whole))
				for k := range w.aside {
					w.aside[k].landings.pool, w.aside[k].credits.pool = &q.landings, &q.credits
				}
			}
		}
	}
	p.crew.begin(0, z.calendar.now+1)
	p.over = false
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
			p.land(int32(i), p.packets.take(r, 0), r.hold, to, channel, r.at)
		}
		if l.state&sending != 0 {
			p.send(int32(i), l, p.packets.take(&l.current, 0))
		}
	}
	z.alone = true
	for _, q := range p.all[1:] {
		c := q.chunks
		*q.sim = *z
		q.sim.chunks, q.sim.s, q.sim.apart = c, Stats{}, q
		q.move(&z.chunks, &q.sim.chunks)
	}
	for _, q := range p.all {
		q.describe(&z.chunks)
	}
}

// describe makes descriptors of packets that wait for its links.
func (p *apart) describe(from *chunks) {
	for i := p.from; i < p.end; i++ {
		l := &p.servers[i]
		l.ready = l.ready >> p.lines(l) << p.lines(l)
		for place := range p.lines(l) {
			f := &p.queues[l.queue+int32(place)].fifo
			old := *f
			for *f = (fifo{}); old.length > 0; from.drop(&old) {
				p.line(l, place, p.packets.take(from.first(&old), 0))
			}
			from.give(&old)
		}
	}
}

// restore puts these back into the queues of the loop of events.
func (p *apart) restore(z *sim) {
	for i := p.from; i < p.end; i++ {
		l := &z.servers[i]
		ready := l.ready
		l.ready = l.ready >> p.lines(l) << p.lines(l)
		for place := range p.lines(l) {
			f := &z.queues[l.queue+int32(place)].fifo
			old, more := *f, ready>>place&1 != 0
			for *f = (fifo{}); more; old.head = p.packets.all[old.head].next {
				r := p.packets.record(old.head)
				z.push(l, place, &r, r.at)
				more = old.head != old.tail
			}
		}
	}
}

// move moves the other packets that wait for its links from one memory to another.
func (p *apart) move(from, to *chunks) {
	for i := p.from; i < p.end; i++ {
		l := &p.servers[i]
		for place := p.lines(l); place < l.ring; place++ {
			from.move(&p.queues[l.queue+int32(place)].fifo, to)
		}
	}
}

// leave goes over to the loop of events. All up to a time has been simulated.
func (p *apart) leave(done engine.Time) {
	z := p.sim
	z.alone = false
	for _, q := range p.all[1:] {
		z.s.add(&q.sim.s)
		q.move(&q.sim.chunks, &z.chunks)
	}
	for _, q := range p.all {
		q.restore(z)
	}
	var wires []record
	var credits []credit
	links := int32(len(z.servers))
	for id := range links {
		l, q := &z.servers[id], p.all[p.whose(id)]
		if id == q.from {
			for k := range q.windows {
				q.take(k)
			}
		}
		for k := range q.windows {
			w := &q.windows[k]
			for i := w.first[id].credit; i >= 0; i = w.credits.all[i].next {
				switch c := w.credits.all[i]; {
				case c.at <= done:
					z.room[c.channel] += int64(c.bytes)
				case c.at-p.flights[id] <= done: // else what it is for has not happened
					credits = append(credits, c)
				}
			}
			for i := w.first[id].packet; i >= 0; i = q.packets.all[i].next {
				wires = append(wires, q.packets.record(i))
			}
			w.first[id] = mail{-1, -1}
		}
		slices.SortFunc(credits, func(a, b credit) int { return cmp.Compare(a.at, b.at) })
		for _, c := range credits {
			at := p.chunks.add(&l.credits)
			*at = record{at: c.at, route: c.channel, bytes: c.bytes}
		}
		credits = credits[:0]
		p.landed(l, &p.flying[id], done)
		p.flying[id].head = p.flying[id].tail
		switch {
		case l.state&sending == 0:
		case l.end <= done:
			l.state &^= sending
			z.s.End = max(z.s.End, l.end)
		default:
			z.calendar.set(id, l.end)
			p.sent--
		}
		if l.state == 0 && l.waiting > 0 {
			z.await(id, l)
		}
	}
	for _, q := range p.all {
		for k := range q.windows {
			for i := range q.windows[k].ends.used() {
				wires = append(wires, q.windows[k].ends.all[i].record)
			}
		}
	}
	slices.SortFunc(wires, func(a, b record) int { return cmp.Compare(a.at, b.at) })
	for i := range wires {
		id := z.linkOf[wires[i].hold]
		l := &z.servers[id]
		wires[i].route--
		if wires[i].at-p.flights[id] > done { // it is being sent
			wires[i].hold = l.current.hold
			l.current = wires[i]
			l.packets--
			l.bytes -= int64(l.current.bytes)
			continue
		}
		at := z.chunks.add(&l.wire)
		if *at = wires[i]; l.wire.length == 1 {
			z.calendar.set(links+id, at.at)
		}
	}
	for _, q := range p.all {
		for k := range q.windows {
			w := &q.windows[k]
			w.renew(q.from, q.end)
		}
		q.packets, q.landings, q.credits = descriptors{free: -1}, pool[landing]{}, pool[credit]{}
	}
}
