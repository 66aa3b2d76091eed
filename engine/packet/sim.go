package packet

import (
	"fmt"
	"math"

	"sim/engine"
)

// sim is the state of one run.
//
// Events are identified by the numbers under which they are in the calendar. With
// scheduled links, event id < n is the arrival of the first packet on link id, where n is
// the number of links. With queued links, ids [0, n) are ends of transmissions, [n, 2n)
// arrivals, and [2n, 3n) credit returns; see sendEndID, arrivalID and creditID. Ids from
// senderBase on belong to senders: first the injectors, then the tasks.
type sim struct {
	network                   *engine.Network
	options                   Options
	flows                     []engine.Flow
	paths                     pathTable
	calendar                  *calendar
	records                   recordStore    // packets
	maxChunks                 int64          // limit of records.numChunks
	outOfMemory               bool           // the limit was exceeded, or the run was stopped
	stopped                   bool           // Options.Stop returned true
	share                     func() float64 // completed share of the run; nil if it is not reported
	injectors                 []injector
	senderBase                int32       // event id of the first injector
	windowInjector            []int32     // indexed by flow: its injector if it has a window, otherwise -1; nil without windows
	tasks                     *taskState  // state of the task graph; nil without a graph
	measureFrom, measureUntil engine.Time // measured time: from <= t < until
	reportsEnds               bool        // onPacketEnd must be called for each packet
	reaction                  reactionState
	log                       *[]packetEnd // ends of all packets, for tests; nil otherwise
	stats                     Stats

	transport  *transportState // nil without a transport
	components *componentSim   // nil if the run does not meet its conditions

	scheduled    []scheduledLink // indexed by link; empty with queued links
	timings      []linkTiming    // distinct rates and latencies of scheduled links
	prefetchSink int32           // sum of prefetched values, so that their loads are not optimised away
	queueState                   // of queued links; see queued.go
}

// eventsPerLink is the number of event ids of a queued link.
const eventsPerLink = 3

// sendEndID returns the event id of the end of the transmission on a queued link.
func (z *sim) sendEndID(link int32) int32 { return link }

// arrivalID returns the event id of the arrival of the first packet in flight on a queued
// link.
func (z *sim) arrivalID(link int32) int32 { return int32(len(z.queued)) + link }

// creditID returns the event id of the next credit return to a queued link.
func (z *sim) creditID(link int32) int32 { return 2*int32(len(z.queued)) + link }

// isSender reports whether an event id belongs to a sender.
func (z *sim) isSender(id int32) bool { return id >= z.senderBase }

// packetEnd is the delivery or loss of a packet. It is recorded only for tests.
type packetEnd struct {
	flow             int32
	injectTime, time engine.Time
	dropped          bool
}

// newSim allocates the state of a run. maxPacket is the size of the largest packet in
// bytes.
func newSim(n *engine.Network, w *Work, o Options, maxPacket int64) (*sim, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if required := initialMemory(n, w, &o); required > o.MaxBytes {
		return nil, fmt.Errorf("%w: the run needs %d B of memory; the limit is %d B", ErrWork, required, o.MaxBytes)
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
	if o.Transport.IsUsed() {
		z.transport = newTransport(z, n, o.Transport, int32(maxPacket), o.MaxBytes)
		numIDs *= eventsPerLink
	} else if z.usesQueues = needsQueues(n, &o); z.usesQueues {
		z.newQueuedLinks(maxPacket)
		numIDs *= eventsPerLink
	} else {
		z.newScheduledLinks()
	}

	z.records.grow()
	z.senderBase = int32(numIDs)
	z.newInjectors(w)
	const maxIDs = math.MaxInt32 / 16 // keeps sums of ids within int32
	if int64(numIDs)+int64(len(z.injectors))+int64(len(z.flows)) > maxIDs {
		return nil, fmt.Errorf("%w: %d links, %d senders and %d flows exceed the range of event ids", ErrWork, len(n.Links), len(z.injectors), len(z.flows))
	}
	return z, nil
}

// scheduleSenders creates the calendar and schedules the first event of each sender.
func (z *sim) scheduleSenders() {
	z.reportsEnds = z.windowInjector != nil || z.tasks != nil || z.log != nil
	numIDs := int(z.senderBase) + len(z.injectors)
	if z.tasks != nil {
		numIDs += len(z.tasks.pendingInputs) + 1 // the last id is the event of resolveContention
	}

	if z.transport != nil {
		firstID := numIDs
		numIDs += z.transport.numIDs(len(z.tasks.graph.Tasks))
		z.calendar = newCalendar(numIDs)
		z.transport.calendar = z.calendar
		z.transport.prepare(z.tasks.graph, int32(firstID))
	} else {
		z.calendar = newCalendar(numIDs)
	}

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
				const start = 0
				z.calendar.schedule(z.taskID(int32(i)), start)
			}
		}
	}
}

