package packet

import (
	"math/bits"
	"runtime"
	"slices"
	"unsafe"

	"sim/engine"
)

// partLink is the state of a link of a part, but for its event.
type partLink struct {
	free, waited   engine.Time
	room           []moving // a ring of a power of two: packets that get to its end after the window
	head, tail     uint64   // packets that get there before that, and that were put on it
	takes, latency engine.Time
	ends           []engine.Time // by place in room, when a packet gets to the end, if links have latencies
	mostHeld       int32
	ports          int32 // the place in parts.port of those of the node that it leads to
	steps          int32 // times of the window that it takes for a packet
}

// moving is a packet on or before a link of a part.
type moving struct {
	inject engine.Time
	route  int32 // the place of its next step
	next   int32 // the link that it takes next: its part, and its place in it; or arrived
}

// coming is a packet that comes to a link, or a source that sends one to it, or a packet that has arrived.
type coming struct {
	key
	inject engine.Time
	route  int32 // the place of its step; -1 less the place of a source
	then   int32 // the one behind it; before it is in a list, the link's place in its part and the time of the window
}

// waiting is the next event of an injector.
type waiting struct {
	key
	at     engine.Time
	link   int32 // to which a greedy one sends; -1 of others
	source int32 // the injector
}

// worker simulates parts.
type worker struct {
	*parts
	number uint32 // one more than its place among workers
	stats  Stats
	out    []boxes                       // 0 is packets that have arrived, 1+k what comes to part k
	free   []*box                        // some that are empty
	here   []coming                      // what comes to the part that is simulated
	rooms  [32][]room                    // that are not in use, by the logarithm of their size
	first  [mostLinks * mostTimes]int32  // by link of a part and time: the first that comes, -1 of none
	inner  [mostLinks * mostTimes]coming // by link of a part and time: the packet that comes over the one before it
	lists  [mostLinks]uint64             // by link: the times at which some of first come
	inners [mostLinks]uint64             // by link: the times at which one of inner comes
	ends   [mostLinks * mostTimes]key    // by link of a part and time: of the packet that gets to its end
	ending [mostLinks]uint64             // by link: the times at which some do
	held   [mostLinks]int32              // by link: packets on and before it when the window began, and those that came
	last   [mostLinks]int32              // by link: the time at which the last packet on it gets to its end
	done   [mostLinks]int32              // by link: the times before this are simulated
	agenda
	soon     engine.Time   // of the events that wait
	rests    []engine.Time // of these, by the unit
	waited   engine.Time
	grown    int64 // bytes of packets
	came     int64 // to its parts, and
	followed int64 // what was looked at to put it in order
}

// newWorkers makes as many workers as may simulate at a time, and have some parts of a level each.
func (p *parts) newWorkers() {
	n := max(1, min(p.o.Workers, len(p.part)))
	if !p.o.divide {
		n = max(1, min(n, runtime.GOMAXPROCS(0), len(p.part)/len(p.levels)/8))
	}
	p.workers = make([]worker, n)
	p.barrier = newBarrier(len(p.workers))
	for i := range p.workers {
		k := &p.workers[i]
		k.parts, k.out = p, make([]boxes, 1+len(p.part))
		k.soon, k.waited, k.number = engine.Never, -1, uint32(i+1)
		for j := range k.first {
			k.first[j] = -1
		}
	}
}

// on is a part that a worker simulates.
type on struct {
	*part
	number int32
	links  []partLink
	event  []engine.Time
	key    []key
}

// part simulates a part in the window.
func (k *worker) part(number int32) {
	p := k.parts
	q := on{part: &p.part[number], number: number}
	q.links, q.event, q.key = p.links[q.from:q.end], p.event[q.from:q.end], p.key[q.from:q.end]
	k.here = k.here[:0]
	for i := range p.workers {
		k.empty(&p.workers[i].out[1+number], func(what []coming) { k.here = append(k.here, what...) })
	}
	k.came += int64(len(k.here))
	for i := q.feedsFrom; i < q.feedsEnd && prefetches; i++ { // which have been fetched
		if m := &p.injectors[p.wait[i].source]; m.process == Greedy && m.sent < m.total {
			m.prefetch(&p.paths)
		}
	}
	k.partInStep(&q)
	k.empty(&k.out[0], func(what []coming) {
		for i := range what {
			c := &what[i]
			k.stats.deliver(p.sim, c.inject, p.times[c.then&(mostTimes-1)], int64(p.size))
		}
	})
	for at, t := range q.event {
		if t < engine.Never {
			k.waits(q.key[at], t, q.from+int32(at))
		}
	}
	for i := q.feedsFrom; i < q.feedsEnd; i++ {
		if w := &p.wait[i]; w.at < engine.Never {
			k.waits(w.key, w.at, -1-i)
		}
	}
}

