package packet

// This file simulates one component of links in one window; componentSim calls it for each
// component. A component is a ring of links, each followed by the next one, or a single
// link. A window is a span of simulated time. It has at most maxKeyTimes different event
// times, which are numbered by time indices; see componentWindow.
//
// The events of a component are arrivals at its links: packets from other components and
// from timed sources, which are in its mailboxes, packets from the previous link of the
// ring, and events of greedy sources. Links have unbounded first-in, first-out queues. So
// when a packet arrives at a link, the time at which it leaves at the far end is known.
// This departure is the arrival at the next link. Packets that depart after the window
// are stored in the buffer of their link.
//
// A link is identified by its index in the component while the component is simulated,
// and otherwise by its location; see locationOf.

import (
	"runtime"
	"slices"
	"unsafe"

	"sim/engine"
)

// componentLink is the state of a link. Its next event, the departure of its first packet,
// is in componentSim.headArrival and headKey.
type componentLink struct {
	busyUntil, waitTime engine.Time    // see scheduledLink
	buffer              []queuedPacket // circular buffer of the packets that depart after the window
	head, tail          uint64         // number of packets that have departed, and that have been enqueued
	sendTime, latency   engine.Time
	arrivals            []engine.Time // indexed like buffer: arrival at the far end; nil without latencies
	maxOccupancy        int32
	firstPort           int32 // index in componentSim.linkByPort of port 0 at its far end
	timesPerPacket      int32 // time indices per transmission: one sendTime later, the index is this much higher
}

// queuedPacket is a packet that is queued at a link or in flight on it.
type queuedPacket struct {
	injectTime engine.Time
	route      int32 // index in pathTable.steps of the step after this link
	nextLink   int32 // location of its next link, or pathEnd
}

// arrivalEvent is the arrival of a packet at a link or at its destination, or an event of
// a greedy source at its link.
//
// It fills half a cache line, so a field has two uses.
type arrivalEvent struct {
	eventKey
	injectTime engine.Time
	route      int32 // index of the packet's step over the link; or -1 minus an index in componentSim.senders
	// nextOrSlot is the slot of the event (see slotOf) until the event is inserted into
	// the list of its slot. Then it is the next event of the list, as an index in
	// componentWorker.arrivals, or -1 at the end.
	nextOrSlot int32
}

// pendingSender is the next event of an injector.
type pendingSender struct {
	eventKey
	time     engine.Time // engine.Never without an event
	link     int32       // location of the link to which a greedy injector sends; otherwise -1
	injector int32
}

// componentWorker is a goroutine that simulates components.
//
// Its arrays are for the component being simulated. They are indexed by the index of the
// link in the component, or by slot (link and time index; see slotOf).
type componentWorker struct {
	*componentSim     // shared by all workers: the run, its links and the window
	index         int // in componentSim.workers
	stats         Stats
	outboxes      []mailbox          // 0: delivered packets; 1+k: events for component k; see sendTo
	freeBlocks    []*mailboxBlock    // empty blocks
	arrivals      []arrivalEvent     // events at the links of the component
	freeBuffers   [32][]packetBuffer // unused packet buffers, indexed by the binary logarithm of their size

	// listHead, by slot: first event of the list of arrivals, as an index in arrivals; -1
	// if it is empty.
	listHead [maxComponentLinks * maxTimes]int32
	// ringArrival, by slot: arrival over the previous link of the ring. It is not in the
	// list. There is at most one, because a link sends one packet at a time.
	ringArrival [maxComponentLinks * maxTimes]arrivalEvent
	listTimes   [maxComponentLinks]timeSet // by link: times with a list that is not empty
	ringTimes   [maxComponentLinks]timeSet // by link: times with a valid entry in ringArrival

	// departureKey, by slot: key of the packet that departs, that is, arrives at the far
	// end of the link.
	departureKey   [maxComponentLinks * maxTimes]eventKey
	departureTimes [maxComponentLinks]timeSet // by link: times with a valid entry in departureKey

	// occupancy, by link: packets on the link at the start of the window, plus those
	// enqueued since.
	occupancy [maxComponentLinks]int32
	// lastDeparture, by link: time index of the departure of the last packet; -1 if no
	// packet is on the link or has been on it in the window.
	lastDeparture [maxComponentLinks]int32
	// simulatedTimes, by link: number of time indices that have been simulated. These are
	// the lowest ones.
	simulatedTimes [maxComponentLinks]int32

	pending         eventList     // events pending after the window
	earliestPending engine.Time   // time of the earliest pending event
	pendingResidues []engine.Time // residues of their times modulo the time unit
	lastPending     engine.Time   // time of the event added last
	memoryBytes     int64         // memory of packet buffers and mailbox blocks
	numArrivals     int64         // see componentWindow.numArrivals
	numComparisons  int64         // see componentWindow.numComparisons
}

