package packet

import (
	"math/bits"
	"unsafe"
)

// minLinksToBring is the number of links from which on caches do not hold the state of a network. With 12x12x12 nodes,
// 10,368 links, reading ahead gains a factor of 1.1 (booked) to 1.6 (credits). With 8x8x8 nodes, 3,072 links, it costs up to
// a tenth, but for links apart with greedy sources, whose flows are in random order.
const minLinksToBring = 8192

// bring reads what events of one time will read, so that they find it in the cache. It changes nothing. Loads of one loop
// do not wait for each other, nor branches for them, so their cache misses overlap.
func (z *sim) bring(ids []int32) {
	switch {
	case len(ids) == 1 || !z.paths.steps || len(z.n.Links) < minLinksToBring:
	case z.on:
		z.bringServed(ids)
	default:
		z.bringBooked(ids)
	}
}

// bringBooked is bring for booked links: it reads the packets that arrive and the places where they go.
func (z *sim) bringBooked(ids []int32) {
	var to [atOnce]int32
	sum := int32(0)
	for i, id := range ids {
		next := &to[i&(atOnce-1)]
		if id >= z.base {
			*next, _ = z.waits(id - z.base)
			continue
		}
		q := &z.links[id].queue
		r := z.chunks.first(q)
		*next = r.hold
		sum += int32(z.paths.step[r.route]) + z.chunks.at(q.head+1).bytes
	}
	for i := range ids {
		next := &to[i&(atOnce-1)]
		*next = z.links[max(0, *next)].queue.tail
	}
	for i := range ids {
		sum += z.chunks.at(to[i&(atOnce-1)]).bytes
	}
	z.read += sum
}

// waits returns the first link of the next packet of a sender, negative if it is not known yet, and its flow. It prefetches
// what injecting that packet reads.
func (z *sim) waits(sender int32) (link, flow int32) {
	if int(sender) >= len(z.injectors) || z.injectors[sender].process != Greedy {
		return nowhere, 0
	}
	m := &z.injectors[sender]
	m.prefetch(&z.paths)
	return m.link, m.next
}

// bringServed is bring for served links.
func (z *sim) bringServed(ids []int32) {
	// by event: its link, the channel that its packet leaves, the link that this takes next, its queue there, and its step
	var of, from, to, place, route [atOnce]int32
	links, sum := int32(len(z.servers)), int32(0)
	for i, id := range ids {
		i &= atOnce - 1
		of[i], from[i], to[i], place[i], route[i] = -1, -1, -1, 0, 0
		switch {
		case id < links:
			l := &z.servers[id]
			sum += int32(l.packets)
			if of[i], from[i] = id, l.current.hold; l.late {
				sum += z.chunks.at(l.wire.tail).bytes
			} else {
				to[i], place[i] = l.onto, int32(l.ontoThat)
			}
		case id < 2*links:
			l := &z.servers[id-links]
			next, channel := z.paths.after(l.to, z.chunks.first(&l.wire).route)
			to[i], place[i] = next, int32(channel)
		case id < 3*links:
			of[i] = id - 2*links
		default:
			if link, flow := z.waits(id - z.base); link >= 0 {
				set := z.paths.sets[0]
				to[i], route[i] = link, set.from+int32(set.Start[set.ClassOf(flow)])
			}
		}
	}
	for i := range ids {
		i &= atOnce - 1
		if from[i] >= 0 {
			v := &z.servers[z.linkOf[from[i]]]
			if sum += int32(z.room[from[i]]) + v.waiting; v.late {
				sum += z.chunks.at(v.credits.tail).bytes
			}
		}
		if to[i] >= 0 {
			l := &z.servers[to[i]]
			sum += l.waiting
			to[i] = z.queues[l.queue+min(place[i], int32(l.ring)-1)].tail
		}
		if of[i] >= 0 {
			l := &z.servers[of[i]]
			of[i] = z.queues[l.queue+int32(bits.TrailingZeros32(l.ready>>(l.turn&31)<<(l.turn&31)))&31].head
		}
		sum += int32(z.paths.step[route[i]])
	}
	for i := range ids {
		i &= atOnce - 1
		if to[i] >= 0 {
			sum += z.chunks.at(to[i]).bytes
		}
		if of[i] >= 0 {
			route[i] = z.chunks.at(of[i]).route
		}
	}
	for i := range ids {
		sum += int32(z.paths.step[route[i&(atOnce-1)]])
	}
	z.read += sum
}

// bring reads what links will read in a window; see sim.bring.
func (p *apart) bring(from, end int32) {
	var (
		coming [atOnce]int32 // landings
		head   [atOnce]int32
		feed   [atOnce]*injector
	)
	w := p.now
	n, m, k, sum := 0, 0, 0, int32(0)
	for i := from; i < end; i++ {
		l := &p.servers[i]
		if at := w.first[i].packet; at >= 0 {
			coming[n&(atOnce-1)] = at
			n++
		} else if l.waiting == 0 || l.state&sending == 0 || l.end > p.last {
			continue
		}
		turn, ring := l.turn&31, l.ring&31
		ready := (uint64(l.ready) | uint64(l.ready)<<ring) >> turn & (1<<ring - 1) // that to be looked at first
		first := wrap(int32(turn)+int32(bits.TrailingZeros64(ready)&31), int32(ring))
		head[m&(atOnce-1)] = p.queues[l.queue+first&31].head
		if uint8(first) >= p.lines(l) {
			head[m&(atOnce-1)] ^= -1
		}
		m++
		if at := p.flying[i].feed; at > 0 && l.ready>>l.channels != 0 {
			feed[k&(atOnce-1)] = &p.injectors[at-1]
			k++
		}
	}
	for i := range n {
		i &= atOnce - 1
		coming[i] = p.packets.all[coming[i]].next
	}
	for i := range m {
		if k := head[i&(atOnce-1)]; k >= 0 {
			prefetch(unsafe.Pointer(&p.packets.all[k]))
		} else {
			prefetch(unsafe.Pointer(p.chunks.at(^k)))
		}
	}
	for i := range k {
		sum += feed[i&(atOnce-1)].link
	}
	for i := range n {
		i &= atOnce - 1
		if coming[i] >= 0 {
			sum += p.packets.all[coming[i]].bytes
		}
	}
	for i := range k {
		feed[i&(atOnce-1)].prefetch(&p.paths)
	}
	p.read += sum
}
