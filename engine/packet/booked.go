package packet

import (
	"math"
	"math/bits"

	"sim/engine"
)

// link is the state of one whose packets are booked: each one's time at its end is known when it is put on it. They
// stand in the order in which they get there, so only the first of them is an event.
type link struct {
	free     engine.Time // when what was put on it so far has left
	waited   engine.Time
	packets  int64 // put on it so far
	bytes    int64
	queue    fifo
	part     uint32 // of a tick, by which it was late beyond free, times 2^32
	to       int32
	pace     int32 // in sim.paces
	mostHeld int32
} // 64 bytes, a line of the cache: a hop touches two links

// pace is what links of one rate and latency have in common.
type pace struct {
	perByte uint64 // ticks a byte, times 2^32
	latency engine.Time
}

func (z *sim) newBooked() {
	z.links = make([]link, len(z.n.Links))
	of := make(map[pace]int32)
	for i, l := range z.n.Links {
		p := pace{latency: l.Latency}
		if l.Rate > 0 {
			p.perByte = perByte(l.Rate)
		}
		k, ok := of[p]
		if !ok {
			k = int32(len(z.paces))
			of[p], z.paces = k, append(z.paces, p)
		}
		z.links[i] = link{to: l.To, pace: k}
	}
}

// perByte returns the ticks that a byte takes at a rate in bits per second, times 2^32.
func perByte(rate float64) uint64 {
	return uint64(math.Round(math.Ldexp(8*float64(engine.Second)/rate, 32)))
}

// serialise returns the ticks that so many bytes take at ticks a byte times 2^32, and the part of a tick, times 2^32, that
// the link is late by beyond them, which was part before.
func serialise(perByte, bytes uint64, part uint32) (engine.Time, uint32) {
	hi, lo := bits.Mul64(perByte, bytes)
	part, carry := bits.Add32(part, uint32(lo), 0)
	return engine.Time(hi<<32|lo>>32) + engine.Time(carry), part
}

// forward ends the first packet's stay on a link.
func (z *sim) forward(id int32, now engine.Time) {
	l := &z.links[id]
	r := z.chunks.first(&l.queue)
	if z.chunks.drop(&l.queue); l.queue.length > 0 {
		z.calendar.set(id, z.chunks.first(&l.queue).at)
	}
	to := r.hold
	if !z.paths.steps {
		to = z.paths.next(l.to, r.route)
	}
	if to == arrived {
		z.deliver(r, now)
	} else {
		z.book(to, r, r.route, now)
	}
}

// book puts a packet on a link and returns when it will begin to be sent. r may be where it was before, which is not in
// use any more.
func (z *sim) book(id int32, r *record, route int32, now engine.Time) engine.Time {
	l := &z.links[id]
	p := &z.paces[l.pace]
	start, part := l.free, l.part
	if now > start {
		start, part = now, 0
	}
	l.waited += start - now
	l.packets++
	bytes := r.bytes
	l.bytes += int64(bytes)
	takes, part := serialise(p.perByte, uint64(bytes), part)
	l.free, l.part = start+takes, part
	end := l.free + p.latency
	next := int32(arrived)
	if z.paths.steps {
		route++
		if s := z.paths.step[route]; s != engine.Arrived {
			next = z.paths.port[int(l.to)*z.paths.degree+s.Port()]
		}
	}
	if l.queue.tail%perChunk == 0 {
		z.chunks.extend(&l.queue)
	}
	at := z.chunks.at(l.queue.tail)
	l.queue.tail++
	l.queue.length++
	at.at, at.inject, at.route, at.bytes, at.flow, at.hold = end, r.inject, route, bytes, r.flow, next
	if l.mostHeld = max(l.mostHeld, l.queue.length); l.queue.length == 1 {
		z.calendar.set(id, end)
	}
	return start
}

// linkStats returns what a booked link has carried, without the packets that are on it and before it.
func (z *sim) linkStats(l *link) LinkStats {
	s := LinkStats{Packets: l.packets - int64(l.queue.length), Bytes: l.bytes, MaxQueue: l.mostHeld, Waited: l.waited}
	z.chunks.each(&l.queue, func(r *record) { s.Bytes -= int64(r.bytes) })
	s.Busy, _ = serialise(z.paces[l.pace].perByte, uint64(s.Bytes), 0)
	return s
}
