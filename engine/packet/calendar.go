package packet

import (
	"cmp"
	"math/bits"
	"slices"

	"sim/engine"
)

// calendar is the event queue of the event loop. An event is a number, its id. The type sim
// defines the meaning of each id.
//
// The calendar returns event ids by time. Simultaneous events are returned in the order
// in which they were scheduled. An id that is in the calendar must not be scheduled again
// before it has been taken.
//
// It is a calendar queue (Brown, "Calendar Queues: A Fast O(1) Priority Queue
// Implementation for the Simulation Event Set Problem", CACM 31, 1988). Time is counted
// in ticks. Its parts are:
//
//   - A run is a linked list of simultaneous events in their order. A run is identified
//     by its first event. Often many links finish transmissions at the same time. An
//     event then costs constant time, because it is appended to a run.
//   - A cell holds the runs of a time span of 2^cellShift ticks, sorted by time. The span
//     is chosen so that a cell holds one or two runs; see adaptSpan.
//   - The ring is the circular array of cells. It covers the near future.
//   - A heap holds the runs beyond the ring, the far runs.
type calendar struct {
	cells         []int32                  // first run of each cell, in order of time; -1 if the cell is empty
	filledCells   []uint64                 // bit set of the indices of cells that are not empty
	filledWords   []uint64                 // bit set of the indices in filledCells of words that are not 0
	cellShift     uint                     // a cell spans 2^cellShift ticks
	currentCell   int64                    // number of the cell that contains now, counted from time zero
	runs          []eventRun               // indexed by the first event of the run
	next          []int32                  // indexed by event: next event of its run; -1 at the end
	farRuns       []farRun                 // runs beyond the ring: a 4-ary heap
	numPushed     int64                    // runs added to farRuns so far
	rest          int32                    // first event of the current run that has not been taken; otherwise -1
	hasMore       bool                     // another run may have the same time as the current one
	recentRuns    [numRecentRuns]recentRun // hash table of runs in the ring, indexed by recentSlot
	now           engine.Time              // time of the current run
	numTimes      int64                    // distinct times taken since lastAdapted
	lastAdapted   engine.Time              // time of the last call of adaptSpan
	adaptInterval int64                    // number of distinct times until the next call
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

// farRun is a run beyond the ring. It is never extended, because finding it in the heap
// would take too long. Another event beyond the ring therefore forms a far run of its
// own, even if its time is equal.
//
// A far run precedes a run of the same time in the ring. Its events were scheduled
// earlier, when the ring did not reach that time yet.
type farRun struct {
	time  engine.Time
	order int64 // value of numPushed when it was added
	id    int32 // first event
}

const (
	// recentBits is the number of bits of an index in calendar.recentRuns. A table of 16
	// entries fills four cache lines.
	recentBits    = 4
	numRecentRuns = 1 << recentBits // size of the hash table
)

// recentSlot returns the index of a time in calendar.recentRuns. It is a multiplicative
// hash (Knuth, "The Art of Computer Programming", volume 3, section 6.4): the highest
// recentBits bits of the time multiplied by 2^64 divided by the golden ratio.
func recentSlot(t engine.Time) uint64 { return uint64(t) * 0x9e3779b97f4a7c15 >> (64 - recentBits) }

// maxAdaptInterval is the maximum number of distinct times between two calls of
// adaptSpan. The interval starts at 1 and doubles with each call. adaptSpan therefore
// finds the span of a new load soon, and rarely moves all runs later.
const maxAdaptInterval = 4096

// Limits of the number of cells. A word of filledWords stands for 64 words of filledCells,
// and so for minCells cells. Beyond maxCells, the ring would take more than a megabyte, and
// later runs are in the heap.
const minCells, maxCells = 64 * 64, 1 << 18

// newCalendar returns a calendar for event ids below ids. It has about two cells per id.
func newCalendar(ids int) *calendar {
	cells := 1 << bits.Len(uint(max(minCells, min(2*ids, maxCells))-1)) // rounded up to a power of two
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

// scheduleElsewhere is the part of schedule for a time without an entry in recentRuns. It
// replaces the entry recent if the event belongs to the ring.
func (a *calendar) scheduleElsewhere(id int32, t engine.Time, recent *recentRun) {
	if a.isBeyondRing(t) {
		a.runs[id] = singleEvent(id, t)
		a.pushFar(id)
		return
	}

	// The previous run of this entry is not recent any more.
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
		*recent = recentRun{time: t, id: previous, tail: id}
		return
	}

	a.runs[id] = singleEvent(id, t)
	*recent = recentRun{time: t, id: id, tail: id}
	a.insertRun(id, cell, previous)
}

// singleEvent returns a run of one event, which is not in a cell yet.
func singleEvent(id int32, t engine.Time) eventRun { return eventRun{time: t, tail: id, next: -1} }

// isBeyondRing reports whether time t is later than all cells of the ring.
func (a *calendar) isBeyondRing(t engine.Time) bool {
	return int64(t>>a.cellShift)-a.currentCell >= int64(len(a.cells))
}

// cellIndex returns the index in cells of the cell of time t, which is in the ring.
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
	a.markFilled(cell)
}

