package packet

import (
	"math/bits"
	"runtime"
	"slices"
	"unsafe"

	"sim/engine"
)

// componentLink is the state of a link of a part, but for its event.
type componentLink struct {
	busyUntil, waitTime engine.Time
	ring                []queuedPacket // a ring of a power of two: packets that get to its end after the window
	head, tail          uint64         // packets that get there before that, and that were put on it
	sendTime, latency   engine.Time
	arrivals            []engine.Time // by place in room, when a packet gets to the end, if links have latencies
	maxOccupancy        int32
	firstPort           int32 // the place in parts.port of those of the node that it leads to
	timesPerPacket      int32 // times of the window that it takes for a packet
}

// queuedPacket is a packet on or before a link of a part.
type queuedPacket struct {
	injectTime engine.Time
	route      int32 // the place of its next step
	nextLink   int32 // the link that it takes next: its part, and its place in it; or arrived
}

// arrivalEvent is a packet that comes to a link, or a source that sends one to it, or a packet that has arrived.
type arrivalEvent struct {
	eventKey
	injectTime engine.Time
	route      int32 // the place of its step; -1 less the place of a source
	next       int32 // the one behind it; before it is in a list, the link's place in its part and the time of the window
}

// pendingSender is the next event of an injector.
type pendingSender struct {
	eventKey
	time     engine.Time
	link     int32 // to which a greedy one sends; -1 of others
	injector int32 // the injector
}

// componentWorker simulates parts.
type componentWorker struct {
	*componentSim
	number         uint32 // one more than its place among workers
	stats          Stats
	outboxes       []mailbox                                  // 0 is packets that have arrived, 1+k what comes to part k
	freeBlocks     []*mailboxBlock                            // some that are empty
	arrivals       []arrivalEvent                             // what comes to the part that is simulated
	freeRings      [32][]packetRing                           // that are not in use, by the logarithm of their size
	listHead       [maxComponentLinks * maxTimes]int32        // by link of a part and time: the first that comes, -1 of none
	ringArrival    [maxComponentLinks * maxTimes]arrivalEvent // by link of a part and time: the packet that comes over the one before it
	listTimes      [maxComponentLinks]uint64                  // by link: the times at which some of first come
	ringTimes      [maxComponentLinks]uint64                  // by link: the times at which one of inner comes
	departureKey   [maxComponentLinks * maxTimes]eventKey     // by link of a part and time: of the packet that gets to its end
	departureTimes [maxComponentLinks]uint64                  // by link: the times at which some do
	occupancy      [maxComponentLinks]int32                   // by link: packets on and before it when the window began, and those that came
	lastDeparture  [maxComponentLinks]int32                   // by link: the time at which the last packet on it gets to its end
	simulatedTimes [maxComponentLinks]int32                   // by link: the times before this are simulated
	eventList
	earliestPending engine.Time   // of the events that wait
	pendingResidues []engine.Time // of these, by the unit
	lastPending     engine.Time
	ringBytes       int64 // bytes of packets
	numArrivals     int64 // to its parts, and
	numComparisons  int64 // what was looked at to put it in order
}

// newWorkers makes as many workers as may simulate at a time, and have some parts of a level each.
func (p *componentSim) newWorkers() {
	n := max(1, min(p.options.Workers, len(p.parts)))
	if !p.options.forceParallel {
		n = max(1, min(n, runtime.GOMAXPROCS(0), len(p.parts)/len(p.levelStart)/8))
	}
	p.workers = make([]componentWorker, n)
	p.barrier = newBarrier(len(p.workers))
	for i := range p.workers {
		k := &p.workers[i]
		k.componentSim, k.outboxes = p, make([]mailbox, 1+len(p.parts))
		k.earliestPending, k.lastPending, k.number = engine.Never, -1, uint32(i+1)
		for j := range k.listHead {
			k.listHead[j] = -1
		}
	}
}

// activeComponent is a part that a worker simulates.
type activeComponent struct {
	*linkComponent
	number      int32
	links       []componentLink
	headArrival []engine.Time
	headKey     []eventKey
}

