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
	room           []moving // a ring of a power of two
	head, tail     uint64   // packets that have left it, and that were put on it
	takes, latency engine.Time
	ends           []engine.Time // by place in room: when it gets to its end, where links have latencies
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
	route  int32 // the place of its step; -1 less the number of a source
	then   int32 // the one behind it; before it is in a list, the link's place in its part and the time of the window
}

// waiting is the next event of an injector.
type waiting struct {
	key
	at   engine.Time
	link int32 // to which a greedy one sends; -1 of others
}

// worker simulates parts.
type worker struct {
	*parts
	stats  Stats
	out    []boxes                       // 0 is packets that have arrived, 1+k what comes to part k
	free   []*box                        // some that are empty
	here   []coming                      // what comes to the part that is simulated
	rooms  [32][][]moving                // that are not in use, by the logarithm of their size
	first  [mostLinks * mostTimes]int32  // by link of a part and time: the first that comes, -1 of none
	inner  [mostLinks * mostTimes]coming // by link of a part and time: the packet that comes over the one before it
	lists  [mostLinks]uint64             // by link: the times at which some of first come
	inners [mostLinks]uint64             // by link: the times at which one of inner comes
	ending [mostLinks]uint64             // by link: the time of its event
	done   [mostLinks]int                // by link: the times before this are simulated
	order  []rankedKey
	soon   engine.Time   // of the events that wait
	rests  []engine.Time // of these, by the unit
	last   engine.Time
	grown  int64 // bytes of packets
}

