package packet

import (
	"cmp"
	"slices"

	"sim/engine"
)

// switchToWindows moves the state from the event loop to the inboxes of upcoming windows.
// In the calendar, only the events of senders remain.
func (p *lpSim) switchToWindows() {
	z := p.sim
	p.scratch = p.scratch[:0]
	var times []engine.Time
	for _, k := range z.calendar.removeRuns() {
		t := z.calendar.runs[k].time
		for ; k >= 0; k = z.calendar.next[k] {
			if k >= z.senderBase {
				p.scratch, times = append(p.scratch, k), append(times, t)
			}
		}
	}

	for i, k := range p.scratch {
		z.calendar.schedule(k, times[i])
	}

	if p.inFlight == nil {
		p.inFlight = make([]inFlight, len(z.queued))
		for _, q := range p.all {
			for i := range q.windows {
				w := &q.windows[i]
				w.deliveries.pool, w.credits.pool = &q.arrivals, &q.credits
				w.byLink = slices.Repeat([]linkInbox{{-1, -1}}, len(z.queued))
				w.outboxes = make([]outbox, len(p.all))
				for k := range w.outboxes {
					w.outboxes[k].arrivals.pool, w.outboxes[k].credits.pool = &q.arrivals, &q.credits
				}
			}
		}
	}

	p.workerGroup.startWindow(0, z.calendar.now+1)
	p.isFinished = false

	// Move returning credits, packets in flight, and packets being sent to the inboxes.
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
			p.scheduleArrival(int32(i), p.packets.alloc(r, 0), r.origin, to, channel, r.time)
		}
		if l.state&stateSending != 0 {
			p.sendPacket(int32(i), l, p.packets.alloc(&l.current, 0))
		}
	}

	z.windowsActive = true
	for _, q := range p.active[1:] {
		c := q.records
		*q.sim = *z
		q.sim.records, q.sim.stats, q.sim.lps = c, Stats{}, q
		q.moveHostQueues(&z.records, &q.sim.records)
	}

	for _, q := range p.active {
		q.queueDescriptors(&z.records)
	}
}

// queueDescriptors moves the packets queued at the owned links from records to
// descriptors.
func (p *lpSim) queueDescriptors(from *recordStore) {
	for i := p.from; i < p.end; i++ {
		l := &p.queued[i]
		l.readyQueues = l.readyQueues >> p.numDescriptorQueues(l) << p.numDescriptorQueues(l)
		for index := range p.numDescriptorQueues(l) {
			f := &p.queues[l.firstQueue+int32(index)].recordQueue
			old := *f
			for *f = (recordQueue{}); old.length > 0; from.removeFirst(&old) {
				p.enqueueDescriptor(l, index, p.packets.alloc(from.first(&old), 0))
			}
			from.releaseIdleChunk(&old)
		}
	}
}

// restoreRecords moves the packets queued at the owned links from descriptors back to the
// records of z.
func (p *lpSim) restoreRecords(z *sim) {
	for i := p.from; i < p.end; i++ {
		l := &z.queued[i]
		ready := l.readyQueues
		l.readyQueues = l.readyQueues >> p.numDescriptorQueues(l) << p.numDescriptorQueues(l)
		for index := range p.numDescriptorQueues(l) {
			f := &z.queues[l.firstQueue+int32(index)].recordQueue
			old, hasMore := *f, ready>>index&1 != 0
			for *f = (recordQueue{}); hasMore; old.head = p.packets.slots[old.head].next {
				r := p.packets.record(old.head)
				z.push(l, index, &r, r.time)
				hasMore = old.head != old.tail
			}
		}
	}
}

// moveHostQueues moves the queues of the owned links that are not lists of descriptors
// from one record store to another.
func (p *lpSim) moveHostQueues(from, to *recordStore) {
	for i := p.from; i < p.end; i++ {
		l := &p.queued[i]
		for index := p.numDescriptorQueues(l); index < l.numQueues; index++ {
			from.moveTo(&p.queues[l.firstQueue+int32(index)].recordQueue, to)
		}
	}
}

// switchToEvents moves the state back to the event loop. All events up to and including
// time simulated have been simulated.
//
// A window schedules the results of a transmission at its start; the event loop schedules
// them at its end and at the arrival. Credits for a transmission that has not ended are
// therefore dropped, and its packet becomes the current packet of its link again.
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

	var packets []record
	var credits []creditReturn
	links := int32(len(z.queued))

	// Collect the credits and packets in the inboxes of each link.
	for id := range links {
		l, q := &z.queued[id], p.active[p.ownerOf(id)]
		if id == q.from {
			for k := range q.windows {
				q.drainOutboxes(k)
			}
		}
		for k := range q.windows {
			w := &q.windows[k]
			for i := w.byLink[id].credit; i >= 0; i = w.credits.items[i].next {
				switch c := w.credits.items[i]; {
				case c.time <= simulated:
					z.freeBytes[c.channel] += int64(c.bytes)
				// Otherwise the transmission that frees the space has not ended.
				case c.time-p.latencies[id] <= simulated:
					credits = append(credits, c)
				}
			}
			for i := w.byLink[id].packet; i >= 0; i = q.packets.slots[i].next {
				packets = append(packets, q.packets.record(i))
			}
			w.byLink[id] = linkInbox{-1, -1}
		}

		slices.SortFunc(credits, func(a, b creditReturn) int { return cmp.Compare(a.time, b.time) })
		for _, c := range credits {
			slot := p.records.add(&l.credits)
			*slot = record{time: c.time, route: c.channel, bytes: c.bytes}
		}
		credits = credits[:0]

		p.endFlights(l, &p.inFlight[id], simulated)
		p.inFlight[id].head = p.inFlight[id].tail

		switch {
		case l.state&stateSending == 0:
		case l.sendEnd <= simulated:
			l.state &^= stateSending
			z.stats.End = max(z.stats.End, l.sendEnd)
		default:
			z.calendar.schedule(id, l.sendEnd)
			p.sent--
		}

		if l.state == 0 && l.numWaiting > 0 {
			z.awaitCredit(id, l)
		}
	}

	// Collect the packets that are on their last link.
	for _, q := range p.active {
		for k := range q.windows {
			for i := range q.windows[k].deliveries.elements() {
				packets = append(packets, q.windows[k].deliveries.items[i].record)
			}
		}
	}

	// A packet whose transmission has not ended becomes the current packet of its link
	// again. All others are in flight.
	slices.SortFunc(packets, func(a, b record) int { return cmp.Compare(a.time, b.time) })
	for i := range packets {
		id := z.channelLink[packets[i].origin]
		l := &z.queued[id]
		packets[i].route--
		if packets[i].time-p.latencies[id] > simulated {
			packets[i].origin = l.current.origin
			l.current = packets[i]
			l.packets--
			l.bytes -= int64(l.current.bytes)
			continue
		}

		slot := z.records.add(&l.inFlight)
		if *slot = packets[i]; l.inFlight.length == 1 {
			z.calendar.schedule(links+id, slot.time)
		}
	}

	for _, q := range p.active {
		for k := range q.windows {
			w := &q.windows[k]
			w.reset(q.from, q.end)
		}
		q.packets, q.arrivals, q.credits = descriptors{freeSlot: -1}, pool[packetArrival]{}, pool[creditReturn]{}
	}
}