// minComponentsPerWorker is the minimum number of components per worker and level, on
// average. With fewer components, workers would often wait for the last one of a level.
const minComponentsPerWorker = 8

// newWorkers creates the workers: as many as Options.Workers, the processors and
// minComponentsPerWorker allow.
func (p *componentSim) newWorkers() {
	n := max(1, min(p.options.Workers, len(p.componentList)))
	if !p.options.forceParallel {
		n = max(1, min(n, runtime.GOMAXPROCS(0), len(p.componentList)/len(p.levelStart)/minComponentsPerWorker))
	}
	p.workers = make([]componentWorker, n)
	p.barrier = newBarrier(len(p.workers))
	for i := range p.workers {
		k := &p.workers[i]
		k.componentSim, k.outboxes = p, make([]mailbox, 1+len(p.componentList))
		k.earliestPending, k.lastPending, k.index = engine.Never, -1, i
		for j := range k.listHead {
			k.listHead[j] = -1
		}
	}
}

// activeComponent is the component that a worker simulates, with its part of the slices
// of componentSim.
type activeComponent struct {
	*linkComponent       // its ranges of links and senders
	number         int32 // index in componentSim.componentList
	links          []componentLink
	headArrival    []engine.Time
	headKey        []eventKey
}

// simulateComponent simulates a component in the window.
func (k *componentWorker) simulateComponent(number int32) {
	p := k.componentSim
	q := activeComponent{linkComponent: &p.componentList[number], number: number}
	q.links, q.headArrival, q.headKey = p.links[q.from:q.end], p.headArrival[q.from:q.end], p.headKey[q.from:q.end]

	// Collect the arrivals that other components and timed sources have sent.
	k.arrivals = k.arrivals[:0]
	for i := range p.workers {
		k.drain(&p.workers[i].outboxes[1+number], func(events []arrivalEvent) { k.arrivals = append(k.arrivals, events...) })
	}
	k.numArrivals += int64(len(k.arrivals))

	// Prefetch the memory that injections of greedy sources read. prefetchComponent has
	// prefetched the injectors themselves.
	for i := q.firstSender; i < q.endSender && hasPrefetch; i++ {
		if m := &p.injectors[p.senders[i].injector]; m.process == Greedy && m.numSent < m.total {
			m.prefetchNext(&p.paths)
		}
	}

	k.simulateTimes(&q)

	// Count the packets that have reached their destination.
	k.drain(&k.outboxes[0], func(events []arrivalEvent) {
		for i := range events {
			c := &events[i]
			k.stats.countDelivery(p.sim, c.injectTime, p.times[slotTime(c.nextOrSlot)], int64(p.packetBytes))
		}
	})

	// Collect the events that remain pending.
	for index, t := range q.headArrival {
		if t < engine.Never {
			k.addPending(q.headKey[index], t, q.from+int32(index))
		}
	}

	for i := q.firstSender; i < q.endSender; i++ {
		if w := &p.senders[i]; w.time < engine.Never {
			k.addPending(w.eventKey, w.time, -1-i)
		}
	}
}

