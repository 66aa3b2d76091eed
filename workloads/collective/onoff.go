package collective

import (
	"fmt"
	"math"

	"sim/engine"
	"sim/engine/units"
)

// OnOff is a source that sends packets at a constant rate for a while: one each interval, the first an interval after
// the start (as ns-3's OnOffApplication).
type OnOff struct {
	Rate            units.Rate  // of payload, of each flow
	PayloadBytes    int32       // bytes of a packet that Rate counts
	WireBytes       int32       // bytes of a packet on links, at least Payload
	Start, Duration engine.Time // of sending
}

// Interval returns the ticks between packets; fractions are kept.
func (s OnOff) Interval() float64 {
	return float64(s.PayloadBytes) * 8 / float64(s.Rate) * float64(engine.Second)
}

// Packets returns the packets of a flow: as many whole intervals as Length has.
func (s OnOff) Packets() int64 {
	const whole = 1e-9 // relative; a quotient that is whole but for rounding counts as such
	return int64(math.Floor(float64(s.Duration) / s.Interval() * (1 + whole)))
}

// Check fails where a flow sends nothing, or what cannot be.
func (s OnOff) Check() error {
	switch {
	case !(s.Rate > 0) || math.IsInf(float64(s.Rate), 0):
		return fmt.Errorf("%w: sources of %v; want a rate above 0", ErrTraffic, float64(s.Rate))
	case s.PayloadBytes < 1 || s.WireBytes < s.PayloadBytes:
		return fmt.Errorf("%w: packets of %d B with %d B of payload; want at least 1 B, and no more of payload than in all", ErrTraffic, s.WireBytes, s.PayloadBytes)
	case s.Start < 0 || s.Duration < 1:
		return fmt.Errorf("%w: sources that send for %v from %v on", ErrTraffic, s.Duration, s.Start)
	case s.Interval() < 1:
		return fmt.Errorf("%w: %d B at %v is more than a packet a picosecond", ErrTraffic,
			s.PayloadBytes, s.Rate)
	case s.Packets() < 1:
		return fmt.Errorf("%w: %v of %d B packets send none in %v; want at least %v", ErrTraffic,
			s.Rate, s.PayloadBytes, s.Duration, engine.Time(math.Ceil(s.Interval())))
	}
	return nil
}
