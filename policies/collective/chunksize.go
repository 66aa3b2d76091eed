package collective

import (
	"math"

	"sim/engine"
)

// A pipeline of some depth takes the time of its data on a link and, for each step of depth, that of a chunk and the
// latency of the link. The smaller the chunks, the sooner they are through, but each costs events to simulate, and
// headers in hardware. So they are as large as makes filling the pipeline take no more than a share of the data's time,
// but not smaller than chunkFloor, nor than what the link sends within its latency, below which the latency is most of
// what is left.
const (
	fillShare     = 0.1
	hiddenShare   = 0.1 // where other chunks use the links while one fills its pipeline
	minChunkBytes = 1024
)

// chunkCount returns in how many pieces to send some bytes down a pipeline over a link.
func (b *builder) chunkCount(bytes int64, link engine.Link, depth int, share float64) int {
	size := float64(b.options.Chunk)
	if size == 0 {
		size = max(minChunkBytes, link.Latency.Seconds()*link.Rate/8, float64(bytes)*share/float64(max(1, depth)))
	}
	return int(max(1, math.Ceil(float64(bytes)/size)))
}

// worstLink returns the least rate and the largest latency of the links of a network that are up.
func worstLink(n *engine.Network) engine.Link {
	worst := engine.Link{Rate: math.Inf(1)}
	for _, l := range n.Links {
		if l.Rate > 0 {
			worst.Rate, worst.Latency = min(worst.Rate, l.Rate), max(worst.Latency, l.Latency)
		}
	}
	return worst
}
