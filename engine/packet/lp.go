package packet

import (
	"math"
	"math/bits"
	"runtime"
	"unsafe"

	"sim/engine"
)

// lpSim simulates links under credits one after the other, each alone for a window that is no longer than the shortest
// packet takes to be sent and the least latency together: all that comes to a link in a window, packets and credits, is
// of packets that began to be sent before it (conservative windows; Nicol 1993, "The cost of conservative
// synchronization in parallel discrete event simulations"). What a link needs is then in the cache, and of what comes
// nothing goes through the calendar. Where links may fail, what they lose gives room up at once, and windows are the
// least latency. Between windows the state is that of the loop of events, so either goes on where the other stops: this
// one where much is to be done in a window.
//
// Several of this kind share the links of a network and work at the same time, each with memory and counts of its own. What
// a link sends to one of another's is put aside, and taken by that other in the window in which it comes. Results do not
// depend on how many they are.
type lpSim struct {
	*sim                         // the run's own, or one beside it
	*workerGroup                 // that this is of
	worker         int           // its place among all
	from, end      int32         // its links
	windows        []windowInbox // what comes to its links, and what these send to others, by window, round about
	now, next      *windowInbox  // the window that is simulated, and the one behind it
	sent           int64         // packets, by its links
	packets        descriptors   // packets on and before its links
	arrivals       pool[packetArrival]
	credits        pool[creditReturn]
	pending        []pendingEvent // scratch
	pendingCredits []pendingEvent // the credits that come to the link that is simulated
	creditsApplied int            // so many of them have been taken, -1 where they are not known yet
	_              [64]byte       // a line of the cache, which another of these may lie behind
}

// windowInbox is what comes to links in a window.
type windowInbox struct {
	deliveries list[packetArrival] // of packets that end there
	credits    list[creditReturn]
	byLink     []linkInbox // by link
	outboxes   []outbox
}

// outbox is what comes to links of another, who takes it; next of a credit is the link.
type outbox struct {
	arrivals list[packetArrival]
	credits  list[creditReturn]
	_        [48]byte // a line of the cache, as others use the next
}

// linkInbox is the first packet that comes to a link in a window, and the first credit, -1 of none.
type linkInbox struct{ packet, credit int32 }

// packetArrival is a packet that gets to a link of another or to its end.
type packetArrival struct {
	record
	nextLink int32
	channel  uint8
}

// creditReturn is room on a channel.
type creditReturn struct {
	time           engine.Time
	channel, bytes int32
	next           int32
}

// pendingEvent is a landing or a credit in its order: by time, landings over links by these, then those that are injected.
type pendingEvent struct {
	time    engine.Time
	sortKey uint64 // its low bits are its place in its list
}

const injectionBit = 1 << 63

// inFlight is when the packets that have left a link get to its end.
type inFlight struct {
	arrivalTimes []engine.Time // round about
	head, tail   uint
	sender       int32 // 1 + the sender that keeps a packet before the link, 0 if there is none
}

const (
	// maxWindowsAhead is how many windows what comes of a packet may be ahead: each has a list for every link.
	maxWindowsAhead = 32
	// maxPacketsPerWindow is how many packets a link can send in a window, where latencies allow more and what comes of a packet is no
	// more than mostAhead of such windows ahead.
	maxPacketsPerWindow = 32
	// minLinksPerWorker and leastSent are how many links each has that works beside others, and how many packets all have sent in
	// a window for it to be worth their while.
	minLinksPerWorker     = 64
	minPacketsForParallel = 2048
	// minWindows is how many windows a time must have, and leastEvents how many events a window, for windows to be worth
	// it.
	minWindows         = 16
	minEventsPerWindow = 16

	maxWorkers = 16
)

