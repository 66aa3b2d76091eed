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

// train is the sizes of the packets of a flow.
type train struct {
	count int64 // packets of the flow; 0 if its source has no end
	bytes int32 // of each packet but the last
	last  int32 // bytes of the last packet
}

// size returns the bytes of the nth packet of the flow.
func (t *train) size(nth int64) int32 {
	if nth == t.count-1 {
		return t.last
	}
	return t.bytes
}

// injector is a source that is simulated. A greedy source has one for each link that some of its flows begin with, and
// Poisson processes of each flow have one for each flow.
type injector struct {
	train       // of each flow
	process     Process
	order       Order
	first, n    int32   // flows first..first+n-1
	flows       []int32 // or these n flows
	total, sent int64   // packets, or rounds of packets if flows go together
	next        int32   // Greedy: flow of the next packet
	link        int32   // Greedy: first link of the next packet, nowhere if it is not known yet
	then        int64   // Greedy: place in flows of the flow of the packet after the next
	key         uint64
	offset      int64
	start, stop engine.Time
	every, at   float64 // at: time of the next packet of a Poisson process
	rng         *rand.Rand
	window      int32       // Window: packets in flight of each flow
	ack         engine.Time // Window: from the arrival of a packet to the injection of another
	sentOf      []int64     // Window: packets injected, indexed by flow less first
	acks        fifo        // Window: acknowledgements, by time
}

// Reasons that hold a packet back, in record.hold: the channel whose buffer it is in (at least 0), or one of these.
const (
	fromOpen   = -1 // it came from a source that ignores the network
	fromWindow = -2 // it waits at its source
	fromFeed   = -3 // less the number of its sender, which injects the next packet when this one begins to be sent
)

func (z *sim) newInjectors(w *Work) {
	feedOf := make([]int32, 0)
	for _, s := range w.Sources {
		if s.First == s.End || s.Count == 0 && s.Stop == 0 {
			continue
		}
		m := injector{
			train: train{s.Count, s.Bytes, s.last()}, process: s.Process, order: s.Order,
			first: s.First, n: s.End - s.First, start: s.Start, stop: s.Stop,
			every: s.Every, offset: int64(s.Offset), key: mix(mix(s.Seed) + uint64(s.First)), window: s.Window, ack: s.Ack,
		}
		if m.total = s.Count; s.Order != Together {
			m.total *= int64(m.n)
		}
		if s.Count == 0 {
			m.total = math.MaxInt64
		}
		switch {
		case s.Process == Greedy:
			if len(feedOf) == 0 {
				feedOf = make([]int32, len(z.n.Links)+1)
			}
			z.addFeeds(m, feedOf)
			continue
		case s.Process == Window:
			z.addWindow(m)
			continue
		case s.Process == Poisson && s.Order == Together:
			for f := s.First; f < s.End; f++ {
				one := m
				one.first, one.n = f, 1
				one.rng = rand.New(rand.NewPCG(s.Seed, uint64(f)))
				one.at = float64(s.Start) + s.Every*one.rng.ExpFloat64()
				z.injectors = append(z.injectors, one)
			}
			continue
		case s.Process == Poisson || s.Order == Uniform:
			m.rng = rand.New(rand.NewPCG(s.Seed, 1<<32|uint64(s.First)))
		}
		if s.Process == Poisson {
			m.at = float64(s.Start) + s.Every*m.rng.ExpFloat64()
		}
		z.injectors = append(z.injectors, m)
	}
}

