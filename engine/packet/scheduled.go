package packet

// This file implements scheduled links: links with unbounded first-in, first-out queues
// that never change. A hop over such a link is one event, because all its times are
// known when the packet is enqueued. Other links are queued links (queued.go).

import (
	"math"
	"math/bits"

	"sim/engine"
)

// scheduledLink is the state of a link whose packets have known arrival times when they
// are enqueued. The queue holds queued packets and packets in flight, in the order of
// their arrival at the far end. Only the arrival of the first one is an event in the
// calendar.
//
// The type fills one cache line; a hop accesses two links.
type scheduledLink struct {
	busyUntil    engine.Time // end of the transmission of all enqueued packets
	waitTime     engine.Time
	numPackets   int64 // enqueued so far
	bytes        int64 // of these packets
	queue        recordQueue
	remainder    uint32 // fraction of a tick by which the transmissions end after busyUntil, times 2^32
	to           int32  // node at its far end
	timing       int32  // index in sim.timings
	maxOccupancy int32
}

// linkTiming is the rate and latency of a link.
type linkTiming struct {
	ticksPerByte uint64 // fixed point with 32 fractional bits
	latency      engine.Time
}

// newScheduledLinks creates the scheduled links.
func (z *sim) newScheduledLinks() {
	z.scheduled = make([]scheduledLink, len(z.network.Links))
	timingIndex := make(map[linkTiming]int32) // index in z.timings
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

// ticksPerByte converts a rate in bits per second to ticks per byte, as a fixed-point
// number with 32 fractional bits.
func ticksPerByte(rate float64) uint64 {
	return uint64(math.Round(math.Ldexp(8*float64(engine.Second)/rate, 32)))
}

// Remainders for serialisationTime: the smallest and the largest one.
const (
	noRemainder  = 0
	maxRemainder = math.MaxUint32
)

// serialisationTime returns the transmission time of a packet in ticks. remainder is the
// fraction of a tick, times 2^32, that the previous packet left over. The second result
// is the fraction that this packet leaves over.
func serialisationTime(ticksPerByte, bytes uint64, remainder uint32) (engine.Time, uint32) {
	// The product has 32 fractional bits: the lower half of lo.
	hi, lo := bits.Mul64(ticksPerByte, bytes)
	remainder, carry := bits.Add32(remainder, uint32(lo), 0)
	return engine.Time(hi<<32|lo>>32) + engine.Time(carry), remainder
}

// forwardFirst moves the first packet of a link to its next link, or delivers it.
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

// schedulePacket enqueues packet r at a link and returns the start of its transmission.
// route is the index of its step over the link. r may point to the removed record of its
// previous link.
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

// linkStats returns the statistics of a scheduled link. Packets that have not arrived yet
// are not counted.
func (z *sim) linkStats(l *scheduledLink) LinkStats {
	s := LinkStats{Packets: l.numPackets - int64(l.queue.length), Bytes: l.bytes, MaxQueue: l.maxOccupancy, Waited: l.waitTime}
	z.records.each(&l.queue, func(r *record) { s.Bytes -= int64(r.bytes) })
	s.Busy, _ = serialisationTime(z.timings[l.timing].ticksPerByte, uint64(s.Bytes), noRemainder)
	return s
}
