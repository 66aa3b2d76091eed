package packet

import (
	"unsafe"

	"sim/engine"
)

// descriptors are packets while links are simulated apart: each stays where it is from link to link, but for those of others,
// and is put from one list into another.
type descriptors struct {
	all    []descriptor
	inject []engine.Time // by slot
	free   int32         // the first that is free, -1 of none
}

// descriptor is a packet on or before a link, half a line of the cache. What else it has is as in record; of its flow nothing
// depends any more.
type descriptor struct {
	at      engine.Time // when it gets to the end of the link, or came
	route   int32
	bytes   int32
	hold    int32
	next    int32 // behind it; of those that come to a link, -1 at the end
	need    int32 // bytes of the next in a queue
	channel uint8
}

// mostDescriptors keeps their numbers below 2^31.
const mostDescriptors = 1 << 30

// take returns a slot for a packet.
func (s *descriptors) take(r *record, channel uint8) int32 {
	if s.free < 0 {
		s.grow()
	}
	k := s.free
	of := &s.all[k]
	s.free = of.next
	*of = descriptor{at: r.at, route: r.route, bytes: r.bytes, hold: r.hold, channel: channel}
	s.inject[k] = r.inject
	return k
}

// leave gives a slot back.
func (s *descriptors) leave(k int32) {
	s.all[k].next, s.free = s.free, k
}

// grow makes more of them, when all are used.
func (s *descriptors) grow() {
	n := len(s.all)
	more := max(256, n)
	s.all = append(s.all, make([]descriptor, more)...)
	s.inject = append(s.inject, make([]engine.Time, more)...)
	for k := n + more - 1; k >= n; k-- {
		s.leave(int32(k))
	}
}

// record returns the packet in a slot.
func (s *descriptors) record(k int32) record {
	of := &s.all[k]
	return record{at: of.at, inject: s.inject[k], route: of.route, bytes: of.bytes, hold: of.hold}
}

// bytes is the memory of all.
func (s *descriptors) bytes() int64 {
	return int64(cap(s.all))*int64(unsafe.Sizeof(descriptor{})) + int64(cap(s.inject))*int64(unsafe.Sizeof(engine.Time(0)))
}

// put has the packet in a slot of p come to a link.
func (w *ahead) put(p *apart, k, to int32) {
	first := &w.first[to].packet
	p.packets.all[k].next, *first = *first, k
}