// simulateTimes simulates the events of a component in the window.
//
// Events at a link depend on the earlier departures of the previous link of the ring. The
// links are visited round-robin, and each is simulated up to the time until which the
// departures of its predecessor are known; see knownDepartures.
func (k *componentWorker) simulateTimes(q *activeComponent) {
	p := k.componentSim

	// The arrivals are mostly sorted. In reverse order, each one is inserted at the front
	// of its list.
	for i := len(k.arrivals) - 1; i >= 0; i-- {
		k.insertArrival(int32(i))
	}

	for i := range q.links {
		k.startLink(q, i)
	}

	for i := q.firstSender; i < q.endSender; i++ {
		if w := &p.senders[i]; w.time < p.end {
			k.addSenderEvent(i, p.timeIndex(w.time))
		}
	}

	// Each round advances some link, because a transmission takes at least one time index.
	for remaining, numTimes := len(q.links), int32(len(p.times)); remaining > 0; {
		for i := range q.links {
			limit := numTimes
			if q.isRing {
				previous := i - 1
				if previous < 0 {
					previous = len(q.links) - 1
				}
				limit = min(limit, k.knownDepartures(q, previous))
			}

			if k.simulatedTimes[i] < limit {
				k.simulateLink(q, i, int(limit))
				if k.simulatedTimes[i] = limit; limit == numTimes {
					remaining--
				}
			}
		}
	}

	departures := timeSet(0)
	for i := range q.links {
		departures |= k.departureTimes[i]
	}
	if last := departures.last(); last >= 0 {
		k.stats.End = max(k.stats.End, p.times[last])
	}
}

// knownDepartures returns the time index before which all departures of link i are known.
// These depend on two facts about the next packet that arrives at the link. First, it
// arrives at a time index that has not been simulated, and its transmission takes
// timesPerPacket time indices. Second, the queue is first-in, first-out, so the packet
// departs at least one transmission after the last packet. The later bound holds.
func (k *componentWorker) knownDepartures(q *activeComponent, i int) int32 {
	return max(k.simulatedTimes[i], k.lastDeparture[i]) + q.links[i].timesPerPacket
}

// prefetchComponent prefetches the memory that simulating a component accesses.
func (k *componentWorker) prefetchComponent(q *linkComponent) {
	if !hasPrefetch {
		return
	}
	for i := q.from; i < q.end; i++ {
		l := &k.links[i]
		if len(l.buffer) == 0 {
			continue
		}
		// Prefetch as many packets as can arrive and depart in the window.
		const packetsPerLine = 4 // a cache line has 64 bytes
		maxPackets := uint64(len(k.times)) / uint64(l.timesPerPacket)
		for offset := uint64(0); offset <= maxPackets; offset += packetsPerLine {
			prefetch(unsafe.Pointer(&l.buffer[l.bufferIndex(l.head+offset)]))
			if l.tail-l.head > maxPackets {
				prefetch(unsafe.Pointer(&l.buffer[l.bufferIndex(l.tail+offset)]))
			}
		}
	}

	// An injector fills several cache lines.
	for i := q.firstSender; i < q.endSender; i++ {
		m := &k.injectors[k.senders[i].injector]
		prefetch(unsafe.Pointer(&m.numSent))
		prefetch(unsafe.Pointer(&m.shuffleKey))
		prefetch(unsafe.Pointer(&m.rng))
		prefetch(unsafe.Pointer(m))
	}
}

// addPending records an event after the window. id is as in keyedEvent.
func (k *componentWorker) addPending(key eventKey, time engine.Time, id int32) {
	k.pending.events = append(k.pending.events, keyedEvent{eventKey: key, id: id})
	if k.earliestPending = min(k.earliestPending, time); time != k.lastPending {
		k.lastPending = time
		if r := time % k.timeUnit; len(k.pendingResidues) <= maxPhases && !slices.Contains(k.pendingResidues, r) {
			k.pendingResidues = append(k.pendingResidues, r)
		}
	}
}

// addSenderEvent adds the event of sender i at time index t to the arrivals at its link.
func (k *componentWorker) addSenderEvent(i int32, t int) {
	w := &k.senders[i]
	slot := slotOf(int(locationIndex(w.link)), t)
	k.arrivals = append(k.arrivals, arrivalEvent{eventKey: w.eventKey, route: -1 - i, nextOrSlot: int32(slot)})
	k.insertArrival(int32(len(k.arrivals) - 1))
}

// insertArrival inserts arrival i into the list of its slot, ordered by key.
func (k *componentWorker) insertArrival(i int32) {
	arrivals := k.arrivals
	c := &arrivals[i]
	slot := c.nextOrSlot
	k.listTimes[slotLink(slot)].add(slotTime(slot))

	next := &k.listHead[slot] // the place in the list: the entry that refers to its next event
	for *next >= 0 && arrivals[*next].before(&c.eventKey) != 0 {
		next = &arrivals[*next].nextOrSlot
		k.numComparisons++
	}
	c.nextOrSlot, *next = *next, i
}

