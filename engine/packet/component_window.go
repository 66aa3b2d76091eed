package packet

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
// # Order of simultaneous events
//
// In the event loop, simultaneous events occur in the order in which they were scheduled.
// So their order is determined by the times at which they were scheduled. For equal
// scheduling times it is determined by the order of the events that scheduled them, their
// parents. A parent schedules at most two events; the first one precedes the second one.
//
// All times of a window are known at its start: they are the times of pending events plus
// multiples of the time unit. There are at most maxKeyTimes. An eventKey encodes the
// scheduling times and the ancestors of an event within the window. Comparing the keys of
// simultaneous events yields their order. At the end of a window, the pending events are
// sorted by key and numbered. These ordinals replace their keys.
//
// A greedy source can schedule its next event for the current time. That event comes
// after all other events of this time. The events that it schedules come after all others
// that are scheduled at this time. With timed sources only, one bit per time suffices.
// Otherwise there are two bits per time, and the upper one belongs to such events.
type componentWindow struct {
	start, end  engine.Time      // start <= t < end
	times       []engine.Time    // all times at which events can occur in the window
	keyBit      [maxTimes]uint64 // indexed by time: its bit in setTimes, the lower one of two
	bitsPerTime int              // 1, or 2 with greedy sources
	// residues are the distinct residues of event times modulo the time unit. If links
	// have latencies, they include all past events, because packets on links can have any
	// of these residues.
	residues []engine.Time
	// phases are the residues, relative to start, in ascending order. Each time of the
	// window is start plus a phase plus a multiple of the time unit.
	phases           []engine.Time
	numPhases        int              // phases for which componentLink.timesPerPacket is valid
	eventList                         // events pending at the start of the window
	injections       []injectionBatch // of timed sources in the window
	numArrivals      int64            // events inserted into arrival lists so far
	numComparisons   int64            // comparisons needed to insert them
	numSparseWindows int              // periods with too few events; determines eventLoopTime
	numDenseWindows  int              // consecutive windows with enough events
	numOpened        int              // windows so far
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

// before returns 1 if a is less than b, and 0 otherwise.
func (a *eventKey) before(b *eventKey) uint64 {
	_, less := bits.Sub64(a.tieBreak, b.tieBreak, 0)
	_, less = bits.Sub64(a.scheduleTimes, b.scheduleTimes, less)
	return less
}

const (
	ordinalBits       = 24               // bits of the ordinal in eventKey.tieBreak
	maxKeyTimes       = 64 - ordinalBits // maximum number of times per window
	timeBits          = 6                // bits of a time index
	maxTimes          = 1 << timeBits    // size of arrays indexed by time; greater than maxKeyTimes
	linkBits          = 6                // bits of a link index within a component
	maxComponentLinks = 1 << linkBits    // maximum number of links per component
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

		// Continue with the event loop for the rest of the run.
		if p.hasManyTies() || p.exceedsMemory() {
			p.switchToEvents()
			p.sim.components = nil
			p.runEvents(until, math.MaxInt)
			return
		}

		if !isDense {
			p.switchToEvents()
			p.runEvents(min(until-p.eventLoopTime(), start)+p.eventLoopTime(), math.MaxInt)
			if p.numSparseWindows++; p.outOfMemory {
				return
			}
			p.numDenseWindows = 0
			p.switchToWindows()
			continue
		}

		if p.numDenseWindows++; p.numDenseWindows == 64 {
			p.numSparseWindows = 0
		}

		p.collectInjections()
		p.simulateWindow()
		if p.stopRequested() {
			p.mergeStats()
			return
		}
	}

	// Calls with a short interval are not worth the conversion, and later intervals are
	// as short.
	if p.switchToEvents(); p.numOpened-numOpened < minComponentWindows && !p.options.forceParallel {
		p.sim.components = nil
	}
}

// minComponentWindows is the minimum number of windows per call of runUntil. With fewer
// windows, moving the packets between the two simulators is not worthwhile.
const minComponentWindows = 16

