package packet

import (
	"math"
	"math/rand/v2"
	"unsafe"

	"sim/engine"
	"sim/internal/random"
)

// Sources and the transfers of tasks are called senders. They are numbered: first the
// injectors, then the tasks. The event id of a sender is sim.senderBase plus its number.
//
// Three functions decide how a host reacts to the network, in the event loop as well as
// in windows. A transport protocol would change them:
//
//   - nextPacket returns the next packet of a sender that keeps one packet queued
//     (Greedy, transfers).
//   - onSendStart notifies the sender when the packet that was queued at its source
//     starts to be sent.
//   - onPacketEnd notifies the sender of the arrival or loss of a packet. For a flow
//     window, this triggers the acknowledgement.

// packetTrain is the sizes of the packets of a flow.
type packetTrain struct {
	count     int64 // packets of the flow; 0 if its source has no end
	bytes     int32 // size of each packet except the last
	lastBytes int32 // size of the last packet
}

// size returns the bytes of packet nth of the flow, counted from 0.
func (t *packetTrain) size(nth int64) int32 {
	if nth == t.count-1 {
		return t.lastBytes
	}
	return t.bytes
}

// injector is the state of a source during a run. A Greedy source has one injector per
// link that is the first link of some of its flows. A Poisson source with order Together
// has one injector per flow.
type injector struct {
	packetTrain        // of each flow
	process            Process
	order              Order
	first, numFlows    int32   // flows first .. first+numFlows-1
	flows              []int32 // or these numFlows flows, if not nil
	total, numSent     int64   // packets, or rounds of packets if flows send together
	nextFlow           int32   // Greedy: flow of the next packet
	nextLink           int32   // Greedy: first link of the next packet; noLink if it depends on the chosen path
	followingIndex     int64   // Greedy: index in flows of the flow of the packet after the next one
	shuffleKey         uint64  // Random: selects the permutations
	offset             int64   // rotation of the order
	start, stop        engine.Time
	interval, nextTime float64 // ticks; nextTime is the next injection of a Poisson process
	rng                *rand.Rand
	window             int32       // Window: packets in flight per flow
	ackDelay           engine.Time // Window: from the arrival of a packet to the next injection
	sentPerFlow        []int64     // Window: packets injected, indexed by flow minus first
	acks               recordQueue // Window: acknowledgements, by time
}

// Values of record.origin that are not channels. They determine how the source of the
// packet reacts to the network.
const (
	originOpen   = -1 // the source ignores the network
	originWindow = -2 // the source has a flow window
	// originSender minus n: sender n injects its next packet when this one starts to be
	// sent. Examples: -3 is sender 0, and -4 is sender 1.
	originSender = -3
)

// isQueuedAtSource reports whether a queued packet with this record.origin is at the first
// link of its path.
func isQueuedAtSource(origin int32) bool { return origin < 0 }

// isHeldBySource reports whether a packet with this record.origin is still at its source,
// and its source reacts to the network (a closed loop). Such a packet is not lost if the
// link fails, and it takes no buffer space until it is sent.
func isHeldBySource(origin int32) bool { return origin <= originWindow }

// newInjectors creates the injectors of all sources.
func (z *sim) newInjectors(w *Work) {
	feedIndex := make([]int32, 0) // scratch of addGreedy
	for _, s := range w.Sources {
		if s.First == s.End || s.Count == 0 && s.Stop == 0 {
			continue
		}
		m := injector{
			packetTrain: packetTrain{count: s.Count, bytes: s.Bytes, lastBytes: s.last()}, process: s.Process, order: s.Order,
			first: s.First, numFlows: s.End - s.First, start: s.Start, stop: s.Stop,
			interval: s.Every, offset: int64(s.Offset), shuffleKey: random.Mix(random.Mix(s.Seed) + uint64(s.First)), window: s.Window, ackDelay: s.Ack,
		}

		if m.total = s.Count; s.Order != Together {
			m.total *= int64(m.numFlows)
		}
		if s.Count == 0 {
			m.total = math.MaxInt64
		}

		switch {
		case s.Process == Greedy:
			if len(feedIndex) == 0 {
				feedIndex = make([]int32, len(z.network.Links)+1)
			}
			z.addGreedy(m, feedIndex)
			continue
		case s.Process == Window:
			z.addWindow(m)
			continue
		case s.Process == Poisson && s.Order == Together:
			for f := s.First; f < s.End; f++ {
				single := m
				single.first, single.numFlows = f, 1
				single.rng = rand.New(rand.NewPCG(s.Seed, uint64(f)))
				single.nextTime = float64(s.Start) + s.Every*single.rng.ExpFloat64()
				z.injectors = append(z.injectors, single)
			}
			continue
		case s.Process == Poisson || s.Order == Uniform:
			// Bit 32 distinguishes the stream of a source from the streams of single flows.
			m.rng = rand.New(rand.NewPCG(s.Seed, 1<<32|uint64(s.First)))
		}

		if s.Process == Poisson {
			m.nextTime = float64(s.Start) + s.Every*m.rng.ExpFloat64()
		}
		z.injectors = append(z.injectors, m)
	}
}

