package packet

import "sim/engine"

// agenda is the event queue: ids by (time, order in which they were set), an id
// once at most. Events of one time stand in a bucket, a list in order, and a heap
// orders the buckets: in lockstep, where many links end at the same times, an
// event costs a constant. A few buckets set last are found by their time; where
// one is missed a second of that time is opened, whose events are all later in
// order, as no more are added to the first.
type agenda struct {
	heap    []entry
	buckets []bucket
	free    []int32
	next    []int32 // by id: the one after it in its bucket, -1 at the end
	recent  [slots]slot
	opened  int64
	left    int32 // the rest of the bucket being taken; -1 if none
	now     engine.Time
}

type bucket struct {
	head, tail int32
}

type entry struct {
	time   engine.Time
	order  int64
	bucket int32
}

// slots is how many buckets can be found by their time.
const slots = 1024

type slot struct {
	time   engine.Time
	bucket int32
}

func newAgenda(ids int) *agenda {
	a := &agenda{next: make([]int32, ids), left: -1, now: -1}
	for i := range a.recent {
		a.recent[i] = slot{-1, -1}
	}
	return a
}

// place returns the slot of a time: times that differ by few bits get others.
func place(t engine.Time) uint64 { return uint64(t) * 0x9e3779b97f4a7c15 >> 54 }

// set puts id at time t, which must not be earlier than what was taken last.
func (a *agenda) set(id int32, t engine.Time) {
	a.next[id] = -1
	s := &a.recent[place(t)]
	if s.time == t {
		b := &a.buckets[s.bucket]
		a.next[b.tail] = id
		b.tail = id
		return
	}
	k := int32(len(a.buckets))
	if n := len(a.free); n > 0 {
		k = a.free[n-1]
		a.free = a.free[:n-1]
		a.buckets[k] = bucket{id, id}
	} else {
		a.buckets = append(a.buckets, bucket{id, id})
	}
	*s = slot{t, k}
	a.push(entry{t, a.opened, k})
	a.opened++
}

// take returns the next event; false where there is none up to a time.
func (a *agenda) take(until engine.Time) (int32, engine.Time, bool) {
	if a.left < 0 {
		if len(a.heap) == 0 || a.heap[0].time > until {
			return -1, a.now, false
		}
		top := a.heap[0]
		a.pop()
		a.now = top.time
		a.left = a.buckets[top.bucket].head
		if s := &a.recent[place(top.time)]; s.bucket == top.bucket {
			*s = slot{-1, -1}
		}
		a.free = append(a.free, top.bucket)
	}
	id := a.left
	a.left = a.next[id]
	return id, a.now, true
}

func before(a, b *entry) bool { return a.time < b.time || a.time == b.time && a.order < b.order }

func (a *agenda) push(e entry) {
	a.heap = append(a.heap, e)
	h, i := a.heap, len(a.heap)-1
	for i > 0 {
		p := (i - 1) / 4
		if !before(&e, &h[p]) {
			break
		}
		h[i] = h[p]
		i = p
	}
	h[i] = e
}

func (a *agenda) pop() {
	n := len(a.heap) - 1
	e := a.heap[n]
	a.heap = a.heap[:n]
	if n == 0 {
		return
	}
	h, i := a.heap, 0
	for {
		c := 4*i + 1
		if c >= n {
			break
		}
		best := c
		for k := c + 1; k < min(c+4, n); k++ {
			if before(&h[k], &h[best]) {
				best = k
			}
		}
		if !before(&h[best], &e) {
			break
		}
		h[i] = h[best]
		i = best
	}
	h[i] = e
}
