package packet

import (
	"math/bits"
	"unsafe"
)

// minLinksToPrefetch is the number of links from which on the state of a network exceeds
// the caches. With 12x12x12 nodes (10,368 links), prefetching gains a factor of 1.1
// (scheduled links) to 1.6 (credits). With 8x8x8 nodes (3,072 links) it costs up to a
// tenth, except for lpSim with greedy sources, whose flows are in random order.
const minLinksToPrefetch = 8192

// prefetchEvents reads the memory that simultaneous events are going to read, so that it
// is in the cache when they are simulated. It changes nothing. The loads of one loop
// below are independent of each other and of branches, so their cache misses overlap. An
// address that depends on a loaded value is read in the next loop.
//
// The loads must have an effect, or the compiler would omit them. So the values are added
// to prefetchSink, which nothing reads. The mask maxBatch-1 changes no valid index; it
// lets the compiler omit checks of the range.
func (z *sim) prefetchEvents(ids []int32) {
	switch {
	case len(ids) == 1 || !z.paths.usesSteps || len(z.network.Links) < minLinksToPrefetch:
	case z.usesQueues:
		z.prefetchQueued(ids)
	default:
		z.prefetchScheduled(ids)
	}
}

// prefetchScheduled is prefetchEvents for scheduled links. It reads the arriving packets
// and the queues of their next links.
func (z *sim) prefetchScheduled(ids []int32) {
	var nextLinks [maxBatch]int32
	sum := int32(0)
	for i, id := range ids {
		next := &nextLinks[i&(maxBatch-1)]
		if id >= z.senderBase {
			*next, _ = z.peekNext(id - z.senderBase)
			continue
		}
		q := &z.scheduled[id].queue
		r := z.records.first(q)
		*next = r.origin
		sum += int32(z.paths.steps[r.route]) + z.records.get(q.head+1).bytes
	}

	for i := range ids {
		next := &nextLinks[i&(maxBatch-1)]
		*next = z.scheduled[max(0, *next)].queue.tail
	}

	for i := range ids {
		sum += z.records.get(nextLinks[i&(maxBatch-1)]).bytes
	}

	z.prefetchSink += sum
}

// peekNext returns the first link and the flow of the next packet of a greedy source. For
// other senders, and if the link is not known yet, link is negative. It prefetches the
// memory that the injection of the packet reads.
func (z *sim) peekNext(sender int32) (link, flow int32) {
	if int(sender) >= len(z.injectors) || z.injectors[sender].process != Greedy {
		return noLink, 0
	}
	m := &z.injectors[sender]
	m.prefetchNext(&z.paths)
	return m.nextLink, m.nextFlow
}

