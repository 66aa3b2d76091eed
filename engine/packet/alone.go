package packet

import (
	"slices"

	"sim/engine"
)

// link simulates a link alone up to a time, the last in a window. Of one time it sends first, then packets come to it,
// then credits, then packets of sources.
func (p *apart) link(id int32, l *server) {
	f, all, last := &p.flying[id], p.order(id), p.last
	i, end := 0, engine.Time(0)
	p.learnt = -1
	for {
		now := last + 1
		if l.state&sending != 0 {
			for i < len(all) && all[i].at < l.end { // what comes to a link that sends but waits
				p.come(id, l, f, all[i])
				i++
			}
			if now = l.end; now > last {
				break
			}
			l.state &^= sending
			end = now
		} else {
			if l.state == 0 && l.waiting > 0 {
				now = p.soonest(id)
			}
			if i < len(all) && (all[i].at < now || all[i].at == now && all[i].order < injected) {
				now = all[i].at
				p.come(id, l, f, all[i])
				i++
			} else if now > last {
				break
			}
		}
		if l.state != 0 || l.waiting == 0 {
			continue
		}
		if feed := p.begin(id, l, now); feed >= 0 { // behind all else of its time
			for ; i < len(all) && all[i].at <= now; i++ {
				p.come(id, l, f, all[i])
			}
			end = now
			p.landed(l, f, now)
			p.fire(feed, now)
			f.feed = feed + 1
		}
	}
	if i > 0 {
		end = max(end, all[i-1].at)
	}
	p.s.End = max(p.s.End, end)
}

// come has what is due come to a link.
func (p *apart) come(id int32, l *server, f *flying, d due) {
	k := int32(uint32(d.order))
	of := &p.packets.all[k]
	if l.held >= l.mostHeld { // else how many they are does not matter yet
		now := d.at
		if of.hold >= 0 && l.channel > of.hold { // over a link before this one
			now--
		}
		p.landed(l, f, now)
	}
	lost := l.state&down != 0 && of.hold > fromWindow
	place := of.channel
	if of.hold < 0 {
		p.packets.inject[k] = d.at
		place += l.channels
	}
	if !lost && place < p.lines(l) {
		l.count()
		p.line(l, place, k)
		return
	}
	r := p.packets.record(k)
	if p.packets.leave(k); lost {
		p.drop(&r, id, LinkFailed, d.at)
		return
	}
	l.count()
	p.push(l, place, &r, d.at)
}

// lines returns how many of a link's queues are lists of descriptors, the first ones. Those of host traffic are where greedy
// sources keep one packet there; others may put millions there, which then stand in order in memory.
func (p *apart) lines(l *server) uint8 {
	if p.greedy {
		return l.ring
	}
	return l.channels
}

// line puts a packet at the end of such a queue, whose head and tail are descriptors.
func (p *apart) line(l *server, place uint8, k int32) {
	of, q := &p.packets.all[k], &p.queues[l.queue+int32(place)]
	if bit := uint32(1) << (place & 31); l.ready&bit == 0 {
		q.head, q.need = k, of.bytes
		l.ready |= bit
	} else {
		tail := &p.packets.all[q.tail]
		tail.next, tail.need = k, of.bytes
	}
	q.tail = k
}

// send takes down what comes of the packet that a link begins to send: credit for the link before, and the packet at its
// end, both a latency after it is sent.
func (p *apart) send(id int32, l *server, k int32) {
	r := &p.packets.all[k]
	if l.current.hold = r.hold; r.hold >= 0 {
		before := p.linkOf[r.hold]
		p.give(before, r.hold, r.bytes, l.end+p.flights[before])
	}
	to, channel := p.paths.after(l.to, r.route)
	l.packets++
	l.bytes += int64(r.bytes)
	p.sent++
	p.land(id, k, l.on, to, channel, l.end+p.flights[id])
}