// addFeeds adds an injector for each link that some flow of a greedy source begins with. feedOf is scratch by link,
// zero before and after.
func (z *sim) addFeeds(m injector, feedOf []int32) {
	base := int32(len(z.injectors))
	in := make([]int32, m.n) // by flow in order: its feed
	var sizes, links []int32
	nth := func(k int32) int32 {
		if k += int32(m.offset); k >= m.n {
			k -= m.n
		}
		return m.first + k
	}
	for k := range m.n {
		f := nth(k)
		l := max(arrived, z.paths.firstLink(f, z.flows[f])) + 1
		if feedOf[l] == 0 {
			sizes, links = append(sizes, 0), append(links, l)
			feedOf[l] = int32(len(sizes))
		}
		in[k] = feedOf[l] - 1
		sizes[in[k]]++
	}
	all := make([]int32, 0, m.n)
	for i, size := range sizes {
		feed := m
		feed.n, feed.offset = size, 0
		feed.flows = all[len(all) : len(all) : len(all)+int(size)]
		all = all[:len(all)+int(size)]
		feed.total = int64(size) * m.count
		feed.key = mix(m.key + uint64(i))
		z.injectors = append(z.injectors, feed)
		feedOf[links[i]] = 0
	}
	for k := range m.n {
		feed := &z.injectors[base+in[k]]
		feed.flows = append(feed.flows, nth(k))
	}
	for i := range sizes {
		feed := &z.injectors[base+int32(i)]
		feed.then = feed.place(1)
		if feed.next, feed.link = feed.pick(0), nowhere; z.paths.single() {
			feed.link = links[i] - 1
		}
	}
}

func (z *sim) addWindow(m injector) {
	if z.windowOf == nil {
		z.windowOf = make([]int32, len(z.flows))
		for f := range z.windowOf {
			z.windowOf[f] = -1
		}
	}
	m.sentOf = make([]int64, m.n)
	for i := range m.sentOf {
		z.windowOf[m.first+int32(i)] = int32(len(z.injectors))
	}
	z.injectors = append(z.injectors, m)
}

// fire simulates an event of a sender.
func (z *sim) fire(sender int32, now engine.Time) {
	if z.chunks.made > z.most {
		z.full = true
		return
	}
	if task := sender - int32(len(z.injectors)); task >= 0 {
		z.task(task, now)
		return
	}
	m := &z.injectors[sender]
	switch m.process {
	case Greedy:
		z.feed(sender, now)
	case Window:
		z.fireWindow(sender, m, now)
	default:
		bytes := m.bytesOf(m.sent)
		first, n, next := m.round()
		if next < engine.Never {
			z.calendar.set(z.base+sender, next)
		}
		for f := first; f < first+n; f++ {
			z.launch(f, bytes, fromOpen, nowhere, now)
		}
	}
}

// feed injects the next packet of a sender that keeps one packet waiting for its first link, if it has one left.
func (z *sim) feed(sender int32, now engine.Time) {
	flow, bytes, link, more := z.nextPacket(sender)
	if bytes == 0 {
		return
	}
	if start := z.launch(flow, bytes, fromFeed-sender, link, now); more && start < engine.Never {
		z.calendar.set(z.base+sender, start)
	}
}

// nextPacket takes the next packet of a sender that keeps one packet waiting for its first link, which is nowhere if it is
// not known yet. bytes is 0 if the sender has no packet left. more reports whether another packet follows.
func (z *sim) nextPacket(sender int32) (flow, bytes, link int32, more bool) {
	if task := sender - int32(len(z.injectors)); task >= 0 {
		t := &z.job.transfers[task]
		if t.sent == t.count {
			return
		}
		bytes = t.size(t.sent)
		t.sent++
		return task, bytes, nowhere, t.sent < t.count
	}
	m := &z.injectors[sender]
	if m.sent == m.total {
		return
	}
	bytes = m.bytesOf(m.sent)
	return m.take(), bytes, m.link, m.sent < m.total
}

// begins sets the event of the sender of a packet that has waited at its source and begins to be sent.
func (z *sim) begins(hold int32, now engine.Time) {
	if hold <= fromFeed {
		z.calendar.set(z.base+fromFeed-hold, now)
	}
}

