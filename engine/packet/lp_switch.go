package packet

// This file converts the state of queued links between the sequential event loop (sim)
// and the window-synchronised simulation (lpSim), which treats each link as a logical
// process (LP). Both represent the same packets and credits:
//
//	                    event loop                      windows
//	queued packet       record in a recordQueue         descriptor in a linked list
//	packet being sent   queuedLink.current, and an      descriptor among the arrivals at
//	                    event at the end of the         its next link, in the inbox of
//	                    transmission                    the window of its arrival
//	packet in flight    record in queuedLink.inFlight,  the same
//	                    and an event at its arrival
//	returning credit    record in queuedLink.credits    entry in the inbox of the window
//	                                                    of its return
//
// A credit is buffer space at the far end of a link. It returns to the link when a packet
// leaves that buffer. A record is a packet or a credit in the memory of a recordStore; a
// descriptor is a packet in the memory of descriptors. A window is a span of simulated
// time. An inbox (windowInbox) has the arrivals and credits of one upcoming window.
//
// The links are divided among workers. Each worker owns the queues, descriptors, records
// and inboxes of its links. Worker 0 uses the sim of the run itself, the others have
// copies. In the event loop, the run owns everything.

import (
	"cmp"
	"slices"

	"sim/engine"
)

// switchToWindows moves the state from the event loop to the windows. In the calendar,
// only the events of senders remain. It is called on worker 0.
func (p *lpSim) switchToWindows() {
	z := p.sim
	p.removeLinkEvents()
	if p.inFlight == nil {
		p.allocInboxes()
	}
	const firstWindow = 0
	p.workerGroup.startWindow(firstWindow, z.calendar.now+1)
	p.isFinished = false

	// Move returning credits, packets in flight, and packets being sent to the inboxes.
	// The events of links of other workers go to outboxes of worker 0.
	for i := range z.queued {
		l := &z.queued[i]
		l.awaitsCredit = false
		for ; l.credits.length > 0; z.records.removeFirst(&l.credits) {
			if c := z.records.first(&l.credits); c.time <= z.calendar.now {
				z.freeBytes[c.route] += int64(c.bytes)
			} else {
				p.sendCredit(int32(i), c.route, c.bytes, c.time)
			}
		}
		for ; l.inFlight.length > 0; z.records.removeFirst(&l.inFlight) {
			r := z.records.first(&l.inFlight)
			to, channel := z.paths.linkAfter(l.to, r.route)
			p.scheduleArrival(int32(i), p.packets.alloc(r, unsetChannel), r.origin, to, channel, r.time)
		}
		if l.state&stateSending != 0 {
			p.sendPacket(int32(i), l, p.packets.alloc(&l.current, unsetChannel))
		}
	}

	// Give the queues to the workers that own the links.
	z.windowsActive = true
	for _, q := range p.active[1:] {
		q.copySim(z)
		q.moveHostQueues(&z.records, &q.sim.records)
	}
	for _, q := range p.active {
		q.queueDescriptors(&z.records)
	}
}

// removeLinkEvents removes all events of links from the calendar. The events of senders
// remain, in their order.
func (p *lpSim) removeLinkEvents() {
	a := p.calendar
	senderEvents := p.scratch[:0]
	var times []engine.Time // indexed like senderEvents
	for _, head := range a.removeRuns() {
		for id := head; id >= 0; id = a.next[id] {
			if p.isSender(id) {
				senderEvents, times = append(senderEvents, id), append(times, a.runs[head].time)
			}
		}
	}

	for i, id := range senderEvents {
		a.schedule(id, times[i])
	}
	p.scratch = senderEvents
}

// allocInboxes allocates the inboxes of all workers. Their lists take their memory from
// the pools of their worker.
func (p *lpSim) allocInboxes() {
	p.inFlight = make([]inFlight, len(p.queued))
	for _, q := range p.all {
		for i := range q.windows {
			w := &q.windows[i]
			w.deliveries.pool, w.credits.pool = &q.arrivals, &q.credits
			w.byLink = slices.Repeat([]linkInbox{{-1, -1}}, len(p.queued))
			w.outboxes = make([]outbox, len(p.all))
			for k := range w.outboxes {
				w.outboxes[k].arrivals.pool, w.outboxes[k].credits.pool = &q.arrivals, &q.credits
			}
		}
	}
}

