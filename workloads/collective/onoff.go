package collective

import (
	"fmt"
	"math"

	"sim/engine"
	"sim/engine/units"
)

// OnOff is a source that sends packets at a constant rate for a limited time. It sends
// one packet per interval; the first one is sent one interval after the start, as in
// ns-3's OnOffApplication.
type OnOff struct {
	Rate            units.Rate  // payload rate per flow
	PayloadBytes    int32       // bytes per packet that Rate counts
	WireBytes       int32       // bytes per packet on links, at least PayloadBytes
	Start, Duration engine.Time // start and duration of sending
}

// Interval returns the time between packets in ticks, including fractions.
func (s OnOff) Interval() float64 {
	return float64(s.PayloadBytes) * 8 / float64(s.Rate) * float64(engine.Second)
}

// Packets returns the number of packets per flow: the whole intervals in Duration.
func (s OnOff) Packets() int64 {
	const whole = 1e-9 // relative tolerance, for quotients that are whole except for rounding
	return int64(math.Floor(float64(s.Duration) / s.Interval() * (1 + whole)))
}

// Check fails if a flow sends nothing or if a value is out of range.
func (s OnOff) Check() error {
	switch {
	case !(s.Rate > 0) || math.IsInf(float64(s.Rate), 0):
		return fmt.Errorf("%w: sources of %v; want a rate above 0", ErrTraffic, float64(s.Rate))
	case s.PayloadBytes < 1 || s.WireBytes < s.PayloadBytes:
		return fmt.Errorf("%w: packets of %d B with %d B of payload; want 1 B of payload or more, and at most the packet size",
			ErrTraffic, s.WireBytes, s.PayloadBytes)
	case s.Start < 0 || s.Duration < 1:
		return fmt.Errorf("%w: sources that send for %v, starting at %v; want a duration above 0 and a start of 0 or later",
			ErrTraffic, s.Duration, s.Start)
	case s.Interval() < 1:
		return fmt.Errorf("%w: %d B at %v is more than one packet per picosecond", ErrTraffic,
			s.PayloadBytes, s.Rate)
	case s.Packets() < 1:
		return fmt.Errorf("%w: %v of %d B packets send none in %v; want at least %v", ErrTraffic,
			s.Rate, s.PayloadBytes, s.Duration, engine.Time(math.Ceil(s.Interval())))
	}
	return nil
}
