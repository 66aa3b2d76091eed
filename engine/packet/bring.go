package packet

import (
	"math/bits"

	"sim/engine"
)

// bring reads what events of one time will, so that they find it in the cache. It changes nothing. Loads of one loop do not
// wait for each other, nor branches for them, so the cache fetches all at the same time.
func (z *sim) bring(ids []int32) {
	if len(z.paths.step) == 0 {
		return
	}
	links, sum := int32(len(z.servers)), int32(0)
	var to, route [atOnce]int32 // the node and step of each packet, then its link and queue
	for i, id := range ids {
		i &= atOnce - 1
		switch to[i], route[i] = 0, -1; {
		case id < links:
			l := &z.servers[id]
			if sum += int32(l.packets) + l.turn; l.latency == 0 {
				to[i], route[i] = l.to, l.current.route
			} else {
				sum += z.chunks.at(l.wire.tail).bytes
			}
		case id < 2*links:
			l := &z.servers[id-links]
			to[i], route[i] = l.to, z.chunks.first(&l.wire).route
		case id < 3*links:
			sum += z.servers[id-2*links].turn
		default:
			if p := z.touch(id - z.base); p.hold >= 0 {
				set := z.paths.sets[0]
				to[i], route[i] = z.flows[p.flow].Src, set.from+int32(set.Start[set.ClassOf(p.flow)])-1
			}
		}
	}
	for i, id := range ids {
		if id < links {
			l := &z.servers[id]
			if r := &l.current; r.hold >= 0 && z.credit {
				if v := &z.servers[z.linkOf[r.hold]]; v.latency > 0 {
					sum += z.chunks.at(v.credits.tail).bytes
				}
			}
			sum += z.firstReady(l)
		} else if id >= 2*links && id < 3*links {
			sum += z.firstReady(&z.servers[id-2*links])
		}
		i &= atOnce - 1
		s := z.paths.step[route[i]+1] // of none, or at its end, another one than it takes
		if s == engine.Arrived {
			s = 0
		}
		to[i], route[i] = max(0, z.paths.port[int(to[i])*z.paths.degree+s.Port()]), int32(s.Channel())
	}
	for i, id := range ids {
		i &= atOnce - 1
		l := &z.servers[to[i]]
		sum += l.turn
		if to[i] = l.queue; z.credit {
			if id >= z.base {
				route[i] += l.channels
			}
			to[i] += min(route[i], l.ring-1)
		}
	}
	for i := range ids {
		i &= atOnce - 1
		to[i] = z.queues[to[i]].tail
	}
	for i := range ids {
		sum += z.chunks.at(to[i&(atOnce-1)]).bytes
	}
	z.touched += sum
}

// firstReady reads the first credit of a link, and the packet that it sends next if there is room for it.
func (z *sim) firstReady(l *server) int32 {
	sum := int32(0)
	if l.credits.length > 0 {
		sum = z.chunks.first(&l.credits).bytes
	}
	if m := l.ready; m != 0 {
		if later := m >> l.turn << l.turn; later != 0 {
			m = later
		}
		sum += z.chunks.first(&z.queues[l.queue+int32(bits.TrailingZeros32(m))].fifo).bytes
	}
	return sum
}
