package packet

// This file implements queued links, which serve their packets one by one: the end of a
// transmission, the arrival at the far end and the return of a credit are separate
// events of the event loop (sim.runEvents). They support everything that scheduled links
// (scheduled.go) do not: finite queues, credits, ranks, bit errors and changes.

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"sim/engine"
)

// queueState is the part of sim that simulates queued links.
type queueState struct {
	usesQueues      bool // links are queued links
	usesCredits     bool // flow control is Credit
	queued          []queuedLink
	queues          []packetQueue // the queues of link l start at queued[l].firstQueue
	freeBytes       []int64       // indexed by channel: free buffer space at its far end, as known to the link
	capacity        []int64       // indexed by channel: buffer size in bytes
	channelLink     []int32       // indexed by channel: its link
	bitErrorRate    float64       // probability per bit
	errorRNG        *rand.Rand
	errorBytes      int32           // packet size for which packetErrorRate was computed
	packetErrorRate float64         // probability per transmission
	priorities      *priorityQueues // replaces queues if tasks have ranks; otherwise nil
	ordersByID      bool            // simultaneous events are ordered by id
	simultaneous    []int32         // events of the current time, if ordersByID
	numTaken        int             // number of simultaneous that have been simulated
	firstEventTime  engine.Time     // time of the first event of the last call of runEvents
	lps             *lpSim          // nil if the run does not meet its conditions
	windowsActive   bool            // lps simulates, instead of the event loop
}

// queuedLink is the state of a link that serves its packets one by one. Its fields are
// grouped into three cache lines: the transmission, the queues with their counters, and
// fields for latencies, finite queues and faults.
//
// The queues of a link are numbered from 0. Under Credit, queue c holds the through
// traffic of channel c, and queue numChannels+c its host traffic. Otherwise there is only
// queue 0.
type queuedLink struct {
	current        record      // packet being sent, or the last one sent
	sendEnd        engine.Time // end of its transmission
	ticksPerByte   uint64      // fixed point with 32 fractional bits
	remainder      uint32      // fraction of a tick by which the transmission ends after sendEnd, times 2^32
	currentChannel int32       // channel of the current packet
	nextLink       int32       // next link of the current packet, or pathEnd; only if hasLatency is false and routes are steps
	nextChannel    uint8       // its channel there
	nextQueue      uint8       // round-robin position: the queue that is examined first
	numQueues      uint8
	numChannels    uint8

	readyQueues  uint32 // bit set of queues that are not empty
	firstQueue   int32  // index of queue 0 in queueState.queues
	firstChannel int32  // index of channel 0
	to           int32  // node at its far end
	numWaiting   int32  // packets in its queues
	occupancy    int32  // packets in its queues, being sent, or in flight
	maxOccupancy int32
	state        uint8 // bit set of the state constants; 0 if the link is idle
	hasLatency   bool
	awaitsCredit bool // the next credit return is scheduled as an event
	waitTime     engine.Time
	busyTime     engine.Time
	packets      int64 // packets sent, without those lost in flight
	bytes        int64 // bytes of these packets

	latency       engine.Time
	inFlight      recordQueue // packets sent, in the order of their arrival
	credits       recordQueue // returning credits, in the order of their arrival; record.route is the channel
	bufferedBytes int64       // bytes that count against bufferLimit; not maintained under Credit
	bufferLimit   int64       // drop-tail limit in bytes; 0 means unbounded
	numDropped    int64
	numRetries    int64
}

// Bits of queuedLink.state. A link starts no transmission while any of them is set.
const (
	stateSending uint8 = 1 << iota
	stateDown          // failed: packets are lost
	statePaused        // planned pause: packets wait
)

// packetQueue is one queue of packets at a link.
type packetQueue struct {
	recordQueue       // the packets
	headBytes   int32 // size of the first packet
}

