package packet

// This file changes queued links and paths during a run. sim.simulate calls it between
// two calls of the event loop.
//
// A packet is in one of three places of a link: in its queues, in queuedLink.current
// while it is sent, or in queuedLink.inFlight until it arrives at the far end. Under
// credit-based flow control, the link holds credits for the buffer at its far end:
// sim.freeBytes per virtual channel. They are taken when a transmission starts, and
// returned when the packet leaves that buffer.

import "sim/engine"

// applyChange changes the rate of a link. A transmission in progress continues at the
// previous rate, unless the link fails.
func (z *sim) applyChange(c engine.Change) {
	if z.transport != nil {
		z.transport.change(c)
		return
	}
	l := &z.queued[c.Link]
	if c.Rate == 0 && l.awaitsCredit { // no transmission can start for now
		l.awaitsCredit = false
		z.calendar.remove(z.creditID(c.Link), z.records.first(&l.credits).time)
	}

	if c.Rate == 0 && c.Planned {
		l.state |= statePaused
		return
	}
	if c.Rate == 0 {
		z.failLink(c.Link, l, c.At)
		return
	}

	l.ticksPerByte = ticksPerByte(c.Rate)
	if l.state&(stateDown|statePaused) != 0 {
		l.state &^= stateDown | statePaused
		z.startSending(c.Link, c.At)
	}
}

// failLink takes a link down. All packets that are sent, in flight or queued are lost,
// except packets that their sources hold back until they are sent; see isHeldBySource.
func (z *sim) failLink(id int32, l *queuedLink, now engine.Time) {
	if l.state&stateDown != 0 {
		return
	}

	l.state |= stateDown
	var dropped []record

	if l.state&stateSending != 0 {
		dropped = append(dropped, z.abortSending(id, l, now))
	}
	if l.inFlight.length > 0 {
		dropped = append(dropped, z.removeInFlight(id, l)...)
	}
	dropped = append(dropped, z.removeQueued(l, now, func(r *record) bool { return !isHeldBySource(r.origin) })...)

	for i := range dropped {
		z.drop(&dropped[i], id, LinkFailed, now)
	}
}

// abortSending stops the transmission in progress and returns its packet. It is not
// counted in queuedLink.packets, because a packet is counted at the end of its
// transmission.
func (z *sim) abortSending(id int32, l *queuedLink, now engine.Time) record {
	z.calendar.remove(z.sendEndID(id), l.sendEnd)
	l.state &^= stateSending
	l.occupancy--
	l.bufferedBytes -= int64(l.current.bytes)
	z.returnCredits(l.currentChannel, l.current.bytes)

	// The next transmission can start now, without the fraction of a tick that previous
	// transmissions have left over.
	l.busyTime -= min(l.busyTime, l.sendEnd-now)
	l.sendEnd, l.remainder = now, 0
	return l.current
}

// removeInFlight removes the packets in flight on a link and returns them. Their
// transmissions have ended and have been counted; the counts are reversed.
func (z *sim) removeInFlight(id int32, l *queuedLink) []record {
	z.calendar.remove(z.arrivalID(id), z.records.first(&l.inFlight).time)
	var removed []record
	for ; l.inFlight.length > 0; z.records.removeFirst(&l.inFlight) {
		r := *z.records.first(&l.inFlight)
		z.returnCredits(r.origin, r.bytes) // the origin of a packet in flight is the channel that it uses
		l.occupancy--
		l.packets--
		l.bytes -= int64(r.bytes)
		r.origin = originOpen // it occupies no buffer: it left the previous one when its transmission ended
		removed = append(removed, r)
	}
	return removed
}

// returnCredits returns the credits of a packet that does not reach the far end of a link
// to the channel of that link. It does nothing without credit-based flow control.
func (z *sim) returnCredits(channel, bytes int32) {
	if z.usesCredits {
		z.freeBytes[channel] += int64(bytes)
	}
}

// removeQueued removes the matching packets from the queues of a link and returns them.
func (z *sim) removeQueued(l *queuedLink, now engine.Time, matches func(*record) bool) []record {
	var removed []record
	for index := range l.numQueues {
		q := &z.queues[l.firstQueue+int32(index)]

		// Take each packet from the front. A packet that stays is appended again, so that
		// the order of the remaining packets does not change.
		for range q.length {
			r := *z.records.first(&q.recordQueue)
			z.pop(l, q, int32(index))
			if !matches(&r) {
				z.push(l, index, &r, r.time)
				continue
			}
			l.numWaiting--
			l.occupancy--
			l.waitTime += now - r.time
			if !isHeldBySource(r.origin) {
				l.bufferedBytes -= int64(r.bytes)
			}
			removed = append(removed, r)
		}
	}
	return removed
}

// replacePaths applies a Rewire. Packets that are queued at their source take new paths.
func (z *sim) replacePaths(r *Rewire) {
	z.paths.useNextSet()
	var removed []record
	for i := range z.queued {
		removed = append(removed, z.removeQueued(&z.queued[i], r.At, func(r *record) bool { return isQueuedAtSource(r.origin) })...)
	}

	for i := range removed {
		// A finite start time means that no link has to send the packet: it was delivered
		// or dropped immediately. Its sender may then inject the next packet.
		if start := z.startPath(&removed[i], noLink, r.At); start < engine.Never {
			z.onSendStart(removed[i].origin, r.At)
		}
	}
}
