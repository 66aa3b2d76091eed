package packet

import (
	"math/bits"
	"unsafe"

	"sim/engine"
)

// storePacket adds a packet to a link on which it stays beyond the window. arrival is its
// arrival at the far end.
func (k *componentWorker) storePacket(l *componentLink, r queuedPacket, arrival engine.Time) {
	if int(l.tail-l.head) == len(l.ring) {
		k.growRing(l)
	}
	index := l.tail & uint64(len(l.ring)-1)
	l.ring[index] = r
	if k.hasLatency {
		l.arrivals[index] = arrival
	}
	l.tail++
}

// packetRing is a ring buffer for the packets of a link. Its size is a power of two.
type packetRing struct {
	packets  []queuedPacket
	arrivals []engine.Time // arrivals at the far end; only if links have latencies
}

// growRing doubles the size of a link's ring buffer. It reuses the memory of smaller
// rings.
func (k *componentWorker) growRing(l *componentLink) {
	class := max(3, bits.Len(uint(len(l.ring))))
	var grown packetRing
	if unused := k.freeRings[class]; len(unused) > 0 {
		grown, k.freeRings[class] = unused[len(unused)-1], unused[:len(unused)-1]
	} else {
		grown.packets = make([]queuedPacket, 1<<class)
		if k.hasLatency {
			grown.arrivals = make([]engine.Time, 1<<class)
		}
		k.ringBytes += grown.memoryBytes()
	}

	copyRing(grown.packets, l.ring, l.head)
	copyRing(grown.arrivals, l.arrivals, l.head)

	if old := (packetRing{l.ring, l.arrivals}); class <= maxReusedClass && l.ring != nil {
		k.freeRings[class-1] = append(k.freeRings[class-1], old)
	} else {
		k.ringBytes -= old.memoryBytes()
	}

	l.ring, l.arrivals = grown.packets, grown.arrivals
}

// memoryBytes returns the memory of the ring.
func (r packetRing) memoryBytes() int64 {
	return int64(len(r.packets))*int64(unsafe.Sizeof(queuedPacket{})) + int64(len(r.arrivals))*int64(unsafe.Sizeof(engine.Time(0)))
}

// maxReusedClass is the binary logarithm of the size up to which growRing reuses the
// memory of the previous ring.
const maxReusedClass = 10

// copyRing copies a full ring buffer into a larger one. Both sizes are powers of two.
func copyRing[T any](to, ring []T, head uint64) {
	for i := range uint64(len(ring)) {
		to[(head+i)&uint64(len(to)-1)] = ring[(head+i)&uint64(len(ring)-1)]
	}
}
