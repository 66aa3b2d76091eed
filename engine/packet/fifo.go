package packet

import (
	"slices"
	"sync"
	"unsafe"

	"sim/engine"
)

// record is a packet on or before a link.
type record struct {
	at     engine.Time // when the whole of it is at the link's end; when it came, of those that wait
	inject engine.Time
	route  int32 // its destination, or the place of its step; of one that is booked, of the next
	bytes  int32
	flow   int32
	hold   int32 // who holds it back, see fromOpen; of one that is booked, the link that it takes next, if steps say
}

const (
	// chunkBits is how many records are kept together, as a power of two: 16 are half a kilobyte, eight lines of the
	// cache. With 32 the queues of 8x8x8 and 16x16x16 took a tenth more time, as less of them stays in the cache.
	chunkBits = 4
	perChunk  = 1 << chunkBits
	// slabBits is how many records memory is taken for at once.
	slabBits = 16
	perSlab  = 1 << slabBits
	// mostSlabs is how many slabs memory is taken for at once, at most.
	mostSlabs = 16

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
	room  []record // of slabs to come
	next  []int32  // by chunk: the one after it in its queue, or among the free
	free  int32
	last  int32 // the highest that was taken
	made  int64
}

// firstSlabs are those that runs began with and have left, all zero: most runs need no other, and less time than to
// clear one takes.
var firstSlabs = sync.Pool{New: func() any {
	room := make([]record, perSlab)
	hugePages(room)
	return (*[perSlab]record)(room)
}}

// fifo is a queue of records: a list of chunks. When it is empty it keeps the last of them, and begins there again.
type fifo struct {
	head, tail int32 // its oldest record, and the place behind its youngest; 0 if it never had one
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
	c.last = max(c.last, k)
	return k << chunkBits
}

// grow takes memory for more chunks. Free ones are taken in the order of their numbers. The last of each slab is left, so
// that the place behind a chunk can be read.
func (c *chunks) grow() {
	const more = perSlab / perChunk
	from := int32(len(c.slabs) * more)
	switch {
	case from == 0:
		c.slabs = append(c.slabs, firstSlabs.Get().(*[perSlab]record))
	case len(c.room) == 0:
		c.room = make([]record, min(len(c.slabs)+1, mostSlabs)*perSlab)
		hugePages(c.room)
		fallthrough
	default:
		c.slabs = append(c.slabs, (*[perSlab]record)(c.room))
		c.room = c.room[perSlab:]
	}
	c.next = slices.Grow(c.next, more)
	for k := from; k < from+more; k++ {
		c.next = append(c.next, k+1)
	}
	c.next[from+more-2] = 0
	if c.free = from; from == 0 {
		c.free = 1
	}
	c.made += more
}

// leave gives the memory of a run back, which must not look at it any more.
func (c *chunks) leave() {
	if len(c.slabs) == 0 {
		return
	}
	first := c.slabs[0]
	clear(first[:min(int(c.last)+1, perSlab/perChunk)*perChunk])
	firstSlabs.Put(first)
	*c = chunks{}
}

// add returns the place for one more record at the end of q.
func (c *chunks) add(q *fifo) *record {
	if q.tail%perChunk == 0 {
		c.extend(q)
	}
	at := c.at(q.tail)
	q.tail++
	q.length++
	return at
}

// extend gives q a chunk more, if it is not empty and has one.
func (c *chunks) extend(q *fifo) {
	if q.length == 0 && q.tail > 0 {
		return
	}
	k := c.grab()
	if q.length == 0 {
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

// release frees the chunk of the record that was dropped last, or begins it again if q is empty.
func (c *chunks) release(q *fifo) {
	k := (q.head - 1) >> chunkBits
	if q.length == 0 {
		q.head = k << chunkBits
		q.tail = q.head
		return
	}
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

// move moves q to another memory.
func (c *chunks) move(q *fifo, to *chunks) {
	old := *q
	if *q = (fifo{}); old.tail == 0 {
		return
	}
	for old.length > 0 {
		*to.add(q) = *c.first(&old)
		c.drop(&old)
	}
	c.give(&old)
}

// give gives back the chunk that an empty q has kept, if it has one.
func (c *chunks) give(q *fifo) {
	if k := q.head >> chunkBits; k > 0 {
		c.next[k], c.free = c.free, k
	}
}