// prefetchQueued is prefetchEvents for queued links.
func (z *sim) prefetchQueued(ids []int32) {
	// For each event: its link, the channel whose buffer its packet leaves, the next link
	// of the packet, the queue there, and the index of its step. -1 means none.
	var link, leftChannel, nextLink, queueIndex, route [maxBatch]int32
	numLinks, sum := int32(len(z.queued)), int32(0)
	for i, id := range ids {
		i &= maxBatch - 1
		link[i], leftChannel[i], nextLink[i], queueIndex[i], route[i] = -1, -1, -1, 0, 0
		switch {
		case id < numLinks: // the end of a transmission
			l := &z.queued[id]
			sum += int32(l.packets)
			if link[i], leftChannel[i] = id, l.current.origin; l.hasLatency {
				sum += z.records.get(l.inFlight.tail).bytes
			} else {
				nextLink[i], queueIndex[i] = l.nextLink, int32(l.nextChannel)
			}
		case id < 2*numLinks: // an arrival
			l := &z.queued[id-numLinks]
			next, channel := z.paths.linkAfter(l.to, z.records.first(&l.inFlight).route)
			nextLink[i], queueIndex[i] = next, int32(channel)
		case id < 3*numLinks: // a credit return
			link[i] = id - 2*numLinks
		default: // an event of a sender
			if link, flow := z.peekNext(id - z.senderBase); link >= 0 {
				set := z.paths.sets[0]
				nextLink[i], route[i] = link, set.firstStep+int32(set.Start[set.ClassOf(flow)])
			}
		}
	}

	// Read the state of these links. nextLink becomes the index of the record where the
	// packet is queued next. link becomes the record that its link sends next: the first
	// one of the first queue, from the round-robin position on, that is not empty.
	for i := range ids {
		i &= maxBatch - 1
		if leftChannel[i] >= 0 {
			v := &z.queued[z.channelLink[leftChannel[i]]]
			if sum += int32(z.freeBytes[leftChannel[i]]) + v.numWaiting; v.hasLatency {
				sum += z.records.get(v.credits.tail).bytes
			}
		}
		if nextLink[i] >= 0 {
			l := &z.queued[nextLink[i]]
			sum += l.numWaiting
			nextLink[i] = z.queues[l.firstQueue+min(queueIndex[i], int32(l.numQueues)-1)].tail
		}
		if link[i] >= 0 {
			l := &z.queued[link[i]]
			readyFromNext := l.readyQueues >> (l.nextQueue & 31) << (l.nextQueue & 31)
			link[i] = z.queues[l.firstQueue+int32(bits.TrailingZeros32(readyFromNext))&31].head
		}
		sum += int32(z.paths.steps[route[i]])
	}

	// Read these records, and then the steps of the packets that are sent next.
	for i := range ids {
		i &= maxBatch - 1
		if nextLink[i] >= 0 {
			sum += z.records.get(nextLink[i]).bytes
		}
		if link[i] >= 0 {
			route[i] = z.records.get(link[i]).route
		}
	}

	for i := range ids {
		sum += int32(z.paths.steps[route[i&(maxBatch-1)]])
	}

	z.prefetchSink += sum
}

// prefetchLinks reads the memory that links from <= id < end are going to read in the
// current window; see prefetchEvents.
func (p *lpSim) prefetchLinks(from, end int32) {
	var (
		arrival [maxBatch]int32     // first descriptor in the arrival list of a link
		head    [maxBatch]int32     // first packet of the queue that is served next: a descriptor, or ^k for record k
		sender  [maxBatch]*injector // greedy source that keeps a packet queued at a link
	)

	// Collect the links that have events. The arrays have n, m and k entries.
	w := p.now
	n, m, k, sum := 0, 0, 0, int32(0)
	for i := from; i < end; i++ {
		l := &p.queued[i]
		if packet := w.byLink[i].packet; packet >= 0 {
			arrival[n&(maxBatch-1)] = packet
			n++
		} else if l.numWaiting == 0 || l.state&stateSending == 0 || l.sendEnd > p.lastTick {
			continue
		}
		nextQueue, numQueues := l.nextQueue&31, l.numQueues&31
		ready := (uint64(l.readyQueues) | uint64(l.readyQueues)<<numQueues) >> nextQueue & (1<<numQueues - 1) // in round-robin order
		first := wrap(int32(nextQueue)+int32(bits.TrailingZeros64(ready)&31), int32(numQueues))

		head[m&(maxBatch-1)] = p.queues[l.firstQueue+first&31].head
		if isRecord := uint8(first) >= p.numDescriptorQueues(l); isRecord {
			head[m&(maxBatch-1)] ^= -1
		}
		m++
		if number := p.inFlight[i].sender; number > 0 && l.readyQueues>>l.numChannels != 0 {
			sender[k&(maxBatch-1)] = &p.injectors[number-1]
			k++
		}
	}

	// Read the arriving packets, the packets that are sent next, and the sources.
	for i := range n {
		i &= maxBatch - 1
		arrival[i] = p.packets.slots[arrival[i]].next
	}

	for i := range m {
		if k := head[i&(maxBatch-1)]; k >= 0 {
			prefetch(unsafe.Pointer(&p.packets.slots[k]))
		} else {
			prefetch(unsafe.Pointer(p.records.get(^k)))
		}
	}

	for i := range k {
		sum += sender[i&(maxBatch-1)].nextLink
	}

	for i := range n {
		i &= maxBatch - 1
		if arrival[i] >= 0 {
			sum += p.packets.slots[arrival[i]].bytes
		}
	}

	for i := range k {
		sender[i&(maxBatch-1)].prefetchNext(&p.paths)
	}
	p.prefetchSink += sum
}
