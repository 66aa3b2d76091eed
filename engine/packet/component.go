package packet

// This file divides the links of a network into components, which componentSim simulates
// one after another. It also moves the state of a run between componentSim and the event
// loop of sim.

import (
	"cmp"
	"runtime"
	"slices"

	"sim/engine"
	"sim/internal/csr"
)

// componentSim simulates scheduled links one component after another.
//
// The components are the strongly connected components of a graph whose nodes are links,
// with an arc from each link to the links that some path takes next. Each component must
// be a ring or a single link. Under dimension-order routing, a component is the links of
// one torus ring in one direction. On a tree, each link is a component.
//
// Packets in a component do not depend on its successors. Each component is therefore
// simulated for a window of time before its successors (component_window.go), while its
// state is in the cache. Components of one level of the acyclic graph of components are
// independent, so several workers simulate them at the same time.
//
// Read this file first, then component_window.go and component_worker.go.
type componentSim struct {
	*sim                    // the run: network, paths, injectors, statistics, and the event loop
	packetBytes int32       // size of every packet
	timeUnit    engine.Time // all transmission times and latencies are multiples of it
	minSendTime engine.Time // minimum transmission time
	hasLatency  bool        // some link has a latency
	linkByPort  []int32     // indexed by node*degree + port: location of the link (see locationOf), or -1
	linkIDs     []int32     // indexed like links: the link in the network

	links       []componentLink // ordered by component and, within rings, along the ring
	headArrival []engine.Time   // indexed like links: when its first packet arrives; engine.Never without packets
	headKey     []eventKey      // indexed like links: key of this event

	location        []int32         // indexed by link of the network: its location; see locationOf
	componentList   []linkComponent // ordered by level
	levelStart      []int32         // first component of each level, and the number of components
	senders         []pendingSender // greedy injectors by component, then the timed ones
	firstTimed      int32           // index in senders of the first injector that is not greedy
	senderIndex     []int32         // indexed by injector: its index in senders
	workers         []componentWorker
	barrier         *barrier
	blockScratch    []*mailboxBlock // scratch of shareBlocks
	componentWindow                 // the present window of simulated time
}

// linkComponent is a component. It has the links from <= i < end of componentSim.links,
// and the greedy injectors firstSender <= i < endSender of componentSim.senders.
type linkComponent struct {
	from, end              int32
	firstSender, endSender int32
	isRing                 bool // each link is followed by the next one, and the last one by the first
}

const (
	// maxUnitsPerSendTime limits the time units per transmission. A window has at most
	// maxKeyTimes (40) times, and must cover a transmission (isDense). The limit is a power of
	// two below 40, so runs with 33 to 40 units are excluded too.
	maxUnitsPerSendTime = 32
	// maxComponentSendTime keeps sums of up to 1024 transmission times below engine.Never.
	maxComponentSendTime = engine.Never >> 10
)

