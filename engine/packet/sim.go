package packet

import (
	"fmt"
	"math"

	"sim/engine"
)

// sim simulates packets. Ids of the calendar are links (in the served loop three times: ends of sending, arrivals,
// credits), then injectors, then tasks.
type sim struct {
	network                   *engine.Network
	options                   Options
	flows                     []engine.Flow
	paths                     pathTable
	calendar                  *calendar
	records                   recordStore
	maxChunks                 int64 // chunks that may be made
	outOfMemory               bool  // more were
	stopped                   bool  // by Options.Stop
	injectors                 []injector
	senderBase                int32      // id of the first injector
	windowInjector            []int32    // by flow: its injector where it has a window, -1 else; nil if none has
	tasks                     *taskState // the task graph, if one is simulated
	measureFrom, measureUntil engine.Time
	reportsEnds               bool // something waits for what becomes of packets
	reaction                  reactionState
	log                       *[]packetEnd
	stats                     Stats

	components *componentSim // nil if packets cannot be simulated part by part

	scheduled    []scheduledLink // booked
	timings      []linkTiming
	prefetchSink int32 // what was read for the cache's sake alone
	queueState
}

// packetEnd is a packet's end, kept for tests.
type packetEnd struct {
	flow             int32
	injectTime, time engine.Time
	dropped          bool
}

func newSim(n *engine.Network, w *Work, o Options, maxPacket int64) (*sim, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if required := initialMemory(n, w, &o); required > o.MaxBytes {
		return nil, fmt.Errorf("%w: it needs %d B of memory, of %d B that it may take", ErrWork, required, o.MaxBytes)
	}
	z := &sim{network: n, options: o, flows: w.Flows, measureFrom: o.MeasureFrom, measureUntil: o.MeasureUntil, maxChunks: min(o.MaxBytes/chunkBytes, maxChunks)}
	if z.measureUntil == 0 {
		z.measureUntil = engine.Never
	}
	var err error
	if z.paths, err = newPathTable(n, w, &o); err != nil {
		return nil, err
	}
	numIDs := len(n.Links)
	if z.usesQueues = needsQueues(n, &o); z.usesQueues {
		z.newQueuedLinks(maxPacket)
		numIDs *= 3
	} else {
		z.newScheduledLinks()
	}
	z.records.grow()
	z.senderBase = int32(numIDs)
	z.newInjectors(w)
	if int64(numIDs)+int64(len(z.injectors))+int64(len(z.flows)) > math.MaxInt32/16 {
		return nil, fmt.Errorf("%w: %d links, %d processes and %d flows are too many to number", ErrWork, len(n.Links), len(z.injectors), len(z.flows))
	}
	return z, nil
}

// scheduleSenders makes the calendar and sets the first events of the senders.
func (z *sim) scheduleSenders() {
	z.reportsEnds = z.windowInjector != nil || z.tasks != nil || z.log != nil
	numIDs := int(z.senderBase) + len(z.injectors)
	if z.tasks != nil {
		numIDs += len(z.tasks.pendingInputs) + 1 // the last is that of resolve
	}
	z.calendar = newCalendar(numIDs)
	for i := range z.injectors {
		m := &z.injectors[i]
		start := m.start
		if m.process == Poisson {
			start = engine.Time(m.nextTime)
		}
		if m.stop != 0 && start >= m.stop {
			continue
		}
		z.calendar.schedule(z.senderBase+int32(i), start)
	}
	if z.tasks != nil {
		for i, pending := range z.tasks.pendingInputs {
			if pending == 0 {
				z.calendar.schedule(z.taskID(int32(i)), 0)
			}
		}
	}
}

