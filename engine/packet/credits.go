package packet

import (
	"fmt"

	"sim/engine"
)

// This file returns credits to queued links (queued.go). A credit is free space in the
// buffer of a virtual channel at the far end of a link. A link takes credits when it
// starts to send a packet (selectQueue). They return when the packet leaves that buffer.

// releaseBuffer frees the space of a packet in the buffer of channel origin. The space
// becomes available to the link of that channel one latency later. It does nothing if
// origin is negative, which means that a source injected the packet.
func (z *sim) releaseBuffer(origin, bytes int32, now engine.Time) {
	if origin < 0 || !z.usesCredits {
		return
	}
	channel := origin
	id := z.channelLink[channel]
	if z.windowsActive { // lpSim simulates instead of the event loop
		z.lps.sendCredit(id, channel, bytes, now+z.lps.latencies[id])
		return
	}
	l := &z.queued[id]
	lacksCredit := l.state == 0 && l.numWaiting > 0 // the link is idle although packets are waiting
	if !l.hasLatency {
		if z.freeBytes[channel] += int64(bytes); lacksCredit {
			z.startSending(id, now)
		}
		return
	}
	slot := z.records.add(&l.credits)
	*slot = record{time: now + l.latency, route: channel, bytes: bytes} // in credits, route is the channel
	if lacksCredit {
		z.awaitCredit(id, l)
	}
}

// applyCredits adds the credits that have returned to a link to its free buffer space. It
// reports whether there were any.
func (z *sim) applyCredits(id int32, l *queuedLink, now engine.Time) (applied bool) {
	if z.windowsActive {
		return z.lps.applyCredits(id, now)
	}
	for ; l.credits.length > 0; z.records.removeFirst(&l.credits) {
		c := z.records.first(&l.credits)
		if c.time > now {
			break
		}
		z.freeBytes[c.route] += int64(c.bytes)
		applied = true
	}
	return applied
}

// awaitCredit schedules an event for the next credit return of a link, unless there is
// one already. It is called if queued packets lack credits.
func (z *sim) awaitCredit(id int32, l *queuedLink) {
	if l.credits.length > 0 && !l.awaitsCredit {
		l.awaitsCredit = true
		z.calendar.schedule(z.creditID(id), z.records.first(&l.credits).time)
	}
}

// checkCredits verifies that credits are conserved. For each channel, the free bytes, the
// returning credits, the packets in its buffer and the space reserved for packets on the link
// must add up to the buffer size.
//
// A packet that is being sent occupies two buffers: the one that it leaves, which it frees at the
// end of the transmission, and space that is reserved at the far end. A packet in flight occupies
// only this reserved space.
func (z *sim) checkCredits() error {
	if !z.usesCredits {
		return nil
	}
	sum := append([]int64(nil), z.freeBytes...) // indexed by channel

	for i := range z.queued {
		l := &z.queued[i]
		z.records.each(&l.credits, func(r *record) { sum[r.route] += int64(r.bytes) })
		// origin is the channel whose buffer the packet occupies. In flight, it is the channel at
		// the far end.
		inBuffer := func(r *record) {
			if r.origin >= 0 {
				sum[r.origin] += int64(r.bytes)
			}
		}
		for q := range l.numQueues {
			z.records.each(&z.queues[l.firstQueue+int32(q)].recordQueue, inBuffer)
		}
		z.records.each(&l.inFlight, inBuffer)
		if l.state&stateSending != 0 {
			inBuffer(&l.current) // it has not left its buffer
			sum[l.currentChannel] += int64(l.current.bytes)
		}
	}

	for c, free := range sum {
		if free != z.capacity[c] {
			l := z.channelLink[c]
			return fmt.Errorf("packet: channel %d of %s has credits and packets of %d B; want %d B", c-int(z.queued[l].firstChannel), z.network.ResourceName(l), free, z.capacity[c])
		}
	}
	return nil
}
