package packet

// This file implements the windows of componentSim: how long a window is, which events it
// begins with, how simultaneous events are ordered, and how the workers share the
// components. component.go defines components, component_worker.go simulates one of them
// in the window.
//
// A source is timed if it injects at times that do not depend on the network. Other
// sources are greedy: they keep one packet queued at a link. Both are senders.

import (
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"sim/engine"
)

// componentWindow is the time window in which each component is simulated once. Packets
// that leave a component are stored, with their arrival times, in mailboxes of the
// components that they enter. The results are bit-identical to the results of the event
// loop.
//
// # Times
//
// The time unit (componentSim.timeUnit) is the greatest common divisor of all
// transmission times and latencies. All times of a window are therefore known at its
// start: they are the times of pending events plus multiples of the time unit. There are
// at most maxKeyTimes, which limits the length of the window. The index of a time in times
// is called its time index. A pending event is an event that has been scheduled and has
// not occurred.
//
// # Order of simultaneous events
//
// In the event loop, simultaneous events occur in the order in which they were scheduled.
// So their order is determined by the times at which they were scheduled. For equal
// scheduling times it is determined by the order of the events that scheduled them, their
// parents. A parent schedules at most two events; the first one precedes the second one.
//
// An eventKey encodes the scheduling times and the ancestors of an event within the
// window. Comparing the keys of simultaneous events yields their order. At the end of a
// window, the pending events are sorted by key and numbered from 0. These ordinals replace
// their keys.
//
// # Greedy sources
//
// A greedy source can schedule an event for the current time. Example: at time 5, event A
// of the source starts to send a packet at once, and schedules event B of the source for
// time 5, too. B comes after all other events of time 5, which were scheduled before it.
// If both A and B schedule an event for time 9, the event of B comes second. So the key
// must distinguish events scheduled at time 5 by an event such as A from events scheduled
// at time 5 by an event such as B. With greedy sources, a key has two bits per time. The
// lower one is set in the keys of the events that A schedules, and the upper one for B.
// Otherwise one bit per time suffices.
type componentWindow struct {
	start, end  engine.Time      // start <= t < end
	times       []engine.Time    // all times at which events can occur in the window
	keyBit      [maxTimes]uint64 // indexed by time index: its bit in eventKey.scheduleTimes, the lower one of two
	bitsPerTime int              // bits of scheduleTimes per time: 1, or 2 with greedy sources
	// residues are the distinct residues of event times modulo the time unit. If links
	// have latencies, they include all past events, because packets on links can have any
	// of these residues.
	residues []engine.Time
	// phases are the residues, relative to start, in ascending order. Each time of the
	// window is start plus a phase plus a multiple of the time unit.
	phases           []engine.Time
	numPhases        int              // phases for which componentLink.timesPerPacket is valid
	pending          eventList        // events pending at the start of the window
	injections       []injectionBatch // of timed sources in the window
	numArrivals      int64            // events inserted into arrival lists so far
	numComparisons   int64            // comparisons needed to insert them
	numSparseWindows int              // windows with too few events since the last long dense period; see eventLoopTime
	numDenseWindows  int              // windows with enough events since the last sparse one
	numOpened        int              // windows with at least one time so far
}

// eventKey orders simultaneous events; see componentWindow.
type eventKey struct {
	// scheduleTimes has a bit for each time of the window at which the event or an ancestor
	// was scheduled. Later times have higher bits.
	scheduleTimes uint64
	// tieBreak has the ordinal of the ancestor that was pending at the start of the
	// window in its upper ordinalBits bits. Below it is a bit for each time at which the
	// event or an ancestor was scheduled second by its parent. Earlier times have higher
	// bits.
	tieBreak uint64
}

// pendingKey returns the key of an event that is pending at the start of the window.
func pendingKey(ordinal uint64) eventKey { return eventKey{tieBreak: ordinal << maxKeyTimes} }

// withLaterOrdinal returns the key with an ordinal that is higher by n.
func (a *eventKey) withLaterOrdinal(n int) eventKey {
	return eventKey{scheduleTimes: a.scheduleTimes, tieBreak: a.tieBreak + uint64(n)<<maxKeyTimes}
}

// childKey returns the key of the first event that the event with the given key schedules
// when it occurs at time index t. The mask maxTimes-1 changes no valid index; see slotOf.
func (p *componentWindow) childKey(parent eventKey, t int) eventKey {
	parent.scheduleTimes |= p.keyBit[t&(maxTimes-1)]
	return parent
}