// newComponentSim returns nil if the run does not meet the conditions of componentSim:
//
//   - Packets affect senders and other packets only by queueing.
//   - All packets have one size, and all times are multiples of a common unit.
//   - Each component is a ring or a single link.
func (z *sim) newComponentSim(w *Work) *componentSim {
	// A sender or an observer depends on the arrival of each packet.
	needsEachPacket := z.windowInjector != nil || z.tasks != nil || z.log != nil || z.options.SampleEvery > 0
	if z.usesQueues || !z.paths.isSingle() || needsEachPacket || len(z.injectors) == 0 || len(z.scheduled)+len(z.injectors) >= 1<<ordinalBits {
		return nil
	}

	// All sources must have one packet size, and inject at known times or at known links.
	p := &componentSim{sim: z, packetBytes: z.injectors[0].bytes}
	for i := range z.injectors {
		m := &z.injectors[i]
		if m.bytes != p.packetBytes || m.lastBytes != p.packetBytes {
			return nil
		}
		switch {
		case m.process == Poisson,
			m.process == Periodic && m.interval < 1, // several injections per tick
			m.process == Greedy && m.nextLink < 0:   // packets without a first link
			return nil
		}
	}

	// Find the time unit of transmission times and latencies.
	for i := range z.scheduled {
		if z.network.Links[i].Rate == 0 {
			continue // no path uses it
		}
		timing := &z.timings[z.scheduled[i].timing]
		sendTime, remainder := serialisationTime(timing.ticksPerByte, uint64(p.packetBytes), noRemainder)
		if sendTime == 0 || remainder != 0 {
			return nil
		}

		if p.minSendTime == 0 || sendTime < p.minSendTime {
			p.minSendTime = sendTime
		}
		p.hasLatency = p.hasLatency || timing.latency > 0
		p.timeUnit = gcd(p.timeUnit, gcd(sendTime, timing.latency))
	}
	if p.minSendTime == 0 || p.minSendTime > maxComponentSendTime || p.timeUnit < p.minSendTime/maxUnitsPerSendTime || p.hasTooManyPhases() || !p.findComponents(w) {
		return nil
	}

	// Each worker has a mailbox per component, and a mailbox in use has at least one block.
	// They may use a quarter of the memory limit, which is maxChunks chunks of packets.
	workers := min(max(1, z.options.Workers), runtime.GOMAXPROCS(0))
	if int64(len(p.componentList)*workers)*blockBytes > p.maxChunks*chunkBytes/4 {
		return nil
	}

	p.buildLinks()
	return p
}

// hasTooManyPhases reports whether the injection times of sources have more than
// maxPhases different residues modulo the time unit; see componentWindow.residues. Of each
// source, it examines the first maxPhases+1 injections. They suffice if the interval is a whole
// number of ticks: the residues then repeat in a cycle, so either these injections cover all of
// them or have maxPhases+1 different ones. With other intervals, later injections may exceed the
// limit, and openWindow returns to the event loop.
func (p *componentSim) hasTooManyPhases() bool {
	for i := range p.injectors {
		m := &p.injectors[i]
		for k := range min(m.total, maxPhases+1) {
			p.addResidue(m.start + engine.Time(m.interval*float64(k)))
		}
		if len(p.residues) > maxPhases {
			return true
		}
	}
	return false
}