// markFilled adds a cell to the bit sets of filled cells.
func (a *calendar) markFilled(cell int64) {
	word := cell / 64
	a.filledCells[word] |= 1 << (cell % 64)
	a.filledWords[word/64] |= 1 << (word % 64)
}

// markEmpty removes a cell from the bit sets of filled cells.
func (a *calendar) markEmpty(cell int) {
	word := cell / 64
	if a.filledCells[word] &^= 1 << (cell % 64); a.filledCells[word] == 0 {
		a.filledWords[word/64] &^= 1 << (word % 64)
	}
}

// takeBatch takes the next events of the current run, or of the next one, into buffer. It
// takes as many as fit. It returns false if there is no event up to time until.
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
	for hasMore := true; hasMore && a.nextRun(until); hasMore = a.hasMore {
		for ; a.rest >= 0; a.rest = a.next[a.rest] {
			buffer = append(buffer, a.rest)
		}
		until = a.now // take only further runs of the same time
	}

	if len(buffer) > 1 {
		slices.Sort(buffer)
	}
	return buffer
}

// nextRun removes the earliest run and makes it the current one. It returns false if no
// run is left up to time until.
func (a *calendar) nextRun(until engine.Time) bool {
	// Find the earliest run k, in the ring or in the heap.
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

	// Remove the run. After a far run, another far run or a run in the ring can have the
	// same time. After a run in the ring, only the next run of its cell can; insertRuns
	// does not join runs of the same time.
	b := &a.runs[k]
	a.hasMore = isFar || b.next >= 0 && a.runs[b.next].time == b.time
	if isFar {
		a.popFar()
	} else if a.cells[cell] = b.next; b.next < 0 {
		a.markEmpty(cell)
	}

	// Later events of the same time must not be appended to the removed run.
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
// suitable only for rare actions, such as the failure of a link.
func (a *calendar) remove(id int32, t engine.Time) {
	if a.unlink(&a.rest, id) {
		return
	}

	// Rebuild the ring and the heap from the remaining runs. The event is in one of the
	// runs of time t.
	heads := a.removeRuns()
	for i := range heads {
		if a.runs[heads[i]].time != t || !a.unlink(&heads[i], id) {
			continue
		}
		if head := heads[i]; head >= 0 {
			a.runs[head] = eventRun{time: t, tail: a.lastEvent(head), next: -1}
		} else { // it was the only event of its run
			heads = slices.Delete(heads, i, i+1)
		}
		break
	}
	a.insertRuns(heads)
}

// lastEvent returns the last event of the list that starts at head.
func (a *calendar) lastEvent(head int32) int32 {
	for a.next[head] >= 0 {
		head = a.next[head]
	}
	return head
}

// unlink removes event id from the list that starts at *head. If it is the first event,
// unlink sets *head to its successor, or to -1. It reports whether the event was in the
// list.
func (a *calendar) unlink(head *int32, id int32) bool {
	for link := head; *link >= 0; link = &a.next[*link] {
		if *link == id {
			*link = a.next[id]
			return true
		}
	}
	return false
}

// firstCell returns the index of the cell with the earliest run in the ring, or -1 if the
// ring is empty.
//
// The ring starts at the current cell. The search therefore goes from the current cell to
// the end of the array, and continues at its beginning. It has two levels: a bit of
// filledWords represents a word of filledCells, which represents 64 cells.
func (a *calendar) firstCell() int {
	current := uint(a.currentCell) & uint(len(a.cells)-1)

	// Usually the run is in the same word as the current cell.
	word := current / 64
	if filled := clearLowBits(a.filledCells[word], current%64); filled != 0 {
		return int(word*64) + bits.TrailingZeros64(filled)
	}

	// Search the words after it, in groups of 64. The last iteration returns to the first
	// group, because words before the current cell have not been examined yet.
	following := word + 1
	group := following / 64 % uint(len(a.filledWords))
	filledWords := clearLowBits(a.filledWords[group], following%64)
	for range len(a.filledWords) + 1 {
		if filledWords != 0 {
			word = group*64 + uint(bits.TrailingZeros64(filledWords))
			return int(word*64) + bits.TrailingZeros64(a.filledCells[word])
		}
		if group++; group == uint(len(a.filledWords)) {
			group = 0
		}
		filledWords = a.filledWords[group]
	}
	return -1
}

// clearLowBits returns the bit set without its elements below n.
func clearLowBits(set uint64, n uint) uint64 { return set >> n << n }

// adaptSpan changes the span of a cell to the power of two of ticks above the mean
// distance between the distinct times since the last call. A cell then holds one or two
// runs. adaptSpan keeps the present span if it differs from that by a factor of two or
// less, because changing it moves all runs.
func (a *calendar) adaptSpan() {
	gap := int64(a.now-a.lastAdapted) / a.numTimes
	a.numTimes, a.lastAdapted, a.adaptInterval = 0, a.now, min(2*a.adaptInterval, maxAdaptInterval)

	shift := uint(bits.Len64(uint64(gap)))
	if isTolerated := shift+1 >= a.cellShift && shift <= a.cellShift+1; isTolerated {
		return
	}

	heads := a.removeRuns()
	a.cellShift = shift
	a.insertRuns(heads)
}

// removeRuns empties the ring and the heap. It returns the first events of all runs, in
// the order of the runs.
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

// insertRuns adds runs to the empty ring and heap. heads are their first events, in the
// order of the runs.
func (a *calendar) insertRuns(heads []int32) {
	a.currentCell = int64(a.now >> a.cellShift)
	previous, previousCell := int32(-1), int64(-1)
	for _, k := range heads {
		t := a.runs[k].time
		cell := int64(t >> a.cellShift)
		if a.runs[k].next = -1; a.isBeyondRing(t) {
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

// before reports whether run r precedes run s.
func (r *farRun) before(s *farRun) bool {
	return r.time < s.time || r.time == s.time && r.order < s.order
}

// pushFar adds a run to the heap. The children of farRuns[i] are farRuns[4*i+1] to
// farRuns[4*i+4].
func (a *calendar) pushFar(id int32) {
	r := farRun{time: a.runs[id].time, order: a.numPushed, id: id}
	a.numPushed++
	a.farRuns = append(a.farRuns, r)

	// Move the free entry i up to the place of r.
	i := len(a.farRuns) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !r.before(&a.farRuns[parent]) {
			break
		}
		a.farRuns[i] = a.farRuns[parent]
		i = parent
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

	// Move the free entry i from the root down to the place of r, the last run.
	i := 0
	for {
		firstChild := 4*i + 1
		if firstChild >= n {
			break
		}

		earliest := firstChild
		for j := firstChild + 1; j < min(firstChild+4, n); j++ {
			if a.farRuns[j].before(&a.farRuns[earliest]) {
				earliest = j
			}
		}
		if !a.farRuns[earliest].before(&r) {
			break
		}
		a.farRuns[i] = a.farRuns[earliest]
		i = earliest
	}
	a.farRuns[i] = r
}
