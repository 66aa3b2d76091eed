package packet

import (
	"math"

	"sim/engine"
)

// RCCC holds the keys of the receiver-credit congestion control of Ultra Ethernet, which follows
// EQDS (Olteanu et al., NSDI 2022).
type RCCC struct {
	Pull  int     `key:"pull_packets" doc:"packets that a credit allows" default:"4" min:"1" max:"1024"`
	Share float64 `key:"rate_share" doc:"share of the receiver's link for which it grants credit" default:"0.99" above:"0" max:"1"`
}

// creditPacer sends the credits of a receiver, to its senders in turn.
type creditPacer struct {
	senders  []int32 // messages that wait for credit
	nextAt   engine.Time
	isActive bool // its next event is in the calendar
}

// requestCredit adds message i to the senders that its receiver grants credit to, if it needs
// any.
func (t *transportState) requestCredit(i int32, now engine.Time) {
	f, m := &t.flows[i], &t.messages[i]
	if f.flags&flowAsksCredit != 0 || m.granted >= m.needed {
		return
	}
	f.flags |= flowAsksCredit
	node := t.ends[i].Dst
	r := &t.receivers[node]
	r.senders = append(r.senders, i)
	if !r.isActive {
		r.isActive = true
		t.calendar.schedule(t.creditID(node), max(now, r.nextAt))
	}
}

// sendCredit grants credit to the next sender of a receiver.
func (t *transportState) sendCredit(node int32, now engine.Time) {
	r, o := &t.receivers[node], &t.options.RCCC
	i := r.senders[0]
	r.senders = r.senders[:copy(r.senders, r.senders[1:])]
	f, m := &t.flows[i], &t.messages[i]

	packets := min(uint32(o.Pull), m.needed-m.granted)
	m.granted += packets
	if m.granted < m.needed {
		r.senders = append(r.senders, i)
	} else {
		f.flags &^= flowAsksCredit
	}
	bytes := float64(packets) * float64(t.packetBytes)
	r.nextAt = now + engine.Time(math.Ceil(bytes/(m.lineRate*o.Share)))
	if r.isActive = len(r.senders) > 0; r.isActive {
		t.calendar.schedule(t.creditID(node), r.nextAt)
	}

	k := t.allocPacket()
	t.packets[k] = transportPacket{flow: i, number: packets, size: uint32(t.options.AckBytes) | isFeedback | isCredit, ingress: -1, next: -1, time: now}
	if t.isCarried {
		t.returnFeedback(k, isCredit, now)
		return
	}
	t.sendExpress(i, k, now)
}
