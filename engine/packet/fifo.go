package packet

import (
	"slices"
	"sync"
	"unsafe"

	"sim/engine"
)

// record is a packet on or before a link.
type record struct {
	time       engine.Time // when the whole of it is at the link's end; when it came, of those that wait
	injectTime engine.Time
	route      int32 // its destination, or the place of its step; of one that is booked, of the next
	bytes      int32
	flow       int32
	origin     int32 // who holds it back, see fromOpen; of one that is booked, the link that it takes next, if steps say
}

const (
	// chunkBits is how many records are kept together, as a power of two: 16 are half a kilobyte, eight lines of the
	// cache. With 32 the queues of 8x8x8 and 16x16x16 took a tenth more time, as less of them stays in the cache.
	chunkBits       = 4
	recordsPerChunk = 1 << chunkBits
	// slabBits is how many records memory is taken for at once.
	slabBits       = 16
	recordsPerSlab = 1 << slabBits
	// maxSlabsPerAllocation is how many slabs memory is taken for at once, at most.
	maxSlabsPerAllocation = 16

	// maxChunks keeps numbers of records below 2^31: 64 GiB, less what is taken without being asked for.
	maxChunks = 1<<27 - 1<<20

	// chunkBytes is what a chunk takes.
	chunkBytes = recordsPerChunk*int64(unsafe.Sizeof(record{})) + 4
	// PacketBytes is the memory that a packet in a long queue takes.
	PacketBytes = chunkBytes/recordsPerChunk + 1
)

// recordStore is the memory of all queues, in which emptied chunks are used again. Records and chunks are numbered, chunks
// from 1 on.
type recordStore struct {
	slabs        []*[recordsPerSlab]record
	reserve      []record // of slabs to come
	next         []int32  // by chunk: the one after it in its queue, or among the free
	freeChunk    int32
	maxUsedChunk int32 // the highest that was taken
	numChunks    int64
}

// slabPool are those that runs began with and have left, all zero: most runs need no other, and less time than to
// clear one takes.
var slabPool = sync.Pool{New: func() any {
	room := make([]record, recordsPerSlab)
	adviseHugePages(room)
	return (*[recordsPerSlab]record)(room)
}}

// recordQueue is a queue of records: a list of chunks. When it is empty it keeps the last of them, and begins there again.
type recordQueue struct {
	head, tail int32 // its oldest record, and the place behind its youngest; 0 if it never had one
	length     int32
}

func (c *recordStore) get(index int32) *record {
	return &c.slabs[uint32(index)>>slabBits][uint32(index)%recordsPerSlab]
}

// allocChunk returns the first record of a free chunk.
func (c *recordStore) allocChunk() int32 {
	if c.freeChunk == 0 {
		c.grow()
	}
	k := c.freeChunk
	c.freeChunk, c.next[k] = c.next[k], 0
	c.maxUsedChunk = max(c.maxUsedChunk, k)
	return k << chunkBits
}

// grow takes memory for more chunks. Free ones are taken in the order of their numbers. The last of each slab is left, so
// that the place behind a chunk can be read.
func (c *recordStore) grow() {
	const chunksPerSlab = recordsPerSlab / recordsPerChunk
	first := int32(len(c.slabs) * chunksPerSlab)
	switch {
	case first == 0:
		c.slabs = append(c.slabs, slabPool.Get().(*[recordsPerSlab]record))
	case len(c.reserve) == 0:
		c.reserve = make([]record, min(len(c.slabs)+1, maxSlabsPerAllocation)*recordsPerSlab)
		adviseHugePages(c.reserve)
		fallthrough
	default:
		c.slabs = append(c.slabs, (*[recordsPerSlab]record)(c.reserve))
		c.reserve = c.reserve[recordsPerSlab:]
	}
	c.next = slices.Grow(c.next, chunksPerSlab)
	for k := first; k < first+chunksPerSlab; k++ {
		c.next = append(c.next, k+1)
	}
	c.next[first+chunksPerSlab-2] = 0
	if c.freeChunk = first; first == 0 {
		c.freeChunk = 1
	}
	c.numChunks += chunksPerSlab
}

// releaseMemory gives the memory of a run back, which must not look at it any more.
func (c *recordStore) releaseMemory() {
	if len(c.slabs) == 0 {
		return
	}
	first := c.slabs[0]
	clear(first[:min(int(c.maxUsedChunk)+1, recordsPerSlab/recordsPerChunk)*recordsPerChunk])
	slabPool.Put(first)
	*c = recordStore{}
}

// add returns the place for one more record at the end of q.
func (c *recordStore) add(q *recordQueue) *record {
	if q.tail%recordsPerChunk == 0 {
		c.extend(q)
	}
	slot := c.get(q.tail)
	q.tail++
	q.length++
	return slot
}

// extend gives q a chunk more, if it is not empty and has one.
func (c *recordStore) extend(q *recordQueue) {
	if q.length == 0 && q.tail > 0 {
		return
	}
	k := c.allocChunk()
	if q.length == 0 {
		q.head = k
	} else {
		c.next[q.tail>>chunkBits-1] = k >> chunkBits
	}
	q.tail = k
}

// first returns the oldest record of q, which must not be empty.
func (c *recordStore) first(q *recordQueue) *record { return c.get(q.head) }

// removeFirst removes the oldest record of q. Its memory stays as it is until the next add.
func (c *recordStore) removeFirst(q *recordQueue) {
	q.length--
	q.head++
	if q.length == 0 || q.head%recordsPerChunk == 0 {
		c.leaveChunk(q)
	}
}

// leaveChunk frees the chunk of the record that was dropped last, or begins it again if q is empty.
func (c *recordStore) leaveChunk(q *recordQueue) {
	k := (q.head - 1) >> chunkBits
	if q.length == 0 {
		q.head = k << chunkBits
		q.tail = q.head
		return
	}
	q.head = c.next[k] << chunkBits
	c.next[k], c.freeChunk = c.freeChunk, k
}

// each calls do with every record of q in order.
func (c *recordStore) each(q *recordQueue, visit func(*record)) {
	index := q.head
	for range q.length {
		visit(c.get(index))
		if index++; index%recordsPerChunk == 0 {
			index = c.next[index>>chunkBits-1] << chunkBits
		}
	}
}

// moveTo moves q to another memory.
func (c *recordStore) moveTo(q *recordQueue, to *recordStore) {
	old := *q
	if *q = (recordQueue{}); old.tail == 0 {
		return
	}
	for old.length > 0 {
		*to.add(q) = *c.first(&old)
		c.removeFirst(&old)
	}
	c.releaseIdleChunk(&old)
}

// releaseIdleChunk gives back the chunk that an empty q has kept, if it has one.
func (c *recordStore) releaseIdleChunk(q *recordQueue) {
	if k := q.head >> chunkBits; k > 0 {
		c.next[k], c.freeChunk = c.freeChunk, k
	}
}