// newWorkers makes as many workers as may simulate at a time, and have some parts of a level each.
func (p *parts) newWorkers() {
	n := max(1, min(p.o.Workers, len(p.part)))
	if !p.o.divide {
		n = max(1, min(n, runtime.GOMAXPROCS(0), len(p.part)/len(p.levels)/8))
	}
	p.workers = make([]worker, n)
	p.barrier = newBarrier(len(p.workers), 1<<14)
	for i := range p.workers {
		k := &p.workers[i]
		k.parts, k.out = p, make([]boxes, 1+len(p.part))
		k.soon, k.last = engine.Never, -1
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
	for i := len(k.here) - 1; i >= 0; i-- { // most are in order, and thus put before what is there
		k.comes(int32(i))
	}
	for i, at := range q.event {
		k.done[i] = 0
		if at < p.end {
			t := p.index(at)
			q.event[i] = engine.Never
			k.ending[i] = 1 << t
			l := &q.links[i]
			k.leaves(&q, &l.room[l.head&uint64(len(l.room)-1)], i, t, q.key[i])
		}
	}
	for _, i := range p.feeds[q.feedsFrom:q.feedsEnd] {
		if w := &p.wait[i]; w.at < p.end {
			k.sends(&q, i, p.index(w.at))
		}
	}
	for last, left := len(q.links)-1, len(q.links); left > 0; {
		for i := range q.links {
			limit := len(p.times)
			if q.ring {
				before := i - 1
				if before < 0 {
					before = last
				}
				limit = min(limit, k.done[before]+int(q.links[before].steps))
			}
			if k.done[i] < limit {
				k.link(&q, i, limit)
				if k.done[i] = limit; limit == len(p.times) {
					left--
				}
			}
		}
	}
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
	for _, i := range p.feeds[q.feedsFrom:q.feedsEnd] {
		if w := &p.wait[i]; w.at < engine.Never {
			k.waits(w.key, w.at, -1-i)
		}
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
	for _, i := range k.feeds[q.feedsFrom:q.feedsEnd] {
		m := &k.injectors[i]
		prefetch(unsafe.Pointer(&m.sent))
		prefetch(unsafe.Pointer(&m.key))
		prefetch(unsafe.Pointer(&m.rng))
		prefetch(unsafe.Pointer(m))
	}
}

// waits takes down an event that is left for a later window.
func (k *worker) waits(of key, at engine.Time, id int32) {
	k.order = append(k.order, rankedKey{of, id})
	if k.soon = min(k.soon, at); at != k.last {
		k.last = at
		if r := at % k.unit; len(k.rests) <= mostPhases && !slices.Contains(k.rests, r) {
			k.rests = append(k.rests, r)
		}
	}
}

// sends has a source send a packet at a time.
func (k *worker) sends(q *on, i int32, t int) {
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
	}
	c.then, *at = *at, i
}

// leaves has a packet leave a link at a time; of is the key of that event.
func (k *worker) leaves(q *on, r *moving, i, t int, of key) {
	if uint32(r.next-q.number<<linkBits) < uint32(len(q.links)) {
		if i++; i == len(q.links) {
			i = 0
		}
		k.inner[i<<timeBits|t] = coming{of, r.inject, r.route, 0}
		k.inners[i] |= 1 << (t & (mostTimes - 1))
		return
	}
	k.send(&k.out[1+r.next>>linkBits], coming{of, r.inject, r.route, r.next&(mostLinks-1)<<timeBits | int32(t)})
}

// link simulates what happens at a link before a time: what comes to it, and that packets leave it. What leaves the one
// before it in a ring is known so far.
func (k *worker) link(q *on, i, limit int) {
	p := k.parts
	l := &q.links[i]
	within := uint64(1)<<limit - 1
	ending, own := k.ending[i], q.key[i]
	last := -1
	for {
		lists, inners := k.lists[i], k.inners[i]
		m := (ending | lists | inners) & within
		if m == 0 {
			break
		}
		t := bits.TrailingZeros64(m) & (mostTimes - 1)
		now := p.times[t]
		bit := m & -m
		k.lists[i], k.inners[i] = lists&^bit, inners&^bit
		ends := ending >> t & 1
		ending &^= bit
		held := l.tail - l.head
		early, of := uint64(0), own
		if lists&bit != 0 {
			if inners&bit != 0 {
				c := k.inner[i<<timeBits|t]
				c.then = int32(i<<timeBits | t)
				k.here = append(k.here, c)
				k.comes(int32(len(k.here) - 1))
			}
			early, of = k.many(q, l, i, t, now, own)
			k.lists[i] &^= bit
		} else if inners&bit != 0 {
			c := &k.inner[i<<timeBits|t]
			early, of = c.before(&own), c.key
			k.book(l, c.inject, c.route, now)
		}
		l.head += ends
		after := l.tail - l.head
		if most := max(after, held+early&-ends); int32(most) > l.mostHeld {
			l.mostHeld = int32(most)
		}
		if after == 0 || ends == 0 && held > 0 {
			last = t
			continue
		}
		if ends != 0 && held+early > 1 {
			of = own
		} else {
			of.rest |= 1 << (keyTimes - 1) >> t
		}
		of.set |= p.bit[t]
		own = of
		at := l.head & uint64(len(l.room)-1)
		last = t
		if !p.late {
			if t += int(l.steps); t >= len(p.times) {
				q.event[i] = now + l.takes
				continue
			}
		} else {
			if l.ends[at] >= p.end {
				q.event[i] = l.ends[at]
				continue
			}
			t = p.index(l.ends[at])
		}
		ending |= 1 << (t & (mostTimes - 1))
		k.leaves(q, &l.room[at], i, t, own)
	}
	if last >= 0 {
		k.stats.End = max(k.stats.End, p.times[last])
	}
	k.ending[i], q.key[i] = ending, own
}

// many simulates what comes to a link at a time. It returns how many came before its own event, and the key of the first.
func (k *worker) many(q *on, l *partLink, i, t int, now engine.Time, own key) (early uint64, first key) {
	head := &k.first[i<<timeBits|t]
	first = k.here[*head].key
	for at := *head; at >= 0; {
		c := &k.here[at]
		if early += c.before(&own); c.route >= 0 {
			k.book(l, c.inject, c.route, now)
		} else {
			k.fire(q, l, -1-c.route, t, now)
			c = &k.here[at]
		}
		at = c.then
	}
	*head = -1
	return early, first
}

// book puts a packet on a link and returns when it will begin to be sent.
func (k *worker) book(l *partLink, inject engine.Time, route int32, now engine.Time) engine.Time {
	start := max(l.free, now)
	l.waited += start - now
	l.free = start + l.takes
	route++
	next := int32(arrived)
	if s := k.paths.step[route]; s != engine.Arrived {
		next = k.port[int(l.ports)+s.Port()]
	}
	if int(l.tail-l.head) == len(l.room) {
		k.grow(l)
	}
	at := l.tail & uint64(len(l.room)-1)
	l.room[at] = moving{inject, route, next}
	if k.late {
		l.ends[at] = l.free + l.latency
	}
	l.tail++
	return start
}

// movingBytes is what a packet takes.
const movingBytes = int64(unsafe.Sizeof(moving{}))

// grow gives a link's queue twice the room.
func (k *worker) grow(l *partLink) {
	class := max(3, bits.Len(uint(len(l.room))))
	var room []moving
	if kept := k.rooms[class]; len(kept) > 0 {
		room, k.rooms[class] = kept[len(kept)-1], kept[:len(kept)-1]
	} else {
		room = make([]moving, 1<<class)
		k.grown += movingBytes << class
	}
	unroll(room, l.room, l.head)
	if class <= keptClass && l.room != nil {
		k.rooms[class-1] = append(k.rooms[class-1], l.room)
	} else {
		k.grown -= movingBytes * int64(len(l.room))
	}
	l.room = room
	if k.late {
		ends := make([]engine.Time, 1<<class)
		k.grown += 8 * int64(len(ends)-len(l.ends))
		unroll(ends, l.ends, l.head)
		l.ends = ends
	}
}

// keptClass is the logarithm of the least room that is not used again.
const keptClass = 10

// unroll copies a full ring into a larger one, both of powers of two.
func unroll[T any](to, ring []T, head uint64) {
	for i := range uint64(len(ring)) {
		to[(head+i)&uint64(len(to)-1)] = ring[(head+i)&uint64(len(ring)-1)]
	}
}

// fire simulates an event of a greedy source before its link.
func (k *worker) fire(q *on, l *partLink, id int32, t int, now engine.Time) {
	w, m := &k.wait[id], &k.injectors[id]
	w.at = engine.Never
	if m.sent == m.total {
		return
	}
	flow := m.take()
	if prefetches && m.sent < m.total {
		prefetch(unsafe.Pointer(&m.flows[m.then]))
		if class := k.paths.sets[0].Class; class != nil {
			prefetch(unsafe.Pointer(&class[m.next.flow]))
		}
	}
	k.stats.inject(k.sim, now)
	start := k.book(l, now, k.paths.path(flow), now)
	if m.sent == m.total {
		return
	}
	set := k.bit[t]
	set <<= w.set >> bits.TrailingZeros64(set) & 1 // which is set where it was set for this very time
	w.set |= set
	if w.at = start; start == now {
		k.sends(q, id, t)
	} else if start < k.end {
		k.sends(q, id, k.index(start))
	}
}
