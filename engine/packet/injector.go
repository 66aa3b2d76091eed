package packet

import (
	"math"
	"math/rand/v2"
	"unsafe"

	"sim/engine"
)

// Sources and transfers of tasks are the senders of packets. Senders are numbered, injectors first, then tasks; the event
// of a sender has the id sim.base plus its number. Where a host injects a packet because of what the network does, three
// functions decide it, whatever the loop:
//   - nextPacket: the next packet of a host, if a sender keeps one packet waiting (Greedy, transfers).
//   - begins: feedback to the sender, when the packet that waited at its source begins to be sent.
//   - gone: the arrival of a packet at its receiver, or its loss; a window gets its acknowledgement from it.

// packetTrain is the sizes of the packets of a flow.
type packetTrain struct {
	count     int64 // packets of the flow; 0 if its source has no end
	bytes     int32 // of each packet but the last
	lastBytes int32 // bytes of the last packet
}

// size returns the bytes of the nth packet of the flow.
func (t *packetTrain) size(nth int64) int32 {
	if nth == t.count-1 {
		return t.lastBytes
	}
	return t.bytes
}

// injector is a source that is simulated. A greedy source has one for each link that some of its flows begin with, and
// Poisson processes of each flow have one for each flow.
type injector struct {
	packetTrain        // of each flow
	process            Process
	order              Order
	first, numFlows    int32   // flows first..first+n-1
	flows              []int32 // or these n flows
	total, numSent     int64   // packets, or rounds of packets if flows go together
	nextFlow           int32   // Greedy: flow of the next packet
	nextLink           int32   // Greedy: first link of the next packet, nowhere if it is not known yet
	followingIndex     int64   // Greedy: place in flows of the flow of the packet after the next
	shuffleKey         uint64
	offset             int64
	start, stop        engine.Time
	interval, nextTime float64 // at: time of the next packet of a Poisson process
	rng                *rand.Rand
	window             int32       // Window: packets in flight of each flow
	ackDelay           engine.Time // Window: from the arrival of a packet to the injection of another
	sentPerFlow        []int64     // Window: packets injected, indexed by flow less first
	acks               recordQueue // Window: acknowledgements, by time
}

// Reasons that hold a packet back, in record.hold: the channel whose buffer it is in (at least 0), or one of these.
const (
	originOpen   = -1 // it came from a source that ignores the network
	originWindow = -2 // it waits at its source
	originSender = -3 // less the number of its sender, which injects the next packet when this one begins to be sent
)

func (z *sim) newInjectors(w *Work) {
	feedIndex := make([]int32, 0)
	for _, s := range w.Sources {
		if s.First == s.End || s.Count == 0 && s.Stop == 0 {
			continue
		}
		m := injector{
			packetTrain: packetTrain{s.Count, s.Bytes, s.last()}, process: s.Process, order: s.Order,
			first: s.First, numFlows: s.End - s.First, start: s.Start, stop: s.Stop,
			interval: s.Every, offset: int64(s.Offset), shuffleKey: mix(mix(s.Seed) + uint64(s.First)), window: s.Window, ackDelay: s.Ack,
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
			m.rng = rand.New(rand.NewPCG(s.Seed, 1<<32|uint64(s.First)))
		}
		if s.Process == Poisson {
			m.nextTime = float64(s.Start) + s.Every*m.rng.ExpFloat64()
		}
		z.injectors = append(z.injectors, m)
	}
}

// addGreedy adds an injector for each link that some flow of a greedy source begins with. feedOf is scratch by link,
// zero before and after.
func (z *sim) addGreedy(m injector, feedIndex []int32) {
	base := int32(len(z.injectors))
	feedByFlow := make([]int32, m.numFlows) // by flow in order: its feed
	var sizes, links []int32
	nth := func(k int32) int32 {
		if k += int32(m.offset); k >= m.numFlows {
			k -= m.numFlows
		}
		return m.first + k
	}
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
	flows := make([]int32, 0, m.numFlows)
	for i, size := range sizes {
		feed := m
		feed.numFlows, feed.offset = size, 0
		feed.flows = flows[len(flows) : len(flows) : len(flows)+int(size)]
		flows = flows[:len(flows)+int(size)]
		feed.total = int64(size) * m.count
		feed.shuffleKey = mix(m.shuffleKey + uint64(i))
		z.injectors = append(z.injectors, feed)
		feedIndex[links[i]] = 0
	}
	for k := range m.numFlows {
		feed := &z.injectors[base+feedByFlow[k]]
		feed.flows = append(feed.flows, nth(k))
	}
	for i := range sizes {
		feed := &z.injectors[base+int32(i)]
		feed.followingIndex = feed.flowIndex(1)
		if feed.nextFlow, feed.nextLink = feed.flowAt(0), noLink; z.paths.isSingle() {
			feed.nextLink = links[i] - 1
		}
	}
}

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
		first, n, next := m.nextRound()
		if next < engine.Never {
			z.calendar.schedule(z.senderBase+sender, next)
		}
		for f := first; f < first+n; f++ {
			z.injectPacket(f, bytes, originOpen, noLink, now)
		}
	}
}