// partInStep simulates a part in the window, to which what is in here comes, at the times of the window.
func (k *worker) partInStep(q *on) {
	p := k.parts
	for i := len(k.here) - 1; i >= 0; i-- { // most are in order, and thus put before what is there
		k.comes(int32(i))
	}
	for i := range q.links {
		k.begin(q, i)
	}
	for i := q.feedsFrom; i < q.feedsEnd; i++ {
		if w := &p.wait[i]; w.at < p.end {
			k.sends(i, p.index(w.at))
		}
	}
	for left, all := len(q.links), int32(len(p.times)); left > 0; {
		for i := range q.links {
			limit := all
			if q.ring {
				before := i - 1
				if before < 0 {
					before = len(q.links) - 1
				}
				limit = min(limit, max(k.done[before], k.last[before])+q.links[before].steps)
			}
			if k.done[i] < limit {
				k.link(q, i, int(limit))
				if k.done[i] = limit; limit == all {
					left--
				}
			}
		}
	}
	ended := uint64(0)
	for i := range q.links {
		ended |= k.ending[i]
	}
	if ended != 0 {
		k.stats.End = max(k.stats.End, p.times[bits.Len64(ended)-1])
	}
}

// fetch has the cache read what simulating a part will touch.
func (k *worker) fetch(q *part) {
	if !prefetches {
		return
	}
	for i := q.from; i < q.end; i++ {
		l := &k.links[i]
		if len(l.room) == 0 {
			continue
		}
		most, mask := uint64(len(k.times))/uint64(l.steps), uint64(len(l.room)-1) // packets that may come and go
		for at := uint64(0); at <= most; at += 4 {
			prefetch(unsafe.Pointer(&l.room[(l.head+at)&mask]))
			if l.tail-l.head > most {
				prefetch(unsafe.Pointer(&l.room[(l.tail+at)&mask]))
			}
		}
	}
	for i := q.feedsFrom; i < q.feedsEnd; i++ {
		m := &k.injectors[k.wait[i].source]
		prefetch(unsafe.Pointer(&m.sent))
		prefetch(unsafe.Pointer(&m.key))
		prefetch(unsafe.Pointer(&m.rng))
		prefetch(unsafe.Pointer(m))
	}
}

// waits takes down an event that is left for a later window.
func (k *worker) waits(of key, at engine.Time, id int32) {
	k.order = append(k.order, rankedKey{of, id})
	if k.soon = min(k.soon, at); at != k.waited {
		k.waited = at
		if r := at % k.unit; len(k.rests) <= mostPhases && !slices.Contains(k.rests, r) {
			k.rests = append(k.rests, r)
		}
	}
}

// sends has a source send a packet at a time.
func (k *worker) sends(i int32, t int) {
	w := &k.wait[i]
	k.here = append(k.here, coming{key: w.key, route: -1 - i, then: w.link&(mostLinks-1)<<timeBits | int32(t)})
	k.comes(int32(len(k.here) - 1))
}

// comes puts one that comes where it belongs among those that come to the same link at the same time.
func (k *worker) comes(i int32) {
	here := k.here
	c := &here[i]
	k.lists[c.then>>timeBits] |= 1 << (c.then & (mostTimes - 1))
	at := &k.first[c.then]
	for *at >= 0 && here[*at].before(&c.key) != 0 {
		at = &here[*at].then
		k.followed++
	}
	c.then, *at = *at, i
}

// beyond is the time of what gets to a link's end after the window.
const beyond = mostTimes

// begin has the packets on a link that get to its end in the window go on.
func (k *worker) begin(q *on, i int) {
	p := k.parts
	l := &q.links[i]
	k.done[i], k.held[i], k.ending[i], k.last[i] = 0, int32(l.tail-l.head), 0, -1
	end, own := q.event[i], q.key[i]
	for end < p.end {
		t := p.index(end)
		r := &l.room[l.head&uint64(len(l.room)-1)]
		k.leaves(q, i, t, r.next, coming{own, r.inject, r.route, 0})
		own.set |= p.bit[t]
		if l.head++; l.head == l.tail {
			end = engine.Never
		} else if p.late {
			end = l.ends[l.head&uint64(len(l.room)-1)]
		} else {
			end += l.takes
		}
	}
	if q.event[i], q.key[i] = end, own; l.head < l.tail {
		k.last[i] = beyond
	}
}