// newLPSim returns nil where links cannot be simulated apart: where something but packets and credits goes from one to
// another, or latencies and what packets take differ too much.
func (z *sim) newLPSim() *lpSim {
	if !z.ordersByID || z.options.lpEvents < 0 || z.bitErrorRate > 0 || !z.paths.isSingle() || z.windowInjector != nil || z.tasks != nil || z.log != nil || len(z.injectors) == 0 {
		return nil
	}
	minBytes, maxBytes, allGreedy := z.injectors[0].lastBytes, z.injectors[0].bytes, z.injectors[0].process == Greedy
	for i := range z.injectors {
		m := &z.injectors[i]
		if m.process == Greedy != allGreedy {
			return nil // both may inject before one link at one time
		}
		minBytes, maxBytes = min(minBytes, m.lastBytes), max(maxBytes, m.bytes)
	}
	p := &lpSim{sim: z, workerGroup: &workerGroup{allGreedy: allGreedy}}
	minLatency, maxLatency, minSendTime, maxSendTime := engine.Never, engine.Time(0), engine.Never, engine.Time(0)
	addRate := func(rate float64) {
		if rate > 0 {
			t, _ := serialisationTime(ticksPerByte(rate), uint64(minBytes), 0)
			minSendTime = min(minSendTime, t)
			t, _ = serialisationTime(ticksPerByte(rate), uint64(maxBytes), math.MaxUint32)
			maxSendTime = max(maxSendTime, t)
		}
	}
	losesPackets := false // packets before links that are down
	for _, l := range z.network.Links {
		addRate(l.Rate)
		losesPackets = losesPackets || l.Rate == 0
		p.latencies = append(p.latencies, l.Latency)
		minLatency, maxLatency = min(minLatency, l.Latency), max(maxLatency, l.Latency)
	}
	for _, c := range z.network.Changes {
		addRate(c.Rate)
		losesPackets = losesPackets || c.Rate == 0 && !c.Planned
	}
	maxDelay := maxSendTime + 2*maxLatency // until the credit for a packet that ends comes
	if minSendTime == 0 || maxSendTime > engine.Never/8 || maxLatency > engine.Never/8 {
		return nil
	}
	lookahead := minLatency + minSendTime // at the earliest something comes of a packet that begins to be sent
	if losesPackets {
		lookahead = minLatency // the room of one that is lost is given up at once
	}
	length := min(lookahead, max(maxPacketsPerWindow*min(minSendTime, engine.Never/maxPacketsPerWindow), maxDelay/maxWindowsAhead))
	if length < maxDelay/maxWindowsAhead || length == 0 {
		return nil
	}
	p.windowLength, p.lastStart = length, engine.Never-maxDelay-2*length
	n := max(1, min(z.options.Workers, len(z.queued)/minLinksPerWorker, runtime.GOMAXPROCS(0), maxWorkers))
	if z.options.lpEvents > 0 {
		n = max(1, min(z.options.Workers, len(z.queued), maxWorkers))
	}
	numWindows := 1 << bits.Len64(uint64(maxDelay/length)+1)
	if int64(len(z.queued))*int64(n*numWindows)*int64(unsafe.Sizeof(linkInbox{})) > z.options.MaxBytes/8 {
		return nil
	}
	for i := range n {
		q := p
		if i > 0 {
			q = &lpSim{sim: &sim{}, workerGroup: p.workerGroup}
			q.records.grow()
		}
		q.packets.freeSlot = -1
		q.windows = make([]windowInbox, numWindows)
		p.all = append(p.all, q)
	}
	p.assignLinks(n)
	p.barrier = newBarrier(n)
	return p
}

// assignLinks shares the links among so many of those that there are.
func (c *workerGroup) assignLinks(n int) {
	c.active = c.all[:n]
	links := len(c.latencies)
	for i, q := range c.active {
		q.worker, q.from, q.end = i, int32(links*i/n), int32(links*(i+1)/n)
	}
}

// releaseMemory gives the memory of a run back.
func (z *sim) releaseMemory() {
	z.records.releaseMemory()
	if z.lps != nil {
		for _, q := range z.lps.all[1:] {
			q.records.releaseMemory()
		}
	}
}

