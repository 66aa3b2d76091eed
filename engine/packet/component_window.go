package packet

import (
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"sim/engine"
)

// componentWindow is a time in which parts are simulated one after the other, before all are again, to the bit as one loop would. A
// packet that leaves a part is kept, with its time, for the part that it goes to.
//
// Events of one time happen in the order in which they were set. So an event's place among those of its time is told
// by when it was set, and of equals by the place of the event that set it, its parent, and by whether that had set another
// one before. All times of a window are known when it begins, as they are multiples of the unit behind those of events
// that wait then: 40 at most. Hence an event's key: a bit for each time at which it or an ancestor of it was set, later ones
// above earlier ones; the rank of the ancestor that waited when the window began; and a bit for each of these times at
// which what was set was the second of its parent's, earlier ones above later ones. In the order of keys are events of one
// time in theirs. When a window ends, what waits is ranked by its keys.
//
// A greedy source may be set for the very time at which it is simulated. Such an event comes after all others of its time,
// and so does what it sets among all that is set then: there are two bits a time, of which that has the upper.
type componentWindow struct {
	start, end     engine.Time
	times          []engine.Time
	timeBit        [maxTimes]uint64 // by time: the lower in key.set
	bitsPerTime    int              // of a time
	residues       []engine.Time    // of times by the unit; with latencies of all times so far, as packets on links have any of them
	phases         []engine.Time    // by which times are later than begin and multiples of the unit
	numPhases      int              // how many of these partLink.steps are for
	eventList                       // what waits when it begins
	injections     []injectionBatch
	numArrivals    int64 // to parts so far, and
	numComparisons int64 // what was looked at to put it in order
	numSparse      int   // windows that were not worth it, and
	numDense       int   // those in a row that were
	numOpened      int   // windows so far
}

// eventKey says which place an event has among those of its time.
type eventKey struct {
	setTimes uint64 // a bit for each time at which it or an ancestor was set in this window
	tieBreak uint64 // the rank of the one that waited, above a bit for each of these times at which it was the second
}

// before returns 1 if a is before b, and 0 else.
func (a *eventKey) before(b *eventKey) uint64 {
	_, less := bits.Sub64(a.tieBreak, b.tieBreak, 0)
	_, less = bits.Sub64(a.setTimes, b.setTimes, less)
	return less
}

const (
	ordinalBits       = 24               // of key.rest
	maxKeyTimes       = 64 - ordinalBits // times of a window at most
	timeBits          = 6
	maxTimes          = 1 << timeBits // of which there are less
	linkBits          = 6
	maxComponentLinks = 1 << linkBits // of a part
)

// runUntil simulates the events up to a time, windows that are not worth it in one loop.
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
		if p.hasManyTies() || p.exceedsMemory() { // rings have room that one loop does without
			p.switchToEvents()
			p.sim.components = nil
			p.runEvents(until, math.MaxInt)
			return
		}
		if !isDense {
			p.switchToEvents()
			p.runEvents(min(until-p.eventLoopTime(), start)+p.eventLoopTime(), math.MaxInt)
			if p.numSparse++; p.outOfMemory {
				return
			}
			p.numDense = 0
			p.switchToWindows()
			continue
		}
		if p.numDense++; p.numDense == 64 {
			p.numSparse = 0
		}
		p.collectInjections()
		p.simulateWindow()
		if p.stopRequested() {
			p.mergeStats()
			return
		}
	}
	if p.switchToEvents(); p.numOpened-numOpened < minComponentWindows && !p.options.forceParallel { // the next look is as near
		p.sim.components = nil
	}
}

// minComponentWindows is how many, between two looks at all links, are too few to take over packets for.
const minComponentWindows = 16

const (
	maxComparisonsPerArrival = 4 // of what came before for each that comes, and
	comparisonAllowance      = 1 << 14
)

// hasManyTies reports whether so much comes to links at once that putting it in order takes longer than one loop.
func (p *componentSim) hasManyTies() bool {
	for i := range p.workers {
		k := &p.workers[i]
		p.numArrivals += k.numArrivals
		p.numComparisons += k.numComparisons
		k.numArrivals, k.numComparisons = 0, 0
	}
	return p.numComparisons > maxComparisonsPerArrival*p.numArrivals+comparisonAllowance && !p.options.forceParallel
}

// eventLoopTime returns for how long one loop goes on: the longer the more often windows were not worth it.
func (p *componentSim) eventLoopTime() engine.Time {
	if p.options.forceParallel {
		return min(3*p.minSendTime, engine.Never>>20)
	}
	return engine.Time(min(math.Ldexp(float64(p.minSendTime), 3+2*min(p.numSparse, 62)), float64(engine.Never>>2)))
}

