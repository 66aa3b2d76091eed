package packet

// This file implements links under a transport. A link sends packets of two classes, control
// first: acknowledgements and headers of trimmed packets, then data. Data of messages that start
// at its node wait in the host (transport_flow.go), and take turns with data that passes through.

import (
	"math"

	"sim/engine"
)

// transportPacket is a packet in a queue, on a link, or feedback that returns. It fills half
// a cache line.
type transportPacket struct {
	time    engine.Time // arrival at the far end of the link, or at the sender
	flow    int32
	next    int32 // next packet of its list, or -1
	number  uint32
	size    uint32 // bytes on the wire in the lower 20 bits, and flags above
	route   int32  // index of its step, or its entropy
	ingress int32  // link over which it came to the node, or -1
}

// Flags of transportPacket.size.
const (
	isMarked  uint32 = 1 << (20 + iota)
	isTrimmed        // header of a packet that did not fit
	isFeedback
	isNegative // feedback: number is missing
	isCredit   // feedback: number packets may be sent
	firstHop   // unit of the number of hops, in the highest bits

)

// bytes returns the size on the wire.
func (p *transportPacket) bytes() uint32 { return p.size & maxTransportPacket }

// isControl reports whether the packet is in the control class.
func (p *transportPacket) isControl() bool { return p.size&(isTrimmed|isFeedback) != 0 }

// packetList is a first-in, first-out list of packets.
type packetList struct{ head, tail int32 }

var emptyList = packetList{-1, -1}

// append adds packet i.
func (q *packetList) append(packets []transportPacket, i int32) {
	packets[i].next = -1
	if q.head < 0 {
		q.head = i
	} else {
		packets[q.tail].next = i
	}
	q.tail = i
}

// take removes the first packet.
func (q *packetList) take(packets []transportPacket) int32 {
	i := q.head
	q.head = packets[i].next
	return i
}

// transportLink is the state of a link.
type transportLink struct {
	freeAt       engine.Time // end of the transmission in progress
	latency      engine.Time
	ticksPerByte uint64
	remainder    uint32 // see serialisationTime
	to           int32
	flight       packetList // packets on the link, in the order of their arrival
	data         packetList
	control      packetList
	ready        packetList // messages of the node whose next packet takes this link; linked by flowState.nextReady
	dataBytes    int64      // in data
	limit        int64      // of dataBytes and sending; 0 means unbounded
	markMin      int64      // thresholds of marks
	markMax      int64      // 0 means no marks
	sending      uint32     // data being sent
	numQueued    int32
	isScheduled  bool // the next service is in the calendar
	isPaused     bool
	isPauseSent  bool // its far end has sent a pause
	isDown       bool
	servedHost   bool // the last data packet came from a message of the node

	stats        LinkStats
	controlBytes int64
	sentBytes    int64 // data that has left, for telemetry
	// With pauses: bytes at the far end that came over the link, the value at the last pause, and the
	// thresholds.
	buffered, pausedAt, pauseAt, resumeAt, headroom int64
	pauses                                          []pauseChange // that have been sent and not arrived
}

// pauseChange is a pause or a resumption that arrives at the node that sends over a link.
type pauseChange struct {
	at     engine.Time
	paused bool
}

// newLinks creates the state of links.
func (t *transportState) newLinks(n *engine.Network) {
	t.links = make([]transportLink, len(n.Links))
	for i, l := range n.Links {
		v := &t.links[i]
		*v = transportLink{
			to: l.To, latency: l.Latency, isDown: l.Rate == 0, limit: l.Buffer,
			flight: emptyList, data: emptyList, control: emptyList, ready: emptyList,
		}
		if l.Rate > 0 {
			v.ticksPerByte = ticksPerByte(l.Rate)
		}
	}
}

// queueBytes returns the data in the queue of a link, with the packet being sent.
func (v *transportLink) queueBytes(now engine.Time) int64 {
	if v.freeAt > now {
		return v.dataBytes + int64(v.sending)
	}
	return v.dataBytes
}

