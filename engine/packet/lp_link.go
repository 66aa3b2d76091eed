package packet

// This file simulates one link during one window of lpSim, as a logical process that
// depends on no other link in the window. All arrivals and credit returns of the window
// are in the inbox of the link (windowInbox). Its own transmissions put arrivals and
// credit returns into inboxes of later windows.
//
// A credit return frees buffer space at the far end of the link. A packet is a descriptor,
// identified by its slot in lpSim.packets.

import (
	"slices"

	"sim/engine"
)

// simulateLink simulates link id until workerGroup.lastTick. Simultaneous events occur in
// the order of the event loop: the end of a transmission, arrivals over links, credit
// returns, injected packets, and greedy sources.
func (p *lpSim) simulateLink(id int32, l *queuedLink) {
	f, arrivals, lastTick := &p.inFlight[id], p.collectArrivals(id), p.lastTick

	// arrivals[:i] have been accepted: queued or dropped.
	i, lastEvent := 0, engine.Time(0)
	p.creditsApplied = -1
	for {
		// Simulate the next event of the link, which is at time now.
		now := lastTick + 1
		if l.state&stateSending != 0 {
			// Packets that arrive during a transmission are only queued.
			for i < len(arrivals) && arrivals[i].time < l.sendEnd {
				p.acceptPacket(id, l, f, arrivals[i])
				i++
			}
			if now = l.sendEnd; now > lastTick {
				break
			}
			l.state &^= stateSending
			lastEvent = now
		} else {
			// The link is idle or down. An idle link with waiting packets lacks credits.
			if l.state == 0 && l.numWaiting > 0 {
				now = p.nextCreditTime(id)
			}
			if i < len(arrivals) && (arrivals[i].time < now || arrivals[i].time == now && arrivals[i].sortKey < injectionBit) {
				now = arrivals[i].time
				p.acceptPacket(id, l, f, arrivals[i])
				i++
			} else if now > lastTick {
				break
			}
		}

		if l.state != 0 || l.numWaiting == 0 {
			continue
		}

		// A packet of a greedy source was sent. Its source injects the next packet after
		// all other events of this time.
		if sender := p.startNext(id, l, now); sender >= 0 {
			for ; i < len(arrivals) && arrivals[i].time <= now; i++ {
				p.acceptPacket(id, l, f, arrivals[i])
			}
			lastEvent = now
			p.endFlights(l, f, now)
			p.runSender(sender, now)
			f.sender = sender + 1
		}
	}

	if i > 0 {
		lastEvent = max(lastEvent, arrivals[i-1].time)
	}
	p.stats.End = max(p.stats.End, lastEvent)
}

// acceptPacket adds an arriving or injected packet to a queue of a link, or drops it if
// the link is down.
func (p *lpSim) acceptPacket(id int32, l *queuedLink, f *inFlight, d pendingEvent) {
	k := d.index()
	packet := &p.packets.slots[k]

	// The occupancy must be exact only if it may set a new maximum. Simultaneous arrivals
	// are ordered by link. So if the packet came over a link with a lower number than l,
	// packets that reach the far end of l at this time still count.
	if l.occupancy >= l.maxOccupancy {
		until := d.time
		if cameOverLink := !isQueuedAtSource(packet.origin); cameOverLink && packet.origin < l.firstChannel {
			until--
		}
		p.endFlights(l, f, until)
	}

	isLost := l.state&stateDown != 0 && !isHeldBySource(packet.origin)
	index := packet.channel
	if isQueuedAtSource(packet.origin) {
		p.packets.injectTimes[k] = d.time
		index += l.numChannels
	}

	if !isLost && index < p.numDescriptorQueues(l) {
		l.countWaiting()
		p.enqueueDescriptor(l, index, k)
		return
	}

	r := p.packets.record(k)
	if p.packets.release(k); isLost {
		p.drop(&r, id, LinkFailed, d.time)
		return
	}
	l.countWaiting()
	p.push(l, index, &r, d.time)
}

