package paths

import (
	"context"

	"sim/engine/static"
)

// Hops of packets that a processor simulates in a second, about: where all are booked as they come to a link, and where
// links serve them one by one.
const (
	bookedASecond = 8e6
	servedASecond = 3e6
)

// PacketWork guesses how many hops of packets the simulation of one policy makes, from the hops of shortest routes, and
// how many seconds of a processor it takes. They are 0 where the scenario is not simulated packet by packet. It returns
// the context's error when ctx is cancelled.
func (s *Scenario) PacketWork(ctx context.Context) (hops, seconds float64, err error) {
	if s.Engine.Level != "packet" {
		return 0, 0, nil
	}
	r, err := build(ctx, s)
	if err != nil {
		return 0, 0, err
	}
	a := &routedAnswer{r: r, pressed: r.least, loads: &static.Loads{Weighted: []float64{}, WeightedHops: r.shortest}}
	hops = a.hops(a.injected())
	if l := &s.Fabric; l.Queue != "unbounded" || l.BitErrors > 0 || l.FailAt > 0 {
		return hops, hops / servedASecond, nil
	}
	return hops, hops / bookedASecond, nil
}