// gone counts a packet that is no longer in flight for the sender that waits for it.
func (z *sim) gone(r *record, now engine.Time, dropped bool) {
	if z.log != nil {
		*z.log = append(*z.log, arrival{r.flow, r.inject, now, dropped})
	}
	switch {
	case z.job != nil:
		if !dropped {
			z.received(r, now)
		}
	case z.windowOf != nil && z.windowOf[r.flow] >= 0:
		i := z.windowOf[r.flow]
		m := &z.injectors[i]
		a := z.chunks.add(&m.acks)
		*a = record{at: now + m.ack, flow: r.flow}
		if m.acks.length == 1 {
			z.calendar.set(z.base+i, a.at)
		}
	}
}

// take returns the flow of the next packet of a greedy source, which has one, and chooses the flow of the packet after it.
func (m *injector) take() int32 {
	flow := m.next
	if m.sent++; m.sent < m.total {
		m.next, m.then = m.flows[m.then], m.place(m.sent+1)
	}
	return flow
}

// prefetch brings into the cache what injecting the next packet of a greedy source and choosing the one after it read.
func (m *injector) prefetch(y *paths) {
	prefetch(unsafe.Pointer(&m.flows[m.then]))
	if class := y.sets[0].Class; class != nil {
		prefetch(unsafe.Pointer(&class[m.next]))
	}
}

// round returns the flows of which a source that ignores the network injects a packet each now, n flows from first on, and
// when it injects next: engine.Never if it does not.
func (m *injector) round() (first, n int32, next engine.Time) {
	m.sent++
	if next = m.time(); m.sent == m.total || m.stop != 0 && next >= m.stop {
		next = engine.Never
	}
	if m.order != Together {
		return m.pick(m.sent - 1), 1, next
	}
	return m.first, m.n, next
}

// fireWindow injects the packets that a window allows: all at the start, then one for each acknowledgement.
func (z *sim) fireWindow(sender int32, m *injector, now engine.Time) {
	if m.sent == 0 {
		m.sent = 1
		for range min(int64(m.window), m.count) {
			for k := range m.n {
				z.launchOf(m, k, now)
			}
		}
		return
	}
	// a packet may be delivered as it is injected, and add an acknowledgement for later in this very time
	k := z.chunks.first(&m.acks).flow - m.first
	z.chunks.drop(&m.acks)
	if m.acks.length > 0 {
		z.calendar.set(z.base+sender, z.chunks.first(&m.acks).at)
	}
	if m.sentOf[k] < m.count {
		z.launchOf(m, k, now)
	}
}

// launchOf injects the next packet of the kth flow of a window.
func (z *sim) launchOf(m *injector, k int32, now engine.Time) {
	nth := m.sentOf[k]
	m.sentOf[k]++
	z.launch(m.first+k, m.size(nth), fromWindow, nowhere, now)
}

// bytesOf returns the size of the kth packet of a source, or of the packets of its kth round if flows go together.
func (m *injector) bytesOf(k int64) int32 {
	if m.last == m.bytes {
		return m.bytes
	}
	switch m.order {
	case RoundRobin, Random:
		k /= int64(m.n)
	case Sequential:
		k %= m.count
	}
	return m.size(k)
}

// pick returns the flow of the kth packet of a source that injects one at a time.
func (m *injector) pick(k int64) int32 {
	if k = m.place(k); m.flows != nil {
		return m.flows[k]
	}
	return m.first + int32(k)
}

// place returns the place among the source's flows of that of the k-th packet.
func (m *injector) place(k int64) int64 {
	n := int64(m.n)
	switch m.order {
	case RoundRobin:
		k = (m.offset + k) % n
	case Random:
		k = int64(shuffled(uint64(k%n), uint64(n), m.key+uint64(k/n)))
	case Sequential:
		k = (m.offset + k/m.count) % n
	case Uniform:
		k = int64(m.rng.Int32N(m.n))
	}
	return k
}

// time returns when the next packets are sent.
func (m *injector) time() engine.Time {
	if m.process == Poisson {
		m.at += m.every * m.rng.ExpFloat64()
		return engine.Time(m.at)
	}
	return m.start + engine.Time(m.every*float64(m.sent))
}