// afterWindow is a time index that represents all times after the window.
const afterWindow = maxTimes

// startLink prepares link i for the window. The packets that are on the link and arrive
// at its far end within the window depart.
func (k *componentWorker) startLink(q *activeComponent, i int) {
	p := k.componentSim
	l := &q.links[i]
	k.simulatedTimes[i], k.departureTimes[i], k.lastDeparture[i] = 0, 0, -1
	k.occupancy[i] = int32(l.tail - l.head)

	arrival, key := q.headArrival[i], q.headKey[i]
	for arrival < p.end {
		t := p.timeIndex(arrival)
		r := &l.buffer[l.bufferIndex(l.head)]
		k.depart(q, i, t, r.nextLink, arrivalEvent{eventKey: key, injectTime: r.injectTime, route: r.route})

		// The departure schedules the departure of the next packet.
		key = p.childKey(key, t)
		if l.head++; l.head == l.tail {
			arrival = engine.Never
		} else if p.hasLatency {
			arrival = l.arrivals[l.bufferIndex(l.head)]
		} else {
			arrival += l.sendTime
		}
	}

	if q.headArrival[i], q.headKey[i] = arrival, key; l.head < l.tail {
		k.lastDeparture[i] = afterWindow
	}
}

// depart moves a packet from the end of link i to its next link at time index t. next is
// the location of that link, or pathEnd. c is the packet and its key; c.nextOrSlot is set
// here. Within the component, the next link is always the next one of the ring.
func (k *componentWorker) depart(q *activeComponent, i, t int, next int32, c arrivalEvent) {
	k.departureKey[slotOf(i, t)] = c.eventKey
	k.departureTimes[i].add(t)
	k.lastDeparture[i] = int32(t)

	if locationComponent(next) != q.number {
		k.sendTo(next, t, c)
		return
	}

	following := i + 1
	if following == len(q.links) {
		following = 0
	}
	k.ringArrival[slotOf(following, t)] = c
	k.ringTimes[following].add(t)
}

// sendTo adds an arrival at another component to a mailbox. location is the link, or
// pathEnd for a packet that has reached its destination. Outbox 0 is for the latter,
// because the component of pathEnd is -1.
func (k *componentWorker) sendTo(location int32, t int, c arrivalEvent) {
	c.nextOrSlot = int32(slotOf(int(locationIndex(location)), t))
	k.send(&k.outboxes[1+locationComponent(location)], c)
}

// simulateLink simulates the arrivals at link i with a time index below limit. All
// departures of the previous link of the ring before that time must be known.
func (k *componentWorker) simulateLink(q *activeComponent, i, limit int) {
	l := &q.links[i]
	for {
		listTimes, ringTimes := k.listTimes[i], k.ringTimes[i]
		remaining := (listTimes | ringTimes).before(limit)
		if remaining == 0 {
			break
		}

		t := remaining.first()
		k.ringTimes[i].remove(t)
		ringArrival := &k.ringArrival[slotOf(i, t)]

		// A single arrival over the ring, the most frequent case, needs no list.
		if !listTimes.contains(t) {
			k.schedulePacket(q, l, i, t, ringArrival)
			continue
		}

		if ringTimes.contains(t) {
			ringArrival.nextOrSlot = int32(slotOf(i, t))
			k.arrivals = append(k.arrivals, *ringArrival)
			k.insertArrival(int32(len(k.arrivals) - 1))
		}
		k.simulateList(q, l, i, t)
		k.listTimes[i].remove(t)
	}
}

// simulateList simulates the arrivals at link i at time index t, which are in a list.
func (k *componentWorker) simulateList(q *activeComponent, l *componentLink, i, t int) {
	head := &k.listHead[slotOf(i, t)]
	for index := *head; index >= 0; {
		c := &k.arrivals[index]
		if c.route >= 0 {
			k.schedulePacket(q, l, i, t, c)
		} else {
			k.injectGreedy(q, l, i, t, *c)
			// injectGreedy may have reallocated arrivals.
			c = &k.arrivals[index]
		}
		index = c.nextOrSlot
	}
	*head = -1
}