// numDescriptorQueues returns the number of queues of a link that are lists of
// descriptors; these are the first ones. Host queues are among them only with greedy
// sources, which keep one packet there. Other sources may inject millions of packets,
// which are stored in the consecutive memory of a recordQueue instead.
func (p *lpSim) numDescriptorQueues(l *queuedLink) uint8 {
	if p.allGreedy {
		return l.numQueues
	}
	return l.numChannels
}

// enqueueDescriptor appends the packet in slot k to queue index of a link, which must be
// a list of descriptors. The head and tail of such a queue are slots, and its length is
// not used. A link has at most 32 queues, so the mask 31 changes no index.
func (p *lpSim) enqueueDescriptor(l *queuedLink, index uint8, k int32) {
	packet, q := &p.packets.slots[k], &p.queues[l.firstQueue+int32(index)]
	if bit := uint32(1) << (index & 31); l.readyQueues&bit == 0 {
		q.head, q.headBytes = k, packet.bytes
		l.readyQueues |= bit
	} else {
		tail := &p.packets.slots[q.tail]
		tail.next, tail.nextBytes = k, packet.bytes
	}
	q.tail = k
}

// sendPacket schedules the events that result from the transmission of the packet in slot
// k, which has just been started. One latency after the end of the transmission, the
// credit returns to the previous link, and the packet arrives at the far end.
func (p *lpSim) sendPacket(id int32, l *queuedLink, k int32) {
	r := &p.packets.slots[k]
	if l.current.origin = r.origin; r.origin >= 0 {
		previous := p.channelLink[r.origin]
		p.sendCredit(previous, r.origin, r.bytes, l.sendEnd+p.latencies[previous])
	}

	next, channel := p.paths.linkAfter(l.to, r.route)
	l.packets++
	l.bytes += int64(r.bytes)
	p.sent++
	p.scheduleArrival(id, k, l.currentChannel, next, channel, l.sendEnd+p.latencies[id])
}

// scheduleArrival schedules the arrival of the packet in slot k, which link id sends over
// channelUsed, at its next link. If the packet has reached its destination, the credit
// return is scheduled as well.
func (p *lpSim) scheduleArrival(id, k, channelUsed, next int32, channel uint8, time engine.Time) {
	p.inFlight[id].add(time)

	packet, w := &p.packets.slots[k], p.inboxAt(time)
	packet.time, packet.origin, packet.channel = time, channelUsed, channel
	packet.route++

	if next != pathEnd && p.owns(next) {
		w.addArrival(p, k, next)
		return
	}

	var arrival *packetArrival
	if next == pathEnd {
		_, arrival = w.deliveries.add()
		p.sendCredit(id, channelUsed, packet.bytes, time+p.latencies[id])
	} else {
		_, arrival = w.outboxes[p.ownerOf(next)].arrivals.add()
	}
	arrival.record, arrival.nextLink, arrival.channel = p.packets.record(k), next, channel
	p.packets.release(k)
}

// startNext starts the next transmission of an idle link if a queued packet fits into the
// buffer at the far end. It corresponds to sim.startSending. It returns the sender that
// injects its next packet now, or a negative number if no sender does.
func (p *lpSim) startNext(id int32, l *queuedLink, now engine.Time) int32 {
	index, ok := p.sim.selectQueue(id, l, now)
	if !ok {
		return -1
	}

	// Take the first packet of the queue, which becomes a descriptor if it is a record.
	q := &p.queues[l.firstQueue+index]
	k, bytes := q.head, uint64(q.headBytes)
	if uint8(index) < p.numDescriptorQueues(l) {
		r := &p.packets.slots[k]
		l.waitTime += now - r.time
		if q.head, q.headBytes = r.next, r.nextBytes; k == q.tail {
			l.readyQueues &^= 1 << index
		}
	} else {
		r := p.records.first(&q.recordQueue)
		l.waitTime += now - r.time
		k = p.packets.alloc(r, unsetChannel)
		p.pop(l, q, index)
	}

	l.transmit(bytes, now)
	p.sendPacket(id, l, k)
	return originSender - l.current.origin // see originSender; sendPacket has set the origin
}

