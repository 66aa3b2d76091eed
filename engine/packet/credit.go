package packet

import (
	"fmt"

	"sim/engine"
)

// release gives up the room that a packet has in the buffer of the channel that holds it. Its link learns of that its
// latency later.
func (z *sim) release(hold, bytes int32, now engine.Time) {
	if hold < 0 || !z.credit {
		return
	}
	c := hold
	id := z.linkOf[c]
	if z.alone {
		z.apart.give(id, c, bytes, now+z.apart.flights[id])
		return
	}
	l := &z.servers[id]
	if !l.late {
		if z.room[c] += int64(bytes); l.state == 0 && l.waiting > 0 {
			z.start(id, now)
		}
		return
	}
	at := z.chunks.add(&l.credits)
	*at = record{at: now + l.latency, route: c, bytes: bytes}
	if l.state == 0 && l.waiting > 0 { // else credits that came while it was down would be an event of the past
		z.await(id, l)
	}
}

// credited takes the credits that have come to a link, and reports whether there were any.
func (z *sim) credited(id int32, l *server, now engine.Time) (some bool) {
	if z.alone {
		return z.apart.credited(id, now)
	}
	for ; l.credits.length > 0; z.chunks.drop(&l.credits) {
		c := z.chunks.first(&l.credits)
		if c.at > now {
			break
		}
		z.room[c.route] += int64(c.bytes)
		some = true
	}
	return some
}

// await sets an event for the next credit of a link that waits for some, if one is on its way.
func (z *sim) await(id int32, l *server) {
	if l.credits.length > 0 && !l.awaits {
		l.awaits = true
		z.calendar.set(2*int32(len(z.servers))+id, z.chunks.first(&l.credits).at)
	}
}

// checkCredits fails where credits are not what buffers do not hold.
func (z *sim) checkCredits() error {
	if !z.credit {
		return nil
	}
	room := append([]int64(nil), z.room...)
	for i := range z.servers {
		l := &z.servers[i]
		z.chunks.each(&l.credits, func(r *record) { room[r.route] += int64(r.bytes) })
		inBuffer := func(r *record) {
			if r.hold >= 0 {
				room[r.hold] += int64(r.bytes)
			}
		}
		for q := range l.ring {
			z.chunks.each(&z.queues[l.queue+int32(q)].fifo, inBuffer)
		}
		z.chunks.each(&l.wire, inBuffer)
		if l.state&sending != 0 {
			inBuffer(&l.current)
			room[l.on] += int64(l.current.bytes)
		}
	}
	for c, free := range room {
		if free != z.size[c] {
			l := z.linkOf[c]
			return fmt.Errorf("packet: channel %d of %s has %d B of credits and packets, of %d", c-int(z.servers[l].channel), z.n.ResourceName(l), free, z.size[c])
		}
	}
	return nil
}
