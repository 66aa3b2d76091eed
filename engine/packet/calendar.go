package packet

import (
	"cmp"
	"math/bits"
	"slices"

	"sim/engine"
)

// calendar is the event queue: ids by (time, order in which they were set), an id once at most.
//
// It is a calendar queue (Brown, 1988). Events of one time stand in a run, a list in order, so that in lockstep, where
// many links end at the same times, an event costs a constant. The state of a run is in its first event. Runs of the
// near future stand in a ring of cells, each a span of time of a power of two that holds one or two; those beyond the
// ring are in a heap. The span follows how far apart runs have been of late.
type calendar struct {
	cells   []int32  // the first run of each, -1 if none; in order of time
	filled  []uint64 // a bit a cell
	some    []uint64 // a bit a word of filled that is not 0
	shift   uint     // a cell spans 2^shift ticks
	cursor  int64    // the cell of now, counted from time zero
	runs    []run    // by id, of the first of each
	next    []int32  // by id: the one after it in its run, -1 at the end
	heap    []farRun // runs beyond the ring
	pushed  int64
	left    int32            // the rest of the run being taken; -1 if none
	more    bool             // another run may have its time
	recent  [recents]lastRun // by a hash of the time: the run of the ring to which an event was added last
	now     engine.Time
	times   int64       // that were taken since the span was looked at
	looked  engine.Time // when that was
	patient int64       // times after which it is looked at again
}

// run is the events of one time.
type run struct {
	time engine.Time
	tail int32 // the last of it, where it is not in recent
	next int32 // the run after it in its cell, -1 at the end
}

// lastRun is a run, and the last event of it. The time is -1 if it is gone.
type lastRun struct {
	time     engine.Time
	id, tail int32
}

// farRun is a run beyond the ring. A time may have several, to which no event is added any more, and one in the ring that
// comes after them.
type farRun struct {
	time  engine.Time
	order int64
	id    int32
}

// recents is how many runs are found by their time alone.
const recents = 16

// slot returns the place of a time in calendar.recent.
func slot(t engine.Time) uint64 { return uint64(t) * 0x9e3779b97f4a7c15 >> 60 }

// look is how many times pass before the span is looked at again.
const look = 4096

func newCalendar(ids int) *calendar {
	cells := 1 << bits.Len(uint(max(4096, min(2*ids, 1<<18))-1))
	a := &calendar{
		cells: slices.Repeat([]int32{-1}, cells), filled: make([]uint64, cells/64), some: make([]uint64, cells/64/64),
		runs: make([]run, ids), next: make([]int32, ids), left: -1, patient: 1,
	}
	for i := range a.recent {
		a.recent[i].time = -1
	}
	return a
}

// forget empties recent.
func (a *calendar) forget() {
	for i := range a.recent {
		if l := &a.recent[i]; l.time >= 0 {
			a.runs[l.id].tail = l.tail
			l.time = -1
		}
	}
}

// set puts id at time t, which must not be earlier than what was taken last.
func (a *calendar) set(id int32, t engine.Time) {
	a.next[id] = -1
	if l := &a.recent[slot(t)]; l.time == t {
		a.next[l.tail] = id
		l.tail = id
	} else {
		a.settle(id, t, l)
	}
}

// settle is set where the run of a time is not where it is sought first.
func (a *calendar) settle(id int32, t engine.Time, recent *lastRun) {
	if int64(t>>a.shift)-a.cursor >= int64(len(a.cells)) {
		a.runs[id] = run{t, id, -1}
		a.push(id)
		return
	}
	if recent.time >= 0 {
		a.runs[recent.id].tail = recent.tail
	}
	c := a.cell(t)
	last := int32(-1) // of the cell's runs that are not later
	for k := a.cells[c]; k >= 0 && a.runs[k].time <= t; k = a.runs[k].next {
		last = k
	}
	if last >= 0 && a.runs[last].time == t {
		a.next[a.runs[last].tail] = id
		*recent = lastRun{t, last, id}
		return
	}
	a.runs[id] = run{t, id, -1}
	*recent = lastRun{t, id, id}
	a.link(id, c, last)
}

// cell returns the place of a time in the ring.
func (a *calendar) cell(t engine.Time) int64 { return int64(t>>a.shift) & int64(len(a.cells)-1) }

// link puts a run into a cell behind last, -1 at the front.
func (a *calendar) link(k int32, c int64, last int32) {
	if last >= 0 {
		a.runs[k].next = a.runs[last].next
		a.runs[last].next = k
		return
	}
	a.runs[k].next = a.cells[c]
	a.cells[c] = k
	a.filled[c/64] |= 1 << (c % 64)
	a.some[c/64/64] |= 1 << (c / 64 % 64)
}

// takeSome returns the next events of one time, as many as there are, and room for, in some; false where there is none
// up to a time.
func (a *calendar) takeSome(some []int32, until engine.Time) ([]int32, engine.Time, bool) {
	if a.left < 0 && !a.turn(until) {
		return nil, a.now, false
	}
	n, id := 0, a.left
	for ; id >= 0 && n < len(some); id = a.next[id] {
		some[n] = id
		n++
	}
	a.left = id
	return some[:n], a.now, true
}

// takeAll returns all events of the next time up to a time that are set, by id, in the memory of all.
func (a *calendar) takeAll(all []int32, until engine.Time) []int32 {
	all = all[:0]
	for more := true; more && a.turn(until); until = a.now {
		for ; a.left >= 0; a.left = a.next[a.left] {
			all = append(all, a.left)
		}
		more = a.more
	}
	if len(all) > 1 {
		slices.Sort(all)
	}
	return all
}

