package packet

import (
	"unsafe"

	"sim/engine"
)

// farLinks is how many links a network has from which on what a hop touches is rarely in the cache any more: 64 bytes
// each, and as much again for the packets.
const farLinks = 8192

// Events before theirs at which what they touch is brought into the cache, each from what was brought before it.
const (
	toQueue  = 2
	toStep   = 5
	toPacket = 2 * toStep
	toLink   = 3 * toStep
	inSight  = 16 // a power of 2 above toLink
)

// sight is the next events of the time that is being simulated.
type sight struct {
	ids   [inSight]int32
	goal  [inSight]int32 // the link that a packet goes to, -1 where that is not known
	taken int            // events that were taken, the place of the last of them
	seen  int            // events in sight or taken
	last  int32          // the event farthest ahead, -1 at the end of the time
}

// ahead brings into the cache what the next events of this time will touch: a link, then its first packet, then the
// packet's next step, then the link that this leads to, and the place in its queue. It changes nothing.
func (z *sim) ahead(s *sight) {
	c := z.calendar
	s.taken++
	if s.seen <= s.taken { // a new time
		s.seen, s.last = s.taken, c.left
		if c.left >= 0 {
			s.seen++
			s.ids[s.seen%inSight] = c.left
			z.bring(s, s.seen)
		}
	}
	for s.last >= 0 && s.seen < s.taken+toLink {
		if s.last = c.next[s.last]; s.last >= 0 {
			s.seen++
			s.ids[s.seen%inSight] = s.last
			z.bring(s, s.seen)
		}
	}
}

// bring brings what the event at a place touches first, and what those nearer touch then.
func (z *sim) bring(s *sight, at int) {
	links := int32(len(z.links))
	if id := s.ids[at%inSight]; id < links {
		prefetch(unsafe.Pointer(&z.links[id]))
	} else if i := int(id - z.base); i < len(z.injectors) {
		prefetch(unsafe.Pointer(&z.injectors[i]))
	}
	if at -= toStep; at <= s.taken {
		return
	}
	if id := s.ids[at%inSight]; id < links {
		if q := &z.links[id].queue; q.head != 0 {
			prefetch(unsafe.Pointer(z.chunks.first(q)))
			prefetch(unsafe.Pointer(&z.passed[id]))
		}
	} else if m := z.greedy(id); m != nil {
		if k := m.place(m.sent); m.flows != nil {
			prefetch(unsafe.Pointer(&m.flows[k]))
		}
	}
	if at -= toStep; at <= s.taken {
		return
	}
	if id := s.ids[at%inSight]; id < links {
		if q := &z.links[id].queue; q.head != 0 {
			prefetch(unsafe.Pointer(&z.paths.step[z.chunks.first(q).route+1]))
		}
	} else if m := z.greedy(id); m != nil {
		f := m.pick(m.sent)
		prefetch(unsafe.Pointer(&z.flows[f]))
		if set := &z.paths.sets[z.paths.now]; set.Class != nil {
			prefetch(unsafe.Pointer(&set.Class[f]))
		}
	}
}

// near brings what the event that comes a few later leads to.
func (z *sim) near(s *sight) {
	at := s.taken + toStep - 1
	if at > s.seen {
		return
	}
	links := int32(len(z.links))
	s.goal[at%inSight] = -1
	if id := s.ids[at%inSight]; id < links {
		if l := &z.links[id]; l.queue.head != 0 {
			if step := z.paths.step[z.chunks.first(&l.queue).route+1]; step != engine.Arrived {
				to := z.paths.port[int(l.to)*z.paths.degree+step.Port()]
				s.goal[at%inSight] = to
				prefetch(unsafe.Pointer(&z.links[to]))
			}
		}
	} else if m := z.greedy(id); m != nil {
		if set := &z.paths.sets[z.paths.now]; set.First == nil {
			prefetch(unsafe.Pointer(&set.Start[set.ClassOf(m.pick(m.sent))]))
		}
	}
}

// queued brings the place of a packet at the end of the queue that it goes to.
func (z *sim) queued(s *sight) {
	at := s.taken + toQueue
	if at > s.seen {
		return
	}
	if to := s.goal[at%inSight]; to >= 0 {
		if q := &z.links[to].queue; q.tail != 0 && q.put < perChunk {
			prefetch(unsafe.Pointer(z.chunks.at(q.tail, q.put)))
		}
	}
}

// greedy returns the injector of an event whose next flow is known before it is taken, nil of others.
func (z *sim) greedy(id int32) *injector {
	i := int(id - z.base)
	if i >= len(z.injectors) {
		return nil
	}
	if m := &z.injectors[i]; m.process == Greedy && m.order != Uniform && m.sent < m.total {
		return m
	}
	return nil
}
