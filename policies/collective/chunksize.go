package collective

import (
	"math"

	"sim/engine"
)

// A pipeline of depth d takes the transmission time of the data on one link, plus d times the
// time of a chunk and the link latency. Smaller chunks fill it sooner, but each costs events in
// the simulation and headers in hardware.
//
// Chunks are therefore so large that filling the pipeline adds at most a fraction fillShare of
// the data's time. If other chunks use the links meanwhile, the fraction is hiddenShare. A chunk
// is never smaller than minChunkBytes. It is also never smaller than the bytes that the link
// sends within its latency: the latency would dominate the remaining time.
const (
	fillShare     = 0.1
	hiddenShare   = 0.1
	minChunkBytes = 1024
)

// chunkCount returns the number of chunks for some bytes in a pipeline of a given depth over a
// link. share is fillShare, hiddenShare or a part of them. Options.Chunk overrides it.
func (b *builder) chunkCount(bytes int64, link engine.Link, depth int, share float64) int {
	size := float64(b.options.Chunk)
	if size == 0 {
		size = max(minChunkBytes, link.Latency.Seconds()*link.Rate/8,
			float64(bytes)*share/float64(max(1, depth)))
	}
	return int(max(1, math.Ceil(float64(bytes)/size)))
}

// worstLink returns a link with the minimum rate and the maximum latency of all links that are
// up.
func worstLink(n *engine.Network) engine.Link {
	worst := engine.Link{Rate: math.Inf(1)}
	for _, l := range n.Links {
		if l.Rate > 0 {
			worst.Rate = min(worst.Rate, l.Rate)
			worst.Latency = max(worst.Latency, l.Latency)
		}
	}

	return worst
}
