package packet

import "sim/engine"

// record is a packet on or before a link.
type record struct {
	at     engine.Time // when the whole of it is at the link's end
	inject engine.Time
	way    int32 // its destination, or its place in the links of its path
	bytes  int32
	flow   int32
}

// perChunk is how many records are kept together: with the pointer they make a
// kilobyte.
const perChunk = 31

// chunk is a part of a queue.
type chunk struct {
	next    *chunk
	records [perChunk]record
}

// chunks is the memory of all queues, in which emptied chunks are used again.
type chunks struct{ free *chunk }

// fifo is a queue of records: a list of chunks, none when it is empty.
type fifo struct {
	head, tail       *chunk
	taken, put       int32 // places in them
	length, mostHeld int32
}

func (c *chunks) grab() *chunk {
	k := c.free
	if k == nil {
		return &chunk{}
	}
	c.free, k.next = k.next, nil
	return k
}

// add returns the place for one more record at the end of q.
func (c *chunks) add(q *fifo) *record {
	switch {
	case q.head == nil:
		k := c.grab()
		q.head, q.tail, q.taken, q.put = k, k, 0, 0
	case q.put == perChunk:
		k := c.grab()
		q.tail.next = k
		q.tail, q.put = k, 0
	}
	r := &q.tail.records[q.put]
	q.put++
	q.length++
	q.mostHeld = max(q.mostHeld, q.length)
	return r
}

// first returns the oldest record of q, which must not be empty.
func (q *fifo) first() *record { return &q.head.records[q.taken] }

// drop removes the oldest record of q. Its memory stays as it is until the next
// add.
func (c *chunks) drop(q *fifo) {
	q.length--
	q.taken++
	if q.length > 0 && q.taken < perChunk {
		return
	}
	k := q.head
	if q.length == 0 {
		q.head, q.tail = nil, nil
	} else {
		q.head, q.taken = k.next, 0
	}
	k.next, c.free = c.free, k
}
