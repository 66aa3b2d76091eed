package packet

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"sim/engine"
)

// queueState is the state of links that serve packets one by one.
type queueState struct {
	usesQueues      bool
	usesCredits     bool
	queued          []queuedLink
	queues          []packetQueue
	freeBytes       []int64 // by channel: bytes free at its far end, as far as its link knows
	capacity        []int64 // by channel
	channelLink     []int32 // by channel
	bitErrorRate    float64 // a bit
	errorRNG        *rand.Rand
	errorBytes      int32 // bytes of a packet
	packetErrorRate float64
	priorities      *priorityQueues // where tasks have ranks; then queues are not used
	ordersByID      bool            // events of one time happen by their numbers
	simultaneous    []int32         // these
	numTaken        int             // so many of them have happened
	firstEventTime  engine.Time
	lps             *lpSim // where links can be simulated apart
	windowsActive   bool   // they are
}

// queuedLink is the state of a link, three lines of the cache: what it sends, what waits for it and is counted, and what
// latencies, full queues and faults need.
type queuedLink struct {
	current        record      // what it sends, or has sent last
	sendEnd        engine.Time // of sending it
	ticksPerByte   uint64      // ticks a byte, times 2^32
	remainder      uint32      // of a tick, by which it was late beyond end, times 2^32
	currentChannel int32       // the channel of the current packet
	nextLink       int32       // the link that it takes next, arrived if none, where steps say and there is no latency
	nextChannel    uint8       // the channel of that
	nextQueue      uint8       // of its queues, the one to be looked at first
	numQueues      uint8       // its queues
	numChannels    uint8

	readyQueues  uint32 // a bit a queue: it has packets
	firstQueue   int32  // the number of its first queue
	firstChannel int32  // the number of its first channel
	to           int32
	numWaiting   int32 // packets in its queues
	occupancy    int32 // packets in them, being sent, and on the wire
	maxOccupancy int32
	state        uint8
	hasLatency   bool // it has a latency
	awaitsCredit bool // an event is set for the next credit
	waitTime     engine.Time
	busyTime     engine.Time
	packets      int64 // that have left, but for those lost on the wire
	bytes        int64

	latency       engine.Time
	inFlight      recordQueue // packets that have left, by arrival
	credits       recordQueue // on their way back, by arrival; route is the channel
	bufferedBytes int64       // bytes that count for buffer, not kept under credits
	bufferLimit   int64       // of drop-tail; 0 is unbounded
	numDropped    int64
	numRetries    int64
}

// Why a link begins no packet, in server.state.
const (
	stateSending uint8 = 1 << iota
	stateDown
	statePaused // it sends nothing for now, and loses nothing
)

// packetQueue is packets before a link.
type packetQueue struct {
	recordQueue
	headBytes int32 // bytes of the first of them
}

// push puts a packet at the end of a queue before a link.
func (z *sim) push(l *queuedLink, index uint8, r *record, now engine.Time) {
	q := &z.queues[l.firstQueue+int32(index)]
	if q.tail%recordsPerChunk == 0 {
		z.records.extend(&q.recordQueue)
	}
	slot := z.records.get(q.tail)
	*slot = *r
	if slot.time != now { // else it is written as a whole, and read so at once where the packet is sent now
		slot.time = now
	}
	q.tail++
	if q.length++; q.length == 1 {
		q.headBytes = r.bytes
		l.readyQueues |= 1 << (index & 31)
	}
}

// pop drops the first packet of a queue before a link. Its memory stays as it is until the next push.
func (z *sim) pop(l *queuedLink, q *packetQueue, index int32) {
	if z.records.removeFirst(&q.recordQueue); q.length > 0 {
		q.headBytes = z.records.first(&q.recordQueue).bytes
	} else {
		l.readyQueues &^= 1 << (index & 31)
	}
}

