package packet

import (
	"math"

	"sim/engine"
	"sim/engine/units"
)

// DCQCN holds the keys of the law of Zhu et al. (SIGCOMM 2015). Rates of 0 follow the link.
type DCQCN struct {
	Gain        float64     `key:"gain" doc:"weight of a period in the mean share of periods with marks" default:"0.00390625" above:"0" max:"1"`
	AlphaPeriod engine.Time `key:"alpha_period" doc:"time after which the mean is updated" default:"1us"`
	CutPeriod   engine.Time `key:"cut_period" doc:"minimum time between two cuts of the rate" default:"4us"`
	TimerPeriod engine.Time `key:"timer_period" doc:"time after which the rate is increased" default:"300us"`
	ByteCounter units.Bytes `key:"byte_counter" doc:"bytes after which the rate is increased; 0B disables it" default:"0B"`
	Fast        int         `key:"fast_stages" doc:"increases after a cut that only halve the distance to the rate before it" default:"1" min:"0" max:"1000"`
	Additive    units.Rate  `key:"additive" doc:"further increase of the target rate; 0bps means 5 Mb/s for each 25 Gb/s of the link" default:"0bps" max:"1e16"`
	Hyper       units.Rate  `key:"hyper" doc:"increase after even more stages; 0bps means 50 Mb/s for each 25 Gb/s of the link" default:"0bps" max:"1e16"`
	MinRate     units.Rate  `key:"min_rate" doc:"minimum rate" default:"100Mbps" above:"0" max:"1e16"`
	ScaleWindow bool        `key:"scale_window" doc:"whether the window shrinks with the rate" default:"false"`
}

// dcqcnState is the state of a sender. Its timers are not events: advance applies all that have
// passed when something happens to the message.
type dcqcnState struct {
	target, alpha float64 // bytes per tick
	maxWindow     float64
	alphaAt       engine.Time // last update of alpha
	timerAt       engine.Time // last increase by the timer, or last cut
	lastCut       engine.Time
	bytes         int64 // sent since the last increase by bytes
	timerStages   int32 // increases by the timer since the last cut
	byteStages    int32 // and by bytes
	started       bool  // a mark has arrived
	wasMarked     bool  // in the present period of alpha
	cutPending    bool  // a mark has arrived since the last cut
}

// dcqcnSent counts bytes that message i has sent.
func (t *transportState) dcqcnSent(i int32, bytes uint32) {
	d, o := &t.dcqcn[i], &t.options.DCQCN
	if !d.started || o.ByteCounter == 0 {
		return
	}
	for d.bytes += int64(bytes); d.bytes >= int64(o.ByteCounter); d.bytes -= int64(o.ByteCounter) {
		d.byteStages++
		d.increase(o, &t.flows[i], &t.messages[i])
	}
}

// adapt applies the timers that have passed, and a mark.
func (d *dcqcnState) adapt(o *DCQCN, f *flowState, m *message, s *signal, now engine.Time) {
	if d.started {
		d.advance(o, f, m, now)
	}
	switch {
	case s.isMarked && !d.started: // the first cut follows after a period
		d.started, d.alpha, d.target = true, 1, f.rate
		d.alphaAt, d.timerAt, d.lastCut = now, now, now
		d.cutPending = true
	case s.isMarked:
		d.wasMarked, d.cutPending = true, true
		d.advance(o, f, m, now)
	}
	if o.ScaleWindow && !math.IsInf(d.maxWindow, 1) {
		f.window = d.maxWindow * f.rate / m.lineRate
	}
}

// advance applies the events of the timers up to time now, in their order.
func (d *dcqcnState) advance(o *DCQCN, f *flowState, m *message, now engine.Time) {
	for {
		cutAt := engine.Never
		if d.cutPending {
			cutAt = max(d.lastCut+o.CutPeriod, d.alphaAt)
		}
		timerAt := d.timerAt + o.TimerPeriod
		next := min(cutAt, timerAt)
		d.decay(o, min(next, now))
		switch {
		case next > now:
			return
		case next == cutAt:
			d.cut(o, f, next)
		default:
			d.timerAt = timerAt
			d.timerStages++
			d.increase(o, f, m)
		}
	}
}

// decay updates alpha for the periods that end until the given time. All but the first are
// without marks.
func (d *dcqcnState) decay(o *DCQCN, until engine.Time) {
	periods := (until - d.alphaAt) / o.AlphaPeriod
	if periods <= 0 {
		return
	}
	d.alpha *= 1 - o.Gain
	if d.wasMarked {
		d.alpha += o.Gain
		d.wasMarked = false
	}
	if periods > 1 {
		d.alpha *= math.Pow(1-o.Gain, float64(periods-1))
	}
	d.alphaAt += periods * o.AlphaPeriod
}

// cut reduces the rate.
func (d *dcqcnState) cut(o *DCQCN, f *flowState, at engine.Time) {
	if d.timerStages > 0 || d.byteStages > 0 {
		d.target = f.rate
	}
	f.rate = max(bytesPerTick(o.MinRate), f.rate*(1-d.alpha/2))
	d.cutPending, d.lastCut, d.timerAt = false, at, at
	d.timerStages, d.byteStages, d.bytes = 0, 0, 0
}

// increase raises the rate by one stage: halfway to the target, which itself rises after the
// first stages.
func (d *dcqcnState) increase(o *DCQCN, f *flowState, m *message) {
	additive, hyper := bytesPerTick(o.Additive), bytesPerTick(o.Hyper)
	if additive == 0 {
		additive = m.lineRate * 5e6 / 25e9
	}
	if hyper == 0 {
		hyper = m.lineRate * 50e6 / 25e9
	}
	fast := int32(o.Fast)
	switch {
	case max(d.timerStages, d.byteStages) <= fast:
	case d.timerStages > fast+1 && (o.ByteCounter == 0 || d.byteStages > fast+1):
		d.target += hyper
	default:
		d.target += additive
	}
	d.target = min(d.target, m.lineRate)
	f.rate = min((d.target+f.rate)/2, m.lineRate)
}

// bytesPerTick converts a rate.
func bytesPerTick(r units.Rate) float64 { return float64(r) / (8 * float64(engine.Second)) }
