package packet

import (
	"cmp"
	"math/bits"
	"slices"

	"sim/engine"
)

// calendar is the event queue. It returns event ids by time; simultaneous events are
// returned in the order in which they were scheduled. Each id is scheduled at most once
// at a time.
//
// It is a calendar queue (Brown, "Calendar Queues: A Fast O(1) Priority Queue
// Implementation for the Simulation Event Set Problem", CACM 31, 1988). Simultaneous
// events form a run, a linked list in their order. In lockstep, when many links finish at
// the same times, an event therefore costs constant time. A run is identified by its
// first event. Runs of the near future are in a ring of cells. A cell spans a power of
// two of ticks, chosen so that it holds one or two runs. Later runs are in a heap. The
// span adapts to the recent distance between runs.
type calendar struct {
	cells         []int32                  // first run of each cell, in order of time; -1 if the cell is empty
	filledCells   []uint64                 // bit set of cells that are not empty
	filledWords   []uint64                 // bit set of words of filledCells that are not 0
	cellShift     uint                     // a cell spans 2^cellShift ticks
	currentCell   int64                    // number of the cell that contains now, counted from time zero
	runs          []eventRun               // indexed by the first event of the run
	next          []int32                  // indexed by event: next event of its run; -1 at the end
	farRuns       []farRun                 // runs beyond the ring: a 4-ary heap
	numPushed     int64                    // runs added to farRuns so far
	rest          int32                    // first event of the current run that has not been taken; otherwise -1
	hasMore       bool                     // another run may have the same time as the current one
	recentRuns    [numRecentRuns]recentRun // hash table by time of runs in the ring
	now           engine.Time
	numTimes      int64       // distinct times taken since lastAdapted
	lastAdapted   engine.Time // time of the last call of adaptSpan
	adaptInterval int64       // number of distinct times until the next call
}

// eventRun is a list of simultaneous events.
type eventRun struct {
	time engine.Time
	tail int32 // last event; outdated while the run is in recentRuns
	next int32 // next run in the cell; -1 at the end
}

// recentRun is a run to which an event was added recently.
type recentRun struct {
	time     engine.Time // -1 if the entry is empty
	id, tail int32       // first and last event of the run
}

// farRun is a run beyond the ring. Several far runs can have the same time. No event is
// added to them, and they precede a run of that time in the ring.
type farRun struct {
	time  engine.Time
	order int64 // value of numPushed when it was added
	id    int32 // first event
}

// numRecentRuns is the size of the hash table of recent runs.
const numRecentRuns = 16

// recentSlot returns the index of a time in calendar.recentRuns.
func recentSlot(t engine.Time) uint64 { return uint64(t) * 0x9e3779b97f4a7c15 >> 60 }

// maxAdaptInterval is the maximum number of distinct times between two calls of
// adaptSpan.
const maxAdaptInterval = 4096

// newCalendar returns a calendar for event ids below ids.
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

// clearRecent empties the table of recent runs and stores their tails in runs.
func (a *calendar) clearRecent() {
	for i := range a.recentRuns {
		if l := &a.recentRuns[i]; l.time >= 0 {
			a.runs[l.id].tail = l.tail
			l.time = -1
		}
	}
}

// schedule schedules event id at time t, which must not precede the time of the last
// event taken.
func (a *calendar) schedule(id int32, t engine.Time) {
	a.next[id] = -1
	if l := &a.recentRuns[recentSlot(t)]; l.time == t {
		a.next[l.tail] = id
		l.tail = id
	} else {
		a.scheduleElsewhere(id, t, l)
	}
}

// scheduleElsewhere is the part of schedule for a time without an entry in recentRuns.
// recent is the entry to use.
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
	previous := int32(-1) // last run of the cell that is not later than t
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

// cellIndex returns the index of the cell of time t.
func (a *calendar) cellIndex(t engine.Time) int64 {
	return int64(t>>a.cellShift) & int64(len(a.cells)-1)
}

// insertRun inserts run k into a cell after run previous, or at its front if previous is
// -1.
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

// takeBatch takes the next events of one time into buffer, as many as are available and
// fit. It returns false if there is no event up to time until.
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

// takeSimultaneous takes all events of the next time, if it is not after until, and
// returns them in ascending order in buffer.
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

// nextRun makes the next run the current one. It returns false if no run is left up to
// time until.
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

// isEmpty reports whether no event is scheduled.
func (a *calendar) isEmpty() bool { return a.rest < 0 && len(a.farRuns) == 0 && a.firstCell() < 0 }

// remove removes event id, which is scheduled at time t. It searches all runs, so it is
// only for rare actions.
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

// unlink removes an event from the list that starts at head. It reports whether the event
// was in the list.
func (a *calendar) unlink(head *int32, id int32) bool {
	for entry := head; *entry >= 0; entry = &a.next[*entry] {
		if *entry == id {
			*entry = a.next[id]
			return true
		}
	}
	return false
}

// firstCell returns the cell of the earliest run in the ring, or -1 if the ring is empty.
func (a *calendar) firstCell() int {
	start := uint(a.currentCell) & uint(len(a.cells)-1)
	w := start / 64
	if word := a.filledCells[w] >> (start % 64) << (start % 64); word != 0 {
		return int(w*64) + bits.TrailingZeros64(word)
	}

	// Search the words after the word of the current cell, and finally that word from its
	// beginning.
	w++
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

// adaptSpan changes the span of a cell to about two runs, based on the distinct times
// since the last call. Small deviations are tolerated.
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

// removeRuns empties the ring and the heap, and returns all runs in their order.
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

// insertRuns adds runs, given in their order, to the empty ring and heap.
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

// before reports whether r is earlier than s.
func (r *farRun) before(s *farRun) bool {
	return r.time < s.time || r.time == s.time && r.order < s.order
}

// pushFar adds a run to the heap.
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

// popFar removes the earliest run from the heap.
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
