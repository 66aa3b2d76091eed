package packet

// This file runs the windows of lpSim and divides the links among its workers. In each
// window, every link is simulated as a logical process (lp_link.go). The steps are:
//
//  1. Worker 0 simulates the injections of sources that are not greedy.
//  2. Each worker takes the arrivals and credit returns that other workers have put into
//     their outboxes for its links, and simulates its links.
//  3. When all have finished, each worker applies the remaining credit returns of its
//     links, and empties its inboxes of the window.
//
// A barrier separates the steps if the workers are goroutines. If a window has few
// packets, worker 0 simulates the links of all workers one after another.

import (
	"sync"

	"sim/engine"
)

// workerGroup is the state shared by the workers of an lpSim.
//
// Windows are numbered. The current window covers windowStart <= t <
// windowStart+windowLength. It may be cut: then it is simulated in several parts, each up
// to lastTick.
type workerGroup struct {
	active       []*lpSim // workers that simulate at present
	all          []*lpSim // all workers
	windowLength engine.Time
	lastStart    engine.Time   // latest start of a window; later events would exceed the range of engine.Time
	windowStart  engine.Time   // of the current window
	windowNumber int           // of the current window
	lastTick     engine.Time   // the current window is simulated up to and including this time
	latencies    []engine.Time // indexed by link
	inFlight     []inFlight    // indexed by link
	allGreedy    bool          // all sources are greedy
	isInjecting  bool          // injectOpenSources is running
	isFinished   bool          // the workers must return
	isDisabled   bool          // windows need too much memory; they are not used again in this run
	numInjected  int           // packets injected by injectOpenSources in the current part of the window
	barrier      *barrier
	scratch      []int32 // events of senders
}

// windowsPerCheck is the number of windows between two checks whether windows contain
// enough events.
const windowsPerCheck = 16

// runUntil simulates windows up to and including time until. It returns the time up to
// which it has simulated. The time is less than until if windows contain too few events.
func (p *lpSim) runUntil(until engine.Time) engine.Time {
	z := p.sim
	p.switchToWindows()

	// The other workers wait for each window at the barrier.
	var others sync.WaitGroup
	for _, q := range p.active[1:] {
		others.Go(func() {
			for p.barrier.wait(q.worker); !p.isFinished; p.barrier.wait(q.worker) {
				q.simulateShare()
			}
		})
	}

	// Numbers of packets that had been sent at the last check of the number of events, at
	// the last call of Options.Stop, and before the previous window.
	checkedSent := p.numSent()
	stopSent, previousSent := checkedSent, checkedSent

	simulated := z.calendar.now
	for windows := 1; simulated < until && p.windowStart <= p.lastStart && !z.outOfMemory && !p.isDisabled; windows++ {
		numSent := p.numSent()

		// Return to the event loop if windows contain few events. Tests set lpEvents and
		// return only if windows are empty.
		if windows%windowsPerCheck == 0 {
			// At least four packets per window, and one packet per 24 links: fewer than
			// runWhileSparse requires, so that a run does not alternate at a steady load.
			minPackets := max(4*windowsPerCheck, int64(len(z.queued))*windowsPerCheck/24)
			if progress := numSent - checkedSent; progress == 0 || z.options.lpEvents == 0 && progress < minPackets {
				break
			}
			checkedSent = numSent
		}

		if numSent-stopSent >= eventsPerStopCheck {
			if stopSent = numSent; z.stopRequested() {
				break
			}
		}

		// Simulate the window, or the part of it up to lastTick.
		p.lastTick = min(until, p.windowStart+p.windowLength-1)
		if p.injectOpenSources(); z.outOfMemory {
			break
		}

		if len(p.active) > 1 && (numSent-previousSent >= minPacketsForParallel || z.options.lpEvents > 0) {
			p.barrier.wait(p.worker)
			p.simulateShare()
		} else {
			p.simulateAll()
		}

		previousSent = numSent
		simulated = p.lastTick
		if p.isComplete() {
			p.workerGroup.startWindow(p.windowNumber+1, p.windowStart+p.windowLength)
		}
		p.checkMemory()
	}

	p.isFinished = true
	if len(p.active) > 1 {
		p.barrier.wait(p.worker)
		others.Wait()
	}

	p.switchToEvents(simulated)
	if p.isDisabled {
		for _, q := range p.all {
			q.windows = nil
		}
	}
	return simulated
}

// numSent returns the number of packets that all links have sent in windows.
func (c *workerGroup) numSent() int64 {
	sum := int64(0)
	for _, q := range c.all {
		sum += q.sent
	}
	return sum
}

// checkMemory disables windows if upcoming events need too much memory, and ends the run
// if packets do.
func (p *lpSim) checkMemory() {
	sum, numChunks := int64(0), int64(0)
	for _, q := range p.active {
		sum += q.packets.memoryBytes() + q.arrivals.memoryBytes() + q.credits.memoryBytes()
		numChunks += q.records.numChunks
		p.outOfMemory = p.outOfMemory || q.sim.outOfMemory
		p.isDisabled = p.isDisabled || len(q.packets.slots) > maxDescriptors
	}

	p.outOfMemory = p.outOfMemory || numChunks > p.maxChunks
	p.isDisabled = p.isDisabled || sum+numChunks*chunkBytes > p.options.MaxBytes
}

