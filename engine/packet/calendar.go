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
	cells         []int32    // the first run of each, -1 if none; in order of time
	filledCells   []uint64   // a bit a cell
	filledWords   []uint64   // a bit a word of filled that is not 0
	cellShift     uint       // a cell spans 2^shift ticks
	currentCell   int64      // the cell of now, counted from time zero
	runs          []eventRun // by id, of the first of each
	next          []int32    // by id: the one after it in its run, -1 at the end
	farRuns       []farRun   // runs beyond the ring
	numPushed     int64
	rest          int32                    // the rest of the run being taken; -1 if none
	hasMore       bool                     // another run may have its time
	recentRuns    [numRecentRuns]recentRun // by a hash of the time: the run of the ring to which an event was added last
	now           engine.Time
	numTimes      int64       // that were taken since the span was looked at
	lastAdapted   engine.Time // when that was
	adaptInterval int64       // times after which it is looked at again
}

// eventRun is the events of one time.
type eventRun struct {
	time engine.Time
	tail int32 // the last of it, where it is not in recent
	next int32 // the run after it in its cell, -1 at the end
}

// recentRun is a run, and the last event of it. The time is -1 if it is gone.
type recentRun struct {
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

// numRecentRuns is how many runs are found by their time alone.
const numRecentRuns = 16

// recentSlot returns the place of a time in calendar.recent.
func recentSlot(t engine.Time) uint64 { return uint64(t) * 0x9e3779b97f4a7c15 >> 60 }

// maxAdaptInterval is how many times pass before the span is looked at again.
const maxAdaptInterval = 4096

func newCalendar(ids int) *calendar {
	cells := 1 << bits.Len(uint(max(4096, min(2*ids, 1<<18))-1))
	a := &calendar{
		cells: slices.Repeat([]int32{-1}, cells), filledCells: make([]uint64, cells/64), filledWords: make([]uint64, cells/64/64),
		runs: make([]eventRun, ids), next: make([]int32, ids), rest: -1, adaptInterval: 1,
	}
	for i := range a.recentRuns {
		a.recentRuns[i].time = -1
	}
	return a
}

// clearRecent empties recent.
func (a *calendar) clearRecent() {
	for i := range a.recentRuns {
		if l := &a.recentRuns[i]; l.time >= 0 {
			a.runs[l.id].tail = l.tail
			l.time = -1
		}
	}
}

// schedule puts id at time t, which must not be earlier than what was taken last.
func (a *calendar) schedule(id int32, t engine.Time) {
	a.next[id] = -1
	if l := &a.recentRuns[recentSlot(t)]; l.time == t {
		a.next[l.tail] = id
		l.tail = id
	} else {
		a.scheduleElsewhere(id, t, l)
	}
}

// scheduleElsewhere is set where the run of a time is not where it is sought first.
func (a *calendar) scheduleElsewhere(id int32, t engine.Time, recent *recentRun) {
	if int64(t>>a.cellShift)-a.currentCell >= int64(len(a.cells)) {
		a.runs[id] = eventRun{t, id, -1}
		a.pushFar(id)
		return
	}
	if recent.time >= 0 {
		a.runs[recent.id].tail = recent.tail
	}
	cell := a.cellIndex(t)
	previous := int32(-1) // of the cell's runs that are not later
	for k := a.cells[cell]; k >= 0 && a.runs[k].time <= t; k = a.runs[k].next {
		previous = k
	}
	if previous >= 0 && a.runs[previous].time == t {
		a.next[a.runs[previous].tail] = id
		*recent = recentRun{t, previous, id}
		return
	}
	a.runs[id] = eventRun{t, id, -1}
	*recent = recentRun{t, id, id}
	a.insertRun(id, cell, previous)
}

// cellIndex returns the place of a time in the ring.
func (a *calendar) cellIndex(t engine.Time) int64 {
	return int64(t>>a.cellShift) & int64(len(a.cells)-1)
}

// insertRun puts a run into a cell behind last, -1 at the front.
func (a *calendar) insertRun(k int32, cell int64, previous int32) {
	if previous >= 0 {
		a.runs[k].next = a.runs[previous].next
		a.runs[previous].next = k
		return
	}
	a.runs[k].next = a.cells[cell]
	a.cells[cell] = k
	a.filledCells[cell/64] |= 1 << (cell % 64)
	a.filledWords[cell/64/64] |= 1 << (cell / 64 % 64)
}

// takeBatch returns the next events of one time, as many as there are, and room for, in some; false where there is none
// up to a time.
func (a *calendar) takeBatch(buffer []int32, until engine.Time) ([]int32, engine.Time, bool) {
	if a.rest < 0 && !a.nextRun(until) {
		return nil, a.now, false
	}
	count, id := 0, a.rest
	for ; id >= 0 && count < len(buffer); id = a.next[id] {
		buffer[count] = id
		count++
	}
	a.rest = id
	return buffer[:count], a.now, true
}

// takeSimultaneous returns all events of the next time up to a time that are set, by id, in the memory of all.
func (a *calendar) takeSimultaneous(buffer []int32, until engine.Time) []int32 {
	buffer = buffer[:0]
	for hasMore := true; hasMore && a.nextRun(until); until = a.now {
		for ; a.rest >= 0; a.rest = a.next[a.rest] {
			buffer = append(buffer, a.rest)
		}
		hasMore = a.hasMore
	}
	if len(buffer) > 1 {
		slices.Sort(buffer)
	}
	return buffer
}

// nextRun takes the next run; false where there is none up to a time.
func (a *calendar) nextRun(until engine.Time) bool {
	cell := a.firstCell()
	k := int32(-1)
	if cell >= 0 {
		k = a.cells[cell]
	}
	isFar := len(a.farRuns) > 0 && (k < 0 || a.farRuns[0].time <= a.runs[k].time)
	if isFar {
		k = a.farRuns[0].id
	}
	if k < 0 || a.runs[k].time > until {
		return false
	}
	b := &a.runs[k]
	a.hasMore = isFar || b.next >= 0 && a.runs[b.next].time == b.time
	if isFar {
		a.popFar()
	} else if a.cells[cell] = b.next; b.next < 0 {
		if a.filledCells[cell/64] &^= 1 << (cell % 64); a.filledCells[cell/64] == 0 {
			a.filledWords[cell/64/64] &^= 1 << (cell / 64 % 64)
		}
	}
	if l := &a.recentRuns[recentSlot(b.time)]; l.time == b.time && l.id == k {
		l.time = -1
	}
	if b.time > a.now {
		a.numTimes++
	}
	a.now, a.rest = b.time, k
	a.currentCell = int64(a.now >> a.cellShift)
	if a.numTimes >= a.adaptInterval {
		a.adaptSpan()
	}
	return true
}

// isEmpty reports whether there is no event.
func (a *calendar) isEmpty() bool { return a.rest < 0 && len(a.farRuns) == 0 && a.firstCell() < 0 }

// remove takes away the event of an id that was set at a time. It searches, and is for what happens rarely.
func (a *calendar) remove(id int32, t engine.Time) {
	if a.unlink(&a.rest, id) {
		return
	}
	heads := a.removeRuns()
	for i, k := range heads {
		if a.runs[k].time != t || !a.unlink(&k, id) {
			continue
		}
		if heads[i] = k; k < 0 {
			heads = slices.Delete(heads, i, i+1)
			break
		}
		tail := k
		for a.next[tail] >= 0 {
			tail = a.next[tail]
		}
		a.runs[k] = eventRun{t, tail, -1}
		break
	}
	a.insertRuns(heads)
}

// unlink takes an id out of the list that begins at head, and reports whether it was there.
func (a *calendar) unlink(head *int32, id int32) bool {
	for entry := head; *entry >= 0; entry = &a.next[*entry] {
		if *entry == id {
			*entry = a.next[id]
			return true
		}
	}
	return false
}

// firstCell returns the cell of the earliest run of the ring, -1 of none.
func (a *calendar) firstCell() int {
	start := uint(a.currentCell) & uint(len(a.cells)-1)
	w := start / 64
	if word := a.filledCells[w] >> (start % 64) << (start % 64); word != 0 {
		return int(w*64) + bits.TrailingZeros64(word)
	}
	w++ // words behind that of the cursor, and round again to it
	group := w / 64 % uint(len(a.filledWords))
	words := a.filledWords[group]
	if w%64 != 0 {
		words = words >> (w % 64) << (w % 64)
	}
	for range len(a.filledWords) + 1 {
		if words != 0 {
			w = group*64 + uint(bits.TrailingZeros64(words))
			return int(w*64) + bits.TrailingZeros64(a.filledCells[w])
		}
		if group++; group == uint(len(a.filledWords)) {
			group = 0
		}
		words = a.filledWords[group]
	}
	return -1
}

// adaptSpan makes a cell's span that of two runs or so, as they have been of late.
func (a *calendar) adaptSpan() {
	gap := int64(a.now-a.lastAdapted) / a.numTimes
	a.numTimes, a.lastAdapted, a.adaptInterval = 0, a.now, min(2*a.adaptInterval, maxAdaptInterval)
	shift := uint(bits.Len64(uint64(gap)))
	if shift+1 >= a.cellShift && shift <= a.cellShift+1 {
		return
	}
	heads := a.removeRuns()
	a.cellShift = shift
	a.insertRuns(heads)
}

// removeRuns takes all runs out of the ring and the heap and returns them in their order.
func (a *calendar) removeRuns() []int32 {
	slices.SortFunc(a.farRuns, func(p, q farRun) int { return cmp.Or(cmp.Compare(p.time, q.time), cmp.Compare(p.order, q.order)) })
	var heads []int32
	for _, r := range a.farRuns {
		heads = append(heads, r.id)
	}
	a.farRuns = a.farRuns[:0]
	for c, k := range a.cells {
		for ; k >= 0; k = a.runs[k].next {
			heads = append(heads, k)
		}
		a.cells[c] = -1
	}
	clear(a.filledCells)
	clear(a.filledWords)
	a.clearRecent()
	slices.SortStableFunc(heads, func(p, q int32) int { return cmp.Compare(a.runs[p].time, a.runs[q].time) })
	return heads
}

// insertRuns puts runs, in their order, where they belong from now on.
func (a *calendar) insertRuns(heads []int32) {
	a.currentCell = int64(a.now >> a.cellShift)
	previous, previousCell := int32(-1), int64(-1)
	for _, k := range heads {
		t := a.runs[k].time
		cell := int64(t >> a.cellShift)
		if a.runs[k].next = -1; cell-a.currentCell >= int64(len(a.cells)) {
			a.pushFar(k)
			continue
		}
		if cell != previousCell {
			previous, previousCell = -1, cell
		}
		a.insertRun(k, a.cellIndex(t), previous)
		previous = k
	}
}

func (r *farRun) before(s *farRun) bool {
	return r.time < s.time || r.time == s.time && r.order < s.order
}

// pushFar puts a run into the heap.
func (a *calendar) pushFar(id int32) {
	r := farRun{a.runs[id].time, a.numPushed, id}
	a.numPushed++
	a.farRuns = append(a.farRuns, r)
	i := len(a.farRuns) - 1
	for i > 0 {
		p := (i - 1) / 4
		if !r.before(&a.farRuns[p]) {
			break
		}
		a.farRuns[i] = a.farRuns[p]
		i = p
	}
	a.farRuns[i] = r
}

// popFar takes the first run out of the heap.
func (a *calendar) popFar() {
	n := len(a.farRuns) - 1
	r := a.farRuns[n]
	a.farRuns = a.farRuns[:n]
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
			if a.farRuns[j].before(&a.farRuns[best]) {
				best = j
			}
		}
		if !a.farRuns[best].before(&r) {
			break
		}
		a.farRuns[i] = a.farRuns[best]
		i = best
	}
	a.farRuns[i] = r
}
