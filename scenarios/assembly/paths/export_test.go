package paths

import (
	"sim/engine/packet"
	"sim/scenarios/assembly"
)

// Foreseen returns the hops of packets and the seconds that are foreseen of an answer, and what came of its packets.
func Foreseen(a assembly.Answer) (hops, seconds float64, stats *packet.Stats) {
	r := a.(*routedAnswer)
	packets, seconds := r.injected()
	return r.hops(packets, seconds), seconds, r.Stats
}