// push appends a packet to queue index of a link.
func (z *sim) push(l *queuedLink, index uint8, r *record, now engine.Time) {
	q := &z.queues[l.firstQueue+int32(index)]
	if q.tail%recordsPerChunk == 0 {
		z.records.extend(&q.recordQueue)
	}
	slot := z.records.get(q.tail)
	*slot = *r

	// Without this condition, the field is written separately after the copy. If the
	// packet is sent immediately, it is read as a whole, and the processor waits for both
	// writes.
	if slot.time != now {
		slot.time = now
	}

	q.tail++
	if q.length++; q.length == 1 {
		q.headBytes = r.bytes
		l.readyQueues |= 1 << (index & 31)
	}
}

// pop removes the first packet of a queue. Its memory remains unchanged until the next
// push.
func (z *sim) pop(l *queuedLink, q *packetQueue, index int32) {
	if z.records.removeFirst(&q.recordQueue); q.length > 0 {
		q.headBytes = z.records.first(&q.recordQueue).bytes
	} else {
		l.readyQueues &^= 1 << (index & 31)
	}
}

// newQueuedLinks creates the queued links. maxPacket is the size of the largest packet in
// bytes.
func (z *sim) newQueuedLinks(maxPacket int64) {
	z.usesCredits = z.options.Control == Credit
	z.bitErrorRate = z.options.BitErrorRate
	z.errorRNG = newStream(z.options.Seed, errorStream)
	z.queued = make([]queuedLink, len(z.network.Links))

	numQueues := int32(0)
	for i, l := range z.network.Links {
		v := &z.queued[i]
		firstChannel := int32(len(z.channelLink))
		*v = queuedLink{
			latency: l.Latency, hasLatency: l.Latency > 0, to: l.To,
			currentChannel: firstChannel, firstChannel: firstChannel, numChannels: 1,
			firstQueue: numQueues, numQueues: 1, bufferLimit: l.Buffer,
		}
		if v.state = stateDown; l.Rate > 0 {
			v.state, v.ticksPerByte = 0, ticksPerByte(l.Rate)
		}
		capacity := int64(0)
		if z.usesCredits {
			v.bufferLimit = 0
			v.numChannels = uint8(min(max(1, l.Channels), engine.MaxChannel+1)) // paths cannot use higher channels
			v.numQueues = 2 * v.numChannels
			capacity = l.Buffer
			if capacity == 0 {
				capacity = autoBuffer(z.network, int32(i), maxPacket)
			}
		}

		numQueues += int32(v.numQueues)
		for range v.numChannels {
			z.channelLink = append(z.channelLink, int32(i))
			z.capacity = append(z.capacity, capacity)
		}
	}

	z.ordersByID = z.usesCredits && !slices.ContainsFunc(z.network.Links, func(l engine.Link) bool { return l.Latency == 0 })
	z.freeBytes = append([]int64(nil), z.capacity...)
	z.queues = make([]packetQueue, numQueues)
	if z.options.hasRanks() {
		numTasks := len(z.flows) // flow i belongs to task i
		z.priorities = newPriorityQueues(&z.options, len(z.queued), numTasks)
	}
}

// autoBuffer returns the buffer size with which a channel can keep its link busy, at the
// highest rate that the link ever has. A credit returns after the transmission, the
// latency, the transmission over the next link, and the latency again.
func autoBuffer(n *engine.Network, link int32, maxPacket int64) int64 {
	rate := n.Links[link].Rate
	for _, c := range n.Changes {
		if c.Link == link {
			rate = max(rate, c.Rate)
		}
	}
	return int64(rate/8*2*n.Links[link].Latency.Seconds()) + 1 + 2*maxPacket
}

