package packet

// This file defines lpSim, its data structures, and the conditions for using it. lp_link.go
// simulates one link in one window, lp_workers.go all links in all windows, and
// lp_switch.go converts the state between lpSim and the event loop of sim.
//
// A link sends packets and holds credits. A credit is free space in the buffer of a
// virtual channel at the far end of the link. The link takes credits when it starts to
// send a packet. They return one latency after the packet has left that buffer.

import (
	"math/bits"
	"runtime"
	"unsafe"

	"sim/engine"
)

// lpSim simulates the links of a credit-based network as logical processes (LPs) of a
// conservative, window-synchronised simulation (Nicol, "The Cost of Conservative
// Synchronization in Parallel Discrete Event Simulations", J. ACM 40, 1993).
//
// Simulated time is divided into windows no longer than the lookahead: the minimum link
// latency plus the minimum serialisation time of a packet. Every packet arrival and
// credit return in a window was caused by a transmission that started before the window.
// Each link can therefore be simulated to the end of the window independently of the
// others. Its state stays in the cache, and its arrivals and credit returns bypass the
// event calendar.
//
// If links can fail, the lookahead is the minimum latency alone, because a packet lost on
// a failing link frees its buffer immediately.
//
// At a window boundary the state equals the state of the sequential event loop, so a run
// can switch between the two (lp_switch.go). Windows are used while they contain enough
// events; see runWhileSparse.
//
// With several workers (lp_workers.go), each lpSim owns a contiguous range of links and
// has its own memory and counters. Events for a link of another worker go to an outbox,
// which the owner drains in the window in which they occur. The result does not depend on
// the number of workers.
type lpSim struct {
	*sim                               // the run itself (worker 0) or a private copy (other workers)
	*workerGroup                       // state shared by all workers
	worker         int                 // index in workerGroup.all
	from, end      int32               // owned links: from <= id < end
	windows        []windowInbox       // ring of upcoming windows, by window number modulo len, a power of two
	now, next      *windowInbox        // the current window and the one after it
	sent           int64               // packets sent by the owned links
	packets        descriptors         // packets queued at or in flight on the owned links
	arrivals       pool[packetArrival] // memory of the arrival lists in windows
	credits        pool[creditReturn]  // memory of the credit lists in windows
	pending        []pendingEvent      // scratch: the arrivals at one link, sorted
	pendingCredits []pendingEvent      // credit returns to the link being simulated, sorted
	creditsApplied int                 // number of pendingCredits already applied; -1 if they have not been collected
	_              [64]byte            // padding against false sharing
}

// windowInbox holds the events of one upcoming window for the links of one worker, and
// its events for the links of other workers.
type windowInbox struct {
	deliveries list[packetArrival] // packets that reach their destination
	credits    list[creditReturn]  // storage of the per-link credit lists
	byLink     []linkInbox         // heads of the event lists, indexed by link
	outboxes   []outbox            // events for other workers' links, indexed by worker
}

// outbox collects the events that a worker schedules for the links of another worker, in
// one window. In an outbox, creditReturn.next is not an index, but the destination link.
type outbox struct {
	arrivals list[packetArrival]
	credits  list[creditReturn]
	_        [48]byte // padding against false sharing
}

// linkInbox holds the heads of a link's lists of arriving packets (slots in
// lpSim.packets) and returning credits (indices in windowInbox.credits). -1 means that
// the list is empty.
type linkInbox struct{ packet, credit int32 }

// packetArrival is a packet that arrives at another worker's link or at its destination.
type packetArrival struct {
	record         // the packet
	nextLink int32 // pathEnd at the destination
	channel  uint8 // of nextLink
}

// creditReturn frees buffer space on a virtual channel of a link.
type creditReturn struct {
	time           engine.Time
	channel, bytes int32
	next           int32 // next credit return to the link; -1 at the end
}

// pendingEvent is a packet arrival or a credit return with its sort key. Events are
// ordered by time. Simultaneous arrivals over links come first, ordered by link, followed
// by injected packets in the order of injection.
type pendingEvent struct {
	time engine.Time
	// The lower 32 bits of sortKey are the slot of the packet or the index of the credit
	// return. Above them is the channel over which the packet has come, or injectionBit and
	// the position in the order of injection.
	sortKey uint64
}

// injectionBit is set in the sort keys of injected packets.
const injectionBit = 1 << 63

// inFlight holds the arrival times of the packets that a link has sent and that still
// count in its occupancy. It is a ring buffer; its size is a power of two.
type inFlight struct {
	arrivalTimes []engine.Time
	head, tail   uint  // arrivalTimes[head:tail], modulo the size
	sender       int32 // 1 + the greedy sender that keeps a packet queued at the link; otherwise 0
}