// leaves has a packet get to the end of a link at a time.
func (k *worker) leaves(q *on, i, t int, next int32, c coming) {
	k.ends[i<<timeBits|t&(mostTimes-1)] = c.key
	k.ending[i] |= 1 << (t & (mostTimes - 1))
	k.last[i] = int32(t)
	if uint32(next-q.number<<linkBits) < uint32(len(q.links)) {
		if i++; i == len(q.links) {
			i = 0
		}
		k.inner[i<<timeBits|t&(mostTimes-1)] = c
		k.inners[i] |= 1 << (t & (mostTimes - 1))
		return
	}
	c.then = next&(mostLinks-1)<<timeBits | int32(t)
	k.send(&k.out[1+next>>linkBits], c)
}

// link simulates what comes to a link before a time. What leaves the one before it in a ring is known so far.
func (k *worker) link(q *on, i, limit int) {
	l := &q.links[i]
	within := uint64(1)<<limit - 1
	for {
		lists, inners := k.lists[i], k.inners[i]
		m := (lists | inners) & within
		if m == 0 {
			break
		}
		t := bits.TrailingZeros64(m) & (mostTimes - 1)
		bit := m & -m
		k.inners[i] = inners &^ bit
		c := &k.inner[i<<timeBits|t]
		if lists&bit == 0 {
			k.book(q, l, i, t, c, c.inject, c.route)
			continue
		}
		if inners&bit != 0 {
			c.then = int32(i<<timeBits | t)
			k.here = append(k.here, *c)
			k.comes(int32(len(k.here) - 1))
		}
		k.many(q, l, i, t)
		k.lists[i] &^= bit
	}
}

// many simulates what comes to a link at a time.
func (k *worker) many(q *on, l *partLink, i, t int) {
	head := &k.first[i<<timeBits|t]
	for at := *head; at >= 0; {
		c := &k.here[at]
		if c.route >= 0 {
			k.book(q, l, i, t, c, c.inject, c.route)
		} else {
			k.fire(q, l, i, t, *c)
			c = &k.here[at]
		}
		at = c.then
	}
	*head = -1
}

// book puts a packet that comes with c on a link, has it go on where it gets to the end in the window, and returns
// when it will begin to be sent.
func (k *worker) book(q *on, l *partLink, i, t int, c *coming, inject engine.Time, route int32) engine.Time {
	p := k.parts
	now := p.times[t]
	start := max(l.free, now)
	l.waited += start - now
	l.free = start + l.takes
	next := k.after(l, route)
	route++
	last := int(k.last[i])
	k.held[i]++
	bit := uint64(1) << t
	if held := k.held[i] - int32(bits.OnesCount64(k.ending[i]&(bit-1))); held > l.mostHeld {
		if k.ending[i]&bit == 0 || c.before(&k.ends[i<<timeBits|t]) != 0 {
			l.mostHeld = held
		} else {
			l.mostHeld = max(l.mostHeld, held-1)
		}
	}
	own := c.key
	if last > t || last == t && c.before(&k.ends[i<<timeBits|t]) != 0 { // set when the one before it leaves
		own = k.ends[i<<timeBits|last&(mostTimes-1)]
		own.set |= p.bit[last&(mostTimes-1)]
	} else {
		own.set |= p.bit[t]
		own.rest |= 1 << (keyTimes - 1) >> t
	}
	end := l.free + l.latency
	if end < p.end {
		if !p.late {
			t = max(last, t) + int(l.steps)
		} else {
			t = p.index(end)
		}
		l.head++
		l.tail++
		k.leaves(q, i, t, next, coming{own, inject, route, 0})
		return start
	}
	if last != beyond {
		k.last[i] = beyond
		q.event[i], q.key[i] = end, own
	}
	k.keep(l, moving{inject, route, next}, end)
	return start
}

// after returns the link that a packet takes after one, whose step has a place.
func (k *worker) after(l *partLink, route int32) int32 {
	if s := k.paths.step[route+1]; s != engine.Arrived {
		return k.port[int(l.ports)+s.Port()]
	}
	return arrived
}

// fire simulates an event of a greedy source before its link, which comes there as c.
func (k *worker) fire(q *on, l *partLink, i, t int, c coming) {
	id := -1 - c.route
	w := &k.wait[id]
	w.at = engine.Never
	flow, bytes, _, more := k.nextPacket(w.source)
	if bytes == 0 {
		return
	}
	now := k.times[t]
	k.stats.End = max(k.stats.End, now)
	k.stats.inject(k.sim, now)
	start := k.book(q, l, i, t, &c, now, k.paths.path(flow))
	if !more {
		return
	}
	k.injectors[w.source].prefetch(&k.paths)
	set := k.bit[t]
	set <<= w.set >> bits.TrailingZeros64(set) & 1 // which is set where it was set for this very time
	w.set |= set
	if w.at = start; start == now {
		k.sends(id, t)
	} else if start < k.end {
		k.sends(id, k.index(start))
	}
}