// addGreedy adds an injector for each link that is the first link of some flow of a
// greedy source. Such an injector is called a feed of the link. m is the template.
//
// feedIndex is scratch, indexed by link plus 1, so that entry 0 is for packets without a
// link. It holds 1 plus the number of the feed, counted from 0, and is zero before and
// after the call.
func (z *sim) addGreedy(m injector, feedIndex []int32) {
	base := int32(len(z.injectors))
	feedByFlow := make([]int32, m.numFlows) // number of the feed, indexed by position of the flow in the order
	var sizes, links []int32                // flows of each feed, and its index in feedIndex

	nth := func(k int32) int32 { // the flow at position k
		if k += int32(m.offset); k >= m.numFlows {
			k -= m.numFlows
		}
		return m.first + k
	}

	// Group the flows by first link.
	for k := range m.numFlows {
		f := nth(k)
		l := max(pathEnd, z.paths.firstLink(f, z.flows[f])) + 1
		if feedIndex[l] == 0 {
			sizes, links = append(sizes, 0), append(links, l)
			feedIndex[l] = int32(len(sizes))
		}
		feedByFlow[k] = feedIndex[l] - 1
		sizes[feedByFlow[k]]++
	}

	// Create the feeds. Their lists of flows share one array.
	flows := make([]int32, 0, m.numFlows)
	for i, size := range sizes {
		feed := m
		feed.numFlows, feed.offset = size, 0
		feed.flows = flows[len(flows) : len(flows) : len(flows)+int(size)]
		flows = flows[:len(flows)+int(size)]
		feed.total = int64(size) * m.count
		feed.shuffleKey = random.Mix(m.shuffleKey + uint64(i))
		z.injectors = append(z.injectors, feed)
		feedIndex[links[i]] = 0
	}

	for k := range m.numFlows {
		feed := &z.injectors[base+feedByFlow[k]]
		feed.flows = append(feed.flows, nth(k))
	}

	// Determine the first packets.
	for i := range sizes {
		feed := &z.injectors[base+int32(i)]
		feed.followingIndex = feed.flowIndex(1)
		if feed.nextFlow, feed.nextLink = feed.flowAt(0), noLink; z.paths.isSingle() {
			feed.nextLink = links[i] - 1
		}
	}
}

// addWindow adds an injector for a source with flow windows.
func (z *sim) addWindow(m injector) {
	if z.windowInjector == nil {
		z.windowInjector = make([]int32, len(z.flows))
		for f := range z.windowInjector {
			z.windowInjector[f] = -1
		}
	}
	m.sentPerFlow = make([]int64, m.numFlows)
	for i := range m.sentPerFlow {
		z.windowInjector[m.first+int32(i)] = int32(len(z.injectors))
	}
	z.injectors = append(z.injectors, m)
}

// runSender simulates an event of a sender.
func (z *sim) runSender(sender int32, now engine.Time) {
	if z.records.numChunks > z.maxChunks {
		z.outOfMemory = true
		return
	}

	if task := sender - int32(len(z.injectors)); task >= 0 {
		z.runTask(task, now)
		return
	}

	m := &z.injectors[sender]
	switch m.process {
	case Greedy:
		z.injectNext(sender, now)
	case Window:
		z.injectWindow(sender, m, now)
	default:
		bytes := m.packetBytes(m.numSent)
		first, n, next := m.startRound()
		if next < engine.Never {
			z.calendar.schedule(z.senderBase+sender, next)
		}
		for f := first; f < first+n; f++ {
			z.injectPacket(f, bytes, originOpen, noLink, now)
		}
	}
}

// injectNext injects the next packet of a sender that keeps one packet queued at its
// first link, if it has one left.
func (z *sim) injectNext(sender int32, now engine.Time) {
	flow, bytes, link, more := z.nextPacket(sender)
	if bytes == 0 {
		return
	}
	if start := z.injectPacket(flow, bytes, originSender-sender, link, now); more && start < engine.Never {
		z.calendar.schedule(z.senderBase+sender, start)
	}
}

// nextPacket returns the next packet of a sender that keeps one packet queued at its
// first link. link is the first link, or noLink if it has not been looked up. bytes is 0
// if the sender has no packet left. more reports whether another packet follows.
func (z *sim) nextPacket(sender int32) (flow, bytes, link int32, more bool) {
	if task := sender - int32(len(z.injectors)); task >= 0 {
		t := &z.tasks.transfers[task]
		if t.numSent == t.count {
			return
		}
		bytes = t.size(t.numSent)
		t.numSent++
		return task, bytes, noLink, t.numSent < t.count
	}

	m := &z.injectors[sender]
	if m.numSent == m.total {
		return
	}
	bytes = m.packetBytes(m.numSent)
	return m.advance(), bytes, m.nextLink, m.numSent < m.total
}

