package packet

import (
	"cmp"
	"math/bits"
	"slices"

	"sim/engine"
)

// calendar is the event queue: ids by (time, order in which they were set), an id once at most.
//
// It is a calendar queue (Brown, 1988). Events of one time stand in a bucket, a list in order, so that in lockstep,
// where many links end at the same times, an event costs a constant. Buckets of the near future stand in a ring of
// cells, each a span of time of a power of two that holds one or two; those beyond the ring are in a heap. The span
// follows how far apart buckets have been of late.
type calendar struct {
	cells   []int32  // the first bucket of each, -1 if none; in order of time
	filled  []uint64 // a bit a cell
	shift   uint     // a cell spans 2^shift ticks
	cursor  int64    // the cell of now, counted from time zero
	pool    []bucket
	free    []int32
	heap    []int32 // buckets beyond the ring
	next    []int32 // by id: the one after it in its bucket, -1 at the end
	opened  int64
	left    int32 // the rest of the bucket being taken; -1 if none
	now     engine.Time
	times   int64       // that were taken since the span was looked at
	looked  engine.Time // when that was
	patient int64       // times after which it is looked at again
}

// bucket is the events of one time. A time may have two, of which no event is added to the one opened first once there
// is the second.
type bucket struct {
	time       engine.Time
	order      int64
	head, tail int32 // ids
	next       int32 // in its cell
}

// look is how many times pass before the span is looked at again.
const look = 4096

func newCalendar(ids int) *calendar {
	cells := 1 << bits.Len(uint(max(512, min(2*ids, 1<<18))-1))
	return &calendar{
		cells: slices.Repeat([]int32{-1}, cells), filled: make([]uint64, cells/64),
		next: make([]int32, ids), left: -1, patient: 16,
	}
}

// set puts id at time t, which must not be earlier than what was taken last.
func (a *calendar) set(id int32, t engine.Time) {
	a.next[id] = -1
	last := int32(-1) // of the cell's buckets that are not later
	near := int64(t>>a.shift)-a.cursor < int64(len(a.cells))
	if near {
		for k := a.cells[a.cell(t)]; k >= 0 && a.pool[k].time <= t; k = a.pool[k].next {
			last = k
		}
		if last >= 0 && a.pool[last].time == t {
			b := &a.pool[last]
			a.next[b.tail] = id
			b.tail = id
			return
		}
	}
	k := int32(len(a.pool))
	if n := len(a.free); n > 0 {
		k = a.free[n-1]
		a.free = a.free[:n-1]
		a.pool[k] = bucket{t, a.opened, id, id, -1}
	} else {
		a.pool = append(a.pool, bucket{t, a.opened, id, id, -1})
	}
	a.opened++
	if near {
		a.link(k, last)
	} else {
		a.push(k)
	}
}

// cell returns the place of a time in the ring.
func (a *calendar) cell(t engine.Time) int64 { return int64(t>>a.shift) & int64(len(a.cells)-1) }

// link puts a bucket into its cell behind last, -1 at the front.
func (a *calendar) link(k, last int32) {
	if last >= 0 {
		a.pool[k].next = a.pool[last].next
		a.pool[last].next = k
		return
	}
	c := a.cell(a.pool[k].time)
	a.pool[k].next = a.cells[c]
	a.cells[c] = k
	a.filled[c/64] |= 1 << (c % 64)
}

// take returns the next event; false where there is none up to a time.
func (a *calendar) take(until engine.Time) (int32, engine.Time, bool) {
	if a.left < 0 && !a.turn(until) {
		return -1, a.now, false
	}
	id := a.left
	a.left = a.next[id]
	return id, a.now, true
}

// turn takes the next bucket; false where there is none up to a time.
func (a *calendar) turn(until engine.Time) bool {
	k := a.first()
	far := len(a.heap) > 0 && (k < 0 || a.before(a.heap[0], k))
	if far {
		k = a.heap[0]
	}
	if k < 0 || a.pool[k].time > until {
		return false
	}
	b := &a.pool[k]
	if far {
		a.pop()
	} else {
		c := a.cell(b.time)
		if a.cells[c] = b.next; b.next < 0 {
			a.filled[c/64] &^= 1 << (c % 64)
		}
	}
	if b.time > a.now {
		a.times++
	}
	a.now, a.left = b.time, b.head
	a.cursor = int64(a.now >> a.shift)
	a.free = append(a.free, k)
	if a.times >= a.patient {
		a.fit()
	}
	return true
}

