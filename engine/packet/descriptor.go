package packet

import (
	"unsafe"

	"sim/engine"
)

// descriptors are packets while links are simulated apart: each stays where it is from link to link, but for those of others,
// and is put from one list into another.
type descriptors struct {
	slots       []descriptor
	injectTimes []engine.Time // by slot
	freeSlot    int32         // the first that is free, -1 of none
}

// descriptor is a packet on or before a link, half a line of the cache. What else it has is as in record; of its flow nothing
// depends any more.
type descriptor struct {
	time      engine.Time // when it gets to the end of the link, or came
	route     int32
	bytes     int32
	origin    int32
	next      int32 // behind it; of those that come to a link, -1 at the end
	nextBytes int32 // bytes of the next in a queue
	channel   uint8
}

// maxDescriptors keeps their numbers below 2^31.
const maxDescriptors = 1 << 30

// alloc returns a slot for a packet.
func (s *descriptors) alloc(r *record, channel uint8) int32 {
	if s.freeSlot < 0 {
		s.grow()
	}
	k := s.freeSlot
	slot := &s.slots[k]
	s.freeSlot = slot.next
	*slot = descriptor{time: r.time, route: r.route, bytes: r.bytes, origin: r.origin, channel: channel}
	s.injectTimes[k] = r.injectTime
	return k
}

// release gives a slot back.
func (s *descriptors) release(k int32) {
	s.slots[k].next, s.freeSlot = s.freeSlot, k
}

// grow makes more of them, when all are used.
func (s *descriptors) grow() {
	n := len(s.slots)
	added := max(256, n)
	s.slots = append(s.slots, make([]descriptor, added)...)
	s.injectTimes = append(s.injectTimes, make([]engine.Time, added)...)
	for k := n + added - 1; k >= n; k-- {
		s.release(int32(k))
	}
}

// record returns the packet in a slot.
func (s *descriptors) record(k int32) record {
	slot := &s.slots[k]
	return record{time: slot.time, injectTime: s.injectTimes[k], route: slot.route, bytes: slot.bytes, origin: slot.origin}
}

// memoryBytes is the memory of all.
func (s *descriptors) memoryBytes() int64 {
	return int64(cap(s.slots))*int64(unsafe.Sizeof(descriptor{})) + int64(cap(s.injectTimes))*int64(unsafe.Sizeof(engine.Time(0)))
}

// addArrival has the packet in a slot of p come to a link.
func (w *windowInbox) addArrival(p *lpSim, k, to int32) {
	first := &w.byLink[to].packet
	p.packets.slots[k].next, *first = *first, k
}