// endFlights removes the packets that have arrived at the far end of a link up to time
// now from its occupancy.
func (p *lpSim) endFlights(l *queuedLink, f *inFlight, now engine.Time) {
	for f.head != f.tail && *f.entry(f.head) <= now {
		f.head++
		l.occupancy--
	}
}

// applyCredits applies the credits that return to a link in the current window up to time
// now. It reports whether there were any.
func (p *lpSim) applyCredits(id int32, now engine.Time) bool {
	if p.nextCreditTime(id) > now {
		return false
	}
	for ; p.creditsApplied < len(p.pendingCredits) && p.pendingCredits[p.creditsApplied].time <= now; p.creditsApplied++ {
		c := &p.now.credits.items[p.pendingCredits[p.creditsApplied].index()]
		p.freeBytes[c.channel] += int64(c.bytes)
		c.bytes = 0 // applyLateCredits must not add them again
	}
	return true
}

// nextCreditTime returns the time of the next credit return to a link, or the time after
// the window if no credit returns.
func (p *lpSim) nextCreditTime(id int32) engine.Time {
	if p.creditsApplied < 0 {
		p.collectCredits(id)
	}
	if p.creditsApplied < len(p.pendingCredits) {
		return p.pendingCredits[p.creditsApplied].time
	}
	return p.lastTick + 1
}

// collectCredits sorts the credit returns to a link in the current window into
// pendingCredits.
func (p *lpSim) collectCredits(id int32) {
	credits, w := p.pendingCredits[:0], p.now
	for i := w.byLink[id].credit; i >= 0; i = w.credits.items[i].next {
		if c := &w.credits.items[i]; c.bytes > 0 {
			credits = insertSorted(credits, pendingEvent{time: c.time, sortKey: uint64(i)})
		}
	}
	p.pendingCredits, p.creditsApplied = sortPending(credits), 0
}

// collectArrivals returns the packets that arrive at a link up to lastTick, sorted. If
// the window was cut, later arrivals remain in the list of the link.
func (p *lpSim) collectArrivals(id int32) []pendingEvent {
	arrivals, w, later := p.pending[:0], p.now, int32(-1)
	for i := w.byLink[id].packet; i >= 0; {
		packet := &p.packets.slots[i]
		next := packet.next
		switch {
		case packet.time > p.lastTick:
			packet.next, later = later, i
		case isQueuedAtSource(packet.origin):
			// injectFromSource has stored the position in the order of injection.
			position := uint64(p.packets.injectTimes[i])
			arrivals = insertSorted(arrivals, pendingEvent{time: packet.time, sortKey: injectionBit | position<<32 | uint64(i)})
		default:
			arrivals = insertSorted(arrivals, pendingEvent{time: packet.time, sortKey: uint64(packet.origin)<<32 | uint64(i)})
		}
		i = next
	}
	w.byLink[id].packet = later
	p.pending = sortPending(arrivals)
	return p.pending
}

// index returns the slot of the packet, or the index of the credit return.
func (d pendingEvent) index() int32 { return int32(uint32(d.sortKey)) }

// before reports whether d precedes e.
func (d pendingEvent) before(e pendingEvent) bool {
	return d.time < e.time || d.time == e.time && d.sortKey < e.sortKey
}

// compare returns -1 or 1. No two events have the same key.
func (d pendingEvent) compare(e pendingEvent) int {
	if d.before(e) {
		return -1
	}
	return 1
}

// maxInsertionSort is the number of events up to which insertion sort is used. Up to
// then it is faster than slices.SortFunc, because the events are mostly in order.
const maxInsertionSort = 32

// insertSorted adds an event. While there are at most maxInsertionSort events, they are
// kept sorted.
func insertSorted(events []pendingEvent, d pendingEvent) []pendingEvent {
	events = append(events, d)
	k := len(events) - 1
	for ; k > 0 && k < maxInsertionSort && d.before(events[k-1]); k-- {
		events[k] = events[k-1]
	}
	events[k] = d
	return events
}

// sortPending sorts events that were added by insertSorted.
func sortPending(events []pendingEvent) []pendingEvent {
	if len(events) > maxInsertionSort {
		slices.SortFunc(events, pendingEvent.compare)
	}
	return events
}
