package packet

import (
	"sim/engine"
)

// applyChange changes the rate of a link. A transmission in progress continues at the
// previous rate, unless the link fails.
func (z *sim) applyChange(c engine.Change) {
	l := &z.queued[c.Link]
	if c.Rate == 0 && l.awaitsCredit { // no transmission can start for now
		l.awaitsCredit = false
		z.calendar.remove(2*int32(len(z.queued))+c.Link, z.records.first(&l.credits).time)
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

// failLink takes a link down. All packets in flight or queued are lost, except packets of
// closed-loop senders that are still queued at their source.
func (z *sim) failLink(id int32, l *queuedLink, now engine.Time) {
	if l.state&stateDown != 0 {
		return
	}

	l.state |= stateDown
	var dropped []record

	if l.state&stateSending != 0 {
		z.calendar.remove(id, l.sendEnd)
		l.state &^= stateSending
		l.busyTime -= min(l.busyTime, l.sendEnd-now)
		l.bufferedBytes -= int64(l.current.bytes)
		if l.sendEnd, l.remainder = now, 0; z.usesCredits {
			z.freeBytes[l.currentChannel] += int64(l.current.bytes)
		}
		l.occupancy--
		dropped = append(dropped, l.current)
	}

	if l.inFlight.length > 0 {
		z.calendar.remove(int32(len(z.queued))+id, z.records.first(&l.inFlight).time)
		for ; l.inFlight.length > 0; z.records.removeFirst(&l.inFlight) {
			r := *z.records.first(&l.inFlight)
			if z.usesCredits {
				z.freeBytes[r.origin] += int64(r.bytes)
			}
			l.occupancy--
			l.packets--
			l.bytes -= int64(r.bytes)
			r.origin = originOpen // its space in the previous buffer is free already
			dropped = append(dropped, r)
		}
	}

	dropped = append(dropped, z.removeQueued(l, now, func(r *record) bool { return r.origin > originWindow })...)
	for i := range dropped {
		z.drop(&dropped[i], id, LinkFailed, now)
	}
}

// removeQueued removes the matching packets from the queues of a link and returns them.
func (z *sim) removeQueued(l *queuedLink, now engine.Time, matches func(*record) bool) []record {
	var removed []record
	for q := range l.numQueues {
		f := &z.queues[l.firstQueue+int32(q)]
		for range f.length {
			r := *z.records.first(&f.recordQueue)
			z.pop(l, f, int32(q))
			if !matches(&r) {
				z.push(l, q, &r, r.time)
				continue
			}
			l.numWaiting--
			l.occupancy--
			l.waitTime += now - r.time
			if r.origin > originWindow {
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
		removed = append(removed, z.removeQueued(&z.queued[i], r.At, func(r *record) bool { return r.origin < 0 })...)
	}
	for i := range removed {
		if z.startPath(&removed[i], noLink, r.At) < engine.Never {
			z.onSendStart(removed[i].origin, r.At)
		}
	}
}
