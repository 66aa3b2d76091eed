package packet

// This file stores the packets that remain on the links of a componentSim between two
// windows of simulated time. Each link (componentLink, component_worker.go) has a circular
// buffer, which grows as needed. A componentWorker, the goroutine that simulates the link,
// keeps the buffers that links have outgrown (freeBuffers) and gives them to other links.
//
// If no link of the network has a latency (hasLatency is false), packets arrive at
// intervals of one transmission, so their arrival times are not stored.

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

// packetBuffer is the memory of componentLink.buffer and componentLink.arrivals. Its size,
// the number of packets that fit, is a power of two. Its class is the binary logarithm of
// the size.
type packetBuffer struct {
	packets  []queuedPacket
	arrivals []engine.Time // indexed like packets: arrival at the far end; nil without latencies
}

const (
	// minBufferClass is the class of the smallest packet buffer. Its eight packets of 16
	// bytes fill two cache lines.
	minBufferClass = 3
	// maxRetainedClass is the class of the largest buffers that growBuffer keeps for other
	// links, 512 packets. Few links have longer queues, so larger buffers would rarely be
	// reused. They are left to the garbage collector.
	maxRetainedClass = 9
)

// growBuffer doubles the size of a link's packet buffer, which must be full.
func (k *componentWorker) growBuffer(l *componentLink) {
	class := max(minBufferClass, bits.Len(uint(len(l.buffer)))) // of the new buffer
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

	oldClass := class - 1
	if old := (packetBuffer{packets: l.buffer, arrivals: l.arrivals}); oldClass <= maxRetainedClass && l.buffer != nil {
		k.freeBuffers[oldClass] = append(k.freeBuffers[oldClass], old)
	} else {
		k.memoryBytes -= old.memoryBytes()
	}

	l.buffer, l.arrivals = grown.packets, grown.arrivals
}

// memoryBytes returns the memory of the buffer in bytes.
func (r packetBuffer) memoryBytes() int64 {
	return int64(len(r.packets))*int64(unsafe.Sizeof(queuedPacket{})) + int64(len(r.arrivals))*int64(unsafe.Sizeof(engine.Time(0)))
}

// copyBuffer copies a full circular buffer, whose first packet has the number head, into a
// larger one. In both, packet n is at index n modulo the size (bufferIndex).
func copyBuffer[T any](to, ring []T, head uint64) {
	for i := range uint64(len(ring)) {
		to[(head+i)&uint64(len(to)-1)] = ring[(head+i)&uint64(len(ring)-1)]
	}
}