// endSending ends the transmission of a packet. The packet leaves the buffer that held it
// and is in flight, or arrives immediately if the link has no latency. Then the next
// transmission starts.
func (z *sim) endSending(id int32, now engine.Time) {
	l := &z.queued[id]
	r := &l.current
	if r.origin >= 0 {
		z.releaseBuffer(r.origin, r.bytes, now)
	}

	r.origin = l.currentChannel
	if z.priorities != nil {
		z.priorities.endSending(id, l.hasLatency)
	}

	switch {
	case l.hasLatency:
		slot := z.records.add(&l.inFlight)
		*slot = *r
		if slot.time = now + l.latency; l.inFlight.length == 1 {
			z.calendar.schedule(z.arrivalID(id), slot.time)
		}
	case z.paths.usesSteps:
		z.receive(l, r, l.nextLink, l.nextChannel, now)
	default: // with Paths.Spread
		const channel = 0
		z.receive(l, r, z.paths.nextLink(l.to, r.route), channel, now)
	}

	l.packets++
	l.bytes += int64(r.bytes)
	if !z.usesCredits {
		l.bufferedBytes -= int64(r.bytes)
	}

	if l.state &^= stateSending; l.numWaiting > 0 {
		z.startSending(id, now)
	}
}

// endFlight completes the arrival of the first packet in flight on a link.
func (z *sim) endFlight(id int32, now engine.Time) {
	l := &z.queued[id]
	r := *z.records.first(&l.inFlight)
	z.records.removeFirst(&l.inFlight)
	if l.inFlight.length > 0 {
		z.calendar.schedule(z.arrivalID(id), z.records.first(&l.inFlight).time)
	}

	if z.priorities != nil {
		z.priorities.endFlight(id)
	}
	next, channel := z.paths.linkAfter(l.to, r.route)
	z.receive(l, &r, next, channel, now)
}

// receive delivers a packet that has arrived over a link, or enqueues it at its next
// link.
func (z *sim) receive(l *queuedLink, r *record, next int32, channel uint8, now engine.Time) {
	l.occupancy--
	if z.paths.usesSteps {
		r.route++
	}
	switch next {
	case pathEnd:
		z.deliver(r, now)
		z.releaseBuffer(r.origin, r.bytes, now)
	case noLink:
		z.drop(r, -1, NoRoute, now)
	default:
		z.enqueue(next, channel, r, now)
	}
}

// enqueue adds a packet to a queue of a link, or drops it.
func (z *sim) enqueue(id int32, channel uint8, r *record, now engine.Time) {
	l := &z.queued[id]

	// Packets of closed-loop senders do not count until they are sent.
	if !isHeldBySource(r.origin) {
		if l.state&stateDown != 0 {
			z.drop(r, id, LinkFailed, now)
			return
		}
		if !z.usesCredits && !l.admit(r, now) {
			z.drop(r, id, QueueFull, now)
			return
		}
	}

	index := uint8(0)
	if z.usesCredits {
		if index = channel; isQueuedAtSource(r.origin) {
			index += l.numChannels
		}
	}

	l.countWaiting()
	if z.priorities != nil {
		z.enqueueByRank(id, r, now)
	} else {
		z.push(l, index, r, now)
	}

	if l.state == 0 {
		z.startSending(id, now)
	}
}

// enqueueByRank is like enqueue for links that order packets by task rank.
func (z *sim) enqueueByRank(id int32, r *record, now engine.Time) {
	queued := *r
	queued.time = now
	rank := z.priorities.arrivalRank
	if isHeldBySource(r.origin) {
		rank = z.priorities.packetRank(r.flow, z.tasks.transfers[r.flow].sentBytes())
	}
	z.priorities.queues[id].push(&queued, rank)
}

// admit reports whether a packet fits into the queue of a drop-tail link, and reserves
// the space if so. The packet being sent does not count if its last bit leaves now.
func (l *queuedLink) admit(r *record, now engine.Time) bool {
	if l.bufferLimit > 0 {
		leavingBytes := int64(0)
		if l.state&stateSending != 0 && l.sendEnd <= now {
			leavingBytes = int64(l.current.bytes)
		}
		if l.bufferedBytes-leavingBytes+int64(r.bytes) > l.bufferLimit {
			return false
		}
	}
	l.bufferedBytes += int64(r.bytes)
	return true
}

// countWaiting counts a packet that is added to a queue of the link.
func (l *queuedLink) countWaiting() {
	l.numWaiting++
	l.occupancy++
	l.maxOccupancy = max(l.maxOccupancy, l.occupancy)
}

