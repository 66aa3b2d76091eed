package packet

import (
	"sync"

	"sim/engine"
)

// workerGroup is what several share.
type workerGroup struct {
	active       []*lpSim      // that work
	all          []*lpSim      // and those that do where there is enough to do
	windowLength engine.Time   // of a window
	lastStart    engine.Time   // when the last may begin: what is ahead of it is no time any more
	windowStart  engine.Time   // of the one that is simulated
	windowNumber int           // and its number
	lastTick     engine.Time   // up to which it is simulated
	latencies    []engine.Time // by link: its latency
	inFlight     []inFlight    // by link
	allGreedy    bool          // all sources are
	isInjecting  bool          // what is injected is put before its link when that is simulated
	isFinished   bool          // no window is simulated any more
	isDisabled   bool          // it takes too much memory
	numInjected  int           // packets that were put before links so in the window
	barrier      *barrier
	scratch      []int32
}

// runUntil simulates windows up to a time, and returns up to which: less if little is done in them.
func (p *lpSim) runUntil(until engine.Time) engine.Time {
	z := p.sim
	p.switchToWindows()
	var others sync.WaitGroup
	for _, q := range p.active[1:] {
		others.Go(func() {
			for p.barrier.wait(q.worker); !p.isFinished; p.barrier.wait(q.worker) {
				q.simulateShare()
			}
		})
	}
	simulated, checkedSent := z.calendar.now, p.numSent()
	previous, stopChecked := checkedSent, checkedSent // of the window before, and when Options.Stop was asked
	for windows := 1; simulated < until && p.windowStart <= p.lastStart && !z.outOfMemory && !p.isDisabled; windows++ {
		now := p.numSent()
		if windows%16 == 0 {
			if progress := now - checkedSent; progress == 0 || z.options.lpEvents == 0 && progress < max(64, 2*int64(len(z.queued))/3) {
				break
			}
			checkedSent = now
		}
		if now-stopChecked >= eventsPerStopCheck {
			if stopChecked = now; z.stopRequested() {
				break
			}
		}
		p.lastTick = min(until, p.windowStart+p.windowLength-1)
		if p.injectOpenSources(); z.outOfMemory {
			break
		}
		if len(p.active) > 1 && (now-previous >= minPacketsForParallel || z.options.lpEvents > 0) {
			p.barrier.wait(p.worker)
			p.simulateShare()
		} else {
			p.simulateAll()
		}
		previous = now
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

// numSent returns how many packets links have sent.
func (c *workerGroup) numSent() int64 {
	sum := int64(0)
	for _, q := range c.all {
		sum += q.sent
	}
	return sum
}

// checkMemory ends the windows where what is to come takes more memory than it may, and the run where packets do.
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

// injectOpenSources has sources inject what they do in the window, but for those that wait for links.
func (p *lpSim) injectOpenSources() {
	z := p.sim
	maxPackets := max(1<<14, 4*len(z.queued))
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
		if p.numInjected > maxPackets { // it is cut here
			p.lastTick = now
		}
	}
	p.isInjecting = false
}

// simulateShare simulates what is left of the window, beside others.
func (p *lpSim) simulateShare() {
	p.simulateLinks()
	p.barrier.wait(p.worker)
	if p.isComplete() {
		p.applyLateCredits()
	}
	p.barrier.wait(p.worker)
}

// simulateAll is simulate of all the crew, one after the other.
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

// isComplete reports whether the window is simulated to its end.
func (c *workerGroup) isComplete() bool { return c.lastTick == c.windowStart+c.windowLength-1 }

// startWindow begins a window.
func (c *workerGroup) startWindow(windowNumber int, start engine.Time) {
	c.windowNumber, c.windowStart = windowNumber, start
	for _, q := range c.all {
		q.now, q.next = &q.windows[windowNumber&(len(q.windows)-1)], &q.windows[(windowNumber+1)&(len(q.windows)-1)]
	}
}

// simulateLinks simulates its links in the window.
func (p *lpSim) simulateLinks() {
	if len(p.active) > 1 {
		p.drainOutboxes(p.windowNumber & (len(p.windows) - 1))
	}
	for i := p.from; i < p.end; i++ {
		if (i-p.from)%maxBatch == 0 && (p.allGreedy || len(p.queued) >= minLinksToPrefetch) {
			p.prefetchLinks(i, min(i+maxBatch, p.end))
		}
		l, first := &p.queued[i], &p.now.byLink[i]
		if first.packet >= 0 || l.numWaiting > 0 && (l.state&stateSending != 0 && l.sendEnd <= p.lastTick || first.credit >= 0 && l.state == 0) {
			p.simulateLink(i, l)
		}
	}
	p.deliverArrivals()
}

// deliverArrivals delivers the packets that its links have sent and that end in the window.
func (p *lpSim) deliverArrivals() {
	w, numLeft := p.now, int32(0)
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

// applyLateCredits takes the credits of its links that have come in a window that is over, and were not taken yet, and makes room
// for another window.
func (p *lpSim) applyLateCredits() {
	for _, c := range p.now.credits.elements() {
		p.freeBytes[c.channel] += int64(c.bytes)
	}
	p.now.reset(p.from, p.end)
}

// reset makes room for another window of those links.
func (w *windowInbox) reset(from, end int32) {
	for i := from; i < end; i++ {
		w.byLink[i] = linkInbox{-1, -1}
	}
	w.deliveries.reset()
	w.credits.reset()
	for i := range w.outboxes {
		w.outboxes[i].arrivals.reset()
		w.outboxes[i].credits.reset()
	}
}
