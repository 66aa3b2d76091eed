package packet

import (
	"math"
	"math/bits"

	"sim/engine"
)

// scheduledLink is the state of one whose packets are booked: each one's time at its end is known when it is put on it. They
// stand in the order in which they get there, so only the first of them is an event.
type scheduledLink struct {
	busyUntil    engine.Time // when what was put on it so far has left
	waitTime     engine.Time
	numPackets   int64 // put on it so far
	bytes        int64
	queue        recordQueue
	remainder    uint32 // of a tick, by which it was late beyond free, times 2^32
	to           int32
	timing       int32 // in sim.paces
	maxOccupancy int32
} // 64 bytes, a line of the cache: a hop touches two links

// linkTiming is what links of one rate and latency have in common.
type linkTiming struct {
	ticksPerByte uint64 // ticks a byte, times 2^32
	latency      engine.Time
}

func (z *sim) newScheduledLinks() {
	z.scheduled = make([]scheduledLink, len(z.network.Links))
	timingIndex := make(map[linkTiming]int32)
	for i, l := range z.network.Links {
		p := linkTiming{latency: l.Latency}
		if l.Rate > 0 {
			p.ticksPerByte = ticksPerByte(l.Rate)
		}
		k, ok := timingIndex[p]
		if !ok {
			k = int32(len(z.timings))
			timingIndex[p], z.timings = k, append(z.timings, p)
		}
		z.scheduled[i] = scheduledLink{to: l.To, timing: k}
	}
}

// ticksPerByte returns the ticks that a byte takes at a rate in bits per second, times 2^32.
func ticksPerByte(rate float64) uint64 {
	return uint64(math.Round(math.Ldexp(8*float64(engine.Second)/rate, 32)))
}

// serialisationTime returns the ticks that so many bytes take at ticks a byte times 2^32, and the part of a tick, times 2^32, that
// the link is late by beyond them, which was part before.
func serialisationTime(ticksPerByte, bytes uint64, remainder uint32) (engine.Time, uint32) {
	hi, lo := bits.Mul64(ticksPerByte, bytes)
	remainder, carry := bits.Add32(remainder, uint32(lo), 0)
	return engine.Time(hi<<32|lo>>32) + engine.Time(carry), remainder
}

// forwardFirst ends the first packet's stay on a link.
func (z *sim) forwardFirst(id int32, now engine.Time) {
	l := &z.scheduled[id]
	r := z.records.first(&l.queue)
	if z.records.removeFirst(&l.queue); l.queue.length > 0 {
		z.calendar.schedule(id, z.records.first(&l.queue).time)
	}
	next := r.origin
	if !z.paths.usesSteps {
		next = z.paths.nextLink(l.to, r.route)
	}
	if next == pathEnd {
		z.deliver(r, now)
	} else {
		z.schedulePacket(next, r, r.route, now)
	}
}

// schedulePacket puts a packet on a link and returns when it will begin to be sent. r may be where it was before, which is not in
// use any more.
func (z *sim) schedulePacket(id int32, r *record, route int32, now engine.Time) engine.Time {
	l := &z.scheduled[id]
	p := &z.timings[l.timing]
	start, remainder := l.busyUntil, l.remainder
	if now > start {
		start, remainder = now, 0
	}
	l.waitTime += start - now
	l.numPackets++
	bytes := r.bytes
	l.bytes += int64(bytes)
	duration, remainder := serialisationTime(p.ticksPerByte, uint64(bytes), remainder)
	l.busyUntil, l.remainder = start+duration, remainder
	end := l.busyUntil + p.latency
	next := int32(pathEnd)
	if z.paths.usesSteps {
		route++
		if s := z.paths.steps[route]; s != engine.Arrived {
			next = z.paths.linkByPort[int(l.to)*z.paths.degree+s.Port()]
		}
	}
	if l.queue.tail%recordsPerChunk == 0 {
		z.records.extend(&l.queue)
	}
	slot := z.records.get(l.queue.tail)
	l.queue.tail++
	l.queue.length++
	slot.time, slot.injectTime, slot.route, slot.bytes, slot.flow, slot.origin = end, r.injectTime, route, bytes, r.flow, next
	if l.maxOccupancy = max(l.maxOccupancy, l.queue.length); l.queue.length == 1 {
		z.calendar.schedule(id, end)
	}
	return start
}

// linkStats returns what a booked link has carried, without the packets that are on it and before it.
func (z *sim) linkStats(l *scheduledLink) LinkStats {
	s := LinkStats{Packets: l.numPackets - int64(l.queue.length), Bytes: l.bytes, MaxQueue: l.maxOccupancy, Waited: l.waitTime}
	z.records.each(&l.queue, func(r *record) { s.Bytes -= int64(r.bytes) })
	s.Busy, _ = serialisationTime(z.timings[l.timing].ticksPerByte, uint64(s.Bytes), 0)
	return s
}
