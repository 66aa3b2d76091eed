package assembly

import (
	"sim/engine"
	"sim/engine/units"
)

// Limits of simulations at packet level. The first five are limits of package packet.
const (
	SlowestLink   = units.Rate(8e3)
	LargestPacket = units.Bytes(1 << 28)
	LongestPlay   = engine.Never / 4 // when the last packet may be injected
	LongestHop    = engine.Never / 8 // latency
	MostWrong     = 0.99             // probability that a packet arrives wrong: beyond, retries have no end
	MostSamples   = 1 << 24          // stored queue lengths, a file of about 300 MB
)

// MostCounted bounds the bytes of all messages, as package collective does.
const MostCounted = float64(1<<63-1) / 8