// secondChildKey is like childKey for the second event that the parent schedules.
func (p *componentWindow) secondChildKey(parent eventKey, t int) eventKey {
	parent.scheduleTimes |= p.keyBit[t&(maxTimes-1)]
	parent.tieBreak |= 1 << (maxKeyTimes - 1) >> (t & (maxTimes - 1))
	return parent
}

// before returns 1 if a is less than b, and 0 otherwise. It returns a number, because
// eventList.merge adds it to an index instead of branching. It subtracts the keys as
// numbers of 128 bits; the borrow of the upper words is the result.
func (a *eventKey) before(b *eventKey) uint64 {
	_, less := bits.Sub64(a.tieBreak, b.tieBreak, 0)
	_, less = bits.Sub64(a.scheduleTimes, b.scheduleTimes, less)
	return less
}

const (
	// ordinalBits is the number of bits of the ordinal in eventKey.tieBreak. With 24, 16
	// million events can be pending, about one per link and sender.
	ordinalBits = 24
	// maxKeyTimes is the maximum number of times per window: the bits that remain.
	maxKeyTimes = 64 - ordinalBits
)

// runUntil simulates all events up to and including time until. It uses the event loop
// for periods with too few events.
func (p *componentSim) runUntil(until engine.Time) {
	if p.workers == nil {
		p.newWorkers()
	}

	p.switchToWindows()
	numOpened := p.numOpened

	for {
		start, isDense := p.openWindow(until)
		if start > until || start == engine.Never {
			break
		}

		// Windows are too slow or need too much memory: use the event loop for the rest of
		// the run.
		if p.hasManyTies() || p.exceedsMemory() {
			p.switchToEvents()
			p.sim.components = nil
			p.runEvents(until, noEventLimit)
			return
		}

		// Use the event loop for some time after the start of the window.
		if !isDense {
			p.switchToEvents()
			loopEnd := until
			if duration := p.eventLoopTime(); start < until-duration { // start+duration does not overflow
				loopEnd = start + duration
			}
			p.runEvents(loopEnd, noEventLimit)
			if p.numSparseWindows++; p.outOfMemory {
				return
			}
			p.numDenseWindows = 0
			p.switchToWindows()
			continue
		}

		// The load has lasted. If it ceases again, return after a short time.
		if p.numDenseWindows++; p.numDenseWindows == minDenseWindows {
			p.numSparseWindows = 0
		}

		p.collectInjections()
		p.simulateWindow()
		if p.stopRequested() {
			p.mergeStats()
			return
		}
	}

	// Moving the packets took longer than the windows saved. The intervals of later calls
	// are likely to be as short, so do not use windows again.
	if p.switchToEvents(); p.numOpened-numOpened < minComponentWindows && !p.options.forceParallel {
		p.sim.components = nil
	}
}

// minDenseWindows is the number of consecutive windows with enough events after which
// earlier sparse windows no longer affect eventLoopTime.
const minDenseWindows = 64

// minComponentWindows is the minimum number of windows per call of runUntil. With fewer
// windows, moving the packets between the two simulators is not worthwhile.
const minComponentWindows = 16

const (
	// maxComparisonsPerArrival and comparisonAllowance limit the comparisons for sorting
	// simultaneous arrivals: this number per arrival, plus an allowance per run. The event
	// loop needs no comparisons. The allowance covers a burst at the start of a run, when
	// there have been few arrivals.
	maxComparisonsPerArrival = 4
	comparisonAllowance      = 1 << 14
)

// hasManyTies reports whether the number of simultaneous arrivals at links is so large
// that sorting them takes longer than the event loop.
func (p *componentSim) hasManyTies() bool {
	for i := range p.workers {
		k := &p.workers[i]
		p.numArrivals += k.numArrivals
		p.numComparisons += k.numComparisons
		k.numArrivals, k.numComparisons = 0, 0
	}
	return p.numComparisons > maxComparisonsPerArrival*p.numArrivals+comparisonAllowance && !p.options.forceParallel
}

// eventLoopTime returns the simulated time for which the event loop runs after a window
// with too few events. It grows exponentially with the number of such windows
// (exponential backoff), because each attempt with a window converts the whole state. It
// begins with eight transmissions, and is four times as long after each further window.
func (p *componentSim) eventLoopTime() engine.Time {
	if p.options.forceParallel { // tests return soon
		return min(3*p.minSendTime, engine.Never>>20)
	}
	// The minima prevent overflow.
	exponent := 3 + 2*min(p.numSparseWindows, 62)
	return engine.Time(min(math.Ldexp(float64(p.minSendTime), exponent), float64(engine.Never>>2)))
}