// enqueue adds packet i to the queue of a link. ingress is the link over which it came, or -1.
func (t *transportState) enqueue(link, i, ingress int32, now engine.Time) {
	v, p := &t.links[link], &t.packets[i]
	p.ingress = ingress
	p.time = now
	if p.isControl() {
		if v.limit > 0 && v.controlBytes+int64(p.bytes()) > 2*v.limit {
			t.drop(i, link, QueueFull, now)
			return
		}
		v.controlBytes += int64(p.bytes())
		v.control.append(t.packets, i)
		t.countQueued(v, +1)
		t.kick(link, now)
		return
	}

	size := int64(p.bytes())
	if !t.admits(link, v, ingress, size, now) {
		if !t.trims {
			t.drop(i, link, QueueFull, now)
			return
		}
		t.trim(p, link)
		t.enqueue(link, i, ingress, now)
		return
	}
	if ingress >= 0 {
		t.hold(ingress, size, now)
	}
	v.dataBytes += size
	v.data.append(t.packets, i)
	t.countQueued(v, +1)
	t.kick(link, now)
}

// trim cuts a packet to its header.
func (t *transportState) trim(p *transportPacket, link int32) {
	p.size = p.size&^maxTransportPacket | uint32(t.options.AckBytes) | isTrimmed
	t.stats.Trimmed++
	t.stats.Messages[p.flow].Trimmed++
	t.z.stats.Dropped++
	t.z.stats.DroppedBy[Trimmed]++
	t.links[link].stats.Dropped++
}

// drop discards packet i.
func (t *transportState) drop(i, link int32, cause Cause, now engine.Time) {
	p := &t.packets[i]
	if p.size&isFeedback == 0 {
		z := t.z
		if p.size&isTrimmed == 0 { // a trimmed packet is counted as lost already
			z.stats.Dropped++
			z.stats.DroppedBy[cause]++
			if link >= 0 {
				t.links[link].stats.Dropped++
			}
		}
	}
	t.freePacket(i)
}

// countQueued changes the number of packets in the queues of a link.
func (t *transportState) countQueued(v *transportLink, change int32) {
	v.numQueued += change
	v.stats.MaxQueue = max(v.stats.MaxQueue, v.numQueued)
}

// kick starts a transmission if the link is idle, or schedules one at the end of the present one.
func (t *transportState) kick(link int32, now engine.Time) {
	v := &t.links[link]
	if v.isScheduled || v.isDown {
		return
	}
	if v.freeAt > now {
		v.isScheduled = true
		t.calendar.schedule(t.serviceID(link), v.freeAt)
		return
	}
	t.serve(link, now)
}

// serve sends the next packet of an idle link.
func (t *transportState) serve(link int32, now engine.Time) {
	v := &t.links[link]
	for v.freeAt <= now && !v.isDown {
		switch {
		case v.control.head >= 0:
			i := v.control.take(t.packets)
			v.controlBytes -= int64(t.packets[i].bytes())
			t.countQueued(v, -1)
			t.send(link, v, i, now)
		case v.isPaused:
			return
		case v.data.head >= 0 && (v.ready.head < 0 || v.servedHost):
			i := v.data.take(t.packets)
			p := &t.packets[i]
			v.dataBytes -= int64(p.bytes())
			v.servedHost = false
			t.countQueued(v, -1)
			if p.ingress >= 0 {
				t.release(p.ingress, int64(p.bytes()), now)
			}
			t.mark(v, p)
			t.send(link, v, i, now)
		case v.ready.head >= 0:
			f := v.ready.head
			v.ready.head = t.flows[f].nextReady
			t.flows[f].flags &^= flowReady
			v.servedHost = true
			if i := t.nextPacket(f, now); i >= 0 {
				t.send(link, v, i, now)
				t.trySend(f, now)
			}
		default:
			return
		}
	}
	if !v.isScheduled && (v.control.head >= 0 || v.data.head >= 0 || v.ready.head >= 0) {
		v.isScheduled = true
		t.calendar.schedule(t.serviceID(link), v.freeAt)
	}
}

// mark marks a data packet that leaves a queue, depending on the bytes behind it and its own.
func (t *transportState) mark(v *transportLink, p *transportPacket) {
	if v.markMax == 0 || p.size&isMarked != 0 {
		return
	}
	queue := v.dataBytes + int64(p.bytes())
	switch {
	case queue <= v.markMin:
		return
	case queue < v.markMax:
		share := t.options.MarkShare * float64(queue-v.markMin) / float64(v.markMax-v.markMin)
		if t.rng.Float64() >= share {
			return
		}
	}
	p.size |= isMarked
	t.stats.Marked++
	t.stats.Messages[p.flow].Marked++
}

