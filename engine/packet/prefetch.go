package packet

import (
	"math/bits"
	"unsafe"
)

// minLinksToPrefetch is the number of links from which on caches do not hold the state of a network. With 12x12x12 nodes,
// 10,368 links, reading ahead gains a factor of 1.1 (booked) to 1.6 (credits). With 8x8x8 nodes, 3,072 links, it costs up to
// a tenth, but for links apart with greedy sources, whose flows are in random order.
const minLinksToPrefetch = 8192

// prefetchEvents reads what events of one time will read, so that they find it in the cache. It changes nothing. Loads of one loop
// do not wait for each other, nor branches for them, so their cache misses overlap.
func (z *sim) prefetchEvents(ids []int32) {
	switch {
	case len(ids) == 1 || !z.paths.usesSteps || len(z.network.Links) < minLinksToPrefetch:
	case z.usesQueues:
		z.prefetchQueued(ids)
	default:
		z.prefetchScheduled(ids)
	}
}

// prefetchScheduled is bring for booked links: it reads the packets that arrive and the places where they go.
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

// peekNext returns the first link of the next packet of a sender, negative if it is not known yet, and its flow. It prefetches
// what injecting that packet reads.
func (z *sim) peekNext(sender int32) (link, flow int32) {
	if int(sender) >= len(z.injectors) || z.injectors[sender].process != Greedy {
		return noLink, 0
	}
	m := &z.injectors[sender]
	m.prefetchNext(&z.paths)
	return m.nextLink, m.nextFlow
}

// prefetchQueued is bring for served links.
func (z *sim) prefetchQueued(ids []int32) {
	// by event: its link, the channel that its packet leaves, the link that this takes next, its queue there, and its step
	var link, leftChannel, nextLink, queueIndex, route [maxBatch]int32
	numLinks, sum := int32(len(z.queued)), int32(0)
	for i, id := range ids {
		i &= maxBatch - 1
		link[i], leftChannel[i], nextLink[i], queueIndex[i], route[i] = -1, -1, -1, 0, 0
		switch {
		case id < numLinks:
			l := &z.queued[id]
			sum += int32(l.packets)
			if link[i], leftChannel[i] = id, l.current.origin; l.hasLatency {
				sum += z.records.get(l.inFlight.tail).bytes
			} else {
				nextLink[i], queueIndex[i] = l.nextLink, int32(l.nextChannel)
			}
		case id < 2*numLinks:
			l := &z.queued[id-numLinks]
			next, channel := z.paths.linkAfter(l.to, z.records.first(&l.inFlight).route)
			nextLink[i], queueIndex[i] = next, int32(channel)
		case id < 3*numLinks:
			link[i] = id - 2*numLinks
		default:
			if link, flow := z.peekNext(id - z.senderBase); link >= 0 {
				set := z.paths.sets[0]
				nextLink[i], route[i] = link, set.firstStep+int32(set.Start[set.ClassOf(flow)])
			}
		}
	}
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
			link[i] = z.queues[l.firstQueue+int32(bits.TrailingZeros32(l.readyQueues>>(l.nextQueue&31)<<(l.nextQueue&31)))&31].head
		}
		sum += int32(z.paths.steps[route[i]])
	}
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

// prefetchLinks reads what links will read in a window; see sim.bring.
func (p *lpSim) prefetchLinks(from, end int32) {
	var (
		arrival [maxBatch]int32 // landings
		head    [maxBatch]int32
		sender  [maxBatch]*injector
	)
	w := p.now
	n, m, k, sum := 0, 0, 0, int32(0)
	for i := from; i < end; i++ {
		l := &p.queued[i]
		if first := w.byLink[i].packet; first >= 0 {
			arrival[n&(maxBatch-1)] = first
			n++
		} else if l.numWaiting == 0 || l.state&stateSending == 0 || l.sendEnd > p.lastTick {
			continue
		}
		turn, ring := l.nextQueue&31, l.numQueues&31
		ready := (uint64(l.readyQueues) | uint64(l.readyQueues)<<ring) >> turn & (1<<ring - 1) // that to be looked at first
		first := wrap(int32(turn)+int32(bits.TrailingZeros64(ready)&31), int32(ring))
		head[m&(maxBatch-1)] = p.queues[l.firstQueue+first&31].head
		if uint8(first) >= p.numDescriptorQueues(l) {
			head[m&(maxBatch-1)] ^= -1
		}
		m++
		if first := p.inFlight[i].sender; first > 0 && l.readyQueues>>l.numChannels != 0 {
			sender[k&(maxBatch-1)] = &p.injectors[first-1]
			k++
		}
	}
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