// copySim makes the sim of a worker other than worker 0 a copy of z. The copy shares the
// links, queues, paths and sources with z. It has its own records and statistics, because
// all workers change them at the same time.
func (p *lpSim) copySim(z *sim) {
	records := p.sim.records
	*p.sim = *z
	p.sim.records, p.sim.stats, p.sim.lps = records, Stats{}, p
}

// queueDescriptors moves the packets queued at the owned links from records to
// descriptors. It affects only the queues that are lists of descriptors in windows; see
// numDescriptorQueues. The freed chunks of from are available to other queues.
func (p *lpSim) queueDescriptors(from *recordStore) {
	for id := p.from; id < p.end; id++ {
		l := &p.queued[id]
		l.markEmpty(p.numDescriptorQueues(l)) // enqueueDescriptor marks them again
		for index := range p.numDescriptorQueues(l) {
			q := &p.queues[l.firstQueue+int32(index)].recordQueue
			queued := *q
			*q = recordQueue{}
			for ; queued.length > 0; from.removeFirst(&queued) {
				p.enqueueDescriptor(l, index, p.packets.alloc(from.first(&queued), unsetChannel))
			}
			from.releaseIdleChunk(&queued) // an empty recordQueue keeps a chunk
		}
	}
}

// restoreRecords moves the packets queued at the owned links from descriptors back to the
// records of z. The slots of the descriptors are not released one by one; switchToEvents
// discards all descriptors.
func (p *lpSim) restoreRecords(z *sim) {
	for id := p.from; id < p.end; id++ {
		l := &z.queued[id]
		ready := l.readyQueues
		l.markEmpty(p.numDescriptorQueues(l)) // push marks them again
		for index := range p.numDescriptorQueues(l) {
			q := &z.queues[l.firstQueue+int32(index)].recordQueue
			slot, last := q.head, q.tail
			*q = recordQueue{}
			if ready>>index&1 == 0 {
				continue // the queue is empty; slot and last are not valid
			}
			for {
				r := p.packets.record(slot)
				z.push(l, index, &r, r.time)
				if slot == last {
					break
				}
				slot = p.packets.slots[slot].next
			}
		}
	}
}

// markEmpty marks the first n queues of a link as empty.
func (l *queuedLink) markEmpty(n uint8) {
	l.readyQueues = uint32(clearLowBits(uint64(l.readyQueues), uint(n)))
}

// moveHostQueues moves the queues of the owned links that are not lists of descriptors
// from one record store to another. These are the queues of packets at their source.
func (p *lpSim) moveHostQueues(from, to *recordStore) {
	for i := p.from; i < p.end; i++ {
		l := &p.queued[i]
		for index := p.numDescriptorQueues(l); index < l.numQueues; index++ {
			from.moveTo(&p.queues[l.firstQueue+int32(index)].recordQueue, to)
		}
	}
}

// switchToEvents moves the state back to the event loop. All events up to and including
// time simulated have been simulated. It is called on worker 0.
//
// The two simulators schedule the results of a transmission at different times. A window
// schedules the arrival of the packet and the credit return to the previous link at the
// start of the transmission. The event loop schedules them at its end. For each
// transmission that has not ended, switchToEvents therefore undoes what sendPacket has
// done: it drops the credit, and its packet becomes the current packet of its link again.
func (p *lpSim) switchToEvents(simulated engine.Time) {
	z := p.sim
	z.windowsActive = false
	for _, q := range p.active[1:] {
		z.stats.add(&q.sim.stats)
		q.moveHostQueues(&q.sim.records, &z.records)
	}
	for _, q := range p.active {
		q.restoreRecords(z)
	}

	// Restore credits and transmissions, and collect the packets being sent or in flight.
	var packets []record
	for _, q := range p.active {
		for k := range q.windows {
			q.drainOutboxes(k)
		}
		for id := q.from; id < q.end; id++ {
			packets = q.collectPackets(packets, id)
			q.restoreCredits(z, id, simulated)
			p.restoreTransmission(id, simulated)
		}
	}
	for _, q := range p.active { // packets on the last link of their path
		for k := range q.windows {
			for i := range q.windows[k].deliveries.elements() {
				packets = append(packets, q.windows[k].deliveries.items[i].record)
			}
		}
	}
	p.restorePackets(packets, simulated)

	for _, q := range p.active {
		for k := range q.windows {
			q.windows[k].reset(q.from, q.end)
		}
		q.packets, q.arrivals, q.credits = descriptors{freeSlot: -1}, pool[packetArrival]{}, pool[creditReturn]{}
	}
}

