package packet

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
	index := l.tail & uint64(len(l.buffer)-1)
	l.buffer[index] = r
	if k.hasLatency {
		l.arrivals[index] = arrival
	}
	l.tail++
}

// packetBuffer is a ring buffer for the packets of a link. Its size is a power of two.
type packetBuffer struct {
	packets  []queuedPacket
	arrivals []engine.Time // arrivals at the far end; only if links have latencies
}

// growBuffer doubles the size of a link's ring buffer. It reuses the memory of smaller
// rings.
func (k *componentWorker) growBuffer(l *componentLink) {
	class := max(3, bits.Len(uint(len(l.buffer))))
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

// memoryBytes returns the memory of the ring.
func (r packetBuffer) memoryBytes() int64 {
	return int64(len(r.packets))*int64(unsafe.Sizeof(queuedPacket{})) + int64(len(r.arrivals))*int64(unsafe.Sizeof(engine.Time(0)))
}

// maxReusedClass is the binary logarithm of the size up to which growRing reuses the
// memory of the previous ring.
const maxReusedClass = 10

// copyBuffer copies a full ring buffer into a larger one. Both sizes are powers of two.
func copyBuffer[T any](to, ring []T, head uint64) {
	for i := range uint64(len(ring)) {
		to[(head+i)&uint64(len(to)-1)] = ring[(head+i)&uint64(len(ring)-1)]
	}
}
