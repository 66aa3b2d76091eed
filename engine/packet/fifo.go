package packet

import (
	"slices"
	"sync"
	"unsafe"

	"sim/engine"
)

// This file stores the packets of the event loop: a first-in, first-out queue per link
// (recordQueue), all in the memory of one recordStore. The store allocates slabs of
// records, divides each slab into chunks, and gives whole chunks to queues.

// record is a packet that is queued at a link or in flight on it.
type record struct {
	// time is the arrival of the complete packet at the queue if it is queued, and at the
	// far end of the link if it is in flight. On scheduled links it is always the arrival
	// at the far end.
	time       engine.Time
	injectTime engine.Time
	// route is the index in pathTable.steps of the step over the link, or of the step
	// after it on scheduled links. With Paths.Spread it is the destination node.
	route int32
	bytes int32
	flow  int32
	// origin is the channel whose buffer holds the packet. It is negative if the source
	// injected the packet into the queue: one of the origin constants (injector.go). On
	// scheduled links with steps it is the next link instead.
	origin int32
}

const (
	// chunkBits is the binary logarithm of the number of records per chunk. A chunk of 16
	// records has half a kilobyte, or eight cache lines. With chunks of 32, runs on 8x8x8
	// and 16x16x16 take 10 % longer, because fewer of the queues stay in the cache.
	chunkBits       = 4
	recordsPerChunk = 1 << chunkBits
	// slabBits is the binary logarithm of the number of records per slab. A slab has 2 MiB,
	// the size of a huge page (adviseHugePages).
	slabBits       = 16
	recordsPerSlab = 1 << slabBits
	// maxSlabsPerAllocation limits the number of slabs in one allocation. Allocations grow
	// with the number of slabs, so that there are few of them. The limit of 32 MiB bounds
	// the memory that stays unused.
	maxSlabsPerAllocation = 16

	// maxChunks keeps the indices of records below 2^31, that is 2^27 chunks or 64 GiB.
	// 2^20 chunks are a reserve for allocations between two checks of the limit.
	maxChunks = 1<<27 - 1<<20

	// chunkBytes is the memory of a chunk and its entry in recordStore.next.
	chunkBytes = recordsPerChunk*int64(unsafe.Sizeof(record{})) + 4
	// PacketBytes is the memory of a packet in a long queue in bytes, rounded up.
	PacketBytes = chunkBytes/recordsPerChunk + 1
)

// recordStore is the memory of all record queues. It allocates chunks of records and
// reuses freed chunks. Records are identified by an index; record i belongs to chunk
// i>>chunkBits. Chunks are numbered from 1.
type recordStore struct {
	slabs        []*[recordsPerSlab]record
	reserve      []record // allocated memory for further slabs
	next         []int32  // indexed by chunk: the next chunk of its queue or of the free list; 0 at the end
	freeChunk    int32    // head of the free list; 0 if it is empty
	maxUsedChunk int32    // largest chunk that has ever been in use
	numChunks    int64    // number of chunks in slabs
}

// slabPool holds the first slabs of finished runs, cleared. Most runs need only one slab,
// and clearing its used part is faster than allocating a new one.
var slabPool = sync.Pool{New: func() any {
	memory := make([]record, recordsPerSlab)
	adviseHugePages(memory)
	return (*[recordsPerSlab]record)(memory)
}}

// recordQueue is a first-in, first-out queue of records, stored as a list of chunks. An
// empty queue retains its last chunk.
//
// Example: with chunks 3 and 7, a queue of four records can have the indices 3*16+14,
// 3*16+15, 7*16 and 7*16+1. head is then 3*16+14, and tail is 7*16+2. If the last chunk is
// full, tail is a multiple of 16, namely the first index of the chunk number after it.
type recordQueue struct {
	head, tail int32 // index of the first record, and 1 + index of the last one; 0 if it never had a chunk
	length     int32
}

// get returns the record with the given index.
func (c *recordStore) get(index int32) *record {
	return &c.slabs[uint32(index)>>slabBits][uint32(index)%recordsPerSlab]
}

// allocChunk takes a chunk from the free list and returns the index of its first record.
func (c *recordStore) allocChunk() int32 {
	if c.freeChunk == 0 {
		c.grow()
	}
	k := c.freeChunk
	c.freeChunk, c.next[k] = c.next[k], 0
	c.maxUsedChunk = max(c.maxUsedChunk, k)
	return k << chunkBits
}

// grow adds a slab. Its chunks enter the free list in ascending order. The last chunk of
// each slab remains unused, so that the record after a chunk can always be read.
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

	// Chain the chunks. The list of free chunks is empty, so it begins with the first one.
	c.next = slices.Grow(c.next, chunksPerSlab)
	for k := first; k < first+chunksPerSlab; k++ {
		c.next = append(c.next, k+1)
	}
	lastUsable := first + chunksPerSlab - 2
	c.next[lastUsable] = 0
	c.freeChunk = max(1, first) // no chunk has the number 0
	c.numChunks += chunksPerSlab
}

// releaseMemory returns the memory of a run to slabPool. The run must not access records
// after it.
func (c *recordStore) releaseMemory() {
	if len(c.slabs) == 0 {
		return
	}
	first := c.slabs[0]
	clear(first[:min(int(c.maxUsedChunk)+1, recordsPerSlab/recordsPerChunk)*recordsPerChunk])
	slabPool.Put(first)
	*c = recordStore{}
}

// add appends a record to q and returns it. Its fields are not cleared.
func (c *recordStore) add(q *recordQueue) *record {
	if q.tail%recordsPerChunk == 0 {
		c.extend(q)
	}
	slot := c.get(q.tail)
	q.tail++
	q.length++
	return slot
}

// extend adds a chunk to q, unless q is empty and has a chunk already.
func (c *recordStore) extend(q *recordQueue) {
	if q.length == 0 && q.tail > 0 {
		return
	}
	index := c.allocChunk()
	if q.length == 0 {
		q.head = index
	} else {
		lastChunk := (q.tail - 1) >> chunkBits
		c.next[lastChunk] = index >> chunkBits
	}
	q.tail = index
}

// first returns the oldest record of q, which must not be empty.
func (c *recordStore) first(q *recordQueue) *record { return c.get(q.head) }

// removeFirst removes the oldest record of q. The memory of the record remains unchanged
// until the next call of add.
func (c *recordStore) removeFirst(q *recordQueue) {
	q.length--
	q.head++
	if q.length == 0 || q.head%recordsPerChunk == 0 {
		c.leaveChunk(q)
	}
}

// leaveChunk frees the chunk of the record that was removed last. If q is empty, it keeps
// the chunk and restarts at its beginning.
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

// each calls visit for every record of q in order.
func (c *recordStore) each(q *recordQueue, visit func(*record)) {
	index := q.head
	for range q.length {
		visit(c.get(index))
		if index++; index%recordsPerChunk == 0 {
			chunk := (index - 1) >> chunkBits
			index = c.next[chunk] << chunkBits
		}
	}
}

// moveTo moves the records of q to another store.
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

// releaseIdleChunk frees the chunk that an empty q has retained, if any.
func (c *recordStore) releaseIdleChunk(q *recordQueue) {
	if k := q.head >> chunkBits; k > 0 {
		c.next[k], c.freeChunk = c.freeChunk, k
	}
}