// land has a packet that a link sends over one of its channels come to the next at a time.
func (p *apart) land(id, k, over, to int32, channel uint8, at engine.Time) {
	f := &p.flying[id]
	if f.tail-f.head == uint(len(f.at)) {
		f.grow()
	}
	f.at[f.tail&uint(len(f.at)-1)] = at
	f.tail++
	of, w := &p.packets.all[k], p.at(at)
	of.at, of.hold, of.channel = at, over, channel
	of.route++
	if to != arrived && p.mine(to) {
		w.put(p, k, to)
		return
	}
	var l *landing
	if to == arrived {
		_, l = w.ends.add()
		p.give(id, over, of.bytes, at+p.flights[id])
	} else {
		_, l = w.aside[p.whose(to)].landings.add()
	}
	l.record, l.to, l.channel = p.packets.record(k), to, channel
	p.packets.leave(k)
}

// begin is start: it has an idle link send the next of the packets that wait, if there is room for one. It returns the
// sender that injects a packet then, -1 if there is none.
func (p *apart) begin(id int32, l *server, now engine.Time) int32 {
	place, ok := p.sim.next(id, l, now)
	if !ok {
		return -1
	}
	q := &p.queues[l.queue+place]
	k, bytes := q.head, uint64(q.need)
	if uint8(place) < p.lines(l) {
		r := &p.packets.all[k]
		l.waited += now - r.at
		if q.head, q.need = r.next, r.need; k == q.tail {
			l.ready &^= 1 << place
		}
	} else {
		r := p.chunks.first(&q.fifo)
		l.waited += now - r.at
		k = p.packets.take(r, 0)
		p.pop(l, q, place)
	}
	l.transmit(bytes, now)
	p.send(id, l, k)
	return fromFeed - l.current.hold
}

// landed counts the packets that have left a link and come to its end up to a time.
func (p *apart) landed(l *server, f *flying, now engine.Time) {
	for f.head != f.tail && f.at[f.head&uint(len(f.at)-1)] <= now {
		f.head++
		l.held--
	}
}

// credited takes the credits that have come to a link in the window up to a time, and reports whether there were any.
func (p *apart) credited(id int32, now engine.Time) bool {
	if p.soonest(id) > now {
		return false
	}
	for ; p.learnt < len(p.owed) && p.owed[p.learnt].at <= now; p.learnt++ {
		c := &p.now.credits.all[p.owed[p.learnt].order]
		p.room[c.channel] += int64(c.bytes)
		c.bytes = 0
	}
	return true
}

// soonest returns when the next credit comes to a link in the window, after it if none does.
func (p *apart) soonest(id int32) engine.Time {
	if p.learnt < 0 {
		p.orderCredits(id)
	}
	if p.learnt < len(p.owed) {
		return p.owed[p.learnt].at
	}
	return p.last + 1
}

// orderCredits puts the credits that come to a link in the window in order.
func (p *apart) orderCredits(id int32) {
	all, w := p.owed[:0], p.now
	for i := w.first[id].credit; i >= 0; i = w.credits.all[i].next {
		if c := &w.credits.all[i]; c.bytes > 0 {
			all = put(all, due{c.at, uint64(i)})
		}
	}
	p.owed, p.learnt = sorted(all), 0
}

// order returns what comes to a link in the window up to a time, in order.
func (p *apart) order(id int32) []due {
	all, w, rest := p.due[:0], p.now, int32(-1)
	for i := w.first[id].packet; i >= 0; {
		c := &p.packets.all[i]
		next := c.next
		d := due{c.at, uint64(c.hold)<<32 | uint64(i)}
		if c.at > p.last {
			c.next, rest, i = rest, i, next
			continue
		}
		if c.hold < 0 {
			d.order = injected | uint64(p.packets.inject[i])<<32 | uint64(i)
		}
		all = put(all, d)
		i = next
	}
	w.first[id].packet = rest
	p.due = sorted(all)
	return p.due
}

func (d due) before(e due) bool { return d.at < e.at || d.at == e.at && d.order < e.order }

func (d due) compare(e due) int {
	if d.before(e) {
		return -1
	}
	return 1 // no two are the same
}

// few is how many are put in order one by one.
const few = 32

// put adds one to those that are in order, in its place if they are few.
func put(all []due, d due) []due {
	all = append(all, d)
	k := len(all) - 1
	for ; k > 0 && k < few && d.before(all[k-1]); k-- {
		all[k] = all[k-1]
	}
	all[k] = d
	return all
}

// sorted returns what put has added, in order.
func sorted(all []due) []due {
	if len(all) > few {
		slices.SortFunc(all, due.compare)
	}
	return all
}