// send transmits packet i over a link that is idle.
func (t *transportState) send(link int32, v *transportLink, i int32, now engine.Time) {
	p := &t.packets[i]
	bytes := p.bytes()
	remainder := v.remainder
	if now > v.freeAt {
		remainder = noRemainder
	}
	duration, remainder := serialisationTime(v.ticksPerByte, uint64(bytes), remainder)
	v.stats.Waited += now - p.time
	v.stats.Busy += duration
	v.freeAt, v.remainder, v.sending = now+duration, remainder, 0
	if !p.isControl() {
		v.sending = bytes
		v.sentBytes += int64(bytes)
		if t.telemetry != nil {
			t.addTelemetry(v, i, now)
		}
	}
	p.time = v.freeAt + v.latency
	if v.flight.head < 0 {
		t.calendar.schedule(t.arrivalID(link), p.time)
	}
	v.flight.append(t.packets, i)
}

// arrive moves the first packet on a link to its next queue, or delivers it.
func (t *transportState) arrive(link int32, now engine.Time) {
	v := &t.links[link]
	t.z.stats.End = now
	i := v.flight.take(t.packets)
	if v.flight.head >= 0 {
		t.calendar.schedule(t.arrivalID(link), t.packets[v.flight.head].time)
	}
	p := &t.packets[i]
	v.stats.Packets++
	v.stats.Bytes += int64(p.bytes())
	if p.size&isFeedback != 0 {
		if v.to == t.ends[p.flow].Src {
			t.receiveFeedback(i, now)
			return
		}
	} else {
		if t.errorRate > 0 && t.rng.Float64() < packetErrorRate(t.errorRate, int64(p.bytes())) {
			t.drop(i, link, Corrupted, now)
			return
		}
		if v.to == t.ends[p.flow].Dst {
			t.receiveData(i, now)
			return
		}
	}
	next := t.nextLink(v.to, p)
	if next < 0 {
		t.drop(i, -1, NoRoute, now)
		return
	}
	t.enqueue(next, i, link, now)
}

// allocPacket returns a free packet.
func (t *transportState) allocPacket() int32 {
	if t.freeList < 0 {
		first := len(t.packets)
		t.packets = append(t.packets, make([]transportPacket, max(1024, first))...)
		if t.telemetry != nil {
			t.telemetry = append(t.telemetry, make([]hopTelemetry, len(t.packets)*maxTelemetryHops-len(t.telemetry))...)
		}
		for i := len(t.packets) - 1; i >= first; i-- {
			t.packets[i].next, t.freeList = t.freeList, int32(i)
		}
		if int64(len(t.packets)) > t.maxPackets {
			t.z.outOfMemory = true
		}
	}
	i := t.freeList
	t.freeList = t.packets[i].next
	t.numPackets++
	return i
}

// freePacket returns a packet to the free list.
func (t *transportState) freePacket(i int32) {
	t.packets[i].next, t.freeList = t.freeList, i
	t.numPackets--
}

// change sets the rate of a link. If it fails unplanned, its packets are lost.
func (t *transportState) change(c engine.Change) {
	v := &t.links[c.Link]
	if c.Rate > 0 {
		v.ticksPerByte = ticksPerByte(c.Rate)
		v.isDown = false
		t.kick(c.Link, c.At)
		t.resume(c.At)
		return
	}
	v.isDown = true
	if v.isScheduled {
		v.isScheduled = false
		t.calendar.remove(t.serviceID(c.Link), v.freeAt)
	}
	if c.Planned {
		return
	}

	if v.flight.head >= 0 {
		t.calendar.remove(t.arrivalID(c.Link), t.packets[v.flight.head].time)
	}
	for _, q := range []*packetList{&v.flight, &v.data, &v.control} {
		isQueue := q != &v.flight
		for q.head >= 0 {
			i := q.take(t.packets)
			p := &t.packets[i]
			if isQueue {
				t.countQueued(v, -1)
				if p.ingress >= 0 && !p.isControl() {
					t.release(p.ingress, int64(p.bytes()), c.At)
				}
			}
			t.drop(i, c.Link, LinkFailed, c.At)
		}
	}
	v.dataBytes, v.controlBytes, v.freeAt = 0, 0, min(v.freeAt, c.At)
}

// noRate is the rate of a flow that is not paced.
var noRate = math.Inf(1)