// simulate runs the simulation to its end. Between the events it applies changes of links
// and paths, samples the queues, and checks whether the measured packets have arrived.
// These actions precede all other events of the same time. Reactions to the ends of tasks
// follow all other events of the same time.
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

	// Each iteration simulates the events before the next action and then performs the
	// action.
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

		// The reaction may change links at the current time.
		if len(z.reaction.ended) > 0 {
			if err := z.callReaction(z.reaction.endTime); err != nil {
				return err
			}
			continue
		}

		// Without events, only later actions can release waiting packets or tasks.
		isDone := z.stats.InFlight() == 0 && z.tasks == nil
		hasActions := len(changes)+len(rewires) > 0 || z.reaction.nextTime() < engine.Never
		if isLast || z.calendar.isEmpty() && (isDone || !hasActions) {
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
		default: // nextEndCheck; see Options.EndMeasured
			if z.stats.MeasuredInjected == z.stats.Delay.Count+z.stats.MeasuredDropped {
				return nil
			}
			nextEndCheck += max(1, (z.measureUntil-z.measureFrom)/8)
		}
	}
}

// eventsPerStopCheck is the number of events between two calls of Options.Stop. It
// corresponds to a few milliseconds.
const eventsPerStopCheck = 1 << 16

// stopRequested reports the progress, calls Options.Stop and reports whether the run must end.
func (z *sim) stopRequested() bool {
	z.reportProgress()
	if z.options.Stop != nil && z.options.Stop() {
		z.outOfMemory, z.stopped = true, true
	}
	return z.stopped
}

// runUntil simulates all events up to and including time until. It uses windows if the
// run meets their conditions and has enough events.
func (z *sim) runUntil(until engine.Time) {
	if z.transport != nil {
		z.transport.run(until)
		return
	}
	if z.components != nil {
		z.components.runUntil(until)
		return
	}
	for z.lps != nil && z.lps.runWhileSparse(until) && z.calendar.now < z.lps.lastStart {
		if z.lps.runUntil(until) == until || z.outOfMemory {
			return
		}
	}
	z.runEvents(until, noEventLimit)
}

// maxBatch is the maximum number of simultaneous events that are taken from the calendar
// together. They are prefetched as a group.
const maxBatch = 16

// noEventLimit is the limit of runEvents if it simulates all events up to time until.
const noEventLimit = math.MaxInt

// runEvents is the event loop. It simulates events in their order up to and including
// time until, and returns their number. After limit events, it returns as soon as no
// event of the current time is left.
func (z *sim) runEvents(until engine.Time, limit int) int {
	numLinks := int32(len(z.network.Links))
	var buffer [maxBatch]int32
	count := 0

	for batches := 0; ; batches++ {
		ids, now, ok := z.nextEvents(buffer[:], until)
		isStopCheck := batches%(eventsPerStopCheck/maxBatch) == 0
		if !ok || isStopCheck && z.stopRequested() {
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
			case z.isSender(id):
				z.stats.End = now
				if z.runSender(id-z.senderBase, now); z.outOfMemory {
					return count
				}
			case !z.usesQueues:
				z.stats.End = now
				z.forwardFirst(id, now)
			case id < numLinks: // sendEndID
				z.stats.End = now
				z.endSending(id, now)
			case id < 2*numLinks: // arrivalID
				z.stats.End = now
				z.endFlight(id-numLinks, now)
			default: // creditID
				z.queued[id-2*numLinks].awaitsCredit = false
				z.startSending(id-2*numLinks, now)
			}
		}

		// Tasks have ended: finish the events of the current time and let simulate call
		// the reaction.
		if len(z.reaction.ended) > 0 {
			until = min(until, now)
		}
	}
}

