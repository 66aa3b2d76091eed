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
	perByte  uint64      // ticks a byte, times 2^32
	latency  engine.Time
	waited   engine.Time
	part     uint32 // of a tick, by which it was late beyond free, times 2^32
	to       int32
	queue    fifo
	mostHeld int32
} // 64 bytes, a line of the cache: a hop touches two links

// passed is what has arrived at the end of a link.
type passed struct{ packets, bytes int64 }

// busy returns how long a link was sending so many bytes.
func (l *link) busy(bytes int64) engine.Time {
	hi, lo := bits.Mul64(l.perByte, uint64(bytes))
	return engine.Time(hi<<32 | lo>>32)
}

func (z *sim) newBooked() {
	z.links = make([]link, len(z.n.Links))
	z.passed = make([]passed, len(z.n.Links))
	for i, l := range z.n.Links {
		z.links[i] = link{latency: l.Latency, to: l.To}
		if l.Rate > 0 {
			z.links[i].perByte = perByte(l.Rate)
		}
	}
}

// perByte returns the ticks that a byte takes at a rate in bits per second, times 2^32.
func perByte(rate float64) uint64 {
	return uint64(math.Round(math.Ldexp(8*float64(engine.Second)/rate, 32)))
}

// runBooked simulates the events up to a time.
func (z *sim) runBooked(until engine.Time) {
	links := int32(len(z.links))
	step, port, degree, steps := z.paths.step, z.paths.port, z.paths.degree, z.paths.steps
	var s sight
	far := prefetches && len(z.links) >= farLinks && steps
	for events := 0; ; events++ {
		id, now, ok := z.calendar.take(until)
		if !ok || events&(askEvery-1) == 0 && z.told() {
			return
		}
		if far {
			z.ahead(&s)
			z.near(&s)
			z.queued(&s)
		}
		if z.s.End = now; id >= links {
			if z.fire(id-z.base, now); z.full {
				return
			}
			continue
		}
		l := &z.links[id]
		r := *z.chunks.first(&l.queue)
		z.chunks.drop(&l.queue)
		if l.queue.length > 0 {
			z.calendar.set(id, z.chunks.first(&l.queue).at)
		}
		z.passed[id].packets++
		z.passed[id].bytes += int64(r.bytes)
		z.s.Hops++
		if !steps {
			if l := z.paths.next(l.to, r.route); l != arrived {
				z.book(l, &r, now)
			} else {
				z.deliver(&r, now)
			}
			continue
		}
		r.route++
		next := step[r.route]
		if next == engine.Arrived {
			z.deliver(&r, now)
			continue
		}
		z.book(port[int(l.to)*degree+next.Port()], &r, now)
	}
}

// book puts a packet on a link and returns when it will begin to be sent.
func (z *sim) book(id int32, r *record, now engine.Time) engine.Time {
	l := &z.links[id]
	if now > l.free {
		l.free, l.part = now, 0
	}
	start := l.free
	l.waited += start - now
	hi, lo := bits.Mul64(l.perByte, uint64(r.bytes))
	takes := engine.Time(hi<<32 | lo>>32)
	part, carry := bits.Add32(l.part, uint32(lo), 0)
	l.part = part
	takes += engine.Time(carry)
	l.free += takes
	at := z.chunks.add(&l.queue)
	*at = *r
	at.at = l.free + l.latency
	if l.queue.length == 1 {
		z.calendar.set(id, at.at)
	}
	l.mostHeld = max(l.mostHeld, l.queue.length)
	return start
}