// injectNext injects the next packet of a sender that keeps one packet waiting for its first link, if it has one left.
func (z *sim) injectNext(sender int32, now engine.Time) {
	flow, bytes, link, more := z.nextPacket(sender)
	if bytes == 0 {
		return
	}
	if start := z.injectPacket(flow, bytes, originSender-sender, link, now); more && start < engine.Never {
		z.calendar.schedule(z.senderBase+sender, start)
	}
}

// nextPacket takes the next packet of a sender that keeps one packet waiting for its first link, which is nowhere if it is
// not known yet. bytes is 0 if the sender has no packet left. more reports whether another packet follows.
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

// onSendStart sets the event of the sender of a packet that has waited at its source and begins to be sent.
func (z *sim) onSendStart(origin int32, now engine.Time) {
	if origin <= originSender {
		z.calendar.schedule(z.senderBase+originSender-origin, now)
	}
}

// onPacketEnd counts a packet that is no longer in flight for the sender that waits for it.
func (z *sim) onPacketEnd(r *record, now engine.Time, dropped bool) {
	if z.log != nil {
		*z.log = append(*z.log, packetEnd{r.flow, r.injectTime, now, dropped})
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

// advance returns the flow of the next packet of a greedy source, which has one, and chooses the flow of the packet after it.
func (m *injector) advance() int32 {
	flow := m.nextFlow
	if m.numSent++; m.numSent < m.total {
		m.nextFlow, m.followingIndex = m.flows[m.followingIndex], m.flowIndex(m.numSent+1)
	}
	return flow
}

// prefetchNext brings into the cache what injecting the next packet of a greedy source and choosing the one after it read.
func (m *injector) prefetchNext(y *pathTable) {
	prefetch(unsafe.Pointer(&m.flows[m.followingIndex]))
	if class := y.sets[0].Class; class != nil {
		prefetch(unsafe.Pointer(&class[m.nextFlow]))
	}
}

// nextRound returns the flows of which a source that ignores the network injects a packet each now, n flows from first on, and
// when it injects next: engine.Never if it does not.
func (m *injector) nextRound() (first, n int32, next engine.Time) {
	m.numSent++
	if next = m.injectionTime(); m.numSent == m.total || m.stop != 0 && next >= m.stop {
		next = engine.Never
	}
	if m.order != Together {
		return m.flowAt(m.numSent - 1), 1, next
	}
	return m.first, m.numFlows, next
}

// injectWindow injects the packets that a window allows: all at the start, then one for each acknowledgement.
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
	// a packet may be delivered as it is injected, and add an acknowledgement for later in this very time
	k := z.records.first(&m.acks).flow - m.first
	z.records.removeFirst(&m.acks)
	if m.acks.length > 0 {
		z.calendar.schedule(z.senderBase+sender, z.records.first(&m.acks).time)
	}
	if m.sentPerFlow[k] < m.count {
		z.injectFlow(m, k, now)
	}
}

// injectFlow injects the next packet of the kth flow of a window.
func (z *sim) injectFlow(m *injector, k int32, now engine.Time) {
	nth := m.sentPerFlow[k]
	m.sentPerFlow[k]++
	z.injectPacket(m.first+k, m.size(nth), originWindow, noLink, now)
}

// packetBytes returns the size of the kth packet of a source, or of the packets of its kth round if flows go together.
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

// flowAt returns the flow of the kth packet of a source that injects one at a time.
func (m *injector) flowAt(k int64) int32 {
	if k = m.flowIndex(k); m.flows != nil {
		return m.flows[k]
	}
	return m.first + int32(k)
}

// flowIndex returns the place among the source's flows of that of the k-th packet.
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

// injectionTime returns when the next packets are sent.
func (m *injector) injectionTime() engine.Time {
	if m.process == Poisson {
		m.nextTime += m.interval * m.rng.ExpFloat64()
		return engine.Time(m.nextTime)
	}
	return m.start + engine.Time(m.interval*float64(m.numSent))
}
