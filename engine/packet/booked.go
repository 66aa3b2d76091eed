package packet

import (
	"math"
	"math/bits"
	"unsafe"

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

// atOnce is how many events of one time are looked at together: what they touch is then fetched at the same time.
const atOnce = 16

// serialise returns the ticks that so many bytes take at ticks a byte times 2^32, and the part of a tick, times 2^32, that
// the link is late by beyond them, which was part before.
func serialise(perByte, bytes uint64, part uint32) (engine.Time, uint32) {
	hi, lo := bits.Mul64(perByte, bytes)
	part, carry := bits.Add32(part, uint32(lo), 0)
	return engine.Time(hi<<32|lo>>32) + engine.Time(carry), part
}

// runBooked simulates the events up to a time.
func (z *sim) runBooked(until engine.Time) {
	var room [atOnce]int32
	var coming [atOnce]*record
	for rounds := 0; ; rounds++ {
		ids, now, ok := z.calendar.takeSome(room[:], until)
		if !ok || rounds&(askEvery/atOnce-1) == 0 && z.told() {
			return
		}
		z.s.End = now
		z.foresee(ids, &coming)
		for i, id := range ids {
			if id >= z.base {
				if z.fire(id-z.base, now); z.full {
					return
				}
			} else {
				z.forward(id, coming[i&(atOnce-1)], now)
			}
		}
	}
}

// foresee finds the packets that arrive by events of one time. It reads what these will touch, and changes nothing.
func (z *sim) foresee(ids []int32, coming *[atOnce]*record) {
	links, sum := z.links, int32(0)
	for i, id := range ids {
		if uint(id) < uint(len(links)) {
			head := links[id].queue.head
			coming[i&(atOnce-1)] = z.chunks.at(head)
			sum += z.chunks.at(head + 1).bytes // what comes behind it
		} else {
			coming[i&(atOnce-1)] = z.touch(id - z.base)
		}
	}
	if len(ids) > 1 && len(z.paths.step) > 0 {
		z.fetch(coming[:len(ids)])
	} else if k := z.calendar.coming(); uint(k) < uint(len(links)) && prefetches {
		prefetch(unsafe.Pointer(z.chunks.first(&links[k].queue)))
	}
	z.touched += sum
}

// fetch reads the places where packets go. Loads of one loop do not wait for each other, nor branches for them, so the
// cache fetches all at the same time.
func (z *sim) fetch(coming []*record) {
	var to [atOnce]int32
	sum := int32(0)
	for i, r := range coming {
		t := r.hold
		to[i&(atOnce-1)] = t + (z.home-t)&(t>>31) // home, if it goes nowhere
		sum += int32(z.paths.step[r.route])
	}
	for i := range coming {
		t := &to[i&(atOnce-1)]
		*t = z.links[*t].queue.tail
	}
	for i := range coming {
		sum += z.chunks.at(to[i&(atOnce-1)]).bytes
	}
	z.touched += sum
}

// forward ends the first packet's stay on a link.
func (z *sim) forward(id int32, r *record, now engine.Time) {
	l := &z.links[id]
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
