package engine

import "math/bits"

// Queue is an event queue: an indexed 4-ary heap of ids keyed by time and then by sequence
// number. Each id has at most one event, whose time can be changed. Times must not be negative.
// Events with equal times are returned in the order in which they were set. A queue allocates
// nothing after NewQueue. The children of entry i of the heap are entries 4*i+1 to 4*i+4.
type Queue struct {
	entries  []entry
	position []int32 // index in entries, indexed by id; -1 if the id has no event
	seq      int64   // number of the next Set
}

// entry is an event.
type entry struct {
	time Time
	seq  int64 // number of the call of Set
	id   int32
}

// NewQueue returns an empty queue for ids 0..n-1.
func NewQueue(n int) *Queue {
	q := &Queue{entries: make([]entry, 0, n), position: make([]int32, n)}
	for i := range q.position {
		q.position[i] = -1
	}
	return q
}

// Grow extends the ids to 0..n-1.
func (q *Queue) Grow(n int) {
	for len(q.position) < n {
		q.position = append(q.position, -1)
	}
}

// Reset empties the queue.
func (q *Queue) Reset() {
	for _, e := range q.entries {
		q.position[e.id] = -1
	}
	q.entries = q.entries[:0]
	q.seq = 0
}

// CopyFrom makes q equal to p. Both must have the same ids.
func (q *Queue) CopyFrom(p *Queue) {
	q.entries = append(q.entries[:0], p.entries...)
	copy(q.position, p.position)
	q.seq = p.seq
}

// Len returns the number of events.
func (q *Queue) Len() int { return len(q.entries) }

// Top returns the time of the earliest event, Never if the queue is empty.
func (q *Queue) Top() Time {
	if len(q.entries) == 0 {
		return Never
	}
	return q.entries[0].time
}

// Has reports whether id has an event.
func (q *Queue) Has(id int32) bool { return q.position[id] >= 0 }

// Set schedules the event of id at time t, or moves it there. A moved event gets a new sequence
// number.
func (q *Queue) Set(id int32, t Time) {
	e := entry{time: t, seq: q.seq, id: id}
	q.seq++
	i := q.position[id]
	if i < 0 {
		q.entries = append(q.entries, e)
		q.siftUp(int32(len(q.entries)-1), e)
		return
	}
	if less(e, q.entries[i]) {
		q.siftUp(i, e)
	} else {
		q.siftDown(i, e)
	}
}

// Pop removes and returns the earliest event. The queue must not be empty.
func (q *Queue) Pop() (id int32, t Time) {
	top := q.entries[0]
	q.removeAt(0)
	return top.id, top.time
}

// Remove removes the event of id, if any.
func (q *Queue) Remove(id int32) {
	if i := q.position[id]; i >= 0 {
		q.removeAt(i)
	}
}

// removeAt removes the entry at index i.
func (q *Queue) removeAt(i int32) {
	q.position[q.entries[i].id] = -1
	last := int32(len(q.entries) - 1)
	e := q.entries[last]
	q.entries = q.entries[:last]
	if i == last {
		return
	}
	if i > 0 && less(e, q.entries[(i-1)/4]) {
		q.siftUp(i, e)
	} else {
		q.siftDown(i, e)
	}
}

// less reports whether a comes before b.
func less(a, b entry) bool {
	return a.time < b.time || a.time == b.time && a.seq < b.seq
}

// earlier returns 1 if a comes before b, and 0 otherwise. It compares time and sequence number
// as one 128-bit number, without branches.
func earlier(a, b *entry) int32 {
	_, borrow := bits.Sub64(uint64(a.seq), uint64(b.seq), 0)
	_, borrow = bits.Sub64(uint64(a.time), uint64(b.time), borrow)
	return int32(borrow)
}

// siftUp places e at index i or above in the heap.
func (q *Queue) siftUp(i int32, e entry) {
	for i > 0 {
		p := (i - 1) / 4
		if !less(e, q.entries[p]) {
			break
		}
		q.entries[i] = q.entries[p]
		q.position[q.entries[i].id] = i
		i = p
	}
	q.entries[i] = e
	q.position[e.id] = i
}

// siftDown places e at index i or below in the heap.
func (q *Queue) siftDown(i int32, e entry) {
	entries := q.entries
	n := int32(len(entries))
	for {
		c := 4*i + 1
		if c >= n {
			break
		}
		// Find the earliest child. With four children this needs no branches: a is the earlier
		// one of 0 and 1, b of 2 and 3, and the earlier one of a and b is added to best. Half of
		// the branches would be mispredicted. The mask 3 saves checks of the index.
		best := c
		if c+4 <= n {
			four := entries[c : c+4 : c+4]
			a, b := earlier(&four[1], &four[0]), 2+earlier(&four[3], &four[2])
			best += a + (b-a)*earlier(&four[b&3], &four[a&3])
		} else {
			for k := c + 1; k < n; k++ {
				if less(entries[k], entries[best]) {
					best = k
				}
			}
		}
		first := entries[best]
		if !less(first, e) {
			break
		}
		entries[i] = first
		q.position[first.id] = i
		i = best
	}
	entries[i] = e
	q.position[e.id] = i
}