// turn takes the next run; false where there is none up to a time.
func (a *calendar) turn(until engine.Time) bool {
	c := a.first()
	k := int32(-1)
	if c >= 0 {
		k = a.cells[c]
	}
	far := len(a.heap) > 0 && (k < 0 || a.heap[0].time <= a.runs[k].time)
	if far {
		k = a.heap[0].id
	}
	if k < 0 || a.runs[k].time > until {
		return false
	}
	b := &a.runs[k]
	a.more = far || b.next >= 0 && a.runs[b.next].time == b.time
	if far {
		a.pop()
	} else if a.cells[c] = b.next; b.next < 0 {
		if a.filled[c/64] &^= 1 << (c % 64); a.filled[c/64] == 0 {
			a.some[c/64/64] &^= 1 << (c / 64 % 64)
		}
	}
	if l := &a.recent[slot(b.time)]; l.time == b.time && l.id == k {
		l.time = -1
	}
	if b.time > a.now {
		a.times++
	}
	a.now, a.left = b.time, k
	a.cursor = int64(a.now >> a.shift)
	if a.times >= a.patient {
		a.fit()
	}
	return true
}

// empty reports whether there is no event.
func (a *calendar) empty() bool { return a.left < 0 && len(a.heap) == 0 && a.first() < 0 }

// remove takes away the event of an id that was set at a time. It searches, and is for what happens rarely.
func (a *calendar) remove(id int32, t engine.Time) {
	if a.cut(&a.left, id) {
		return
	}
	all := a.drain()
	for i, k := range all {
		if a.runs[k].time != t || !a.cut(&k, id) {
			continue
		}
		if all[i] = k; k < 0 {
			all = slices.Delete(all, i, i+1)
			break
		}
		tail := k
		for a.next[tail] >= 0 {
			tail = a.next[tail]
		}
		a.runs[k] = run{t, tail, -1}
		break
	}
	a.fill(all)
}

// cut takes an id out of the list that begins at head, and reports whether it was there.
func (a *calendar) cut(head *int32, id int32) bool {
	for at := head; *at >= 0; at = &a.next[*at] {
		if *at == id {
			*at = a.next[id]
			return true
		}
	}
	return false
}

// first returns the cell of the earliest run of the ring, -1 of none.
func (a *calendar) first() int {
	start := uint(a.cursor) & uint(len(a.cells)-1)
	w := start / 64
	if word := a.filled[w] >> (start % 64) << (start % 64); word != 0 {
		return int(w*64) + bits.TrailingZeros64(word)
	}
	w++ // words behind that of the cursor, and round again to it
	v := w / 64 % uint(len(a.some))
	some := a.some[v]
	if w%64 != 0 {
		some = some >> (w % 64) << (w % 64)
	}
	for range len(a.some) + 1 {
		if some != 0 {
			w = v*64 + uint(bits.TrailingZeros64(some))
			return int(w*64) + bits.TrailingZeros64(a.filled[w])
		}
		if v++; v == uint(len(a.some)) {
			v = 0
		}
		some = a.some[v]
	}
	return -1
}

// fit makes a cell's span that of two runs or so, as they have been of late.
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

// drain takes all runs out of the ring and the heap and returns them in their order.
func (a *calendar) drain() []int32 {
	slices.SortFunc(a.heap, func(p, q farRun) int { return cmp.Or(cmp.Compare(p.time, q.time), cmp.Compare(p.order, q.order)) })
	var all []int32
	for _, r := range a.heap {
		all = append(all, r.id)
	}
	a.heap = a.heap[:0]
	for c, k := range a.cells {
		for ; k >= 0; k = a.runs[k].next {
			all = append(all, k)
		}
		a.cells[c] = -1
	}
	clear(a.filled)
	clear(a.some)
	a.forget()
	slices.SortStableFunc(all, func(p, q int32) int { return cmp.Compare(a.runs[p].time, a.runs[q].time) })
	return all
}

// fill puts runs, in their order, where they belong from now on.
func (a *calendar) fill(all []int32) {
	a.cursor = int64(a.now >> a.shift)
	last, of := int32(-1), int64(-1)
	for _, k := range all {
		t := a.runs[k].time
		c := int64(t >> a.shift)
		if a.runs[k].next = -1; c-a.cursor >= int64(len(a.cells)) {
			a.push(k)
			continue
		}
		if c != of {
			last, of = -1, c
		}
		a.link(k, a.cell(t), last)
		last = k
	}
}

func (r *farRun) before(s *farRun) bool {
	return r.time < s.time || r.time == s.time && r.order < s.order
}

// push puts a run into the heap.
func (a *calendar) push(id int32) {
	r := farRun{a.runs[id].time, a.pushed, id}
	a.pushed++
	a.heap = append(a.heap, r)
	i := len(a.heap) - 1
	for i > 0 {
		p := (i - 1) / 4
		if !r.before(&a.heap[p]) {
			break
		}
		a.heap[i] = a.heap[p]
		i = p
	}
	a.heap[i] = r
}

// pop takes the first run out of the heap.
func (a *calendar) pop() {
	n := len(a.heap) - 1
	r := a.heap[n]
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
			if a.heap[j].before(&a.heap[best]) {
				best = j
			}
		}
		if !a.heap[best].before(&r) {
			break
		}
		a.heap[i] = a.heap[best]
		i = best
	}
	a.heap[i] = r
}
