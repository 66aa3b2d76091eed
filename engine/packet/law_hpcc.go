package packet

import "sim/engine"

// HPCC holds the keys of the law of Li et al. (SIGCOMM 2019).
type HPCC struct {
	Use       float64 `key:"target_use" doc:"share of a link's rate that senders aim at" default:"0.95" above:"0" max:"1"`
	MaxStages int     `key:"max_stages" doc:"additive increases after which the window follows the use of links again" default:"5" min:"0" max:"1000"`
	Senders   int     `key:"senders" doc:"messages on a link for which the additive increase is chosen: the window times (1 - target_use) over this number" default:"100" min:"1" max:"1000000"`
}

// maxTelemetryHops is the maximum number of links of a path that telemetry covers. Further links
// are ignored.
const maxTelemetryHops = 8

// hopTelemetry is the state of a link, which it writes into each data packet that it sends.
type hopTelemetry struct {
	time      engine.Time
	sentBytes int64
	queue     int64
	rate      float64 // bytes per tick
}

// addTelemetry writes the state of a link into packet i.
func (t *transportState) addTelemetry(v *transportLink, i int32, now engine.Time) {
	p := &t.packets[i]
	hop := p.size / firstHop
	if hop >= maxTelemetryHops {
		return
	}
	p.size += firstHop
	t.telemetry[int(i)*maxTelemetryHops+int(hop)] = hopTelemetry{
		time: now, sentBytes: v.sentBytes, queue: v.dataBytes, rate: (1 << 32) / float64(v.ticksPerByte),
	}
}

// hpccState is the state of a sender.
type hpccState struct {
	hops       [maxTelemetryHops]hopTelemetry // of the last acknowledgement
	numHops    uint32
	use        float64 // mean use of the most used link
	reference  float64 // window that changes refer to
	additive   float64
	maxWindow  float64
	stages     int
	lastUpdate uint32 // first packet that was sent after the last change of reference
}

func newHPCC(t *transportState, m *message, window float64) hpccState {
	o := &t.options.HPCC
	return hpccState{reference: window, maxWindow: window, additive: window * (1 - o.Use) / float64(o.Senders)}
}

// adapt sets the window so that the most used link of the path gets the target use.
func (h *hpccState) adapt(t *transportState, f *flowState, m *message, s *signal) {
	hops := t.packets[s.packet].size / firstHop
	first := int(s.packet) * maxTelemetryHops
	now := t.telemetry[first : first+int(hops)]
	if hops == h.numHops && hops > 0 {
		h.measure(now, float64(m.baseRTT))
		h.setWindow(&t.options.HPCC, f, float64(t.packetBytes))
	}
	copy(h.hops[:], now)
	h.numHops = hops
	f.rate = f.window / float64(m.baseRTT)
}

// measure updates the mean use by the use of the most used link since the last acknowledgement.
func (h *hpccState) measure(now []hopTelemetry, baseRTT float64) {
	maxUse, span := 0.0, 0.0
	for i := range now {
		a, b := &h.hops[i], &now[i]
		elapsed := float64(b.time - a.time)
		if elapsed <= 0 {
			continue
		}
		use := float64(b.sentBytes-a.sentBytes)/elapsed/b.rate + float64(min(a.queue, b.queue))/(b.rate*baseRTT)
		if use > maxUse {
			maxUse, span = use, elapsed
		}
	}
	weight := min(span, baseRTT) / baseRTT
	h.use += weight * (maxUse - h.use)
}

// setWindow computes the window from the reference, and replaces the reference once per round trip.
func (h *hpccState) setWindow(o *HPCC, f *flowState, packet float64) {
	isUpdate := f.acked > h.lastUpdate
	stages := h.stages
	if h.use >= o.Use || h.stages >= o.MaxStages {
		f.window = h.reference/(h.use/o.Use) + h.additive
		stages = 0
	} else {
		f.window = h.reference + h.additive
		stages++
	}
	f.window = min(max(f.window, packet), h.maxWindow)
	if isUpdate {
		h.reference, h.stages, h.lastUpdate = f.window, stages, f.next
	}
}
