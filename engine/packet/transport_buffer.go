package packet

// This file implements the buffers of switches under a transport: thresholds of marks and pauses, what
// a queue admits, and pauses of links.

import "sim/engine"

// setThresholds sets the thresholds of marks and pauses of a link.
func (t *transportState) setThresholds(v *transportLink, rate float64, packetBytes int32) {
	o, packet := t.options, int64(packetBytes)
	product := rate / 8 * t.typicalRTT.Seconds()
	switch t.law {
	case dctcpLaw:
		v.markMin = max(int64(product/7), 15*packet)
		v.markMax = v.markMin
	case nsccLaw, rcccLaw:
		v.markMin, v.markMax = int64(0.2*product), int64(0.8*product)
	case dcqcnLaw:
		v.markMin = int64(100e3 * rate / 25e9)
		v.markMax = 4 * v.markMin
	}
	if o.MarkMin > 0 {
		v.markMin = int64(o.MarkMin)
		v.markMax = max(v.markMin, v.markMax)
	}
	if o.MarkMax > 0 {
		v.markMax = int64(o.MarkMax)
		v.markMin = min(v.markMin, v.markMax)
	}
	if t.pauses {
		v.pauseAt, v.resumeAt = int64(o.PauseAt), int64(o.ResumeAt)
		if v.pauseAt == 0 {
			v.pauseAt = 80 * packet
		}
		if v.resumeAt == 0 {
			v.resumeAt = v.pauseAt * 3 / 4
		}
		if v.headroom = int64(o.Headroom); v.headroom == 0 {
			v.headroom = int64(2*v.latency.Seconds()*rate/8) + 2*packet + 3840
		}
	}
}

// admits reports whether a data packet fits.
func (t *transportState) admits(link int32, v *transportLink, ingress int32, size int64, now engine.Time) bool {
	if t.pauses {
		if ingress < 0 {
			return true
		}
		g := &t.links[ingress]
		return !g.isPauseSent || g.buffered+size <= g.pausedAt+g.headroom
	}
	if t.nodeBytes != nil {
		free := float64(int64(t.options.SharedBuffer) - t.nodeBytes[t.from[link]])
		return float64(v.queueBytes(now)+size) <= t.options.BufferShare*free
	}
	return v.limit == 0 || v.queueBytes(now)+size <= v.limit
}

// pauseThreshold returns the bytes from a link at which its far end pauses it.
func (t *transportState) pauseThreshold(ingress int32) int64 {
	g := &t.links[ingress]
	if t.nodeBytes == nil {
		return g.pauseAt
	}
	free := max(0, int64(t.options.SharedBuffer)-t.nodeBytes[g.to])
	return int64(t.options.BufferShare * float64(free))
}

// hold counts bytes that came over a link and wait at its far end, and pauses the link if
// they are too many.
func (t *transportState) hold(ingress int32, size int64, now engine.Time) {
	g := &t.links[ingress]
	if t.nodeBytes != nil {
		t.nodeBytes[g.to] += size
	}
	if !t.pauses {
		return
	}
	if g.buffered += size; !g.isPauseSent && g.buffered > t.pauseThreshold(ingress) {
		g.isPauseSent, g.pausedAt = true, g.buffered
		t.stats.Pauses++
		t.sendPause(ingress, true, now)
	}
}

// release counts bytes that leave the node at the far end of a link.
func (t *transportState) release(ingress int32, size int64, now engine.Time) {
	g := &t.links[ingress]
	if t.nodeBytes != nil {
		t.nodeBytes[g.to] -= size
	}
	if !t.pauses {
		return
	}
	resumeAt := g.resumeAt
	if t.nodeBytes != nil {
		resumeAt = t.pauseThreshold(ingress) * 3 / 4
	}
	if g.buffered -= size; g.isPauseSent && g.buffered <= resumeAt {
		g.isPauseSent = false
		t.sendPause(ingress, false, now)
	}
}

// sendPause sends a pause or a resumption against the direction of a link.
func (t *transportState) sendPause(link int32, paused bool, now engine.Time) {
	v := &t.links[link]
	v.pauses = append(v.pauses, pauseChange{now + v.latency, paused})
	if len(v.pauses) == 1 {
		t.calendar.schedule(t.pauseID(link), now+v.latency)
	}
}

// receivePause applies the first pause change of a link.
func (t *transportState) receivePause(link int32, now engine.Time) {
	v := &t.links[link]
	v.isPaused = v.pauses[0].paused
	if v.pauses = v.pauses[1:]; len(v.pauses) > 0 {
		t.calendar.schedule(t.pauseID(link), v.pauses[0].at)
	}
	if !v.isPaused {
		t.kick(link, now)
	}
}
