package packet

import (
	"math/bits"
	"runtime"
	"slices"
	"unsafe"

	"sim/engine"
)

// componentLink is the state of a link. Its next event is in componentSim.headArrival and
// headKey.
type componentLink struct {
	busyUntil, waitTime engine.Time    // see scheduledLink
	buffer              []queuedPacket // ring buffer of packets that arrive after the window
	head, tail          uint64         // number of packets that have arrived, and that have been enqueued
	sendTime, latency   engine.Time
	arrivals            []engine.Time // indexed like ring: arrival at the far end; nil without latencies
	maxOccupancy        int32
	firstPort           int32 // index in componentSim.linkByPort of port 0 at its far end
	timesPerPacket      int32 // number of window times per transmission
}

// queuedPacket is a packet that is queued at a link or in flight on it.
type queuedPacket struct {
	injectTime engine.Time
	route      int32 // index of its next step
	nextLink   int32 // location of its next link, or pathEnd
}

// arrivalEvent is the arrival of a packet at a link or at its destination, or an event of
// a greedy source at its link.
type arrivalEvent struct {
	eventKey
	injectTime engine.Time
	route      int32 // index of the packet's step; or -1 minus an index in componentSim.senders
	// nextOrSlot is the next event of its list. Before the event is in a list, it is its link
	// index<<timeBits | time index.
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
// link in the component, or by link<<timeBits | time. Bit sets of times have bit t for
// componentWindow.times[t].
type componentWorker struct {
	*componentSim
	number      uint32 // index in componentSim.workers plus 1
	stats       Stats
	outboxes    []mailbox          // 0: delivered packets; 1+k: events for component k
	freeBlocks  []*mailboxBlock    // empty blocks
	arrivals    []arrivalEvent     // events at the links of the component
	freeBuffers [32][]packetBuffer // unused rings, indexed by the binary logarithm of their size

	// listHead, by link and time: first event of the list of arrivals, as an index in
	// arrivals; -1 if it is empty.
	listHead [maxComponentLinks * maxTimes]int32
	// ringArrival, by link and time: arrival over the previous link of the ring. It is
	// not in the list.
	ringArrival [maxComponentLinks * maxTimes]arrivalEvent
	listTimes   [maxComponentLinks]uint64 // times with a list that is not empty
	ringTimes   [maxComponentLinks]uint64 // times with a valid entry in ringArrival

	// departureKey, by link and time: key of the packet that arrives at the far end.
	departureKey   [maxComponentLinks * maxTimes]eventKey
	departureTimes [maxComponentLinks]uint64 // times with a valid entry in departureKey

	// occupancy, by link: packets on the link at the start of the window, plus those
	// enqueued since.
	occupancy [maxComponentLinks]int32
	// lastDeparture, by link: time index of the last packet's arrival at the far end; -1
	// without packets.
	lastDeparture [maxComponentLinks]int32
	// simulatedTimes, by link: number of time indices that have been simulated.
	simulatedTimes [maxComponentLinks]int32

	eventList                     // events pending after the window
	earliestPending engine.Time   // time of the earliest pending event
	pendingResidues []engine.Time // residues of their times modulo the time unit
	lastPending     engine.Time   // time of the event added last
	memoryBytes     int64         // memory of rings
	numArrivals     int64         // see componentWindow.numArrivals
	numComparisons  int64         // see componentWindow.numComparisons
}

// newWorkers creates the workers: as many as Options.Workers and the processors allow,
// with at least eight components per worker and level on average.
func (p *componentSim) newWorkers() {
	n := max(1, min(p.options.Workers, len(p.componentList)))
	if !p.options.forceParallel {
		n = max(1, min(n, runtime.GOMAXPROCS(0), len(p.componentList)/len(p.levelStart)/8))
	}
	p.workers = make([]componentWorker, n)
	p.barrier = newBarrier(len(p.workers))
	for i := range p.workers {
		k := &p.workers[i]
		k.componentSim, k.outboxes = p, make([]mailbox, 1+len(p.componentList))
		k.earliestPending, k.lastPending, k.number = engine.Never, -1, uint32(i+1)
		for j := range k.listHead {
			k.listHead[j] = -1
		}
	}
}

// activeComponent is the component that a worker simulates, with its part of the slices
// of componentSim.
type activeComponent struct {
	*linkComponent
	number      int32 // index in componentSim.componentList
	links       []componentLink
	headArrival []engine.Time
	headKey     []eventKey
}

// simulateComponent simulates a component in the window.
func (k *componentWorker) simulateComponent(number int32) {
	p := k.componentSim
	q := activeComponent{linkComponent: &p.componentList[number], number: number}
	q.links, q.headArrival, q.headKey = p.links[q.from:q.end], p.headArrival[q.from:q.end], p.headKey[q.from:q.end]

	k.arrivals = k.arrivals[:0]
	for i := range p.workers {
		k.drain(&p.workers[i].outboxes[1+number], func(events []arrivalEvent) { k.arrivals = append(k.arrivals, events...) })
	}
	k.numArrivals += int64(len(k.arrivals))

	// The injectors themselves have been prefetched already.
	for i := q.firstSender; i < q.endSender && hasPrefetch; i++ {
		if m := &p.injectors[p.senders[i].injector]; m.process == Greedy && m.numSent < m.total {
			m.prefetchNext(&p.paths)
		}
	}

	k.simulateTimes(&q)

	k.drain(&k.outboxes[0], func(events []arrivalEvent) {
		for i := range events {
			c := &events[i]
			k.stats.countDelivery(p.sim, c.injectTime, p.times[c.nextOrSlot&(maxTimes-1)], int64(p.packetBytes))
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
// departures of its predecessor are known.
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

	for remaining, numTimes := len(q.links), int32(len(p.times)); remaining > 0; {
		for i := range q.links {
			limit := numTimes
			if q.isRing {
				previous := i - 1
				if previous < 0 {
					previous = len(q.links) - 1
				}
				limit = min(limit, max(k.simulatedTimes[previous], k.lastDeparture[previous])+q.links[previous].timesPerPacket)
			}

			if k.simulatedTimes[i] < limit {
				k.simulateLink(q, i, int(limit))
				if k.simulatedTimes[i] = limit; limit == numTimes {
					remaining--
				}
			}
		}
	}

	departures := uint64(0)
	for i := range q.links {
		departures |= k.departureTimes[i]
	}

	if departures != 0 {
		k.stats.End = max(k.stats.End, p.times[bits.Len64(departures)-1])
	}
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
		maxPackets, mask := uint64(len(k.times))/uint64(l.timesPerPacket), uint64(len(l.buffer)-1)
		for offset := uint64(0); offset <= maxPackets; offset += 4 {
			prefetch(unsafe.Pointer(&l.buffer[(l.head+offset)&mask]))
			if l.tail-l.head > maxPackets {
				prefetch(unsafe.Pointer(&l.buffer[(l.tail+offset)&mask]))
			}
		}
	}
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
	k.events = append(k.events, keyedEvent{key, id})
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
	k.arrivals = append(k.arrivals, arrivalEvent{eventKey: w.eventKey, route: -1 - i, nextOrSlot: w.link&(maxComponentLinks-1)<<timeBits | int32(t)})
	k.insertArrival(int32(len(k.arrivals) - 1))
}

// insertArrival inserts arrival i into the list of its link and time, ordered by key.
func (k *componentWorker) insertArrival(i int32) {
	here := k.arrivals
	c := &here[i]
	k.listTimes[c.nextOrSlot>>timeBits] |= 1 << (c.nextOrSlot & (maxTimes - 1))
	link := &k.listHead[c.nextOrSlot]
	for *link >= 0 && here[*link].before(&c.eventKey) != 0 {
		link = &here[*link].nextOrSlot
		k.numComparisons++
	}
	c.nextOrSlot, *link = *link, i
}

// afterWindow is the time index of arrivals after the window.
const afterWindow = maxTimes

// startLink prepares link i for the window. Packets on the link that arrive at its far
// end within the window depart.
func (k *componentWorker) startLink(q *activeComponent, i int) {
	p := k.componentSim
	l := &q.links[i]
	k.simulatedTimes[i], k.occupancy[i], k.departureTimes[i], k.lastDeparture[i] = 0, int32(l.tail-l.head), 0, -1

	arrival, key := q.headArrival[i], q.headKey[i]
	for arrival < p.end {
		t := p.timeIndex(arrival)
		r := &l.buffer[l.head&uint64(len(l.buffer)-1)]
		k.depart(q, i, t, r.nextLink, arrivalEvent{key, r.injectTime, r.route, 0})
		key.scheduleTimes |= p.keyBit[t]
		if l.head++; l.head == l.tail {
			arrival = engine.Never
		} else if p.hasLatency {
			arrival = l.arrivals[l.head&uint64(len(l.buffer)-1)]
		} else {
			arrival += l.sendTime
		}
	}

	if q.headArrival[i], q.headKey[i] = arrival, key; l.head < l.tail {
		k.lastDeparture[i] = afterWindow
	}
}

// depart moves a packet from the end of link i to its next link at time index t. Within
// the component that is the next link of the ring. c.next is set here. If next is
// pathEnd, the packet goes to outboxes[0].
func (k *componentWorker) depart(q *activeComponent, i, t int, next int32, c arrivalEvent) {
	k.departureKey[i<<timeBits|t&(maxTimes-1)] = c.eventKey
	k.departureTimes[i] |= 1 << (t & (maxTimes - 1))
	k.lastDeparture[i] = int32(t)

	if uint32(next-q.number<<linkBits) < uint32(len(q.links)) {
		if i++; i == len(q.links) {
			i = 0
		}
		k.ringArrival[i<<timeBits|t&(maxTimes-1)] = c
		k.ringTimes[i] |= 1 << (t & (maxTimes - 1))
		return
	}

	c.nextOrSlot = next&(maxComponentLinks-1)<<timeBits | int32(t)
	k.send(&k.outboxes[1+next>>linkBits], c)
}

// simulateLink simulates the arrivals at link i with a time index below limit. All
// departures of the previous link of the ring before that time must be known.
func (k *componentWorker) simulateLink(q *activeComponent, i, limit int) {
	l := &q.links[i]
	within := uint64(1)<<limit - 1
	for {
		listTimes, ringTimes := k.listTimes[i], k.ringTimes[i]

		m := (listTimes | ringTimes) & within
		if m == 0 {
			break
		}
		t := bits.TrailingZeros64(m) & (maxTimes - 1)
		bit := m & -m
		k.ringTimes[i] = ringTimes &^ bit
		c := &k.ringArrival[i<<timeBits|t]

		// A single arrival over the ring, the most frequent case, needs no list.
		if listTimes&bit == 0 {
			k.schedulePacket(q, l, i, t, c, c.injectTime, c.route)
			continue
		}

		if ringTimes&bit != 0 {
			c.nextOrSlot = int32(i<<timeBits | t)
			k.arrivals = append(k.arrivals, *c)
			k.insertArrival(int32(len(k.arrivals) - 1))
		}
		k.simulateList(q, l, i, t)
		k.listTimes[i] &^= bit
	}
}

// simulateList simulates the arrivals at link i at time index t, which are in a list.
func (k *componentWorker) simulateList(q *activeComponent, l *componentLink, i, t int) {
	head := &k.listHead[i<<timeBits|t]
	for index := *head; index >= 0; {
		c := &k.arrivals[index]
		if c.route >= 0 {
			k.schedulePacket(q, l, i, t, c, c.injectTime, c.route)
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
// it departs.
func (k *componentWorker) schedulePacket(q *activeComponent, l *componentLink, i, t int, c *arrivalEvent, inject engine.Time, route int32) engine.Time {
	p := k.componentSim
	now := p.times[t]
	start := max(l.busyUntil, now)
	l.waitTime += start - now
	l.busyUntil = start + l.sendTime

	next := k.linkAfter(l, route)
	route++
	lastDeparture := int(k.lastDeparture[i])
	k.occupancy[i]++

	// A packet that arrives at the far end at this very time has left the link only if it
	// precedes c.
	bit := uint64(1) << t
	if occupancy := k.occupancy[i] - int32(bits.OnesCount64(k.departureTimes[i]&(bit-1))); occupancy > l.maxOccupancy {
		if k.departureTimes[i]&bit == 0 || c.before(&k.departureKey[i<<timeBits|t]) != 0 {
			l.maxOccupancy = occupancy
		} else {
			l.maxOccupancy = max(l.maxOccupancy, occupancy-1)
		}
	}

	// In the event loop, the arrival of this packet is scheduled when the previous packet
	// leaves the link. Without a previous packet, the arrival is the second event that c
	// schedules.
	key := c.eventKey
	if lastDeparture > t || lastDeparture == t && c.before(&k.departureKey[i<<timeBits|t]) != 0 {
		key = k.departureKey[i<<timeBits|lastDeparture&(maxTimes-1)]
		key.scheduleTimes |= p.keyBit[lastDeparture&(maxTimes-1)]
	} else {
		key.scheduleTimes |= p.keyBit[t]
		key.tieBreak |= 1 << (maxKeyTimes - 1) >> t
	}

	arrival := l.busyUntil + l.latency
	if arrival < p.end {
		if !p.hasLatency {
			t = max(lastDeparture, t) + int(l.timesPerPacket)
		} else {
			t = p.timeIndex(arrival)
		}
		l.head++
		l.tail++
		k.depart(q, i, t, next, arrivalEvent{key, inject, route, 0})
		return start
	}

	if lastDeparture != afterWindow {
		k.lastDeparture[i] = afterWindow
		q.headArrival[i], q.headKey[i] = arrival, key
	}

	k.storePacket(l, queuedPacket{inject, route, next}, arrival)
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
func (k *componentWorker) injectGreedy(q *activeComponent, l *componentLink, i, t int, c arrivalEvent) {
	id := -1 - c.route
	w := &k.senders[id]
	w.time = engine.Never
	flow, bytes, _, more := k.nextPacket(w.injector)
	if bytes == 0 {
		return
	}

	now := k.times[t]
	k.stats.End = max(k.stats.End, now)
	k.stats.countInjection(k.sim, now)
	start := k.schedulePacket(q, l, i, t, &c, now, k.paths.choosePath(flow))

	if !more {
		return
	}
	k.injectors[w.injector].prefetchNext(&k.paths)

	// Use the upper bit if c itself was scheduled at this time.
	bit := k.keyBit[t]
	bit <<= w.scheduleTimes >> bits.TrailingZeros64(bit) & 1

	w.scheduleTimes |= bit

	if w.time = start; start == now {
		k.addSenderEvent(id, t)
	} else if start < k.end {
		k.addSenderEvent(id, k.timeIndex(start))
	}
}