// simulate runs the events to the end, and between them, before all else of their times, changes of links and paths,
// samples, and looks at whether it may end; and reactions to the ends of tasks after all else of their times.
func (z *sim) simulate() error {
	until := z.options.Until
	if until == 0 {
		until = engine.Never
	}
	changes, rewires := z.network.Changes, z.options.Rewire
	nextSample, nextEndCheck := engine.Never, engine.Never
	if z.options.SampleEvery > 0 {
		nextSample = z.options.SampleEvery
	}
	if z.options.EndMeasured {
		nextEndCheck = z.measureUntil
	}
	if err := z.callReaction(0); err != nil {
		return err
	}
	for {
		next := min(nextSample, nextEndCheck, z.reaction.nextTime())
		if len(changes) > 0 {
			next = min(next, changes[0].At)
		}
		if len(rewires) > 0 {
			next = min(next, rewires[0].At)
		}
		isLast := next > until || next == engine.Never
		if isLast {
			z.runUntil(until)
		} else {
			z.runUntil(next - 1)
		}
		if err := z.memoryError(); err != nil {
			return err
		}
		if len(z.reaction.ended) > 0 { // links may change now
			if err := z.callReaction(z.reaction.endTime); err != nil {
				return err
			}
			continue
		}
		if isLast || z.calendar.isEmpty() && (z.stats.InFlight() == 0 && z.tasks == nil || len(changes)+len(rewires) == 0 && z.reaction.nextTime() == engine.Never) {
			return nil
		}
		switch {
		case len(changes) > 0 && changes[0].At == next:
			z.applyChange(changes[0])
			changes = changes[1:]
		case z.reaction.nextTime() == next:
			if err := z.callReaction(next); err != nil {
				return err
			}
		case len(rewires) > 0 && rewires[0].At == next:
			z.replacePaths(&rewires[0])
			rewires = rewires[1:]
		case nextSample == next:
			z.sampleQueues()
			nextSample += z.options.SampleEvery
		default:
			if z.stats.MeasuredInjected == z.stats.Delay.Count+z.stats.MeasuredDropped {
				return nil
			}
			nextEndCheck += max(1, (z.measureUntil-z.measureFrom)/8)
		}
	}
}

// eventsPerStopCheck is how many events lie between two times that Options.Stop is asked: a few milliseconds.
const eventsPerStopCheck = 1 << 16

// stopRequested asks Options.Stop, and reports whether the run must end.
func (z *sim) stopRequested() bool {
	if z.options.Stop != nil && z.options.Stop() {
		z.outOfMemory, z.stopped = true, true
	}
	return z.stopped
}

// runUntil simulates the events up to a time, in windows if links can be simulated part by part or apart.
func (z *sim) runUntil(until engine.Time) {
	if z.components != nil {
		z.components.runUntil(until)
		return
	}
	for z.lps != nil && z.lps.runWhileSparse(until) && z.calendar.now < z.lps.lastStart {
		if z.lps.runUntil(until) == until || z.outOfMemory {
			return
		}
	}
	z.runEvents(until, math.MaxInt)
}

// maxBatch is how many events of one time are taken from the calendar together.
const maxBatch = 16

// runEvents simulates events up to a time in their order. It stops earlier when it has simulated at least most events and
// none of the time of the last is left. It returns the number of events.
func (z *sim) runEvents(until engine.Time, limit int) int {
	numLinks := int32(len(z.network.Links))
	var buffer [maxBatch]int32
	count := 0
	for batches := 0; ; batches++ {
		ids, now, ok := z.nextEvents(buffer[:], until)
		if !ok || batches&(eventsPerStopCheck/maxBatch-1) == 0 && z.stopRequested() {
			return count
		}
		z.prefetchEvents(ids)
		if count == 0 {
			z.firstEventTime = now
		}
		if count += len(ids); count >= limit {
			until = min(until, now)
		}
		for _, id := range ids {
			switch {
			case id >= z.senderBase:
				z.stats.End = now
				if z.runSender(id-z.senderBase, now); z.outOfMemory {
					return count
				}
			case !z.usesQueues:
				z.stats.End = now
				z.forwardFirst(id, now)
			case id < numLinks:
				z.stats.End = now
				z.endSending(id, now)
			case id < 2*numLinks:
				z.stats.End = now
				z.endFlight(id-numLinks, now)
			default:
				z.queued[id-2*numLinks].awaitsCredit = false
				z.startSending(id-2*numLinks, now)
			}
		}
		if len(z.reaction.ended) > 0 {
			until = min(until, now)
		}
	}
}

// nextEvents returns the next events of one time: some of them, in their order.
func (z *sim) nextEvents(buffer []int32, until engine.Time) ([]int32, engine.Time, bool) {
	if !z.ordersByID {
		return z.calendar.takeBatch(buffer, until)
	}
	if z.numTaken == len(z.simultaneous) {
		z.simultaneous, z.numTaken = z.calendar.takeSimultaneous(z.simultaneous, until), 0
	}
	ids := z.simultaneous[z.numTaken:min(z.numTaken+maxBatch, len(z.simultaneous))]
	z.numTaken += len(ids)
	return ids, z.calendar.now, len(ids) > 0
}

