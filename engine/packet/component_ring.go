package packet

import (
	"math/bits"
	"unsafe"

	"sim/engine"
)

// storePacket puts a packet that was put on a link last with those that stay on it beyond the window.
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

// packetRing is where packets on a link are, in rings of one power of two.
type packetRing struct {
	packets  []queuedPacket
	arrivals []engine.Time // if links have latencies
}

// growRing gives a link twice the room.
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

func (r packetRing) memoryBytes() int64 {
	return int64(len(r.packets))*int64(unsafe.Sizeof(queuedPacket{})) + int64(len(r.arrivals))*int64(unsafe.Sizeof(engine.Time(0)))
}

// maxReusedClass is the logarithm of the least room that is not used again.
const maxReusedClass = 10

// copyRing copies a full ring into a larger one, both of powers of two.
func copyRing[T any](to, ring []T, head uint64) {
	for i := range uint64(len(ring)) {
		to[(head+i)&uint64(len(to)-1)] = ring[(head+i)&uint64(len(ring)-1)]
	}
}