// Limits of windows and workers.
const (
	// maxWindowsAhead limits the number of windows between a transmission and the events
	// that result from it. Each upcoming window has lists for every link, so more windows
	// would need more memory and cache.
	maxWindowsAhead = 32
	// maxPacketsPerWindow limits the length of a window to the serialisation time of this
	// many packets, provided that every event still falls within the next maxWindowsAhead
	// windows. Longer windows would save little: visiting a link already costs little per
	// packet, and the events of a window would displace other data from the cache.
	maxPacketsPerWindow = 32
	// minLinksPerWorker and minPacketsForParallel are the thresholds for using several
	// workers: links per worker, and packets sent per window by all links. With less work,
	// waiting at the barriers takes longer than the workers save.
	minLinksPerWorker     = 64
	minPacketsForParallel = 2048
	// minWindows and minEventsPerWindow are the thresholds for using windows instead of
	// the event loop: windows until the next interruption, and events per window. With
	// less, converting the state and visiting all links takes longer than windows save.
	minWindows         = 16
	minEventsPerWindow = 16
	// linksPerEvent is a further threshold: at least one event per window and this many
	// links, because each window visits all links.
	linksPerEvent = 6
	// minMeasuredWindows is the number of windows over which events are counted. A shorter
	// time does not distinguish a burst from a load.
	minMeasuredWindows = 4

	// maxWorkers limits the time of ownerOf, which searches all workers.
	maxWorkers = 16
)

// newLPSim returns nil if the run does not meet the conditions of lpSim. Links must
// interact only by packets and credits, and latencies and serialisation times must not
// differ too much.
func (z *sim) newLPSim() *lpSim {
	// A sender or an observer depends on the arrival of each packet.
	needsEachPacket := z.windowInjector != nil || z.tasks != nil || z.log != nil
	if !z.ordersByID || z.options.lpEvents < 0 || z.bitErrorRate > 0 || !z.paths.isSingle() || needsEachPacket || len(z.injectors) == 0 {
		return nil
	}

	// Find the smallest and the largest packet.
	minBytes, maxBytes, allGreedy := z.injectors[0].lastBytes, z.injectors[0].bytes, z.injectors[0].process == Greedy
	for i := range z.injectors {
		m := &z.injectors[i]
		if m.process == Greedy != allGreedy {
			return nil // both kinds could inject at one link at the same time
		}
		minBytes, maxBytes = min(minBytes, m.lastBytes), max(maxBytes, m.bytes)
	}

	p := &lpSim{sim: z, workerGroup: &workerGroup{allGreedy: allGreedy}}

	// Find the range of latencies and transmission times, at all rates that links have.
	minLatency, maxLatency, minSendTime, maxSendTime := engine.Never, engine.Time(0), engine.Never, engine.Time(0)
	addRate := func(rate float64) {
		if rate > 0 {
			t, _ := serialisationTime(ticksPerByte(rate), uint64(minBytes), noRemainder)
			minSendTime = min(minSendTime, t)
			t, _ = serialisationTime(ticksPerByte(rate), uint64(maxBytes), maxRemainder)
			maxSendTime = max(maxSendTime, t)
		}
	}

	losesPackets := false // some link is down at the start or fails
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

	maxDelay := maxSendTime + 2*maxLatency // from the start of a transmission to the return of the credit
	if minSendTime == 0 || maxSendTime > engine.Never/8 || maxLatency > engine.Never/8 {
		return nil
	}

	// Choose the length of a window, so that no event is more than maxWindowsAhead windows
	// after the transmission that causes it.
	lookahead := minLatency + minSendTime // minimum time from the start of a transmission to an event at another link
	if losesPackets {
		lookahead = minLatency // lost packets free their buffer immediately
	}

	minLength := maxDelay / maxWindowsAhead
	sendTimes := maxPacketsPerWindow * min(minSendTime, engine.Never/maxPacketsPerWindow) // without overflow
	length := min(lookahead, max(sendTimes, minLength))
	if length < minLength || length == 0 {
		return nil
	}
	p.windowLength, p.lastStart = length, engine.Never-maxDelay-2*length

	// Choose the number of workers. Tests set lpEvents and use as many as possible.
	n := max(1, min(z.options.Workers, len(z.queued)/minLinksPerWorker, runtime.GOMAXPROCS(0), maxWorkers))
	if z.options.lpEvents > 0 {
		n = max(1, min(z.options.Workers, len(z.queued), maxWorkers))
	}

	// The ring has the windows that an event can be in, rounded up to a power of two. Its
	// inboxes may use an eighth of the memory.
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

// assignLinks makes the first n workers active and divides the links among them.
func (c *workerGroup) assignLinks(n int) {
	c.active = c.all[:n]
	links := len(c.latencies)
	for i, q := range c.active {
		q.worker, q.from, q.end = i, int32(links*i/n), int32(links*(i+1)/n)
	}
}

// releaseMemory returns the memory of a run to the pool.
func (z *sim) releaseMemory() {
	z.records.releaseMemory()
	if z.lps != nil {
		for _, q := range z.lps.all[1:] {
			q.records.releaseMemory()
		}
	}
}

// runWhileSparse runs the event loop while windows would contain too few events. It
// returns true when windows are worthwhile, and false if time until or the memory limit
// has been reached before. It also selects the number of active workers.
func (p *lpSim) runWhileSparse(until engine.Time) bool {
	z := p.sim
	if p.isDisabled || until-z.calendar.now < minWindows*p.windowLength && z.options.lpEvents == 0 {
		return false
	}

	// Tests set the number of events before windows.
	if z.options.lpEvents > 0 {
		return z.runEvents(until, z.options.lpEvents) >= z.options.lpEvents && !z.outOfMemory
	}

	// Simulate batches of events, about two per link, and count the events per window
	// since time start. A start of -1 means that the next batch determines it.
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
		case numWindows < minMeasuredWindows:
		case until-z.calendar.now < minWindows*p.windowLength:
			return false
		case count/numWindows >= max(minEventsPerWindow, len(z.queued)/linksPerEvent):
			const maxEventsPerPacket = 3 // end of transmission, arrival and perhaps credit return
			numWorkers := 1
			if count/numWindows > maxEventsPerPacket*minPacketsForParallel {
				numWorkers = len(p.all)
			}
			p.assignLinks(numWorkers)
			return true
		default: // start counting again
			count, start = 0, -1
		}
	}
}