// collectPackets appends the packets in the inboxes of owned link id to packets. They are
// being sent to that link or in flight to it.
func (p *lpSim) collectPackets(packets []record, id int32) []record {
	for k := range p.windows {
		for i := p.windows[k].byLink[id].packet; i >= 0; i = p.packets.slots[i].next {
			packets = append(packets, p.packets.record(i))
		}
	}
	return packets
}

// restoreCredits moves the credit returns to owned link id from the inboxes to z, and
// empties its inboxes. Credits that have returned already become free buffer space.
// Credits for transmissions that have not ended are dropped.
func (p *lpSim) restoreCredits(z *sim, id int32, simulated engine.Time) {
	var returning []creditReturn
	for k := range p.windows {
		w := &p.windows[k]
		for i := w.byLink[id].credit; i >= 0; i = w.credits.items[i].next {
			c := w.credits.items[i]
			transmissionEnd := c.time - p.latencies[id] // the credit takes one latency to return
			switch {
			case c.time <= simulated:
				z.freeBytes[c.channel] += int64(c.bytes)
			case transmissionEnd <= simulated:
				returning = append(returning, c)
			}
		}
		w.byLink[id] = linkInbox{-1, -1}
	}

	slices.SortFunc(returning, func(a, b creditReturn) int { return cmp.Compare(a.time, b.time) })
	for _, c := range returning {
		*z.records.add(&z.queued[id].credits) = record{time: c.time, route: c.channel, bytes: c.bytes}
	}
}

// restoreTransmission restores the counts and events of link id, apart from its packets.
func (p *lpSim) restoreTransmission(id int32, simulated engine.Time) {
	z, l := p.sim, &p.queued[id]

	// The occupancy still counts packets that have arrived since the last event of the
	// link. Afterwards the arrival times are not needed: restorePackets adds the packets
	// that are still in flight to queuedLink.inFlight.
	p.endFlights(l, &p.inFlight[id], simulated)
	p.inFlight[id].clear()

	if l.state&stateSending != 0 {
		if l.sendEnd <= simulated {
			l.state &^= stateSending
			z.stats.End = max(z.stats.End, l.sendEnd)
		} else {
			z.calendar.schedule(z.sendEndID(id), l.sendEnd)
			p.sent-- // if windows continue the transmission, sendPacket counts it again
		}
	}

	if l.state == 0 && l.numWaiting > 0 {
		z.awaitCredit(id, l)
	}
}

// restorePackets adds packets that are being sent or in flight to their links.
//
// In an inbox, a packet has its state after its arrival. Its origin is the channel over
// which it is sent, and its route is one step further. The event loop advances the route
// at the arrival.
func (p *lpSim) restorePackets(packets []record, simulated engine.Time) {
	z := p.sim
	slices.SortFunc(packets, func(a, b record) int { return cmp.Compare(a.time, b.time) })
	for _, r := range packets {
		id := z.channelLink[r.origin]
		l := &z.queued[id]
		r.route--

		// The event loop sets the origin of a packet and counts the packet when its
		// transmission ends. Until then the origin is the channel whose buffer the packet
		// leaves, which sendPacket has stored in current.
		if transmissionEnd := r.time - p.latencies[id]; transmissionEnd > simulated {
			r.origin = l.current.origin
			l.current = r
			l.packets--
			l.bytes -= int64(r.bytes)
			continue
		}

		*z.records.add(&l.inFlight) = r
		if l.inFlight.length == 1 {
			z.calendar.schedule(z.arrivalID(id), r.time)
		}
	}
}
