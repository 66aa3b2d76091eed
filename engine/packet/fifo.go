package packet

import (
	"unsafe"

	"sim/engine"
)

// record is a packet on or before a link.
type record struct {
	at     engine.Time // when the whole of it is at the link's end; when it came, of those that wait
	inject engine.Time
	route  int32 // its destination, or the place of its step
	bytes  int32
	flow   int32
	hold   int32 // who holds it back; see fromOpen
}

const (
	// perChunk is how many records are kept together, half a kilobyte: with 31 the queues of 8x8x8 and 16x16x16 took a
	// tenth more time, as less of them stays in the cache; with 7 as much.
	perChunk = 15
	// perSlab is how many chunks memory is taken for at once.
	perSlab = 1 << 12

	// chunkBytes is what a chunk takes.
	chunkBytes = perChunk*int64(unsafe.Sizeof(record{})) + 4
	// PacketBytes is the memory that a packet in a long queue takes.
	PacketBytes = chunkBytes/perChunk + 1
)

// chunks is the memory of all queues, in which emptied chunks are used again. A chunk is named by a number from 1 on.
type chunks struct {
	slabs [][]record // perSlab chunks each
	next  []int32    // by chunk: the one after it in its queue, or among the free
	free  int32
	made  int64
}

// fifo is a queue of records: a list of chunks, none when it is empty.
type fifo struct {
	head, tail int32
	taken, put uint8 // places in them
	length     int32
}

func (c *chunks) at(chunk int32, place uint8) *record {
	return &c.slabs[uint32(chunk)/perSlab][uint32(chunk)%perSlab*perChunk+uint32(place)]
}

// grab returns a free chunk.
func (c *chunks) grab() int32 {
	if c.free == 0 {
		c.grow()
	}
	k := c.free
	c.free, c.next[k] = c.next[k], 0
	return k
}

// grow takes memory for more chunks. Free ones are taken in the order of their numbers.
func (c *chunks) grow() {
	from := int32(len(c.slabs) * perSlab)
	c.slabs = append(c.slabs, make([]record, perSlab*perChunk))
	for k := from; k < from+perSlab; k++ {
		c.next = append(c.next, k+1)
	}
	c.next[from+perSlab-1] = 0
	if c.free = from; from == 0 {
		c.free = 1
	}
	c.made += perSlab
}

// add returns the place for one more record at the end of q.
func (c *chunks) add(q *fifo) *record {
	if q.length == 0 {
		k := c.grab()
		q.head, q.tail, q.taken, q.put = k, k, 0, 0
	} else if q.put == perChunk {
		k := c.grab()
		c.next[q.tail] = k
		q.tail, q.put = k, 0
	}
	r := c.at(q.tail, q.put)
	q.put++
	q.length++
	return r
}

// first returns the oldest record of q, which must not be empty.
func (c *chunks) first(q *fifo) *record { return c.at(q.head, q.taken) }

// drop removes the oldest record of q. Its memory stays as it is until the next add.
func (c *chunks) drop(q *fifo) {
	q.length--
	q.taken++
	if q.length > 0 && q.taken < perChunk {
		return
	}
	k := q.head
	q.head, q.taken = c.next[k], 0
	c.next[k], c.free = c.free, k
}

// each calls do with every record of q in order.
func (c *chunks) each(q *fifo, do func(*record)) {
	k, place := q.head, q.taken
	for range q.length {
		if place == perChunk {
			k, place = c.next[k], 0
		}
		do(c.at(k, place))
		place++
	}
}
