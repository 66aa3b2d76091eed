package packet

// This file stores the packets that remain on the links of a componentSim between two
// windows of simulated time. Each link has a circular buffer, which grows as needed and
// reuses the memory of buffers that other links have outgrown.

import (
	"math/bits"
	"unsafe"

	"sim/engine"
)

// storePacket adds a packet to a link on which it stays beyond the window. arrival is its
// arrival at the far end.
func (k *componentWorker) storePacket(l *componentLink, r queuedPacket, arrival engine.Time) {
	if int(l.tail-l.head) == len(l.buffer) {
		k.growBuffer(l)
	}
	index := l.bufferIndex(l.tail)
	l.buffer[index] = r
	if k.hasLatency {
		l.arrivals[index] = arrival
	}
	l.tail++
}

// bufferIndex returns the index in buffer of packet n of the link. Packets are numbered in
// the order in which they are enqueued; head and tail are such numbers.
func (l *componentLink) bufferIndex(n uint64) uint64 { return n & uint64(len(l.buffer)-1) }

// packetBuffer is the memory of componentLink.buffer and arrivals. Its size is a power of
// two.
type packetBuffer struct {
	packets  []queuedPacket
	arrivals []engine.Time // indexed like packets: arrival at the far end; nil without latencies
}

// minBufferBits is the binary logarithm of the size of the smallest packet buffer.
const minBufferBits = 3

// maxReusedClass is the binary logarithm of the size up to which growBuffer keeps the
// previous buffer for other links. Larger ones are left to the garbage collector.
const maxReusedClass = 10

// growBuffer doubles the size of a link's packet buffer, which must be full.
func (k *componentWorker) growBuffer(l *componentLink) {
	class := max(minBufferBits, bits.Len(uint(len(l.buffer)))) // binary logarithm of the new size
	var grown packetBuffer
	if unused := k.freeBuffers[class]; len(unused) > 0 {
		grown, k.freeBuffers[class] = unused[len(unused)-1], unused[:len(unused)-1]
	} else {
		grown.packets = make([]queuedPacket, 1<<class)
		if k.hasLatency {
			grown.arrivals = make([]engine.Time, 1<<class)
		}
		k.memoryBytes += grown.memoryBytes()
	}

	copyBuffer(grown.packets, l.buffer, l.head)
	copyBuffer(grown.arrivals, l.arrivals, l.head)

	if old := (packetBuffer{l.buffer, l.arrivals}); class <= maxReusedClass && l.buffer != nil {
		k.freeBuffers[class-1] = append(k.freeBuffers[class-1], old)
	} else {
		k.memoryBytes -= old.memoryBytes()
	}

	l.buffer, l.arrivals = grown.packets, grown.arrivals
}

// memoryBytes returns the memory of the buffer.
func (r packetBuffer) memoryBytes() int64 {
	return int64(len(r.packets))*int64(unsafe.Sizeof(queuedPacket{})) + int64(len(r.arrivals))*int64(unsafe.Sizeof(engine.Time(0)))
}

// copyBuffer copies a full circular buffer, which starts at packet number head, into a
// larger one. Both sizes are powers of two.
func copyBuffer[T any](to, ring []T, head uint64) {
	for i := range uint64(len(ring)) {
		to[(head+i)&uint64(len(to)-1)] = ring[(head+i)&uint64(len(ring)-1)]
	}
}
