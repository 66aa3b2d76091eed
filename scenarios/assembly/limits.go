package assembly

import (
	"sim/engine"
	"sim/engine/units"
)

// Limits of simulations at packet level. The first five are limits of package packet.
const (
	MinLinkRate         = units.Rate(8e3)
	MaxPacketSize       = units.Bytes(1 << 28)
	MaxInjectionTime    = engine.Never / 4 // when the last packet may be injected
	MaxLatency          = engine.Never / 8 // latency
	MaxErrorProbability = 0.99             // probability that a packet arrives wrong: beyond, retries have no end
	MaxQueueSamples     = 1 << 24          // stored queue lengths, a file of about 300 MB
)

// MaxTotalBytes bounds the bytes of all messages, as package collective does.
const MaxTotalBytes = float64(1<<63-1) / 8
