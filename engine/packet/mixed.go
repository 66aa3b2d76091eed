package packet

import (
	"math/bits"
	"slices"
	"unsafe"

	"sim/engine"
)

// Where packets have several sizes, or times are no multiples of a unit, packets are mixed: the times of a window are not
// known when it begins. What comes to a link is then put in order by its time, and of equal times by when its event was
// set, and by which: what set what is taken down, and followed back where two packets come to a link at once. Where many do,
// as of lockstep with a latency that fits no unit, one loop is quicker, and takes over (tied).

// setting tells when an event was set, the event that set it, and which of what that one set it was.
type setting struct {
	at      engine.Time
	by, nth uint32
}

const (
	settingBytes = int64(unsafe.Sizeof(setting{}))
	// mostWorkers is how many workers numbers of events tell from each other. Events that waited when the window began
	// have their rank as number, less than 1 << rankBits. Others have the place of their setting, and above it the number
	// of the worker that has taken it down.
	mostWorkers = 1<<(32-rankBits) - 2
)

// sets takes down that an event is set and returns its number.
func (k *worker) sets(at engine.Time, by, nth uint32) uint32 {
	k.settings = append(k.settings, setting{at, by, nth})
	return k.number<<rankBits + uint32(len(k.settings)-1)
}

// setting returns when an event was set: by this worker, or by another at a level before.
func (k *worker) setting(number uint32) *setting {
	of, i := number>>rankBits, number&(1<<rankBits-1)
	if of == k.number {
		return &k.settings[i]
	}
	return &k.seen[k.level%2][of-1][i]
}

// tells has others see, from the next level on, what this worker has taken down.
func (k *worker) tells(level int) { k.seen[level%2][k.number-1] = k.settings }

// before reports whether event a happens before b, of the same time.
func (k *worker) before(a, b uint32) bool {
	for ; ; k.followed++ {
		if a < 1<<rankBits || b < 1<<rankBits {
			return a < b
		}
		x, y := k.setting(a), k.setting(b)
		if x.at != y.at {
			return x.at < y.at
		}
		if x.by == y.by {
			return x.nth < y.nth
		}
		a, b = x.by, y.by
	}
}

// mixedKey returns the key of one that comes, or waits, where packets are mixed: its time, and its number above the bytes
// of the packet.
func mixedKey(at engine.Time, number uint32, bytes int32) key {
	return key{uint64(at), uint64(number)<<32 | uint64(bytes)}
}

func (k *key) time() engine.Time { return engine.Time(k.set) }
func (k *key) number() uint32    { return uint32(k.rest >> 32) }
func (k *key) bytes() int32      { return int32(k.rest) }

// sooner reports whether what has key a comes to a link before what has b.
func (k *worker) sooner(a, b *key) bool {
	return a.set < b.set || a.set == b.set && k.before(a.number(), b.number())
}

// gone is when a packet gets to the end of its link, and the number of this event.
type gone struct {
	at     engine.Time
	number uint32
}

// perWindow is how many packets a link has in a window at most, or half as many at least, if they are as many as in the
// one before.
const perWindow = 40

// openMixed chooses how long a window is.
func (p *parts) openMixed() {
	hops := 0
	for i := range p.workers {
		k := &p.workers[i]
		hops += len(k.settings)
		k.settings = k.settings[:0]
	}
	if hops < len(p.links)*perWindow/2 {
		p.span = min(2*p.span, p.mostSpan)
	} else if hops > len(p.links)*perWindow {
		p.span = max(p.span/2, p.least)
	}
	p.end = min(p.end, p.begin+min(p.span, engine.Never-p.begin))
	p.shift = max(0, bits.Len64(uint64(p.end-p.begin-1))-timeBits)
}