// schedulePacket enqueues the packet of arrival c at link i at time index t and returns
// the start of its transmission. If the packet arrives at the far end within the window,
// it departs. Otherwise it is stored in the buffer of the link.
func (k *componentWorker) schedulePacket(q *activeComponent, l *componentLink, i, t int, c *arrivalEvent) engine.Time {
	p := k.componentSim
	now := p.times[t]
	start := max(l.busyUntil, now)
	l.waitTime += start - now
	l.busyUntil = start + l.sendTime
	arrival := l.busyUntil + l.latency // at the far end

	next := k.linkAfter(l, c.route)
	queued := queuedPacket{injectTime: c.injectTime, route: c.route + 1, nextLink: next}
	departures := k.departureTimes[i]
	k.occupancy[i]++

	// A packet that arrives at the far end at this very time has left the link only if it
	// precedes c.
	if occupancy := k.occupancy[i] - int32(departures.before(t).size()); occupancy > l.maxOccupancy {
		if !departures.contains(t) || c.before(&k.departureKey[slotOf(i, t)]) != 0 {
			l.maxOccupancy = occupancy
		} else {
			l.maxOccupancy = max(l.maxOccupancy, occupancy-1)
		}
	}

	// The packet stays behind a packet that departs after the window. Its own departure is
	// not a pending event yet, so it has no key.
	lastDeparture := int(k.lastDeparture[i])
	if lastDeparture == afterWindow {
		k.storePacket(l, queued, arrival)
		return start
	}

	// In the event loop, the arrival of this packet at the far end is scheduled when the
	// previous packet leaves the link. If the link is empty, the arrival is the second
	// event that c schedules.
	var key eventKey
	if lastDeparture > t || lastDeparture == t && c.before(&k.departureKey[slotOf(i, t)]) != 0 {
		key = p.childKey(k.departureKey[slotOf(i, lastDeparture)], lastDeparture)
	} else {
		key = p.secondChildKey(c.eventKey, t)
	}

	if arrival >= p.end {
		k.lastDeparture[i] = afterWindow
		q.headArrival[i], q.headKey[i] = arrival, key
		k.storePacket(l, queued, arrival)
		return start
	}

	// Without latencies, the departure is one transmission after the start. Otherwise its
	// time index must be searched.
	departure := max(lastDeparture, t) + int(l.timesPerPacket)
	if p.hasLatency {
		departure = p.timeIndex(arrival)
	}
	l.head++
	l.tail++
	k.depart(q, i, departure, next, arrivalEvent{eventKey: key, injectTime: c.injectTime, route: c.route + 1})
	return start
}

// linkAfter returns the location of the link that a packet takes after link l, or
// pathEnd. route is the index of its step over l.
func (k *componentWorker) linkAfter(l *componentLink, route int32) int32 {
	if s := k.paths.steps[route+1]; s != engine.Arrived {
		return k.linkByPort[int(l.firstPort)+s.Port()]
	}
	return pathEnd
}

// injectGreedy simulates the event c of a greedy source. It injects a packet at link i at
// time index t, and schedules the next event of the source for the start of the
// transmission.
//
// c is a copy of the event. It becomes the arrival of the packet, which has the same key:
// the event loop enqueues the packet within the event.
func (k *componentWorker) injectGreedy(q *activeComponent, l *componentLink, i, t int, c arrivalEvent) {
	id := -1 - c.route
	w := &k.senders[id]
	w.time = engine.Never
	flow, bytes, _, more := k.nextPacket(w.injector)
	if bytes == 0 { // the source has no packet left
		return
	}

	now := k.times[t]
	k.stats.End = max(k.stats.End, now)
	k.stats.countInjection(k.sim, now)
	c.injectTime, c.route = now, k.paths.choosePath(flow)
	start := k.schedulePacket(q, l, i, t, &c)

	if !more {
		return
	}
	k.injectors[w.injector].prefetchNext(&k.paths)

	// If c itself was scheduled at this time, the upper bit of this time is used; see
	// "Greedy sources" in componentWindow.
	bit := k.keyBit[t]
	if w.scheduleTimes&bit != 0 {
		bit <<= 1
	}
	w.scheduleTimes |= bit

	if w.time = start; start == now {
		k.addSenderEvent(id, t)
	} else if start < k.end {
		k.addSenderEvent(id, k.timeIndex(start))
	}
}
