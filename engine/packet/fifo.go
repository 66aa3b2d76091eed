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

// perChunk is how many records are kept together.
const perChunk = 32

// chunks is the memory of all queues: lists of chunks of records, of which
// those that are empty are used again.
type chunks struct {
	data []*[perChunk]record
	next []int32
	free []int32
}

// fifo is a queue of records.
type fifo struct {
	head, tail       int32 // chunks
	taken, put       int32 // places in them
	length, mostHeld int32
}

func (c *chunks) grab() int32 {
	if n := len(c.free); n > 0 {
		k := c.free[n-1]
		c.free = c.free[:n-1]
		return k
	}
	c.data = append(c.data, new([perChunk]record))
	c.next = append(c.next, -1)
	return int32(len(c.data)) - 1
}

// add returns the place for one more record at the end of q.
func (c *chunks) add(q *fifo) *record {
	switch {
	case q.length == 0 && q.head < 0:
		k := c.grab()
		q.head, q.tail, q.taken, q.put = k, k, 0, 0
	case q.put == perChunk:
		k := c.grab()
		c.next[q.tail] = k
		q.tail, q.put = k, 0
	}
	r := &c.data[q.tail][q.put]
	q.put++
	q.length++
	q.mostHeld = max(q.mostHeld, q.length)
	return r
}

// first returns the oldest record of q, which must not be empty.
func (c *chunks) first(q *fifo) *record { return &c.data[q.head][q.taken] }

// drop removes the oldest record of q. Its memory stays as it is until the next
// add.
func (c *chunks) drop(q *fifo) {
	q.length--
	q.taken++
	switch {
	case q.length == 0:
		c.free = append(c.free, q.head)
		q.head = -1
	case q.taken == perChunk:
		k := c.next[q.head]
		c.free = append(c.free, q.head)
		q.head, q.taken = k, 0
	}
}
