package packet

// This file calls the law of a transport: the rule by which a sender sets its window or rate.
// Each law is in a file law_*.go.

import (
	"math"

	"sim/engine"
)

// startLaw sets the first window and rate of a message.
func (t *transportState) startLaw(i int32, f *flowState, m *message, now engine.Time) {
	packet := float64(t.packetBytes)
	switch t.law {
	case windowLaw:
		f.window = t.firstWindow((math.Ceil(m.product/packet) + 1) * packet)
	case dctcpLaw:
		f.window = t.firstWindow(10 * packet)
		t.dctcp[i] = newDCTCP(&t.options.DCTCP)
	case dcqcnLaw:
		f.window = t.firstWindow(math.Inf(1))
		f.rate = m.lineRate
		t.dcqcn[i] = dcqcnState{target: m.lineRate, alpha: 1, maxWindow: f.window}
	case nsccLaw:
		f.window = t.firstWindow(1.5 * m.product)
		t.nscc[i] = newNSCC(t, m, f.window, now)
	case rcccLaw:
		m.granted = min(m.count, uint32(math.Ceil(t.firstWindow(1.5*m.product)/packet)))
		f.credit = m.granted
	case hpccLaw:
		f.window = t.firstWindow(m.product)
		t.hpcc[i] = newHPCC(t, m, f.window)
		f.rate = f.window / float64(m.baseRTT)
	}
}

// firstWindow returns the window that the scenario sets, or else the default, and at least one
// packet.
func (t *transportState) firstWindow(otherwise float64) float64 {
	if t.options.Window > 0 {
		return float64(t.options.Window)
	}
	return max(otherwise, float64(t.packetBytes))
}

// applyLaw adapts the window and the rate of a message to feedback.
func (t *transportState) applyLaw(i int32, f *flowState, m *message, s *signal, now engine.Time) {
	switch t.law {
	case dctcpLaw:
		t.dctcp[i].adapt(&t.options.DCTCP, f, s, float64(t.packetBytes))
	case dcqcnLaw:
		t.dcqcn[i].adapt(&t.options.DCQCN, f, m, s, now)
	case nsccLaw:
		t.nscc[i].adapt(f, m, s, float64(t.packetBytes), now)
	case hpccLaw:
		if s.acked > 0 {
			t.hpcc[i].adapt(t, f, m, s)
		}
	}
}

// timeoutLaw adapts the window of a message to a timeout.
func (t *transportState) timeoutLaw(i int32, f *flowState, m *message, now engine.Time) {
	packet := float64(t.packetBytes)
	switch t.law {
	case dctcpLaw:
		d := &t.dctcp[i]
		d.threshold = max(f.window/2, 2*packet)
		d.recoverUntil = f.next
		f.window = packet
	case nsccLaw:
		t.nscc[i].lost(f, packet)
	}
}
