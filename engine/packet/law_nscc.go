package packet

import "sim/engine"

// NSCC holds the keys of the network-signalled congestion control of Ultra Ethernet.
type NSCC struct {
	Target   engine.Time `key:"target" doc:"queueing delay that senders aim at; 0s means 3/4 of the round trip if switches trim, else the round trip" default:"0s"`
	MaxDecay float64     `key:"decay" doc:"share of the excess delay by which the window is cut" default:"0.8" above:"0" max:"1"`
}

// nsccState is the state of a sender. Windows are in bytes, and delays in ticks.
type nsccState struct {
	options      *NSCC
	maxWindow    float64
	scale        float64 // of increases, by the bandwidth-delay product
	target       float64
	proportional float64     // weight of the delay below the target in the increase
	increase     float64     // collected increases times the window
	delay        float64     // mean queueing delay
	acked        float64     // since the last increase
	achieved     float64     // acknowledged in this period of the quick adaptation
	fast         float64     // acknowledged with hardly any delay
	increasedAt  engine.Time // last increase
	steadyAt     engine.Time // last constant increase
	cutAt        engine.Time
	periodEnd    engine.Time // of the quick adaptation
	ignored      int64       // packets whose feedback does not count
	hadLoss      bool        // in this period
}

// Constants of NSCC, by the reference implementation of Ultra Ethernet.
const (
	nsccReferenceProduct = 150_000                 // bytes of a bandwidth-delay product: 100 Gb/s in 12 us
	nsccReferenceDelay   = 12 * engine.Microsecond // queueing delay to which proportional increases refer
	nsccFair             = 5.0                     // packets by which a window above the target delay grows per round trip
	nsccProportional     = 4.0                     // and below the target
	nsccSteady           = 0.15                    // and always
	nsccFast             = 0.25                    // share of acknowledged bytes by which a window grows without delay
	nsccDelayWeight      = 0.0125                  // weight of a sample in the mean delay
	nsccFastDelay        = engine.Microsecond      // delay that counts as none
	nsccIncreasePackets  = 8                       // packets after which increases apply
	nsccMaxCut           = 0.5                     // smallest factor of a cut
	nsccQuickShare       = 1.0 / 8                 // share of the maximum window below which a period has achieved little
	nsccQuickDelay       = 4.0                     // target delays that count as a loss
)

// newNSCC returns the state of a sender of message m.
func newNSCC(t *transportState, m *message, window float64, now engine.Time) nsccState {
	o := &t.options.NSCC
	target := float64(o.Target)
	if target == 0 {
		target = float64(m.baseRTT)
		if t.trims {
			target *= 0.75
		}
	}
	n := nsccState{options: o, maxWindow: window, scale: m.product / nsccReferenceProduct, target: target}
	packet := float64(t.packetBytes)
	n.proportional = nsccProportional * packet * n.scale * (target / float64(nsccReferenceDelay)) / target
	n.increasedAt, n.steadyAt, n.periodEnd = now, now, now+m.baseRTT+engine.Time(target)
	return n
}

// adapt changes the window by the mark and the delay of a packet.
func (n *nsccState) adapt(f *flowState, m *message, s *signal, packet float64, now engine.Time) {
	isIgnored := n.ignored > 0
	n.ignored -= int64(s.acked + s.lost)
	if s.lost > 0 && !isIgnored {
		n.lost(f, packet*float64(s.lost))
	}
	if s.acked > 0 && !isIgnored {
		n.applyDelay(f, m, s, packet, now)
	}
	if now >= n.periodEnd {
		n.adaptQuickly(f, m, now)
	}
	f.window = min(max(f.window, packet), n.maxWindow)
}

// applyDelay applies one of the four cases of mark and delay.
func (n *nsccState) applyDelay(f *flowState, m *message, s *signal, packet float64, now engine.Time) {
	bytes := packet * float64(s.acked)
	n.achieved += bytes
	n.acked += bytes
	if s.rtt > 0 {
		delay := float64(max(0, s.rtt-m.baseRTT))
		n.delay += nsccDelayWeight * (delay - n.delay)
		if delay > nsccQuickDelay*n.target {
			n.hadLoss = true
		}

		isLate := delay >= n.target
		isFast := !s.isMarked && delay < float64(nsccFastDelay)
		if n.fast += bytes; !isFast {
			n.fast = 0
		}
		switch {
		case n.fast > f.window:
			f.window += nsccFast * n.scale * bytes
		case !s.isMarked && isLate:
			n.increase += nsccFair * packet * n.scale * bytes
		case !s.isMarked:
			n.increase += n.proportional * bytes * (n.target - delay)
		case isLate && n.delay > n.target && now >= n.cutAt+m.baseRTT:
			f.window *= max(1-n.options.MaxDecay*(n.delay-n.target)/n.delay, nsccMaxCut)
			n.cutAt = now
		}
	}
	if n.acked >= nsccIncreasePackets*packet || now >= n.increasedAt+m.baseRTT {
		f.window += n.increase / f.window
		n.increase, n.acked, n.increasedAt = 0, 0, now
	}
	if now >= n.steadyAt+m.baseRTT {
		f.window += nsccSteady * packet * n.scale
		n.steadyAt = now
	}
}

// lost reduces the window by lost bytes.
func (n *nsccState) lost(f *flowState, bytes float64) {
	n.hadLoss = true
	f.window -= bytes
}

// adaptQuickly sets the window to the bytes that a period has achieved, if they were few and packets
// were lost or late. Packets in flight then do not count.
func (n *nsccState) adaptQuickly(f *flowState, m *message, now engine.Time) {
	if n.hadLoss && n.achieved < nsccQuickShare*n.maxWindow {
		f.window = n.achieved
		n.ignored = int64(f.inFlight)
		n.increase = 0
	}
	n.achieved, n.hadLoss = 0, false
	n.periodEnd = now + m.baseRTT + engine.Time(n.target)
}
