package packet

// This file implements feedback under a transport: how receivers acknowledge packets, and how senders
// detect losses. The law of the sender (law.go) then sets its window or rate.

import "sim/engine"

// receiveData processes a packet that has reached its destination, and acknowledges it.
func (t *transportState) receiveData(k int32, now engine.Time) {
	p := &t.packets[k]
	i := p.flow
	f, m := &t.flows[i], &t.messages[i]
	isTrimmed := p.size&isTrimmed != 0
	flags := p.size & isMarked

	isNew := false
	if !isTrimmed {
		t.countArrival(f, m, p, now)
	}
	switch {
	case isTrimmed:
		flags |= isNegative
		if t.goesBack {
			p.number = f.expected
		}
	case t.goesBack:
		switch {
		case p.number == f.expected:
			f.expected++
			f.flags &^= flowReported
			isNew = true
		case p.number > f.expected && f.flags&flowReported == 0:
			flags |= isNegative
			f.flags |= flowReported
		case p.number > f.expected:
			t.freePacket(k)
			return
		}
		p.number = f.expected
	default:
		if p.number >= f.acked {
			if s := m.slotOf(p.number); s.flags&slotArrived == 0 {
				s.flags |= slotArrived
				isNew = true
			}
		}
	}
	if t.law == rcccLaw {
		if isTrimmed {
			m.needed++
		}
		t.requestCredit(i, now)
	}
	t.returnFeedback(k, flags, now)
	if isNew {
		if m.arrived++; m.arrived == m.count {
			t.z.endTask(i, now)
		}
	}
}

// countArrival counts a data packet that has arrived. The delay of duplicates is not known.
func (t *transportState) countArrival(f *flowState, m *message, p *transportPacket, now engine.Time) {
	inject := engine.Time(-1) // outside the measured time
	if p.number >= f.acked {
		inject = m.slotOf(p.number).sent
	}
	t.z.stats.countDelivery(t.z, inject, now, int64(p.bytes()))
}

// returnFeedback sends packet k back to its sender as feedback with the given flags.
func (t *transportState) returnFeedback(k int32, flags uint32, now engine.Time) {
	p := &t.packets[k]
	i := p.flow
	m := &t.messages[i]
	p.size = uint32(t.options.AckBytes) | flags | isFeedback | p.size/firstHop*firstHop
	p.ingress = -1
	if t.isCarried {
		p.route = int32(m.entropy)
		link := t.nextLink(t.ends[i].Dst, p)
		if link < 0 {
			t.freePacket(k)
			return
		}
		const noIngress = -1
		t.enqueue(link, k, noIngress, now)
		return
	}
	t.sendExpress(i, k, now)
}

// sendExpress delivers feedback to the sender of message i after the delay of empty links.
func (t *transportState) sendExpress(i, k int32, now engine.Time) {
	m, p := &t.messages[i], &t.packets[k]
	p.time = now + m.returnDelay
	if m.feedback.head < 0 {
		t.calendar.schedule(t.feedbackID(i), p.time)
	}
	m.feedback.append(t.packets, k)
}

// receiveFeedback processes feedback k at the sender of its message.
func (t *transportState) receiveFeedback(k int32, now engine.Time) {
	p := t.packets[k]
	i := p.flow
	f, m := &t.flows[i], &t.messages[i]
	if m.count == 0 || f.acked == m.count { // all packets have arrived
		t.freePacket(k)
		return
	}
	if p.size&isCredit != 0 {
		f.credit += p.number
		t.freePacket(k)
		t.trySend(i, now)
		return
	}

	s := signal{isMarked: p.size&isMarked != 0, packet: k}
	switch {
	case t.goesBack:
		t.receiveCumulative(f, m, &p, &s, now)
	case p.size&isNegative != 0:
		t.lose(f, m, p.number)
		s.lost = 1
		s.isTrim = true
	default:
		t.receiveSelective(f, m, &p, &s, now)
		t.askCredit(i, s.lost, now)
	}
	if s.acked > 0 {
		m.backoff = 0
		f.deadline = engine.Never
		if f.inFlight > 0 || len(m.resend) > 0 {
			t.armTimeout(i, now)
		}
	}
	if s.rtt > 0 {
		m.sampleRTT(s.rtt)
	}
	t.applyLaw(i, f, m, &s, now)
	t.freePacket(k)
	if f.acked == m.count {
		f.deadline = engine.Never
		m.slots, m.resend, m.recycled = nil, nil, nil
		return
	}
	t.trySend(i, now)
}

// signal is the content of feedback for the law of a sender.
type signal struct {
	isMarked bool
	isTrim   bool        // a packet was trimmed
	acked    uint32      // packets that are acknowledged for the first time
	lost     uint32      // packets that became known as lost
	rtt      engine.Time // 0 if unknown
	packet   int32       // the feedback, for telemetry
}

// receiveCumulative processes feedback under go-back-n: all packets below its number have
// arrived.
func (t *transportState) receiveCumulative(f *flowState, m *message, p *transportPacket, s *signal, now engine.Time) {
	if p.number > f.acked {
		last := m.slotOf(p.number - 1)
		if last.flags&slotResent == 0 && p.number <= f.next {
			s.rtt = now - last.sent
		}
		s.acked = p.number - f.acked
		f.acked = p.number
		f.next = max(f.next, p.number)
	}
	if p.size&isNegative != 0 && p.number >= f.acked {
		s.lost = f.next - f.acked
		s.isTrim = p.size&isTrimmed != 0
		f.next = f.acked
	}
	f.inFlight = f.next - f.acked
}

