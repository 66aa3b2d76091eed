// This file holds the limits of packet-level simulations.

package assembly

import (
	"sim/engine"
	"sim/engine/units"
)

// Limits of simulations at level packet. The first five are limits of package packet.
//
// At the minimum rate, sending a packet of the maximum size takes three days. Times of a
// simulation thus stay well within the range of engine.Time, 106 days.
const (
	MinLinkRate         = units.Rate(8e3)      // in bits per second
	MaxPacketSize       = units.Bytes(1 << 28) // on the wire
	MaxInjectionTime    = engine.Never / 4     // latest time at which a packet may be injected
	MaxLatency          = engine.Never / 8     // latency of one hop
	MaxErrorProbability = 0.99                 // of one packet; beyond it, retries would not end
	MaxQueueSamples     = 1 << 24              // stored queue lengths, in a file of about 300 MB
)

// MaxTotalBytes limits the bytes of all messages, as package collective does. Sums then
// do not overflow int64, even in bits.
const MaxTotalBytes = float64(1<<63-1) / 8