// runWhileSparse simulates events up to a time at most, as long as they are too few in a window for windows to be worth it, and
// reports whether they are.
func (p *lpSim) runWhileSparse(until engine.Time) bool {
	z := p.sim
	if p.isDisabled || until-z.calendar.now < minWindows*p.windowLength && z.options.lpEvents == 0 {
		return false
	}
	if z.options.lpEvents > 0 {
		return z.runEvents(until, z.options.lpEvents) >= z.options.lpEvents && !z.outOfMemory
	}
	batch, count, start := max(1024, 2*len(z.queued)), 0, engine.Time(-1)
	for {
		simulated := z.runEvents(until, batch)
		if simulated < batch || z.outOfMemory {
			return false
		}
		if count += simulated; start < 0 {
			start = z.firstEventTime
		}
		switch numWindows := int((z.calendar.now-start)/p.windowLength) + 1; {
		case numWindows < 4: // it may be but a burst
		case until-z.calendar.now < minWindows*p.windowLength:
			return false
		case count/numWindows >= max(minEventsPerWindow, len(z.queued)/6):
			if p.assignLinks(1); count/numWindows > 3*minPacketsForParallel { // a packet is two events or three
				p.assignLinks(len(p.all))
			}
			return true
		default:
			count, start = 0, -1
		}
	}
}

// inboxAt returns its list of what comes in the window of a time.
func (p *lpSim) inboxAt(t engine.Time) *windowInbox {
	if uint64(t-p.windowStart-p.windowLength) < uint64(p.windowLength) {
		return p.next
	}
	return &p.windows[(p.windowNumber+int((t-p.windowStart)/p.windowLength))&(len(p.windows)-1)]
}

// owns reports whether a link is among its own.
func (p *lpSim) owns(id int32) bool { return uint32(id-p.from) < uint32(p.end-p.from) }

// ownerOf returns the place among all of that whose link it is.
func (c *workerGroup) ownerOf(id int32) int {
	for i, q := range c.active {
		if id < q.end {
			return i
		}
	}
	return 0
}

func (f *inFlight) grow() {
	times := make([]engine.Time, max(4, 2*len(f.arrivalTimes)))
	for i := f.head; i != f.tail; i++ {
		times[i&uint(len(times)-1)] = f.arrivalTimes[i&uint(len(f.arrivalTimes)-1)]
	}
	f.arrivalTimes = times
}

// sendCredit has a credit come to a link at a time.
func (p *lpSim) sendCredit(id, channel, bytes int32, time engine.Time) {
	w := p.inboxAt(time)
	if !p.owns(id) {
		_, c := w.outboxes[p.ownerOf(id)].credits.add()
		*c = creditReturn{time, channel, bytes, id}
		return
	}
	w.addCredit(id, channel, bytes, time)
}

func (w *windowInbox) addCredit(id, channel, bytes int32, time engine.Time) {
	n, c := w.credits.add()
	first := &w.byLink[id].credit
	c.time, c.channel, c.bytes, c.next = time, channel, bytes, *first
	*first = n
}

// drainOutboxes takes what others have put aside of one of the windows.
func (p *lpSim) drainOutboxes(k int) {
	w := &p.windows[k]
	for _, q := range p.active {
		box := &q.windows[k].outboxes[p.worker]
		for i := range box.arrivals.elements() {
			arrival := &box.arrivals.items[i]
			w.addArrival(p, p.packets.alloc(&arrival.record, arrival.channel), arrival.nextLink)
		}
		for _, c := range box.credits.elements() {
			w.addCredit(c.next, c.channel, c.bytes, c.time)
		}
		box.arrivals.length, box.credits.length = 0, 0 // a window that is cut is looked at again
	}
}

// injectFromSource has a packet come from a source.
func (p *lpSim) injectFromSource(id int32, channel uint8, r *record, now engine.Time) {
	if r.time = now; !p.isInjecting {
		l := &p.queued[id]
		l.countWaiting()
		p.enqueueDescriptor(l, channel+l.numChannels, p.packets.alloc(r, channel))
		return
	}
	q := p.active[p.ownerOf(id)]
	k := q.packets.alloc(r, channel)
	q.packets.injectTimes[k] = engine.Time(p.numInjected) // until it comes: the order of those of one time
	q.now.addArrival(q, k, id)
	p.numInjected++
}