// simulateComponent simulates a part in the window.
func (k *componentWorker) simulateComponent(number int32) {
	p := k.componentSim
	q := activeComponent{linkComponent: &p.parts[number], number: number}
	q.links, q.headArrival, q.headKey = p.links[q.from:q.end], p.headArrival[q.from:q.end], p.headKey[q.from:q.end]
	k.arrivals = k.arrivals[:0]
	for i := range p.workers {
		k.drain(&p.workers[i].outboxes[1+number], func(events []arrivalEvent) { k.arrivals = append(k.arrivals, events...) })
	}
	k.numArrivals += int64(len(k.arrivals))
	for i := q.firstSender; i < q.endSender && hasPrefetch; i++ { // which have been fetched
		if m := &p.injectors[p.senders[i].injector]; m.process == Greedy && m.numSent < m.total {
			m.prefetchNext(&p.paths)
		}
	}
	k.simulateTimes(&q)
	k.drain(&k.outboxes[0], func(events []arrivalEvent) {
		for i := range events {
			c := &events[i]
			k.stats.countDelivery(p.sim, c.injectTime, p.times[c.next&(maxTimes-1)], int64(p.packetBytes))
		}
	})
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

// simulateTimes simulates a part in the window, to which what is in here comes, at the times of the window.
func (k *componentWorker) simulateTimes(q *activeComponent) {
	p := k.componentSim
	for i := len(k.arrivals) - 1; i >= 0; i-- { // most are in order, and thus put before what is there
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

// prefetchComponent has the cache read what simulating a part will touch.
func (k *componentWorker) prefetchComponent(q *linkComponent) {
	if !hasPrefetch {
		return
	}
	for i := q.from; i < q.end; i++ {
		l := &k.links[i]
		if len(l.ring) == 0 {
			continue
		}
		maxPackets, mask := uint64(len(k.times))/uint64(l.timesPerPacket), uint64(len(l.ring)-1) // packets that may come and go
		for offset := uint64(0); offset <= maxPackets; offset += 4 {
			prefetch(unsafe.Pointer(&l.ring[(l.head+offset)&mask]))
			if l.tail-l.head > maxPackets {
				prefetch(unsafe.Pointer(&l.ring[(l.tail+offset)&mask]))
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

// addPending takes down an event that is left for a later window.
func (k *componentWorker) addPending(key eventKey, time engine.Time, id int32) {
	k.pending = append(k.pending, keyedEvent{key, id})
	if k.earliestPending = min(k.earliestPending, time); time != k.lastPending {
		k.lastPending = time
		if r := time % k.timeUnit; len(k.pendingResidues) <= maxPhases && !slices.Contains(k.pendingResidues, r) {
			k.pendingResidues = append(k.pendingResidues, r)
		}
	}
}

// addSenderEvent has a source send a packet at a time.
func (k *componentWorker) addSenderEvent(i int32, t int) {
	w := &k.senders[i]
	k.arrivals = append(k.arrivals, arrivalEvent{eventKey: w.eventKey, route: -1 - i, next: w.link&(maxComponentLinks-1)<<timeBits | int32(t)})
	k.insertArrival(int32(len(k.arrivals) - 1))
}

// insertArrival puts one that comes where it belongs among those that come to the same link at the same time.
func (k *componentWorker) insertArrival(i int32) {
	here := k.arrivals
	c := &here[i]
	k.listTimes[c.next>>timeBits] |= 1 << (c.next & (maxTimes - 1))
	link := &k.listHead[c.next]
	for *link >= 0 && here[*link].before(&c.eventKey) != 0 {
		link = &here[*link].next
		k.numComparisons++
	}
	c.next, *link = *link, i
}

// afterWindow is the time of what gets to a link's end after the window.
const afterWindow = maxTimes

// startLink has the packets on a link that get to its end in the window go on.
func (k *componentWorker) startLink(q *activeComponent, i int) {
	p := k.componentSim
	l := &q.links[i]
	k.simulatedTimes[i], k.occupancy[i], k.departureTimes[i], k.lastDeparture[i] = 0, int32(l.tail-l.head), 0, -1
	arrival, key := q.headArrival[i], q.headKey[i]
	for arrival < p.end {
		t := p.timeIndex(arrival)
		r := &l.ring[l.head&uint64(len(l.ring)-1)]
		k.depart(q, i, t, r.nextLink, arrivalEvent{key, r.injectTime, r.route, 0})
		key.setTimes |= p.timeBit[t]
		if l.head++; l.head == l.tail {
			arrival = engine.Never
		} else if p.hasLatency {
			arrival = l.arrivals[l.head&uint64(len(l.ring)-1)]
		} else {
			arrival += l.sendTime
		}
	}
	if q.headArrival[i], q.headKey[i] = arrival, key; l.head < l.tail {
		k.lastDeparture[i] = afterWindow
	}
}

// depart has a packet get to the end of a link at a time.
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
	c.next = next&(maxComponentLinks-1)<<timeBits | int32(t)
	k.send(&k.outboxes[1+next>>linkBits], c)
}

// simulateLink simulates what comes to a link before a time. What leaves the one before it in a ring is known so far.
func (k *componentWorker) simulateLink(q *activeComponent, i, limit int) {
	l := &q.links[i]
	within := uint64(1)<<limit - 1
	for {
		lists, inners := k.listTimes[i], k.ringTimes[i]
		m := (lists | inners) & within
		if m == 0 {
			break
		}
		t := bits.TrailingZeros64(m) & (maxTimes - 1)
		bit := m & -m
		k.ringTimes[i] = inners &^ bit
		c := &k.ringArrival[i<<timeBits|t]
		if lists&bit == 0 {
			k.schedulePacket(q, l, i, t, c, c.injectTime, c.route)
			continue
		}
		if inners&bit != 0 {
			c.next = int32(i<<timeBits | t)
			k.arrivals = append(k.arrivals, *c)
			k.insertArrival(int32(len(k.arrivals) - 1))
		}
		k.simulateList(q, l, i, t)
		k.listTimes[i] &^= bit
	}
}

// simulateList simulates what comes to a link at a time.
func (k *componentWorker) simulateList(q *activeComponent, l *componentLink, i, t int) {
	head := &k.listHead[i<<timeBits|t]
	for index := *head; index >= 0; {
		c := &k.arrivals[index]
		if c.route >= 0 {
			k.schedulePacket(q, l, i, t, c, c.injectTime, c.route)
		} else {
			k.injectGreedy(q, l, i, t, *c)
			c = &k.arrivals[index]
		}
		index = c.next
	}
	*head = -1
}

// schedulePacket puts a packet that comes with c on a link, has it go on where it gets to the end in the window, and returns
// when it will begin to be sent.
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
	bit := uint64(1) << t
	if occupancy := k.occupancy[i] - int32(bits.OnesCount64(k.departureTimes[i]&(bit-1))); occupancy > l.maxOccupancy {
		if k.departureTimes[i]&bit == 0 || c.before(&k.departureKey[i<<timeBits|t]) != 0 {
			l.maxOccupancy = occupancy
		} else {
			l.maxOccupancy = max(l.maxOccupancy, occupancy-1)
		}
	}
	key := c.eventKey
	if lastDeparture > t || lastDeparture == t && c.before(&k.departureKey[i<<timeBits|t]) != 0 { // set when the one before it leaves
		key = k.departureKey[i<<timeBits|lastDeparture&(maxTimes-1)]
		key.setTimes |= p.timeBit[lastDeparture&(maxTimes-1)]
	} else {
		key.setTimes |= p.timeBit[t]
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

// linkAfter returns the link that a packet takes after one, whose step has a place.
func (k *componentWorker) linkAfter(l *componentLink, route int32) int32 {
	if s := k.paths.steps[route+1]; s != engine.Arrived {
		return k.linkByPort[int(l.firstPort)+s.Port()]
	}
	return pathEnd
}

// injectGreedy simulates an event of a greedy source before its link, which comes there as c.
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
	bit := k.timeBit[t]
	bit <<= w.setTimes >> bits.TrailingZeros64(bit) & 1 // which is set where it was set for this very time
	w.setTimes |= bit
	if w.time = start; start == now {
		k.addSenderEvent(id, t)
	} else if start < k.end {
		k.addSenderEvent(id, k.timeIndex(start))
	}
}
