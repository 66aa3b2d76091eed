package packet

import "math"

// DCTCP holds the keys of the law of Data Center TCP (RFC 8257).
type DCTCP struct {
	Gain  float64 `key:"gain" doc:"weight of a window in the mean share of marked packets" default:"0.0625" above:"0" max:"1"`
	Alpha float64 `key:"first_alpha" doc:"mean share of marked packets at the start" default:"1.0" min:"0" max:"1"`
}

// dctcpState is the state of a sender.
type dctcpState struct {
	alpha         float64 // mean share of marked packets
	threshold     float64 // window in bytes above which it grows by a packet per round trip
	acked, marked uint32  // packets of this window
	windowEnd     uint32  // first packet of the next window
	recoverUntil  uint32  // losses below have been answered
}

func newDCTCP(o *DCTCP) dctcpState { return dctcpState{alpha: o.Alpha, threshold: math.Inf(1)} }

// adapt grows the window by the acknowledged packets. Once per window, it cuts the window by half
// the mean share of marked packets. A loss halves it.
func (d *dctcpState) adapt(o *DCTCP, f *flowState, s *signal, packet float64) {
	if s.lost > 0 && f.acked >= d.recoverUntil {
		d.threshold = max(f.window/2, 2*packet)
		f.window = d.threshold
		d.recoverUntil = f.next
	}

	d.acked += s.acked
	if s.isMarked {
		d.marked += s.acked
		d.threshold = min(d.threshold, f.window) // slow start ends
	}
	bytes := float64(s.acked) * packet
	if f.window < d.threshold {
		f.window += bytes
	} else {
		f.window += packet * bytes / f.window
	}

	if f.acked < d.windowEnd || d.acked == 0 {
		return
	}
	d.alpha += o.Gain * (float64(d.marked)/float64(d.acked) - d.alpha)
	if d.marked > 0 {
		f.window = max(packet, f.window*(1-d.alpha/2))
		d.threshold = f.window
	}
	d.acked, d.marked, d.windowEnd = 0, 0, f.next
}
