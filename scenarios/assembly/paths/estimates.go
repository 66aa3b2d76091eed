package paths

import (
	"math"
	"slices"

	"sim/engine"
	algorithm "sim/policies/collective"
	"sim/policies/routing"
	"sim/scenarios/assembly"
)

// workEstimate is about how much there is to simulate: flows between nodes, their packets, the links that these take in all,
// and seconds of simulated time.
type workEstimate struct{ flows, packets, hops, seconds float64 }

// maxPathStretch is how many times longer routes are taken to be than shortest paths, at most: where this decides whether
// limits are kept, the routers are asked.
const maxPathStretch = 4

// mayExceedFlows reports whether fluid may have too many flows that are not identical.
func (r *routingSystem) mayExceedFlows(most workEstimate) bool {
	if r.s.Engine.Level != "flow" || r.s.HasDependencies() ||
		most.flows*most.flows*most.hops <= maxFlowLevelHops*most.packets {
		return false
	}
	rows := r.s.routers()
	return !slices.ContainsFunc(rows,
		func(row *routing.Row) bool { return row.SharesPaths }) &&
		slices.ContainsFunc(rows, func(row *routing.Row) bool { return !r.hasUniformRates(row, most.flows) })
}

// hasUniformRates reports whether so many messages are certain to be routedAnswer.even under a router.
func (r *routingSystem) hasUniformRates(row *routing.Row, flows float64) bool {
	o := &r.s.Policy.Routing.Settings
	return r.s.trafficKind().IsUniform && r.Torus != nil && !r.s.Fabric.Faulty() &&
		r.s.Fabric.LinkLatency == 0 &&
		row.Shortest && (row.DrawsPerHop == nil || !row.DrawsPerHop(o)) &&
		flows*r.meanShortestHops() <= maxUniformHops
}

// packetsPerMessage returns the packets of a message, of which level flow has parts.
func (r *routingSystem) packetsPerMessage() float64 {
	w := &r.s.Workload
	if r.s.Engine.Level == "flow" {
		return float64(w.Message) / float64(w.Packet)
	}
	return math.Ceil(float64(w.Message) / float64(w.Payload))
}