// exceedsMemory reports whether packet buffers and mailboxes exceed half of the memory
// limit. The other half is needed when packets are copied to the event loop.
func (p *componentSim) exceedsMemory() bool {
	sum := int64(0)
	for i := range p.workers {
		sum += p.workers[i].memoryBytes
	}
	memoryLimit := p.maxChunks * chunkBytes // of the run
	return sum > memoryLimit/2
}

// mergeStats adds the counts of the workers to the statistics of the run.
func (p *componentSim) mergeStats() {
	for i := range p.workers {
		k := &p.workers[i]
		p.stats.add(&k.stats)
		k.stats = Stats{}
	}
}

// simulateWindow simulates all components in the window, level by level. The level of a
// component is the length of the longest path that leads to it in the graph of
// components. Components of one level do not send packets to each other, so the workers
// simulate them at the same time.
//
// Each worker starts with a share of the level that is the same in all windows, because
// part of it may still be in its cache. Then it helps with the shares of the others. It
// prefetches its next component before it simulates the current one. It begins each
// window with the injection of a share of the packets of timed sources (injectShare).
func (p *componentSim) simulateWindow() {
	const countersPerLine = 16 // each counter has its own cache line, to avoid false sharing
	levels, workers := len(p.levelStart)-1, len(p.workers)

	// Count the components that have been taken from each worker's share of each level.
	numTaken := make([]atomic.Int32, levels*workers*countersPerLine)

	work := func(k *componentWorker) {
		k.injectShare()
		p.barrier.wait(k.index)
		for level := range levels {
			levelFirst, levelSize := int(p.levelStart[level]), int(p.levelStart[level+1]-p.levelStart[level])

			// next returns the next component to simulate, or -1 if all have been taken.
			helped := 0 // number of shares that have been taken completely; the own share is the first
			next := func() int32 {
				for ; helped < workers; helped++ {
					owner := (k.index + helped) % workers
					first, end := levelSize*owner/workers, levelSize*(owner+1)/workers
					if i := first + int(numTaken[(level*workers+owner)*countersPerLine].Add(1)) - 1; i < end {
						return int32(levelFirst + i)
					}
				}
				return -1
			}

			for current := next(); current >= 0; {
				following := next()
				if following >= 0 {
					k.prefetchComponent(&p.componentList[following])
				}
				k.simulateComponent(current)
				current = following
			}

			if level == levels-1 {
				k.pending.sort()
			}
			p.barrier.wait(k.index)
		}
	}

	var others sync.WaitGroup
	for i := range p.workers[1:] {
		others.Go(func() { work(&p.workers[1+i]) })
	}
	work(&p.workers[0])
	others.Wait()
}

// maxPhases is the maximum number of phases per window. With more phases, maxKeyTimes
// would limit a window to a few time units.
const maxPhases = 16

// openWindow determines the next window and numbers the pending events. It returns the
// start of the window, or engine.Never if no event is pending, and whether the window has
// enough events.
func (p *componentSim) openWindow(until engine.Time) (engine.Time, bool) {
	p.start, p.pending.events = engine.Never, p.pending.events[:0]
	if !p.hasLatency {
		p.residues = p.residues[:0]
	}

	// Collect the pending events of timed sources and of all workers, in order. Sender i
	// has the id -1-i; see keyedEvent.
	for i := p.firstTimed; int(i) < len(p.senders); i++ {
		if w := &p.senders[i]; w.time < engine.Never {
			p.start = min(p.start, w.time)
			p.addResidue(w.time)
			p.pending.events = append(p.pending.events, keyedEvent{eventKey: w.eventKey, id: -1 - i})
		}
	}

	p.pending.sort()
	for i := range p.workers {
		k := &p.workers[i]
		p.start = min(p.start, k.earliestPending)
		p.pending.merge(&k.pending)
		for _, r := range k.pendingResidues {
			p.addResidue(r)
		}
		k.earliestPending, k.pendingResidues, k.lastPending = engine.Never, k.pendingResidues[:0], -1
	}

	p.shareBlocks()
	numOrdinals := p.assignOrdinals()
	if p.start > until || p.start == engine.Never || numOrdinals >= 1<<ordinalBits || len(p.residues) > maxPhases {
		return p.start, false
	}

	// Choose the end, and make the residues relative to the start.
	p.end = p.windowLimit(until)
	p.phases = p.phases[:0]
	for _, r := range p.residues {
		p.phases = append(p.phases, (r-p.start%p.timeUnit+p.timeUnit)%p.timeUnit)
	}
	slices.Sort(p.phases)

	// The transmission times are multiples of the time unit, and each time unit has one
	// time per phase.
	if len(p.phases) != p.numPhases {
		p.numPhases = len(p.phases)
		for i := range p.links {
			l := &p.links[i]
			l.timesPerPacket = int32(min(l.sendTime/p.timeUnit, maxTimes)) * int32(p.numPhases)
		}
	}

	// List all times of the window: each phase of each time unit from start on. The window
	// ends before the first time for which a key has no bit.
	p.bitsPerTime = 1
	if p.firstTimed > 0 {
		p.bitsPerTime = 2
	}

	p.times = p.times[:0]
	for base := p.start; ; base += p.timeUnit {
		for _, phase := range p.phases {
			time, index := base+phase, len(p.times)
			if time >= p.end || index == maxKeyTimes || (index+1)*p.bitsPerTime > 64 {
				p.end = min(p.end, time)
				if index > 0 {
					p.numOpened++
				}
				return p.start, p.isDense()
			}
			p.keyBit[index] = 1 << (index * p.bitsPerTime)
			p.times = append(p.times, time)
		}
	}
}

