package packet

import (
	"math"
	"math/rand/v2"
	"unsafe"

	"sim/engine"
)

// injector is a source being simulated; of a greedy one, the flows that begin with one link; of Poisson processes of
// each flow, one of them.
type injector struct {
	process     Process
	order       Order
	first, n    int32   // flows first..first+n-1
	flows       []int32 // or these n
	total, sent int64   // packets, or rounds of them where flows go together
	next        record  // of a greedy one, the next packet: its flow and, in hold, its first link, nowhere if it is not known now
	then        int64   // the place of the flow of the one behind it
	key         uint64
	count       int64 // packets of each flow
	bytes       int32 // of a packet
	last        int32 // bytes of the last packet of each flow
	hold        int32
	window      int32
	offset      int64
	start, stop engine.Time
	every, at   float64 // at: when the next is sent, of a Poisson process
	rng         *rand.Rand
	ack         engine.Time
	left        []int64 // by flow: packets to inject, of windows
	acks        fifo    // by time
}

// Who holds a packet back, in record.hold: the channel whose buffer it is in, or one of these.
const (
	fromOpen   = -1 // it came from a source that does not look at the network
	fromWindow = -2 // it waits at its source
	fromFeed   = -3 // and below: it waits at its source, which injects the next when it begins to be sent
)

func (z *sim) newInjectors(w *Work) {
	feedOf := make([]int32, 0)
	for _, s := range w.Sources {
		if s.First == s.End || s.Count == 0 && s.Stop == 0 {
			continue
		}
		m := injector{
			process: s.Process, order: s.Order, bytes: s.Bytes, last: s.last(), hold: fromOpen,
			first: s.First, n: s.End - s.First, count: s.Count, start: s.Start, stop: s.Stop,
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
		feed.hold = fromFeed - (base + int32(i))
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
		if feed.next = (record{flow: feed.pick(0), hold: nowhere}); z.paths.single() {
			feed.next.hold = links[i] - 1
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
	m.hold = fromWindow
	m.left = make([]int64, m.n)
	for i := range m.left {
		m.left[i] = m.count
		z.windowOf[m.first+int32(i)] = int32(len(z.injectors))
	}
	z.injectors = append(z.injectors, m)
}

// fire simulates an event of an injector, or of a task behind them.
func (z *sim) fire(i int32, now engine.Time) {
	if z.chunks.made > z.most {
		z.full = true
		return
	}
	if int(i) >= len(z.injectors) {
		z.task(i-int32(len(z.injectors)), now)
		return
	}
	m := &z.injectors[i]
	switch m.process {
	case Greedy:
		if m.sent == m.total {
			return
		}
		bytes := m.bytesOf(m.sent)
		flow := m.take()
		if start := z.launch(flow, bytes, m.hold, m.next.hold, now); start < engine.Never && m.sent < m.total {
			z.calendar.set(z.base+i, start)
		}
	case Window:
		z.fireWindow(i, m, now)
	default:
		m.sent++
		if at := m.time(); m.sent < m.total && (m.stop == 0 || at < m.stop) {
			z.calendar.set(z.base+i, at)
		}
		bytes := m.bytesOf(m.sent - 1)
		if m.order != Together {
			z.launch(m.pick(m.sent-1), bytes, m.hold, nowhere, now)
			return
		}
		for f := m.first; f < m.first+m.n; f++ {
			z.launch(f, bytes, m.hold, nowhere, now)
		}
	}
}

// take returns the flow of the next packet of a greedy source, which has one, and goes on to the one after it.
func (m *injector) take() int32 {
	flow := m.next.flow
	if m.sent++; m.sent < m.total {
		m.next.flow, m.then = m.flows[m.then], m.place(m.sent+1)
	}
	return flow
}

// prefetch has what the next packet of a greedy source, and the choice of the one after it, will read brought into the cache.
func (m *injector) prefetch(y *paths) {
	prefetch(unsafe.Pointer(&m.flows[m.then]))
	if class := y.sets[0].Class; class != nil {
		prefetch(unsafe.Pointer(&class[m.next.flow]))
	}
}

// touch reads what the next packet of an injector, or of a task behind them, will, and returns that packet; one that goes
// nowhere, where it is not known beforehand. It changes nothing.
func (z *sim) touch(i int32) *record {
	if int(i) >= len(z.injectors) {
		return &noPacket
	}
	m := &z.injectors[i]
	if m.process != Greedy || m.next.hold < 0 {
		return &noPacket
	}
	z.touched += z.paths.sets[0].ClassOf(m.next.flow) + m.flows[m.then]
	return &m.next
}

// noPacket goes nowhere.
var noPacket = record{hold: nowhere}

// fireWindow injects what windows allow.
func (z *sim) fireWindow(i int32, m *injector, now engine.Time) {
	if m.sent == 0 {
		m.sent = 1
		for range min(int64(m.window), m.count) {
			for k := range m.n {
				m.left[k]--
				z.launch(m.first+k, m.windowBytes(k), m.hold, nowhere, now)
			}
		}
		return
	}
	// what is injected may be delivered at once and add another, for later in this very time
	flow := z.chunks.first(&m.acks).flow
	z.chunks.drop(&m.acks)
	if m.acks.length > 0 {
		z.calendar.set(z.base+i, z.chunks.first(&m.acks).at)
	}
	if k := flow - m.first; m.left[k] > 0 {
		m.left[k]--
		z.launch(flow, m.windowBytes(k), m.hold, nowhere, now)
	}
}

// windowBytes returns the size of the packet of the k-th flow that has just been taken off left.
func (m *injector) windowBytes(k int32) int32 {
	if m.left[k] == 0 {
		return m.last
	}
	return m.bytes
}

// bytesOf returns the size of the k-th packet of a source, or of the packets of its k-th round where flows go together.
func (m *injector) bytesOf(k int64) int32 {
	if m.last == m.bytes {
		return m.bytes
	}
	return m.sizeOf(k)
}

// sizeOf is bytesOf for a source whose flows end with a smaller packet.
func (m *injector) sizeOf(k int64) int32 {
	nth := k // which packet of its flow it is
	switch m.order {
	case RoundRobin, Random:
		nth = k / int64(m.n)
	case Sequential:
		nth = k % m.count
	}
	if nth == m.count-1 {
		return m.last
	}
	return m.bytes
}

// pick returns the flow of the k-th packet of a source that injects one at a time.
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