// selectQueue selects the queue that an idle link serves next, and reserves buffer space
// for its first packet. It returns the index of the queue; ok is false if no queue has a
// packet that fits into the buffer at the far end.
//
// It examines the non-empty queues in round-robin order. Bit i of ready is queue
// (first+i) modulo numQueues. There are at most 30 queues; the mask 31 lets the compiler
// omit checks of shifts.
func (z *sim) selectQueue(id int32, l *queuedLink, now engine.Time) (index int32, ok bool) {
	numQueues, first := int32(l.numQueues&31), int32(l.nextQueue&31)
	ready := uint64(l.readyQueues)
	ready = (ready | ready<<numQueues) >> first & (1<<numQueues - 1)

	for ; ready != 0; ready &= ready - 1 {
		index = wrap(first+int32(bits.TrailingZeros64(ready)), numQueues)
		channel := l.firstChannel + wrap(index, int32(l.numChannels))
		if z.usesCredits {
			bytes := int64(z.queues[l.firstQueue+index].headBytes)
			free := z.freeBytes[channel] - bytes
			if free < 0 {
				if !l.hasLatency || !z.applyCredits(id, l, now) {
					continue
				}
				if free = z.freeBytes[channel] - bytes; free < 0 {
					continue
				}
			}
			z.freeBytes[channel] = free
		}
		l.nextQueue, l.currentChannel = uint8(wrap(index+1, numQueues)), channel
		return index, true
	}
	return 0, false
}

// transmit starts the transmission of the given number of bytes on an idle link.
func (l *queuedLink) transmit(bytes uint64, now engine.Time) {
	l.numWaiting--
	l.state = stateSending
	if now > l.sendEnd {
		l.sendEnd, l.remainder = now, 0
	}
	var duration engine.Time
	duration, l.remainder = serialisationTime(l.ticksPerByte, bytes, l.remainder)
	l.busyTime += duration
	l.sendEnd += duration
}

// wrap returns k modulo n for 0 <= k < 2n, without a branch.
func wrap(k, n int32) int32 {
	k -= n
	return k + n&(k>>31)
}

// startSending starts the next transmission of a link if the link is idle and a queued
// packet fits into the buffer at the far end. Bit errors are drawn here. A packet that
// needs several transmissions occupies the link for all of them, and for a round trip
// after each failed one.
func (z *sim) startSending(id int32, now engine.Time) {
	l := &z.queued[id]
	if l.numWaiting == 0 || l.state != 0 {
		return
	}

	r := &l.current
	if z.priorities != nil {
		*r, z.priorities.currentRank[id] = z.priorities.queues[id].pop()
	} else {
		index, ok := z.selectQueue(id, l, now)
		if !ok {
			z.awaitCredit(id, l)
			return
		}
		q := &z.queues[l.firstQueue+index]
		*r = *z.records.first(&q.recordQueue)
		z.pop(l, q, index)
	}

	if isHeldBySource(r.origin) && !z.usesCredits {
		l.bufferedBytes += int64(r.bytes)
	}

	z.onSendStart(r.origin, now)
	tries := uint64(1)
	if z.bitErrorRate > 0 {
		tries = z.drawTries(r.bytes)
	}

	l.waitTime += now - r.time
	l.transmit(uint64(r.bytes)*tries, now)
	if retries := int64(tries - 1); retries > 0 {
		l.numRetries += retries
		z.stats.Retries += retries
		l.sendEnd += 2 * l.latency * engine.Time(retries)
	}

	if z.paths.usesSteps && !l.hasLatency {
		l.nextLink, l.nextChannel = z.paths.linkAfter(l.to, r.route)
	}
	z.calendar.schedule(z.sendEndID(id), l.sendEnd)
}

// drawTries draws the number of transmissions of a packet until it is received without
// bit errors.
func (z *sim) drawTries(bytes int32) uint64 {
	if bytes != z.errorBytes {
		z.errorBytes, z.packetErrorRate = bytes, packetErrorRate(z.bitErrorRate, int64(bytes))
	}
	k := uint64(1)
	for z.errorRNG.Float64() < z.packetErrorRate {
		k++
	}
	return k
}