// receiveSelective processes the acknowledgement of a single packet.
func (t *transportState) receiveSelective(f *flowState, m *message, p *transportPacket, s *signal, now engine.Time) {
	if p.number < f.acked {
		return
	}
	e := m.slotOf(p.number)
	if e.flags&slotAcked != 0 {
		return
	}
	if e.flags&slotResent == 0 {
		s.rtt = now - e.sent
	}
	if e.flags&slotLost == 0 {
		f.inFlight--
	}
	e.flags |= slotAcked
	s.acked = 1
	if t.balance == repsBalance && !s.isMarked {
		t.recycle(m, e.entropy)
	}
	for f.acked < f.next && m.slotOf(f.acked).flags&slotAcked != 0 {
		f.acked++
	}
	m.highest = max(m.highest, p.number+1)

	// Packets on one path arrive in order. Three later ones that have arrived show a loss.
	const later = 3
	if t.balance != flowBalance && t.routes.hasChoice {
		return
	}
	if m.highest < later {
		return
	}
	for k := max(f.acked, m.lossScan); k < m.highest-later; k++ {
		if m.slotOf(k).flags&(slotAcked|slotLost|slotResent) == 0 {
			t.lose(f, m, k)
			s.lost++
		}
	}
	m.lossScan = max(m.lossScan, m.highest-later)
}

// lose records that a packet is lost, so that it is sent again.
func (t *transportState) lose(f *flowState, m *message, number uint32) {
	if number < f.acked || number >= f.next {
		return
	}
	if s := m.slotOf(number); s.flags&(slotAcked|slotLost) == 0 {
		s.flags |= slotLost
		f.inFlight--
		m.resend = append(m.resend, number)
	}
}

// askCredit asks the receiver of message i for credit for packets that were lost without its
// notice.
func (t *transportState) askCredit(i int32, packets uint32, now engine.Time) {
	if t.law == rcccLaw && packets > 0 {
		t.messages[i].needed += packets
		t.requestCredit(i, now)
	}
}

// sampleRTT updates the estimate of the round-trip time (RFC 6298).
func (m *message) sampleRTT(rtt engine.Time) {
	if m.srtt == 0 {
		m.srtt, m.variation = rtt, rtt/2
		return
	}
	difference := max(m.srtt-rtt, rtt-m.srtt)
	m.variation += (difference - m.variation) / 4
	m.srtt += (rtt - m.srtt) / 8
}

// armTimeout sets the deadline of a message.
func (t *transportState) armTimeout(i int32, now engine.Time) {
	f, m := &t.flows[i], &t.messages[i]
	wait := max(t.rtoMin, m.srtt+4*m.variation, 2*m.baseRTT)
	f.deadline = now + wait<<m.backoff
	if f.flags&flowTimed == 0 {
		f.flags |= flowTimed
		t.calendar.schedule(t.timeoutID(i), f.deadline)
	}
}

// maxTimeouts is the number of timeouts of a sender in a row without any arrival in the network, after
// which it waits for a change of links. Without a change, the run then ends with an error.
const maxTimeouts = 16

// maxBackoff is the maximum number of times that timeouts in a row double the wait.
const maxBackoff = 6

// resume sets the timeouts of senders that wait for a change of links.
func (t *transportState) resume(now engine.Time) {
	for i := range t.messages {
		if m := &t.messages[i]; t.numWaiting > 0 && m.silent > maxTimeouts {
			m.backoff, m.silent = 0, 0
			t.numWaiting--
			t.armTimeout(int32(i), now)
		}
	}
}

// timeout sends packets again if the deadline of a message has passed without progress.
func (t *transportState) timeout(i int32, now engine.Time) {
	f, m := &t.flows[i], &t.messages[i]
	f.flags &^= flowTimed
	if f.deadline == engine.Never || f.acked == m.count {
		return
	}
	if f.deadline > now {
		f.flags |= flowTimed
		t.calendar.schedule(t.timeoutID(i), f.deadline)
		return
	}

	s := signal{packet: -1}
	if t.goesBack {
		s.lost = f.next - f.acked
		f.next, f.inFlight = f.acked, 0
		f.flags &^= flowReported // the receiver's report may have been lost
	} else {
		for k := f.acked; k != f.next; k++ {
			before := len(m.resend)
			t.lose(f, m, k)
			s.lost += uint32(len(m.resend) - before)
		}
	}
	t.askCredit(i, s.lost, now)
	t.timeoutLaw(i, f, m, now)
	m.backoff = min(m.backoff+1, maxBackoff)
	if delivered := t.z.stats.Delivered; m.delivered != delivered {
		m.delivered, m.silent = delivered, 0
	} else if m.silent++; m.silent > maxTimeouts {
		f.deadline = engine.Never // until a link changes
		t.numWaiting++
		return
	}
	t.armTimeout(i, now)
	t.trySend(i, now)
}