// partMixed simulates a part in the window, to which what is in here comes.
func (k *worker) partMixed(q *on) {
	p := k.parts
	for i := len(k.here) - 1; i >= 0; i-- {
		k.comesMixed(int32(i), k.here[i].then>>timeBits)
	}
	for i := range q.links {
		k.stream[i], k.taken[i], k.gone[i], k.passed[i] = k.stream[i][:0], 0, k.gone[i][:0], 0
	}
	for i := range q.links {
		k.beginMixed(q, i)
	}
	for i := q.feedsFrom; i < q.feedsEnd; i++ {
		if w := &p.wait[i]; w.at < p.end {
			k.sendsMixed(i)
		}
	}
	for left := len(q.links); left > 0; {
		soonest := k.soonest(q)
		for i := range q.links {
			limit := p.end
			if q.ring {
				before := i - 1
				if before < 0 {
					before = len(q.links) - 1
				}
				b := &q.links[before]
				if from := max(k.until[before], b.free, soonest); from < limit-b.takes {
					limit = from + b.takes
				}
			}
			if k.until[i] < limit {
				k.linkMixed(q, i, limit)
				if k.until[i] = limit; limit == p.end {
					left--
				}
			}
		}
	}
	for i := range q.links {
		if all := k.gone[i]; len(all) > 0 {
			k.stats.End = max(k.stats.End, all[len(all)-1].at)
		}
	}
}

// soonest returns when the first of what comes to the links of a ring does, as far as that is known.
func (k *worker) soonest(q *on) engine.Time {
	if !q.ring {
		return 0
	}
	t := k.end
	for i := range q.links {
		if m := k.lists[i]; m != 0 {
			t = min(t, k.here[k.first[i<<timeBits|bits.TrailingZeros64(m)]].time())
		}
		if at := k.taken[i]; at < len(k.stream[i]) {
			t = min(t, k.stream[i][at].time())
		}
	}
	return t
}

// comesMixed puts one that comes to a link where it belongs among those that do in the same stretch of the window.
func (k *worker) comesMixed(i, link int32) {
	here := k.here
	c := &here[i]
	t := int32(uint64(c.time()-k.window.begin) >> (k.shift & 63) & (mostTimes - 1))
	k.lists[link] |= 1 << (t & (mostTimes - 1))
	at := &k.first[link<<timeBits|t]
	for *at >= 0 && k.sooner(&here[*at].key, &c.key) {
		at = &here[*at].then
		k.followed++
	}
	c.then, *at = *at, i
}

// sendsMixed has a source send a packet.
func (k *worker) sendsMixed(i int32) {
	w := &k.wait[i]
	k.here = append(k.here, coming{key: w.key, route: -1 - i})
	k.comesMixed(int32(len(k.here)-1), w.link&(mostLinks-1))
}

// beginMixed has the packets on a link that get to its end in the window go on.
func (k *worker) beginMixed(q *on, i int) {
	p := k.parts
	l := &q.links[i]
	k.until[i], k.held[i] = p.window.begin, int32(l.tail-l.head)
	end, number := q.event[i], q.key[i].number()
	for end < p.end {
		at := l.head & uint64(len(l.room)-1)
		r := &l.room[at]
		k.leavesMixed(q, i, r.next, coming{mixedKey(end, number, l.ends[at].bytes), r.inject, r.route, 0})
		if l.head++; l.head == l.tail {
			end = engine.Never
			break
		}
		number = k.sets(end, number, 0)
		end = l.ends[l.head&uint64(len(l.room)-1)].at
	}
	q.event[i], q.key[i] = end, mixedKey(end, number, 0)
}

// leavesMixed has a packet get to the end of a link.
func (k *worker) leavesMixed(q *on, i int, next int32, c coming) {
	k.gone[i] = append(k.gone[i], gone{c.time(), c.number()})
	if uint32(next-q.number<<linkBits) < uint32(len(q.links)) {
		if i++; i == len(q.links) {
			i = 0
		}
		k.stream[i] = append(k.stream[i], c)
		return
	}
	c.then = next & (mostLinks - 1) << timeBits
	k.send(&k.out[1+next>>linkBits], c)
}