// windowLimit returns the latest possible end of a window. It is not later than the second
// injection of any timed source from now on. Only the next injection of a source is a
// pending event with ordinals. If it injects several packets, each one needs its own.
func (p *componentSim) windowLimit(until engine.Time) engine.Time {
	end := until
	for i := range p.senders[p.firstTimed:] {
		w := &p.senders[int(p.firstTimed)+i]
		if m := &p.injectors[w.injector]; w.time < engine.Never && m.numSent+1 < m.total {
			if next := m.interval * float64(m.numSent+1); next < float64(engine.Never-m.start)/2 {
				end = min(end, m.start+engine.Time(next)-1)
			}
		}
	}
	if end < engine.Never {
		end++
	}
	return end
}

// addResidue records the residue of a time modulo the time unit.
func (p *componentSim) addResidue(t engine.Time) {
	if r := t % p.timeUnit; len(p.residues) <= maxPhases && !slices.Contains(p.residues, r) {
		p.residues = append(p.residues, r)
	}
}

// isDense reports whether the window has enough events. It must be at least as long as a
// transmission. It must have more events than an eighth of the links, and than an eighth
// of all pending events.
func (p *componentSim) isDense() bool {
	if len(p.times) == 0 {
		return false
	}
	if p.options.forceParallel { // tests alternate between the simulators
		return p.numOpened%4 != 0
	}

	numEvents := int64(0)
	for _, e := range p.pending.events {
		if p.eventTime(e.id) < p.end {
			numEvents += p.numOrdinals(e.id)
		}
	}
	return p.end-p.start >= p.minSendTime && numEvents > int64(max(len(p.links), len(p.pending.events))/8)
}

// eventTime returns the time of a pending event; see keyedEvent.id.
func (p *componentSim) eventTime(id int32) engine.Time {
	if id >= 0 {
		return p.headArrival[id]
	}
	return p.senders[-1-id].time
}

// timeIndex returns the index of t in times. Each time unit after start has one time per
// phase.
func (p *componentSim) timeIndex(t engine.Time) int {
	elapsed := t - p.start
	if len(p.phases) == 1 {
		return int(elapsed / p.timeUnit)
	}

	phase, _ := slices.BinarySearch(p.phases, elapsed%p.timeUnit)
	return int(elapsed/p.timeUnit)*len(p.phases) + phase
}

// keyOf returns the key of a pending event; see keyedEvent.id.
func (p *componentSim) keyOf(id int32) *eventKey {
	if id >= 0 {
		return &p.headKey[id]
	}
	return &p.senders[-1-id].eventKey
}

// numOrdinals returns the number of ordinals that a pending event needs. The injection of
// a source with order Together needs one for itself and one per flow, because it
// schedules the arrivals of all these packets. All other events need one.
func (p *componentSim) numOrdinals(id int32) int64 {
	if id >= 0 || p.senders[-1-id].link >= 0 {
		return 1
	}

	m := &p.injectors[p.senders[-1-id].injector]
	if m.order != Together || m.numFlows == 1 {
		return 1
	}
	return 1 + int64(m.numFlows)
}

// assignOrdinals numbers the pending events in their order and returns the number of
// ordinals.
func (p *componentSim) assignOrdinals() int64 {
	ordinal := int64(0)
	for i := range p.pending.events {
		e := &p.pending.events[i]
		*p.keyOf(e.id) = pendingKey(uint64(ordinal))
		ordinal += p.numOrdinals(e.id)
	}
	return ordinal
}
