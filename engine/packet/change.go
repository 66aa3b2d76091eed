package packet

import (
	"sim/engine"
)

// change sets the rate of a link. A packet that is being sent goes on at the old one, unless the link fails.
func (z *sim) change(c engine.Change) {
	l := &z.servers[c.Link]
	if c.Rate == 0 && l.awaits { // it begins nothing for now
		l.awaits = false
		z.calendar.remove(2*int32(len(z.servers))+c.Link, z.chunks.first(&l.credits).at)
	}
	if c.Rate == 0 && c.Planned {
		l.state |= paused
		return
	}
	if c.Rate == 0 {
		z.fail(c.Link, l, c.At)
		return
	}
	l.perByte = perByte(c.Rate)
	if l.state&(down|paused) != 0 {
		l.state &^= down | paused
		z.start(c.Link, c.At)
	}
}

// fail takes a link down: what is on it is lost, and what waits before it too, unless it has not left its source.
func (z *sim) fail(id int32, l *server, now engine.Time) {
	if l.state&down != 0 {
		return
	}
	l.state |= down
	var lost []record
	if l.state&sending != 0 {
		z.calendar.remove(id, l.end)
		l.state &^= sending
		l.busy -= min(l.busy, l.end-now)
		l.queued -= int64(l.current.bytes)
		if l.end, l.part = now, 0; z.credit {
			z.room[l.on] += int64(l.current.bytes)
		}
		l.held--
		lost = append(lost, l.current)
	}
	if l.wire.length > 0 {
		z.calendar.remove(int32(len(z.servers))+id, z.chunks.first(&l.wire).at)
		for ; l.wire.length > 0; z.chunks.drop(&l.wire) {
			r := *z.chunks.first(&l.wire)
			if z.credit {
				z.room[r.hold] += int64(r.bytes)
			}
			l.held--
			l.packets--
			l.bytes -= int64(r.bytes)
			r.hold = fromOpen // its place in the buffer before the link is free already
			lost = append(lost, r)
		}
	}
	lost = append(lost, z.pull(l, now, func(r *record) bool { return r.hold > fromWindow })...)
	for i := range lost {
		z.drop(&lost[i], id, LinkFailed, now)
	}
}

// pull takes packets out of the queues before a link.
func (z *sim) pull(l *server, now engine.Time, which func(*record) bool) []record {
	var out []record
	for q := range l.ring {
		f := &z.queues[l.queue+int32(q)]
		for range f.length {
			r := *z.chunks.first(&f.fifo)
			z.pop(l, f, int32(q))
			if !which(&r) {
				z.push(l, q, &r, r.at)
				continue
			}
			l.waiting--
			l.held--
			l.waited += now - r.at
			if r.hold > fromWindow {
				l.queued -= int64(r.bytes)
			}
			out = append(out, r)
		}
	}
	return out
}

// rewire replaces the paths, also those of packets that wait at their source.
func (z *sim) rewire(r *Rewire) {
	z.paths.turn()
	var again []record
	for i := range z.servers {
		again = append(again, z.pull(&z.servers[i], r.At, func(r *record) bool { return r.hold < 0 })...)
	}
	for i := range again {
		if z.depart(&again[i], nowhere, r.At) < engine.Never {
			z.begins(again[i].hold, r.At)
		}
	}
}