// empty reports whether there is no event.
func (a *calendar) empty() bool { return a.left < 0 && len(a.heap) == 0 && a.first() < 0 }

// remove takes away the event of an id that was set at a time. It searches, and is for what happens rarely.
func (a *calendar) remove(id int32, t engine.Time) {
	for at := &a.left; *at >= 0; at = &a.next[*at] {
		if *at == id {
			*at = a.next[id]
			return
		}
	}
	all := a.drain()
	for i, k := range all {
		b, last := &a.pool[k], int32(-1)
		if b.time != t {
			continue
		}
		for at := &b.head; *at >= 0; last, at = *at, &a.next[*at] {
			if *at != id {
				continue
			}
			if *at = a.next[id]; b.tail == id {
				b.tail = last
			}
			if b.head < 0 {
				a.free = append(a.free, k)
				all = slices.Delete(all, i, i+1)
			}
			a.fill(all)
			return
		}
	}
	a.fill(all)
}

// first returns the earliest bucket of the ring, -1 of none.
func (a *calendar) first() int32 {
	words := len(a.filled)
	start := a.cursor & int64(len(a.cells)-1)
	w := int(start / 64)
	word := a.filled[w] &^ (1<<(start%64) - 1)
	for range words + 1 {
		if word != 0 {
			return a.cells[w*64+bits.TrailingZeros64(word)]
		}
		if w++; w == words {
			w = 0
		}
		word = a.filled[w]
	}
	return -1
}

// fit makes a cell's span that of two buckets or so, as they have been of late.
func (a *calendar) fit() {
	gap := int64(a.now-a.looked) / a.times
	a.times, a.looked, a.patient = 0, a.now, min(2*a.patient, look)
	shift := uint(bits.Len64(uint64(gap)))
	if shift+1 >= a.shift && shift <= a.shift+1 {
		return
	}
	all := a.drain()
	a.shift = shift
	a.fill(all)
}

// drain takes all buckets out of the ring and the heap and returns them in their order.
func (a *calendar) drain() []int32 {
	all := slices.Clone(a.heap)
	for c, k := range a.cells {
		for ; k >= 0; k = a.pool[k].next {
			all = append(all, k)
		}
		a.cells[c] = -1
	}
	clear(a.filled)
	a.heap = a.heap[:0]
	slices.SortFunc(all, func(p, q int32) int {
		return cmp.Or(cmp.Compare(a.pool[p].time, a.pool[q].time), cmp.Compare(a.pool[p].order, a.pool[q].order))
	})
	return all
}

// fill puts buckets, in their order, where they belong from now on.
func (a *calendar) fill(all []int32) {
	a.cursor = int64(a.now >> a.shift)
	last, of := int32(-1), int64(-1)
	for _, k := range all {
		c := int64(a.pool[k].time >> a.shift)
		if a.pool[k].next = -1; c-a.cursor >= int64(len(a.cells)) {
			a.push(k)
			continue
		}
		if c != of {
			last, of = -1, c
		}
		a.link(k, last)
		last = k
	}
}

func (a *calendar) before(i, j int32) bool {
	p, q := &a.pool[i], &a.pool[j]
	return p.time < q.time || p.time == q.time && p.order < q.order
}

func (a *calendar) push(k int32) {
	a.heap = append(a.heap, k)
	i := len(a.heap) - 1
	for i > 0 {
		p := (i - 1) / 4
		if !a.before(k, a.heap[p]) {
			break
		}
		a.heap[i] = a.heap[p]
		i = p
	}
	a.heap[i] = k
}

func (a *calendar) pop() {
	n := len(a.heap) - 1
	k := a.heap[n]
	a.heap = a.heap[:n]
	if n == 0 {
		return
	}
	i := 0
	for {
		c := 4*i + 1
		if c >= n {
			break
		}
		best := c
		for j := c + 1; j < min(c+4, n); j++ {
			if a.before(a.heap[j], a.heap[best]) {
				best = j
			}
		}
		if !a.before(a.heap[best], k) {
			break
		}
		a.heap[i] = a.heap[best]
		i = best
	}
	a.heap[i] = k
}
