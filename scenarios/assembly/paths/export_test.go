package paths

import (
	"context"
	"math"

	"sim/engine/packet"
	"sim/scenarios/assembly"
)

// Foreseen returns the hops of packets and the seconds that are foreseen under a router, and what came of its packets.
func Foreseen(ctx context.Context, s assembly.System, router string) (hops, seconds float64, stats *packet.Stats, err error) {
	a, err := s.(*routed).decide(ctx, router, 1, math.Inf(1))
	if err != nil {
		return 0, 0, nil, err
	}
	packets, seconds := a.injected()
	return a.hops(packets, seconds), seconds, a.Stats, nil
}