// inboxAt returns the inbox of the window that contains time t, which must not precede the
// current window. In most calls it is the next window, for which it needs no division.
func (p *lpSim) inboxAt(t engine.Time) *windowInbox {
	if nextStart := p.windowStart + p.windowLength; t >= nextStart && t-nextStart < p.windowLength {
		return p.next
	}
	return &p.windows[(p.windowNumber+int((t-p.windowStart)/p.windowLength))&(len(p.windows)-1)]
}

// owns reports whether the worker owns a link.
func (p *lpSim) owns(id int32) bool { return p.from <= id && id < p.end }

// ownerOf returns the index of the worker that owns a link.
func (c *workerGroup) ownerOf(id int32) int {
	for i, q := range c.active {
		if id < q.end {
			return i
		}
	}
	return 0
}

// grow doubles the ring buffer.
func (f *inFlight) grow() {
	times := make([]engine.Time, max(4, 2*len(f.arrivalTimes)))
	for i := f.head; i != f.tail; i++ {
		times[i&uint(len(times)-1)] = *f.entry(i)
	}
	f.arrivalTimes = times
}

// entry returns entry i of the ring buffer, for head <= i < tail.
func (f *inFlight) entry(i uint) *engine.Time { return &f.arrivalTimes[i&uint(len(f.arrivalTimes)-1)] }

// add adds the arrival time of a packet.
func (f *inFlight) add(arrival engine.Time) {
	if f.tail-f.head == uint(len(f.arrivalTimes)) {
		f.grow()
	}
	*f.entry(f.tail) = arrival
	f.tail++
}

// clear removes all arrival times.
func (f *inFlight) clear() { f.head = f.tail }

// sendCredit schedules a credit return to link id at the given time.
func (p *lpSim) sendCredit(id, channel, bytes int32, time engine.Time) {
	w := p.inboxAt(time)
	if !p.owns(id) {
		_, c := w.outboxes[p.ownerOf(id)].credits.add()
		*c = creditReturn{time: time, channel: channel, bytes: bytes, next: id} // see outbox
		return
	}
	w.addCredit(id, channel, bytes, time)
}

// addCredit adds a credit return to the list of link id.
func (w *windowInbox) addCredit(id, channel, bytes int32, time engine.Time) {
	n, c := w.credits.add()
	first := &w.byLink[id].credit
	c.time, c.channel, c.bytes, c.next = time, channel, bytes, *first
	*first = n
}

// drainOutboxes moves the events that other workers have scheduled for the owned links in
// window k of the ring to the lists of these links.
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
		box.arrivals.length, box.credits.length = 0, 0 // a window that was cut is drained again
	}
}

// injectFromSource adds an injected packet to link id. While injectOpenSources runs, the
// packet joins the arrivals at the link in the current window. Otherwise a greedy source
// injects it at the link being simulated, and it is queued immediately.
func (p *lpSim) injectFromSource(id int32, channel uint8, r *record, now engine.Time) {
	if r.time = now; !p.isInjecting {
		l := &p.queued[id]
		l.countWaiting()
		p.enqueueDescriptor(l, channel+l.numChannels, p.packets.alloc(r, channel))
		return
	}

	q := p.active[p.ownerOf(id)]
	k := q.packets.alloc(r, channel)
	q.packets.injectTimes[k] = engine.Time(p.numInjected) // until its arrival: its position in the order of injection
	q.now.addArrival(q, k, id)
	p.numInjected++
}