// estimateRange returns the least and the most that there may be to simulate, as keys and shortest paths tell.
func (r *routingSystem) estimateRange(up int) (low, high workEstimate) {
	s := r.s
	w := &s.Workload
	slowest, rates := math.Inf(1), 0.0
	for _, l := range r.Whole.Links {
		slowest = min(slowest, l.Rate)
		rates += l.Rate
	}

	n, bits := float64(up), 8*float64(w.Packet) // bits of a packet, in the mean of the messages that have a size
	maxHops := float64(r.Whole.Nodes)           // links of a route, at most
	if r.Torus != nil {
		maxHops = 0
		for _, d := range r.Torus.Dims {
			maxHops += maxPathStretch * float64(d)
		}
	}

	flows, pairs := 0.0, n*(n-1)
	kind := s.trafficKind()
	if kind.CoversAllPairs {
		flows = pairs
	}
	if kind.maxFlows != nil {
		pairs = kind.maxFlows(n, float64(len(r.Whole.Links)))
	}
	fluid := true // messages last as long as links take for them
	switch {
	case w.Call != nil:
		low.packets = float64(w.Call.Bytes) / float64(w.Packet)
		if high.packets = 8*n*low.packets + 8*n*n; w.Call.Kind == algorithm.AllToAll {
			high.packets = 2 * n * n * math.Ceil(low.packets)
		}
	case w.Work != nil:
		bytes, transfers, slack := w.Work.Size()
		low.packets = bytes / float64(w.Packet) / slack
		high.packets = slack*bytes/float64(w.Packet) + transfers
	case w.Source == "poisson" && s.Engine.Level == "packet":
		low.seconds = w.Warmup.Seconds() + w.Duration.Seconds()
		low.packets = n * low.seconds * w.Load / (s.packetTime() / float64(engine.Second))
		high, fluid = low, false
	case w.Source == "on-off" && s.Engine.Level == "packet":
		for _, p := range []*trafficPart{{}, {isRing: true}} {
			if p.isRing && !kind.Alternates {
				continue
			}
			if kind.Alternates {
				p.periods = []onPeriod{{2 * w.Phase * engine.Time(w.Alternations), w.Phase}}
			}
			for _, on := range r.onOffSources(p) {
				low.packets = flows * float64(on.Count)
				high.packets += pairs * float64(on.Count) * float64(max(1, w.Alternations))
				high.seconds = max(high.seconds,
					(float64(on.Start)+on.Every*float64(on.Count))/float64(engine.Second))
			}
		}
		fluid = false
	case kind.IsListed:
		wire := 0.0
		for _, e := range w.Entries() {
			low.packets += math.Ceil(float64(e.Bytes) / float64(w.Payload))
			wire += w.WireBytes(float64(e.Bytes))
		}
		high.packets, bits = low.packets, 8*wire/max(1, low.packets)
	case s.HasUniformSize():
		low.packets = flows * r.packetsPerMessage()
		if kind.HasOwnSizes {
			low.packets = flows * float64(w.Message) / float64(w.Payload)
		} else if s.Engine.Level == "packet" {
			bits = 8 * w.WireBytes(float64(w.Message)) / r.packetsPerMessage()
		}
		high.packets = pairs * (r.packetsPerMessage() + 1)
	default: // rates and times, at levels that have none
		return workEstimate{}, workEstimate{flows: pairs, packets: pairs, hops: pairs}
	}

	low.hops, high.hops, high.flows = low.packets, high.packets*maxHops, pairs
	if flows > 0 && up == int(r.Whole.Nodes) && high.hops > assembly.MaxHops {
		mean := r.meanShortestHops()
		if r.Torus != nil || !kind.HasOwnSizes {
			high.hops = min(high.hops, maxPathStretch*high.packets*mean)
		}
		if h := w.HotSpots(); h != nil { // the hot nodes may be near
			mean *= 1 - h.Share
		}
		low.hops *= max(1, mean)
	}

	if fluid {
		pace := 1.0
		if w.Source == "paced" {
			pace = w.Pace
		}
		low.seconds = low.hops * bits / rates
		high.seconds += high.packets * bits / slowest / (1 - (&routingResult{system: r}).errorProbability()) / min(1, pace)
	}

	high.seconds += maxHops * s.Fabric.LinkLatency.Seconds()
	if until := s.Engine.Until.Seconds(); until > 0 {
		carried := until * rates / bits
		low.hops, high.hops = min(low.hops, carried), min(high.hops, carried)
	}

	if buffer, err := s.Fabric.QueueCapacity(w.Packet); err == nil && buffer > 0 &&
		!s.HasDependencies() && w.Source != "window" {
		low.hops = min(low.hops, low.seconds*rates/bits)
	}
	return low, high
}

// meanShortestHops returns the mean links of a shortest path between two nodes, of all pairs that are joined.
func (r *routingSystem) meanShortestHops() float64 {
	if r.Torus != nil {
		n := float64(r.Torus.Nodes())
		return float64(r.Torus.Distances().Sum) / n / (n - 1)
	}
	n, sum := r.Whole.Nodes, 0.0
	tree := r.shortestPathTree(func(int) bool { return true }, false)
	for src := range n {
		tree.Breadth(src)
		for _, node := range tree.Order {
			sum += tree.Dist[node]
		}
	}
	return sum / float64(n) / float64(n-1)
}

// backlog returns about how many packets of an extent are in the network when the last is injected: those that links
// cannot have carried by then.
func (r *routingSystem) backlog(x workEstimate) float64 {
	if x.packets == 0 || x.seconds == 0 {
		return 0
	}
	rates := 0.0
	for _, l := range r.Whole.Links {
		rates += l.Rate
	}
	part := 1.0
	if until := r.s.Engine.Until.Seconds(); until > 0 {
		part = min(1, until/x.seconds)
	}
	carried := x.seconds * rates / (8 * float64(r.s.Workload.Packet)) * x.packets / x.hops
	return part * (x.packets - carried)
}