// memoryError fails where packets and samples take more memory than they may.
func (z *sim) memoryError() error {
	if z.stopped {
		return ErrStopped
	}
	if samples := 4 * int64(len(z.stats.Queues)); z.outOfMemory || samples > z.options.MaxBytes/4 { // copies are made of samples
		return fmt.Errorf("%w: at %v %d packets in the network take %d B of memory and samples %d B, of %d B that they may take",
			ErrWork, z.stats.End, z.stats.InFlight(), z.records.numChunks*chunkBytes, samples, z.options.MaxBytes)
	}
	return nil
}

// injectPacket injects a packet of a flow and puts it before its first link, which is sought if it is nowhere. It returns when the
// link will begin to send it, engine.Never where that is not known yet.
func (z *sim) injectPacket(flow, bytes, origin, firstLink int32, now engine.Time) engine.Time {
	z.stats.countInjection(z, now)
	r := record{injectTime: now, flow: flow, bytes: bytes, origin: origin}
	return z.startPath(&r, firstLink, now)
}

// startPath chooses the path of a packet at its source and puts it before its first link, which is sought if it is nowhere.
func (z *sim) startPath(r *record, firstLink int32, now engine.Time) engine.Time {
	if z.paths.usesSteps {
		r.route = z.paths.choosePath(r.flow)
	} else {
		r.route = z.flows[r.flow].Dst
	}
	if firstLink == noLink {
		firstLink = z.paths.nextLink(z.flows[r.flow].Src, r.route)
	}
	switch {
	case firstLink == pathEnd:
		z.deliver(r, now)
		return now
	case firstLink == noLink:
		z.drop(r, -1, NoRoute, now)
		return now
	case z.usesQueues:
		channel := uint8(0)
		if z.paths.usesSteps {
			channel = uint8(z.paths.steps[r.route].Channel())
		}
		if z.windowsActive {
			z.lps.injectFromSource(firstLink, channel, r, now)
		} else {
			z.enqueue(firstLink, channel, r, now)
		}
		return engine.Never
	default:
		return z.schedulePacket(firstLink, r, r.route, now)
	}
}

func (z *sim) deliver(r *record, now engine.Time) {
	z.stats.countDelivery(z, r.injectTime, now, int64(r.bytes))
	if z.reportsEnds {
		z.onPacketEnd(r, now, false)
	}
}

// drop counts a packet that is lost at a link, or at none if link is -1, and gives up its room in a buffer.
func (z *sim) drop(r *record, link int32, cause Cause, now engine.Time) {
	z.stats.Dropped++
	z.stats.DroppedBy[cause]++
	if link >= 0 {
		z.queued[link].numDropped++
	}
	if r.injectTime >= z.measureFrom && r.injectTime < z.measureUntil {
		z.stats.MeasuredDropped++
	}
	if z.reportsEnds {
		z.onPacketEnd(r, now, true)
	}
	z.releaseBuffer(r.origin, r.bytes, now)
}

// sampleQueues takes down the queues of all links.
func (z *sim) sampleQueues() {
	for i := range z.scheduled {
		z.stats.Queues = append(z.stats.Queues, z.scheduled[i].queue.length)
	}
	for i := range z.queued {
		z.stats.Queues = append(z.stats.Queues, z.queued[i].occupancy)
	}
}

// finish makes the statistics. It fails where packets wait that nothing will move.
func (z *sim) finish() (*Stats, error) {
	z.stats.SampleEvery = z.options.SampleEvery
	z.stats.Links = make([]LinkStats, 0, len(z.network.Links))
	for i := range z.scheduled {
		l := &z.scheduled[i]
		z.stats.countedInFlight += int64(l.queue.length)
		z.stats.Links = append(z.stats.Links, z.linkStats(l))
		z.stats.Hops += z.stats.Links[i].Packets
	}
	for i := range z.queued {
		l := &z.queued[i]
		z.stats.countedInFlight += int64(l.occupancy)
		z.records.each(&l.inFlight, func(r *record) {
			l.packets--
			l.bytes -= int64(r.bytes)
		})
		z.stats.Hops += l.packets
		maxThrough := int32(0)
		if z.priorities != nil {
			maxThrough = z.priorities.queues[i].maxThrough
		}
		z.stats.Links = append(z.stats.Links, LinkStats{l.packets, l.bytes, l.busyTime, l.maxOccupancy, l.waitTime, l.numDropped, l.numRetries, maxThrough})
	}
	if err := z.stats.Check(); err != nil {
		return nil, err
	}
	if z.usesQueues && z.stats.countedInFlight > 0 && z.calendar.isEmpty() {
		return nil, z.deadlockError()
	}
	return &z.stats, z.checkCredits()
}