// onSendStart is called when a packet that was queued at its source starts to be sent. It
// schedules the event of its sender.
func (z *sim) onSendStart(origin int32, now engine.Time) {
	if origin <= originSender {
		z.calendar.schedule(z.senderBase+originSender-origin, now)
	}
}

// onPacketEnd is called when a packet has been delivered or dropped. It notifies the
// sender.
func (z *sim) onPacketEnd(r *record, now engine.Time, dropped bool) {
	if z.log != nil {
		*z.log = append(*z.log, packetEnd{flow: r.flow, injectTime: r.injectTime, time: now, dropped: dropped})
	}

	switch {
	case z.tasks != nil:
		if !dropped {
			z.receiveForTask(r, now)
		}
	case z.windowInjector != nil && z.windowInjector[r.flow] >= 0:
		i := z.windowInjector[r.flow]
		m := &z.injectors[i]
		a := z.records.add(&m.acks)
		*a = record{time: now + m.ackDelay, flow: r.flow}
		if m.acks.length == 1 {
			z.calendar.schedule(z.senderBase+i, a.time)
		}
	}
}

// advance returns the flow of the next packet of a greedy source with packets left, and
// determines the flow of the packet after it.
func (m *injector) advance() int32 {
	flow := m.nextFlow
	if m.numSent++; m.numSent < m.total {
		m.nextFlow, m.followingIndex = m.flows[m.followingIndex], m.flowIndex(m.numSent+1)
	}
	return flow
}

// prefetchNext prefetches the memory that is read when the next packet of a greedy source
// is injected.
func (m *injector) prefetchNext(y *pathTable) {
	prefetch(unsafe.Pointer(&m.flows[m.followingIndex]))
	if class := y.sets[0].Class; class != nil {
		prefetch(unsafe.Pointer(&class[m.nextFlow]))
	}
}

// startRound starts the next injection of a source that ignores the network. The source
// injects one packet of each flow from first to first+n-1 now. next is the time of the
// following injection, or engine.Never after the last one.
func (m *injector) startRound() (first, n int32, next engine.Time) {
	m.numSent++
	if next = m.injectionTime(); m.numSent == m.total || m.stop != 0 && next >= m.stop {
		next = engine.Never
	}
	if m.order != Together {
		return m.flowAt(m.numSent - 1), 1, next
	}
	return m.first, m.numFlows, next
}

// injectWindow injects the packets that a flow window allows: all of them at the start,
// then one per acknowledgement.
func (z *sim) injectWindow(sender int32, m *injector, now engine.Time) {
	if m.numSent == 0 {
		m.numSent = 1
		for range min(int64(m.window), m.count) {
			for k := range m.numFlows {
				z.injectFlow(m, k, now)
			}
		}
		return
	}

	// A packet without hops is delivered when it is injected. It can add an
	// acknowledgement for the current time.
	k := z.records.first(&m.acks).flow - m.first
	z.records.removeFirst(&m.acks)
	if m.acks.length > 0 {
		z.calendar.schedule(z.senderBase+sender, z.records.first(&m.acks).time)
	}

	if m.sentPerFlow[k] < m.count {
		z.injectFlow(m, k, now)
	}
}

// injectFlow injects the next packet of flow k of a source with flow windows.
func (z *sim) injectFlow(m *injector, k int32, now engine.Time) {
	nth := m.sentPerFlow[k]
	m.sentPerFlow[k]++
	z.injectPacket(m.first+k, m.size(nth), originWindow, noLink, now)
}

// packetBytes returns the size of packet k of a source, or of the packets in round k if
// flows send together.
func (m *injector) packetBytes(k int64) int32 {
	if m.lastBytes == m.bytes {
		return m.bytes
	}
	switch m.order {
	case RoundRobin, Random:
		k /= int64(m.numFlows)
	case Sequential:
		k %= m.count
	}
	return m.size(k)
}

// flowAt returns the flow of packet k of a source that injects one packet at a time.
func (m *injector) flowAt(k int64) int32 {
	if k = m.flowIndex(k); m.flows != nil {
		return m.flows[k]
	}
	return m.first + int32(k)
}

// flowIndex returns the index, among the flows of the source, of the flow of packet k.
func (m *injector) flowIndex(k int64) int64 {
	n := int64(m.numFlows)
	switch m.order {
	case RoundRobin:
		k = (m.offset + k) % n
	case Random:
		k = int64(permute(uint64(k%n), uint64(n), m.shuffleKey+uint64(k/n)))
	case Sequential:
		k = (m.offset + k/m.count) % n
	case Uniform:
		k = int64(m.rng.Int32N(m.numFlows))
	}
	return k
}

// injectionTime returns the time of the next injection.
func (m *injector) injectionTime() engine.Time {
	if m.process == Poisson {
		m.nextTime += m.interval * m.rng.ExpFloat64()
		return engine.Time(m.nextTime)
	}
	return m.start + engine.Time(m.interval*float64(m.numSent))
}