// exceedsMemory reports whether packets take more memory than they may.
func (p *componentSim) exceedsMemory() bool {
	sum := int64(0)
	for i := range p.workers {
		sum += p.workers[i].ringBytes
	}
	return sum > p.maxChunks*chunkBytes/2 // it is copied then
}

// mergeStats takes up what the workers have counted.
func (p *componentSim) mergeStats() {
	for i := range p.workers {
		k := &p.workers[i]
		p.stats.add(&k.stats)
		k.stats = Stats{}
	}
}

// simulateWindow simulates the parts in the window, level by level. A worker has the cache read its next part before it simulates
// this one. It begins with a share of a level that is its own in all windows, much of which its cache has yet, and goes on
// with what the others have left of theirs.
func (p *componentSim) simulateWindow() {
	const line = 16 // numbers in a line of the cache
	levels, workers := len(p.levelStart)-1, len(p.workers)
	numTaken := make([]atomic.Int32, levels*workers*line) // by level and worker: so many of its share
	work := func(k *componentWorker) {
		k.injectShare()
		p.barrier.wait(int(k.number - 1))
		for level := range levels {
			levelFirst, levelSize := int(p.levelStart[level]), int(p.levelStart[level+1]-p.levelStart[level])
			self, helped := int(k.number-1), 0
			next := func() int32 {
				for ; helped < workers; helped++ { // itself first
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
					k.prefetchComponent(&p.parts[following])
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

// maxPhases is how many phases a window has at most.
const maxPhases = 16

// openWindow begins the next window. It returns when, engine.Never of no event, and reports whether there is enough to do in it.
func (p *componentSim) openWindow(until engine.Time) (engine.Time, bool) {
	p.start, p.pending = engine.Never, p.pending[:0]
	if !p.hasLatency {
		p.residues = p.residues[:0]
	}
	for i := p.firstTimed; int(i) < len(p.senders); i++ {
		if w := &p.senders[i]; w.time < engine.Never {
			p.start = min(p.start, w.time)
			p.addResidue(w.time)
			p.pending = append(p.pending, keyedEvent{w.eventKey, -1 - i})
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
			p.timeBit[len(p.times)] = 1 << (len(p.times) * p.bitsPerTime)
			p.times = append(p.times, base+d)
		}
	}
}

// windowLimit returns the end of a window up to a time in which no source whose ranks are known has two events.
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

// addResidue takes up what a time is beyond a multiple of the unit.
func (p *componentSim) addResidue(t engine.Time) {
	if r := t % p.timeUnit; len(p.residues) <= maxPhases && !slices.Contains(p.residues, r) {
		p.residues = append(p.residues, r)
	}
}

// isDense reports whether a window has enough to do: that it is as long as a packet takes, and how many links and sources
// have an event in it.
func (p *componentSim) isDense() bool {
	if len(p.times) == 0 {
		return false
	}
	if p.numOpened++; p.options.forceParallel { // both loops in turns
		return p.numOpened%4 != 0
	}
	numEvents := int64(0)
	for _, e := range p.pending {
		if p.eventTime(e.id) < p.end {
			numEvents += p.numOrdinals(e.id)
		}
	}
	return p.end-p.start >= p.minSendTime && numEvents > int64(max(len(p.links), len(p.pending))/8)
}

// eventTime returns the time of an event that waits.
func (p *componentSim) eventTime(id int32) engine.Time {
	if id >= 0 {
		return p.headArrival[id]
	}
	return p.senders[-1-id].time
}

// timeIndex returns which time of the window one is.
func (p *componentSim) timeIndex(t engine.Time) int {
	d := t - p.start
	if len(p.phases) == 1 {
		return int(d / p.timeUnit)
	}
	i, _ := slices.BinarySearch(p.phases, d%p.timeUnit)
	return int(d/p.timeUnit)*len(p.phases) + i
}

// keyOf returns the key of an event.
func (p *componentSim) keyOf(id int32) *eventKey {
	if id >= 0 {
		return &p.headKey[id]
	}
	return &p.senders[-1-id].eventKey
}

// numOrdinals returns how many ranks an event takes: one, and one for each packet that it injects where these are many.
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

// assignOrdinals ranks what waits and returns how many ranks there are.
func (p *componentSim) assignOrdinals() int64 {
	ordinal := int64(0)
	for i := range p.pending {
		e := &p.pending[i]
		*p.keyOf(e.id) = eventKey{tieBreak: uint64(ordinal) << maxKeyTimes}
		ordinal += p.numOrdinals(e.id)
	}
	return ordinal
}