// nextEvents returns the next simultaneous events in their order, at most as many as fit
// into buffer. It returns false if there is no event up to time until.
func (z *sim) nextEvents(buffer []int32, until engine.Time) ([]int32, engine.Time, bool) {
	if !z.ordersByID {
		return z.calendar.takeBatch(buffer, until)
	}

	// Events are ordered by id, so all events of the time are needed at once.
	if z.numTaken == len(z.simultaneous) {
		z.simultaneous, z.numTaken = z.calendar.takeSimultaneous(z.simultaneous, until), 0
	}

	ids := z.simultaneous[z.numTaken:min(z.numTaken+maxBatch, len(z.simultaneous))]
	z.numTaken += len(ids)
	return ids, z.calendar.now, len(ids) > 0
}

// memoryError returns an error if the run was stopped, or if packets and samples need
// more memory than Options.MaxBytes allows. Samples may use a quarter of it, because they
// are copied later.
func (z *sim) memoryError() error {
	if z.stopped {
		return ErrStopped
	}
	if samples := 4 * int64(len(z.stats.Queues)); z.outOfMemory || samples > z.options.MaxBytes/4 {
		return fmt.Errorf("%w: at %v, %d packets in the network use %d B of memory, and samples use %d B; the limit is %d B",
			ErrWork, z.stats.End, z.stats.InFlight(), z.records.numChunks*chunkBytes, samples, z.options.MaxBytes)
	}
	return nil
}

// injectPacket injects a packet of a flow. origin is stored in record.origin. firstLink
// is the first link of its path, or noLink if it has not been looked up. The result is
// the time at which the link starts to send the packet, or engine.Never if that is not
// known yet.
func (z *sim) injectPacket(flow, bytes, origin, firstLink int32, now engine.Time) engine.Time {
	z.stats.countInjection(z, now)
	r := record{injectTime: now, flow: flow, bytes: bytes, origin: origin}
	return z.startPath(&r, firstLink, now)
}

// startPath chooses the path of a packet at its source and enqueues the packet at its
// first link. Parameters and result are as for injectPacket.
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

// deliver counts the delivery of a packet and reports it to its sender.
func (z *sim) deliver(r *record, now engine.Time) {
	z.stats.countDelivery(z, r.injectTime, now, int64(r.bytes))
	if z.reportsEnds {
		const dropped = false
		z.onPacketEnd(r, now, dropped)
	}
}

// drop counts the loss of a packet at a link, or at no particular link if link is -1. It
// frees the buffer space of the packet.
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
		const dropped = true
		z.onPacketEnd(r, now, dropped)
	}
	z.releaseBuffer(r.origin, r.bytes, now)
}

// sampleQueues appends the current number of packets of each link to Stats.Queues.
func (z *sim) sampleQueues() {
	for i := range z.scheduled {
		z.stats.Queues = append(z.stats.Queues, z.scheduled[i].queue.length)
	}
	for i := range z.queued {
		z.stats.Queues = append(z.stats.Queues, z.queued[i].occupancy)
	}
	if z.transport != nil {
		for i := range z.transport.links {
			z.stats.Queues = append(z.stats.Queues, z.transport.links[i].numQueued)
		}
	}
}

// finish completes the statistics. It returns a *Deadlock if packets are queued and no
// event is left.
func (z *sim) finish() (*Stats, error) {
	z.stats.SampleEvery = z.options.SampleEvery
	if z.transport != nil {
		return &z.stats, z.transport.finish()
	}
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
		z.records.each(&l.inFlight, func(r *record) { // packets in flight have not arrived
			l.packets--
			l.bytes -= int64(r.bytes)
		})
		z.stats.Hops += l.packets
		maxThrough := int32(0)
		if z.priorities != nil {
			maxThrough = z.priorities.queues[i].maxThrough
		}
		z.stats.Links = append(z.stats.Links, LinkStats{
			Packets: l.packets, Bytes: l.bytes, Busy: l.busyTime, MaxQueue: l.maxOccupancy, Waited: l.waitTime,
			Dropped: l.numDropped, Retries: l.numRetries, MaxThrough: maxThrough,
		})
	}

	if err := z.stats.Check(); err != nil {
		return nil, err
	}

	if z.usesQueues && z.stats.countedInFlight > 0 && z.calendar.isEmpty() {
		return nil, z.deadlockError()
	}
	return &z.stats, z.checkCredits()
}