const (
	// maxComparisonsPerArrival and comparisonAllowance limit the comparisons for sorting
	// simultaneous arrivals: this number per arrival, plus an allowance per run.
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

// eventLoopTime returns the time for which the event loop runs after a window with too
// few events. It grows exponentially with the number of such windows.
func (p *componentSim) eventLoopTime() engine.Time {
	if p.options.forceParallel {
		return min(3*p.minSendTime, engine.Never>>20)
	}
	return engine.Time(min(math.Ldexp(float64(p.minSendTime), 3+2*min(p.numSparseWindows, 62)), float64(engine.Never>>2)))
}

// exceedsMemory reports whether rings exceed half of the memory limit. The other half is
// needed when packets are copied to the event loop.
func (p *componentSim) exceedsMemory() bool {
	sum := int64(0)
	for i := range p.workers {
		sum += p.workers[i].memoryBytes
	}
	return sum > p.maxChunks*chunkBytes/2
}

// mergeStats adds the counts of the workers to the statistics of the run.
func (p *componentSim) mergeStats() {
	for i := range p.workers {
		k := &p.workers[i]
		p.stats.add(&k.stats)
		k.stats = Stats{}
	}
}

// simulateWindow simulates all components in the window, level by level. Each worker
// starts with a share of the level that is the same in all windows, because part of it
// may still be in its cache. Then it helps with the shares of the others. It prefetches
// its next component before it simulates the current one.
func (p *componentSim) simulateWindow() {
	const line = 16 // counters per cache line, to avoid false sharing
	levels, workers := len(p.levelStart)-1, len(p.workers)

	// Count the components that have been taken from each worker's share of each level.
	numTaken := make([]atomic.Int32, levels*workers*line)

	work := func(k *componentWorker) {
		k.injectShare()
		p.barrier.wait(int(k.number - 1))
		for level := range levels {
			levelFirst, levelSize := int(p.levelStart[level]), int(p.levelStart[level+1]-p.levelStart[level])
			self, helped := int(k.number-1), 0
			next := func() int32 {
				for ; helped < workers; helped++ { // its own share first
					owner := (self + helped) % workers
					first, end := levelSize*owner/workers, levelSize*(owner+1)/workers
					if i := first + int(numTaken[(level*workers+owner)*line].Add(1)) - 1; i < end {
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
				k.eventList.sort()
			}
			p.barrier.wait(int(k.number - 1))
		}
	}

	var others sync.WaitGroup
	for i := range p.workers[1:] {
		others.Go(func() { work(&p.workers[1+i]) })
	}
	work(&p.workers[0])
	others.Wait()
}

// maxPhases is the maximum number of phases per window.
const maxPhases = 16

// openWindow determines the next window and numbers the pending events. It returns the
// start of the window, or engine.Never if no event is pending, and whether the window has
// enough events.
func (p *componentSim) openWindow(until engine.Time) (engine.Time, bool) {
	p.start, p.events = engine.Never, p.events[:0]
	if !p.hasLatency {
		p.residues = p.residues[:0]
	}

	for i := p.firstTimed; int(i) < len(p.senders); i++ {
		if w := &p.senders[i]; w.time < engine.Never {
			p.start = min(p.start, w.time)
			p.addResidue(w.time)
			p.events = append(p.events, keyedEvent{w.eventKey, -1 - i})
		}
	}

	p.eventList.sort()
	for i := range p.workers {
		k := &p.workers[i]
		p.start = min(p.start, k.earliestPending)
		p.merge(&k.eventList)
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

	p.end = p.windowLimit(until)

	p.phases = p.phases[:0]
	for _, r := range p.residues {
		p.phases = append(p.phases, (r-p.start%p.timeUnit+p.timeUnit)%p.timeUnit)
	}
	slices.Sort(p.phases)

	if len(p.phases) != p.numPhases {
		p.numPhases = len(p.phases)
		for i := range p.links {
			l := &p.links[i]
			l.timesPerPacket = int32(min(l.sendTime/p.timeUnit, maxTimes)) * int32(p.numPhases)
		}
	}

	p.bitsPerTime = 1
	if p.firstTimed > 0 {
		p.bitsPerTime = 2
	}

	p.times = p.times[:0]
	for base := p.start; ; base += p.timeUnit {
		for _, d := range p.phases {
			if base+d >= p.end || len(p.times) == maxKeyTimes || (len(p.times)+1)*p.bitsPerTime > 64 {
				p.end = min(p.end, base+d)
				return p.start, p.isDense()
			}
			p.keyBit[len(p.times)] = 1 << (len(p.times) * p.bitsPerTime)
			p.times = append(p.times, base+d)
		}
	}
}

// windowLimit returns the latest possible end of a window. Until then, no timed source
// injects twice, because only the ordinal of its next injection is known.
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
// transmission, and an eighth of the links and senders must have an event.
func (p *componentSim) isDense() bool {
	if len(p.times) == 0 {
		return false
	}
	if p.numOpened++; p.options.forceParallel { // tests alternate between the simulators
		return p.numOpened%4 != 0
	}

	numEvents := int64(0)
	for _, e := range p.events {
		if p.eventTime(e.id) < p.end {
			numEvents += p.numOrdinals(e.id)
		}
	}
	return p.end-p.start >= p.minSendTime && numEvents > int64(max(len(p.links), len(p.events))/8)
}

// eventTime returns the time of a pending event; see keyedEvent.id.
func (p *componentSim) eventTime(id int32) engine.Time {
	if id >= 0 {
		return p.headArrival[id]
	}
	return p.senders[-1-id].time
}

// timeIndex returns the index of t in times.
func (p *componentSim) timeIndex(t engine.Time) int {
	d := t - p.start
	if len(p.phases) == 1 {
		return int(d / p.timeUnit)
	}

	i, _ := slices.BinarySearch(p.phases, d%p.timeUnit)
	return int(d/p.timeUnit)*len(p.phases) + i
}

// keyOf returns the key of a pending event; see keyedEvent.id.
func (p *componentSim) keyOf(id int32) *eventKey {
	if id >= 0 {
		return &p.headKey[id]
	}
	return &p.senders[-1-id].eventKey
}

// numOrdinals returns the number of ordinals that an event needs: one, plus one for each
// packet if it injects a packet of several flows.
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
	for i := range p.events {
		e := &p.events[i]
		*p.keyOf(e.id) = eventKey{tieBreak: uint64(ordinal) << maxKeyTimes}
		ordinal += p.numOrdinals(e.id)
	}
	return ordinal
}