// injectOpenSources simulates the events of senders in the calendar up to lastTick. If
// there are too many injections, it cuts the window after the current time, so that the
// list of arrivals remains small.
func (p *lpSim) injectOpenSources() {
	z := p.sim
	maxPackets := max(1<<14, 4*len(z.queued)) // before the window is cut
	p.isInjecting, p.numInjected = true, 0

	for {
		p.scratch = z.calendar.takeSimultaneous(p.scratch, p.lastTick)
		if len(p.scratch) == 0 {
			break
		}
		now := z.calendar.now
		z.stats.End = max(z.stats.End, now)
		for _, id := range p.scratch {
			if z.runSender(id-z.senderBase, now); z.outOfMemory {
				return
			}
		}
		if p.numInjected > maxPackets {
			p.lastTick = now // cut the window
		}
	}
	p.isInjecting = false
}

// simulateShare simulates the owned links in the current window, in parallel with the
// other workers.
func (p *lpSim) simulateShare() {
	p.simulateLinks()
	p.barrier.wait(p.worker)
	if p.isComplete() {
		p.applyLateCredits()
	}
	p.barrier.wait(p.worker)
}

// simulateAll simulates the links of all active workers sequentially.
func (c *workerGroup) simulateAll() {
	for _, q := range c.active {
		q.simulateLinks()
	}

	if !c.isComplete() {
		return
	}

	for _, q := range c.active {
		q.applyLateCredits()
	}
}

// isComplete reports whether the window is simulated to its end, and not cut.
func (c *workerGroup) isComplete() bool { return c.lastTick == c.windowStart+c.windowLength-1 }

// startWindow makes the given window the current one. The masks compute the number modulo the length
// of lpSim.windows, a power of two.
func (c *workerGroup) startWindow(windowNumber int, start engine.Time) {
	c.windowNumber, c.windowStart = windowNumber, start
	for _, q := range c.all {
		q.now, q.next = &q.windows[windowNumber&(len(q.windows)-1)], &q.windows[(windowNumber+1)&(len(q.windows)-1)]
	}
}

// simulateLinks simulates the owned links that have events in the current window.
func (p *lpSim) simulateLinks() {
	if len(p.active) > 1 {
		p.drainOutboxes(p.windowNumber & (len(p.windows) - 1))
	}

	for i := p.from; i < p.end; i++ {
		if (i-p.from)%maxBatch == 0 && (p.allGreedy || len(p.queued) >= minLinksToPrefetch) {
			p.prefetchLinks(i, min(i+maxBatch, p.end))
		}

		if l := &p.queued[i]; p.hasEvents(l, &p.now.byLink[i]) {
			p.simulateLink(i, l)
		}
	}

	p.deliverArrivals()
}

// hasEvents reports whether a link can have an event in the current window up to lastTick.
// A link without arrivals can only start to send a packet that is waiting: when its
// current transmission ends, or when credits return to an idle link.
func (p *lpSim) hasEvents(l *queuedLink, inbox *linkInbox) bool {
	if inbox.packet >= 0 {
		return true
	}
	if l.numWaiting == 0 {
		return false
	}
	if l.state&stateSending != 0 {
		return l.sendEnd <= p.lastTick
	}
	return l.state == 0 && inbox.credit >= 0
}

// deliverArrivals delivers the packets of the owned links that reach their destination up
// to lastTick.
func (p *lpSim) deliverArrivals() {
	w, numLeft := p.now, int32(0) // packets that arrive after lastTick stay in the list
	for i := range w.deliveries.elements() {
		arrival := &w.deliveries.items[i]
		if arrival.time > p.lastTick {
			w.deliveries.items[numLeft] = *arrival
			numLeft++
			continue
		}
		p.stats.End = max(p.stats.End, arrival.time)
		p.deliver(&arrival.record, arrival.time)
	}
	w.deliveries.length = numLeft
}

// applyLateCredits applies the credits of the current window that no link has needed, and
// resets the inbox for a later window. simulateLink has set the bytes of the others to 0.
func (p *lpSim) applyLateCredits() {
	for _, c := range p.now.credits.elements() {
		p.freeBytes[c.channel] += int64(c.bytes)
	}
	p.now.reset(p.from, p.end)
}

// reset empties the inbox. Its links are from <= id < end.
func (w *windowInbox) reset(from, end int32) {
	for i := from; i < end; i++ {
		w.byLink[i] = linkInbox{packet: -1, credit: -1}
	}
	w.deliveries.reset()
	w.credits.reset()
	for i := range w.outboxes {
		w.outboxes[i].arrivals.reset()
		w.outboxes[i].credits.reset()
	}
}
