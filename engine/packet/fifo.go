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
	// chunkBits is how many records are kept together, as a power of two: 16 are half a kilobyte, eight lines of the
	// cache. With 32 the queues of 8x8x8 and 16x16x16 took a tenth more time, as less of them stays in the cache.
	chunkBits = 4
	perChunk  = 1 << chunkBits
	// slabBits is how many records memory is taken for at once.
	slabBits = 16
	perSlab  = 1 << slabBits

	// mostChunks keeps numbers of records below 2^31: 64 GiB, less what is taken without being asked for.
	mostChunks = 1<<27 - 1<<20

	// chunkBytes is what a chunk takes.
	chunkBytes = perChunk*int64(unsafe.Sizeof(record{})) + 4
	// PacketBytes is the memory that a packet in a long queue takes.
	PacketBytes = chunkBytes/perChunk + 1
)

// chunks is the memory of all queues, in which emptied chunks are used again. Records and chunks are numbered, chunks
// from 1 on.
type chunks struct {
	slabs []*[perSlab]record
	next  []int32 // by chunk: the one after it in its queue, or among the free
	free  int32
	made  int64
}

// fifo is a queue of records: a list of chunks, none when it is empty.
type fifo struct {
	head, tail int32 // its oldest and youngest record
	length     int32
}

func (c *chunks) at(number int32) *record {
	return &c.slabs[uint32(number)>>slabBits][uint32(number)%perSlab]
}

// grab returns the first record of a free chunk.
func (c *chunks) grab() int32 {
	if c.free == 0 {
		c.grow()
	}
	k := c.free
	c.free, c.next[k] = c.next[k], 0
	return k << chunkBits
}

// grow takes memory for more chunks. Free ones are taken in the order of their numbers.
func (c *chunks) grow() {
	const more = perSlab / perChunk
	from := int32(len(c.slabs) * more)
	c.slabs = append(c.slabs, new([perSlab]record))
	for k := from; k < from+more; k++ {
		c.next = append(c.next, k+1)
	}
	c.next[from+more-1] = 0
	if c.free = from; from == 0 {
		c.free = 1
	}
	c.made += more
}

// add returns the place for one more record at the end of q.
func (c *chunks) add(q *fifo) *record {
	q.length++
	if q.tail++; q.length == 1 || q.tail%perChunk == 0 {
		c.extend(q)
	}
	return c.at(q.tail)
}

// extend gives q a chunk more.
func (c *chunks) extend(q *fifo) {
	k := c.grab()
	if q.length == 1 {
		q.head = k
	} else {
		c.next[q.tail>>chunkBits-1] = k >> chunkBits
	}
	q.tail = k
}

// first returns the oldest record of q, which must not be empty.
func (c *chunks) first(q *fifo) *record { return c.at(q.head) }

// drop removes the oldest record of q. Its memory stays as it is until the next add.
func (c *chunks) drop(q *fifo) {
	q.length--
	q.head++
	if q.length == 0 || q.head%perChunk == 0 {
		c.release(q)
	}
}

// release frees the chunk of the record that was dropped last.
func (c *chunks) release(q *fifo) {
	k := (q.head - 1) >> chunkBits
	q.head = c.next[k] << chunkBits
	c.next[k], c.free = c.free, k
}

// each calls do with every record of q in order.
func (c *chunks) each(q *fifo, do func(*record)) {
	at := q.head
	for range q.length {
		do(c.at(at))
		if at++; at%perChunk == 0 {
			at = c.next[at>>chunkBits-1] << chunkBits
		}
	}
}