func (z *sim) newQueuedLinks(maxPacket int64) {
	z.usesCredits = z.options.Control == Credit
	z.bitErrorRate = z.options.BitErrorRate
	z.errorRNG = newStream(z.options.Seed, errorStream)
	z.queued = make([]queuedLink, len(z.network.Links))
	numQueues := int32(0)
	for i, l := range z.network.Links {
		v := &z.queued[i]
		*v = queuedLink{latency: l.Latency, hasLatency: l.Latency > 0, to: l.To, currentChannel: int32(len(z.channelLink)), firstChannel: int32(len(z.channelLink)), numChannels: 1, firstQueue: numQueues, numQueues: 1, bufferLimit: l.Buffer}
		if v.state = stateDown; l.Rate > 0 {
			v.state, v.ticksPerByte = 0, ticksPerByte(l.Rate)
		}
		capacity := int64(0)
		if z.usesCredits {
			v.bufferLimit = 0
			v.numChannels = uint8(min(max(1, l.Channels), engine.MaxChannel+1)) // of others no path knows
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
		z.priorities = newPriorityQueues(&z.options, len(z.queued), len(z.flows))
	}
}

// autoBuffer is the buffer of a channel that keeps its link busy with packets of up to largest bytes, at the greatest
// rate that the link ever has: from the start of a packet it takes its sending, the latency, its sending over the next
// link, and the latency again until its credit is back.
func autoBuffer(n *engine.Network, link int32, maxPacket int64) int64 {
	rate := n.Links[link].Rate
	for _, c := range n.Changes {
		if c.Link == link {
			rate = max(rate, c.Rate)
		}
	}
	return int64(rate/8*2*n.Links[link].Latency.Seconds()) + 1 + 2*maxPacket
}

// endSending ends the sending of a packet: it leaves the buffer that it was in, goes on the wire, or is there where there is
// no latency, and the next one begins.
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
			z.calendar.schedule(int32(len(z.queued))+id, slot.time)
		}
	case z.paths.usesSteps:
		z.receive(l, r, l.nextLink, l.nextChannel, now)
	default:
		z.receive(l, r, z.paths.nextLink(l.to, r.route), 0, now)
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

// endFlight ends the flight of a packet over a link's latency.
func (z *sim) endFlight(id int32, now engine.Time) {
	l := &z.queued[id]
	r := *z.records.first(&l.inFlight)
	z.records.removeFirst(&l.inFlight)
	if l.inFlight.length > 0 {
		z.calendar.schedule(int32(len(z.queued))+id, z.records.first(&l.inFlight).time)
	}
	if z.priorities != nil {
		z.priorities.endFlight(id)
	}
	next, channel := z.paths.linkAfter(l.to, r.route)
	z.receive(l, &r, next, channel, now)
}

// receive delivers a packet that has come over a link, or puts it before the next one.
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

// enqueue puts a packet before a link, or drops it.
func (z *sim) enqueue(id int32, channel uint8, r *record, now engine.Time) {
	l := &z.queued[id]
	if r.origin > originWindow { // else it does not count until it is sent
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
		if index = channel; r.origin < 0 {
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

// enqueueByRank is enqueue where tasks have ranks.
func (z *sim) enqueueByRank(id int32, r *record, now engine.Time) {
	queued := *r
	queued.time = now
	rank := z.priorities.arrivalRank
	if r.origin <= originWindow {
		rank = z.priorities.packetRank(r.flow, z.tasks.transfers[r.flow].sentBytes())
	}
	z.priorities.queues[id].push(&queued, rank)
}

// admit reports whether a packet has room in the queue of a link without credits, and takes it.
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

// countWaiting counts a packet that waits for a link.
func (l *queuedLink) countWaiting() {
	l.numWaiting++
	l.occupancy++
	l.maxOccupancy = max(l.maxOccupancy, l.occupancy)
}

// selectQueue chooses the queue that an idle link serves next and takes the room that its first packet needs. It returns the place
// of the queue; ok is false if no queue has a packet with room.
func (z *sim) selectQueue(id int32, l *queuedLink, now engine.Time) (index int32, ok bool) {
	numQueues, first := int32(l.numQueues&31), int32(l.nextQueue&31)
	ready := uint64(l.readyQueues)
	ready = (ready | ready<<numQueues) >> first & (1<<numQueues - 1) // from turn on
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

// transmit has an idle link send so many bytes.
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

// wrap returns k, which is at least 0 and less than 2n, modulo n; no branch is missed.
func wrap(k, n int32) int32 {
	k -= n
	return k + n&(k>>31)
}

// startSending sends the next packet of a link that sends none, if one waits for which there is room.
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
	if r.origin <= originWindow && !z.usesCredits {
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
	z.calendar.schedule(id, l.sendEnd)
}

// drawTries returns how often a packet is sent until it arrives as it was sent.
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