// linkMixed simulates what comes to a link before a time. What leaves the one before it in a ring is known so far.
func (k *worker) linkMixed(q *on, i int, limit engine.Time) {
	l := &q.links[i]
	for {
		head := (*int32)(nil)
		var c *coming
		if m := k.lists[i]; m != 0 {
			head = &k.first[i<<timeBits|bits.TrailingZeros64(m)]
			c = &k.here[*head]
		}
		if at := k.taken[i]; at < len(k.stream[i]) {
			if inner := &k.stream[i][at]; c == nil || k.sooner(&inner.key, &c.key) {
				if inner.time() >= limit {
					return
				}
				k.taken[i]++
				k.bookMixed(q, l, i, inner.key, inner.inject, inner.route)
				continue
			}
		}
		if c == nil || c.time() >= limit {
			return
		}
		if *head = c.then; *head < 0 {
			k.lists[i] &= k.lists[i] - 1
		}
		if c.route >= 0 {
			k.bookMixed(q, l, i, c.key, c.inject, c.route)
		} else {
			k.fireMixed(q, l, i, c.key, -1-c.route)
		}
	}
}

// bookMixed puts a packet that comes with a key on a link, has it go on where it gets to the end in the window, and returns
// when it will begin to be sent.
func (k *worker) bookMixed(q *on, l *partLink, i int, c key, inject engine.Time, route int32) engine.Time {
	now, number, bytes := c.time(), c.number(), c.bytes()
	start, part := l.free, l.part
	if now > start {
		start, part = now, 0
	}
	l.waited += start - now
	takes, part := serialise(l.perByte, uint64(bytes), part)
	l.free, l.part = start+takes, part
	l.bytes += int64(bytes)
	next := k.after(l, route)
	all := k.gone[i]
	k.held[i]++
	if passed := k.passed[i]; k.held[i]-passed > l.mostHeld {
		for int(passed) < len(all) && (all[passed].at < now || all[passed].at == now && !k.before(number, all[passed].number)) {
			passed++
		}
		k.passed[i] = passed
		l.mostHeld = max(l.mostHeld, k.held[i]-passed)
	}
	end := l.free + l.latency
	if l.head == l.tail { // the first on it, or that the last one before it leaves in the window
		if last := len(all) - 1; last >= 0 && (all[last].at > now || all[last].at == now && k.before(number, all[last].number)) {
			number = k.sets(all[last].at, all[last].number, 0)
		} else {
			number = k.sets(now, number, 1)
		}
		if end < k.end {
			l.head++
			l.tail++
			k.leavesMixed(q, i, next, coming{mixedKey(end, number, bytes), inject, route + 1, 0})
			return start
		}
		q.event[i], q.key[i] = end, mixedKey(end, number, 0)
	}
	k.keep(l, moving{inject, route + 1, next}, ending{end, bytes})
	return start
}

// fireMixed simulates an event of a greedy source before its link, which has the key c.
func (k *worker) fireMixed(q *on, l *partLink, i int, c key, id int32) {
	w := &k.wait[id]
	m := &k.injectors[w.source]
	w.at = engine.Never
	if m.sent == m.total {
		return
	}
	now := c.time()
	k.stats.End = max(k.stats.End, now)
	k.stats.inject(k.sim, now)
	bytes := m.bytesOf(m.sent)
	flow := k.takes(m)
	start := k.bookMixed(q, l, i, mixedKey(now, c.number(), bytes), now, k.paths.path(flow))
	if m.sent == m.total {
		return
	}
	w.at, w.key = start, mixedKey(start, k.sets(now, c.number(), 2), 0)
	if start < k.end {
		k.sendsMixed(id)
	}
}

// rankMixed sorts events that wait at the same time by their settings.
func (p *parts) rankMixed() {
	for i := 0; i < len(p.order); {
		j := i + 1
		for j < len(p.order) && p.order[j].set == p.order[i].set {
			j++
		}
		if j > i+1 {
			slices.SortFunc(p.order[i:j], func(a, b rankedKey) int {
				if p.workers[0].before(a.number(), b.number()) {
					return -1
				}
				return 1
			})
		}
		i = j
	}
}