// gcd returns the greatest common divisor.
func gcd(a, b engine.Time) engine.Time {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// findComponents finds the components and their levels. It returns false if some
// component is neither a ring nor a single link.
//
// It tries two graphs of links. The first one has an arc if some path takes the two ports
// in succession, at any node. It has too many arcs in general, but is fast to build and
// sufficient for dimension-order routing. The second one is exact, and follows the paths
// of all flows.
func (p *componentSim) findComponents(w *Work) bool {
	for _, arcs := range []func(w *Work) (start, to []int32){p.arcsByPort, p.arcsByFlow} {
		start, to := arcs(w)
		if start == nil {
			continue
		}

		// csr.Components numbers the strongly connected components, with arcs to lower
		// numbers. The links of component c are members[firstLink[c]:firstLink[c+1]].
		allArcs := func(int32) bool { return true }
		component, numComponents := csr.Components(start, to, allArcs)
		firstLink, members := csr.Index(component, numComponents)
		if !orderRings(start, to, component, firstLink, members) {
			continue
		}

		// The level of a component is the length of the longest path of arcs to it.
		level := make([]int32, numComponents)
		for c := numComponents - 1; c >= 0; c-- { // arcs lead to components of lower numbers
			for _, l := range members[firstLink[c]:firstLink[c+1]] {
				for _, next := range to[start[l]:start[l+1]] {
					if d := component[next]; int(d) != c {
						level[d] = max(level[d], level[c]+1)
					}
				}
			}
		}

		// Number the components by level, and their links consecutively.
		var ordered []int32
		p.levelStart, ordered = csr.Index(level, int(slices.Max(level))+1)
		for _, c := range ordered {
			added := linkComponent{from: int32(len(p.linkIDs)), end: int32(len(p.linkIDs)) + firstLink[c+1] - firstLink[c]}
			l := members[firstLink[c]]
			added.isRing = added.end-added.from > 1 || slices.Contains(to[start[l]:start[l+1]], l)
			p.componentList = append(p.componentList, added)
			p.linkIDs = append(p.linkIDs, members[firstLink[c]:firstLink[c+1]]...)
		}
		return true
	}
	return false
}

// orderRings sorts the links of each component along its ring. It returns false if some
// component is neither a single link nor a ring of at most maxComponentLinks links.
func orderRings(start, to, component, firstLink, members []int32) bool {
	for c := range len(firstLink) - 1 {
		ring := members[firstLink[c]:firstLink[c+1]]
		if len(ring) > maxComponentLinks {
			return false
		}
		for i, l := range ring {
			next := int32(-1)
			for _, k := range to[start[l]:start[l+1]] {
				if int(component[k]) == c {
					if next >= 0 && next != k {
						return false
					}
					next = k
				}
			}
			if i+1 < len(ring) {
				ring[i+1] = next
			}
		}
	}
	return true
}

// maxArcs limits the number of possible arcs between links. The tables of arcs then need
// about 100 MB.
const maxArcs = 1 << 24

// arcsByPort returns arcs from each link to the links that follow it over ports that some
// path takes in succession, at any node. The successors of link l are
// to[start[l]:start[l+1]]. The result is nil if the graph is too large.
func (p *componentSim) arcsByPort(w *Work) (start, to []int32) {
	degree := w.Paths.Degree
	if len(w.Paths.Link)*degree > maxArcs {
		return nil, nil
	}
	follows := make([]bool, degree*degree)
	for i, s := range w.Paths.Step {
		if s != engine.Arrived && s.Port() >= degree { // in a path that no flow takes
			return nil, nil
		}
		if s != engine.Arrived && w.Paths.Step[i+1] != engine.Arrived && w.Paths.Step[i+1].Port() < degree {
			follows[s.Port()*degree+w.Paths.Step[i+1].Port()] = true
		}
	}

	return p.arcs(w, func(node, port, next int) bool { return follows[port*degree+next] })
}

// maxSteps limits the number of path steps that are followed, which takes some tenths of
// a second.
const maxSteps = 1 << 26

// arcsByFlow returns arcs from each link to the links that the path of some flow takes
// next, or nil if the graph is too large.
func (p *componentSim) arcsByFlow(w *Work) (start, to []int32) {
	degree := w.Paths.Degree
	if len(w.Paths.Link)*degree > maxArcs {
		return nil, nil
	}
	follows, steps := make([]bool, len(w.Paths.Link)*degree), 0

	for f, flow := range w.Flows {
		node, previous := int(flow.Src), -1
		for k := p.paths.choosePath(int32(f)); w.Paths.Step[k] != engine.Arrived; k++ {
			port := w.Paths.Step[k].Port()
			if previous >= 0 {
				follows[previous*degree+port] = true
			}
			previous = node*degree + port
			node = int(p.network.Links[w.Paths.Link[previous]].To)
			steps++
		}
		if steps > maxSteps {
			return nil, nil
		}
	}

	return p.arcs(w, func(node, port, next int) bool { return follows[(node*degree+port)*degree+next] })
}

// arcs returns arcs from each link to the links at its far end for which follows returns
// true. The arguments of follows are the node and port at which the first link starts,
// and the port of the second link. The result is nil if two ports have the same link.
func (p *componentSim) arcs(w *Work, follows func(node, port, next int) bool) (start, to []int32) {
	degree := w.Paths.Degree
	ports := slices.Repeat([]int32{-1}, len(p.sim.scheduled)) // indexed by link: its node*degree + port
	for i, l := range w.Paths.Link {
		if l < 0 {
			continue
		}
		if ports[l] >= 0 { // two ports of one link
			return nil, nil
		}
		ports[l] = int32(i)
	}

	start = make([]int32, 1, len(ports)+1)
	for i, l := range p.network.Links {
		if ports[i] >= 0 {
			for next, successor := range w.Paths.Link[int(l.To)*degree : int(l.To+1)*degree] {
				if successor >= 0 && follows(int(l.From), int(ports[i])%degree, next) {
					to = append(to, successor)
				}
			}
		}
		start = append(start, int32(len(to)))
	}
	return start, to
}

// The location of a link is one number for its component and its index in the component.
// Example: link 5 of component 2 has location 2*64+5.
const (
	// linkBits is the number of bits of the index in a location. The arrays of a
	// componentWorker have an entry per possible link and time index, so that more bits
	// would displace them from the cache.
	linkBits          = 6
	maxComponentLinks = 1 << linkBits // maximum number of links per component
)

// locationOf returns the location of a link.
func locationOf(component, index int32) int32 { return component<<linkBits | index }

// locationComponent returns the component of a location, as an index in componentList. It
// is -1 for pathEnd, which is used instead of a location at the end of a path.
func locationComponent(location int32) int32 { return location >> linkBits }

// locationIndex returns the index of the link in its component.
func locationIndex(location int32) int32 { return location & (maxComponentLinks - 1) }

// linkIndex returns the index in links of a location.
func (p *componentSim) linkIndex(location int32) int32 {
	return p.componentList[locationComponent(location)].from + locationIndex(location)
}

// buildLinks builds the links and senders of the components.
func (p *componentSim) buildLinks() {
	numLinks := len(p.linkIDs)
	p.links, p.headArrival, p.headKey = make([]componentLink, numLinks), make([]engine.Time, numLinks), make([]eventKey, numLinks)
	p.location = make([]int32, numLinks)
	for k, q := range p.componentList {
		for index := q.from; index < q.end; index++ {
			l := &p.sim.scheduled[p.linkIDs[index]]
			timing := &p.timings[l.timing]
			sendTime, _ := serialisationTime(timing.ticksPerByte, uint64(p.packetBytes), noRemainder)
			if sendTime == 0 {
				sendTime = engine.Never // no path uses it
			}
			p.links[index] = componentLink{sendTime: sendTime, latency: timing.latency, firstPort: l.to * int32(p.paths.degree)}
			p.location[p.linkIDs[index]] = locationOf(int32(k), index-q.from)
		}
	}

	p.linkByPort = slices.Clone(p.paths.linkByPort)
	for i, l := range p.linkByPort {
		if l >= 0 {
			p.linkByPort[i] = p.location[l]
		}
	}

	// Number the greedy injectors by component, and the timed ones after them.
	component := make([]int32, len(p.injectors)) // indexed by injector; -1 for timed ones
	var timed []int32
	for i := range p.injectors {
		if m := &p.injectors[i]; m.process == Greedy {
			component[i] = locationComponent(p.location[m.nextLink])
		} else {
			component[i] = -1
			timed = append(timed, int32(i))
		}
	}

	// The greedy injectors of component k are greedy[firstSender[k]:firstSender[k+1]].
	firstSender, greedy := csr.Index(component, len(p.componentList))
	p.senderIndex, p.firstTimed = make([]int32, len(p.injectors)), int32(len(greedy))
	for index, i := range append(greedy, timed...) {
		w := pendingSender{time: engine.Never, link: -1, injector: i}
		if index < len(greedy) {
			w.link = p.location[p.injectors[i].nextLink]
		}
		p.senderIndex[i], p.senders = int32(index), append(p.senders, w)
	}

	for k := range p.componentList {
		p.componentList[k].firstSender, p.componentList[k].endSender = firstSender[k], firstSender[k+1]
	}
}

// switchToWindows moves packets and pending events from the event loop to p.
func (p *componentSim) switchToWindows() {
	for i := range p.links {
		p.loadLink(int32(i))
	}
	for i := range p.senders {
		p.senders[i].time = engine.Never
	}

	// The ordinals of pending events follow their order in the calendar.
	a := p.calendar
	ordinal := uint64(0)
	for _, head := range a.removeRuns() {
		time := a.runs[head].time
		for id := head; id >= 0; id = a.next[id] {
			p.addLoadedEvent(id, time, pendingKey(ordinal))
			ordinal++
		}
	}
}

// loadLink copies the state of the scheduled link that corresponds to links[i], and moves
// its packets to the buffer of links[i].
func (p *componentSim) loadLink(i int32) {
	l := &p.links[i]
	saved := &p.sim.scheduled[p.linkIDs[i]]
	numDeparted := uint64(saved.numPackets) - uint64(saved.queue.length)
	l.busyUntil, l.waitTime, l.maxOccupancy = saved.busyUntil, saved.waitTime, saved.maxOccupancy
	l.head, l.tail = numDeparted, numDeparted

	p.headArrival[i] = engine.Never // until addLoadedEvent
	for ; saved.queue.length > 0; p.records.removeFirst(&saved.queue) {
		r := p.records.first(&saved.queue)
		next := r.origin // on scheduled links, the next link or pathEnd
		if next >= 0 {
			next = p.location[next]
		}
		p.workers[0].storePacket(l, queuedPacket{injectTime: r.injectTime, route: r.route, nextLink: next}, r.time)
		if p.hasLatency {
			p.addResidue(r.time)
		}
	}
}

// addLoadedEvent adds an event of the event loop to the pending events.
func (p *componentSim) addLoadedEvent(id int32, time engine.Time, key eventKey) {
	k := &p.workers[0]
	if !p.isSender(id) {
		index := p.linkIndex(p.location[id])
		p.headKey[index], p.headArrival[index] = key, time
		k.addPending(key, time, index)
		return
	}

	// openWindow adds the events of timed sources.
	index := p.senderIndex[id-p.senderBase]
	w := &p.senders[index]
	w.eventKey, w.time = key, time
	if isGreedy := w.link >= 0; isGreedy {
		k.addPending(key, time, -1-index) // the id of a sender; see keyedEvent
	}
}

// switchToEvents moves packets and pending events to the event loop.
func (p *componentSim) switchToEvents() {
	p.mergeStats()
	for i := range p.workers {
		k := &p.workers[i]
		k.memoryBytes, k.freeBuffers, k.freeBlocks = 0, [32][]packetBuffer{}, nil
	}
	for i := range p.links {
		p.saveLink(int32(i))
	}

	// Schedule the pending events. The list is sorted by key, so a stable sort by time
	// retains the order of simultaneous events.
	slices.SortStableFunc(p.pending.events, func(e, f keyedEvent) int { return cmp.Compare(p.eventTime(e.id), p.eventTime(f.id)) })
	a := p.calendar
	a.now = p.stats.End
	a.currentCell = int64(a.now >> a.cellShift)
	for _, e := range p.pending.events {
		if isLink := e.id >= 0; isLink {
			a.schedule(p.linkIDs[e.id], p.headArrival[e.id])
		} else { // see keyedEvent
			w := &p.senders[-1-e.id]
			a.schedule(p.senderBase+w.injector, w.time)
		}
	}
}

// saveLink copies the state of links[i] to the scheduled link that corresponds to it, and
// moves its packets there.
func (p *componentSim) saveLink(i int32) {
	l := &p.links[i]
	saved := &p.sim.scheduled[p.linkIDs[i]]
	saved.busyUntil, saved.waitTime, saved.maxOccupancy = l.busyUntil, l.waitTime, l.maxOccupancy
	saved.numPackets, saved.bytes = int64(l.tail), int64(l.tail)*int64(p.packetBytes)
	saved.remainder = 0 // transmission times are whole numbers of ticks

	// Without latencies, packets arrive at intervals of one transmission.
	arrival := p.headArrival[i]
	for ; l.head < l.tail; l.head++ {
		index := l.bufferIndex(l.head)
		r := &l.buffer[index]
		next := r.nextLink
		if next >= 0 {
			next = p.linkIDs[p.linkIndex(next)]
		}
		if p.hasLatency {
			arrival = l.arrivals[index]
		}
		*p.records.add(&saved.queue) = record{time: arrival, injectTime: r.injectTime, route: r.route, bytes: p.packetBytes, origin: next}
		arrival += l.sendTime
	}
	l.buffer, l.arrivals = nil, nil
}
