package packet

import "math/bits"

// bring reads what events of one time will, so that they find it in the cache. It changes nothing. Loads of one loop do not
// wait for each other, nor branches for them, so the cache fetches all at the same time.
func (z *sim) bring(ids []int32) {
	if len(z.paths.step) == 0 {
		return
	}
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
			if p := z.touch(id - z.base); p.hold >= 0 {
				set := z.paths.sets[0]
				to[i], route[i] = p.hold, set.from+int32(set.Start[set.ClassOf(p.flow)])
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
	z.touched += sum
}
