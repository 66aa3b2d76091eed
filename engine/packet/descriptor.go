package packet

import (
	"unsafe"

	"sim/engine"
)

// descriptors stores packets during windows of lpSim. A packet keeps its slot from link
// to link, unless it moves to the links of another worker. Only its list links change.
type descriptors struct {
	slots       []descriptor
	injectTimes []engine.Time // indexed by slot
	freeSlot    int32         // head of the free list, linked by next; -1 if it is empty
}

// descriptor is a packet that is queued at a link or in flight. It fills half a cache
// line. The remaining fields of record are not needed: the injection time is in
// descriptors.injectTimes, and nothing depends on the flow.
type descriptor struct {
	time   engine.Time // arrival at the end of the link (in flight) or at the queue (queued)
	route  int32       // see record.route
	bytes  int32
	origin int32 // see record.origin
	// next is the next slot of the queue, of the arrival list of a link, or of the free
	// list. The last two lists end with -1.
	next      int32
	nextBytes int32 // size of the next packet of the queue
	channel   uint8
}

// maxDescriptors keeps slot numbers below 2^31 when the slots double.
const maxDescriptors = 1 << 30

// unsetChannel is the channel of a packet that is queued already, or whose channel
// scheduleArrival sets.
const unsetChannel = 0

// alloc stores a packet in a free slot and returns the slot.
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

// release frees a slot.
func (s *descriptors) release(k int32) {
	s.slots[k].next, s.freeSlot = s.freeSlot, k
}

// grow doubles the number of slots. It is called when all are in use.
func (s *descriptors) grow() {
	const minSlots = 256 // at first
	n := len(s.slots)
	added := max(minSlots, n)
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

// memoryBytes returns the memory of all slots.
func (s *descriptors) memoryBytes() int64 {
	return int64(cap(s.slots))*int64(unsafe.Sizeof(descriptor{})) + int64(cap(s.injectTimes))*int64(unsafe.Sizeof(engine.Time(0)))
}

// addArrival adds the packet in slot k of worker p to the list of arrivals at a link in
// the window of inbox w (lp.go).
func (w *windowInbox) addArrival(p *lpSim, k, to int32) {
	first := &w.byLink[to].packet
	p.packets.slots[k].next, *first = *first, k
}
