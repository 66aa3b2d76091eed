// This file estimates the size of a simulation from keys and shortest paths, before
// paths are chosen.

package paths

import (
	"math"
	"slices"

	"sim/engine"
	algorithm "sim/policies/collective"
	"sim/policies/routing"
	"sim/scenarios/assembly"
)

// workEstimate is the approximate size of a simulation.
type workEstimate struct {
	flows   float64 // pairs of nodes with traffic
	packets float64 // packets injected
	hops    float64 // links crossed, summed over packets
	seconds float64 // simulated time
}

// maxPathStretch is the assumed limit of a path's length relative to the shortest
// path. It need not be exact: if the estimate exceeds a limit, the routers choose paths,
// whose lengths are then used.
const maxPathStretch = 4

// mayExceedFlows reports whether level flow may have too many flows without
// symmetry under some listed router. high is the upper estimate.
func (r *routingSystem) mayExceedFlows(high workEstimate) bool {
	if r.s.Engine.Level != "flow" || r.s.HasDependencies() ||
		flowCost(high.flows, high.flows*high.hops/high.packets).IsAffordable() {
		return false
	}

	rows := r.s.routers()
	sharesPaths := func(row *routing.Row) bool { return row.SharesPaths }
	mayDiffer := func(row *routing.Row) bool { return !r.hasUniformRates(row, high.flows) }
	return !slices.ContainsFunc(rows, sharesPaths) && slices.ContainsFunc(rows, mayDiffer)
}

// hasUniformRates reports whether all messages certainly keep their initial rates
// under a router (routingResult.uniformRates). flows is the number of messages.
func (r *routingSystem) hasUniformRates(row *routing.Row, flows float64) bool {
	o := &r.s.Policy.Routing.Settings
	drawsPerHop := row.DrawsPerHop != nil && row.DrawsPerHop(o)
	singleShortest := row.Shortest && !drawsPerHop
	return r.isTranslationSymmetric() && r.s.Fabric.LinkLatency == 0 && singleShortest &&
		assembly.UniformHop.Scale(flows*r.meanShortestHops()).IsAffordable()
}

// packetsPerMessage returns the packets of a message. At level flow it may be a
// fraction.
func (r *routingSystem) packetsPerMessage() float64 {
	w := &r.s.Workload
	if r.s.Engine.Level == "flow" {
		return float64(w.Message) / float64(w.Packet)
	}
	return math.Ceil(float64(w.Message) / float64(w.Payload))
}

// estimateRange returns a lower and an upper estimate of the size of the
// simulation. It uses only keys and shortest paths. up is the number of nodes that
// are up.
func (r *routingSystem) estimateRange(up int) (low, high workEstimate) {
	s := r.s
	w := &s.Workload
	minRate, sumRates := math.Inf(1), 0.0
	for _, l := range r.Whole.Links {
		minRate = min(minRate, l.Rate)
		sumRates += l.Rate
	}

	n := float64(up)
	bits := 8 * float64(w.Packet)     // mean size of a packet
	maxHops := float64(r.Whole.Nodes) // limit of a path's length
	if r.Torus != nil {
		maxHops = 0
		for _, d := range r.Torus.Dims {
			maxHops += maxPathStretch * float64(d)
		}
	}

	// The traffic has at least flows and at most pairs flows.
	flows, pairs := 0.0, n*(n-1)
	kind := s.trafficKind()
	if kind.CoversAllPairs {
		flows = pairs
	}
	if kind.maxFlows != nil {
		pairs = kind.maxFlows(n, float64(len(r.Whole.Links)))
	}

	// Unless sources send at given times, the duration follows from the link
	// rates.
	durationFromRates := true
	switch {
	case w.Call != nil:
		// An algorithm sends at least the bytes once, and at most 8 times from
		// each rank, in messages of at least one packet.
		low.packets = float64(w.Call.Bytes) / float64(w.Packet)
		high.packets = 8*n*low.packets + 8*n*n
		if w.Call.Kind == algorithm.AllToAll {
			high.packets = 2 * n * n * math.Ceil(low.packets)
		}
	case w.Work != nil:
		bytes, transfers, slack := w.Work.Size()
		low.packets = bytes / float64(w.Packet) / slack
		high.packets = slack*bytes/float64(w.Packet) + transfers
	case w.Source == "poisson" && s.Engine.Level == "packet":
		low.seconds = w.Warmup.Seconds() + w.Duration.Seconds()
		low.packets = n * low.seconds * w.Load / (s.packetTime() / float64(engine.Second))
		high, durationFromRates = low, false
	case w.Source == "on-off" && s.Engine.Level == "packet":
		// The parts of the traffic differ in the rate and the times of their
		// flows.
		slices, rings := &trafficPart{}, &trafficPart{isRing: true}
		for _, p := range []*trafficPart{slices, rings} {
			if p.isRing && !kind.Alternates {
				continue // traffic that does not alternate has a single part
			}
			if kind.Alternates {
				p.periods = []onPeriod{{2 * w.Phase * engine.Time(w.Alternations), w.Phase}}
			}
			for _, on := range r.onOffSources(p) {
				low.packets = flows * float64(on.Count)
				high.packets += pairs * float64(on.Count) * float64(max(1, w.Alternations))
				lastPacket := float64(on.Start) + on.Every*float64(on.Count)
				high.seconds = max(high.seconds, lastPacket/float64(engine.Second))
			}
		}
		durationFromRates = false
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
	default: // sources without message sizes, at levels that simulate no sources
		return workEstimate{}, workEstimate{flows: pairs, packets: pairs, hops: pairs}
	}

	// Each packet crosses at least one link. The mean of shortest paths is costly
	// on graphs, so it is used only if the simulation may be too large.
	low.hops, high.hops, high.flows = low.packets, high.packets*maxHops, pairs
	if flows > 0 && up == int(r.Whole.Nodes) && !s.HopCost().Scale(high.hops).IsAffordable() {
		mean := r.meanShortestHops()
		if r.Torus != nil || !kind.HasOwnSizes {
			high.hops = min(high.hops, maxPathStretch*high.packets*mean)
		}
		if h := w.HotSpots(); h != nil { // the hot nodes may be close to all others
			mean *= 1 - h.Share
		}
		low.hops *= max(1, mean)
	}

	if durationFromRates {
		pace := 1.0
		if w.Source == "paced" {
			pace = w.Pace
		}
		low.seconds = low.hops * bits / sumRates
		correct := 1 - (&routingResult{system: r}).errorProbability()
		high.seconds += high.packets * bits / minRate / correct / min(1, pace)
	}

	high.seconds += maxHops * s.Fabric.LinkLatency.Seconds()

	// Links carry no more than their rate until the end of the simulation, or, if
	// full queues drop packets, until the end of the injection.
	if until := s.Engine.Until.Seconds(); until > 0 {
		carried := until * sumRates / bits
		low.hops, high.hops = min(low.hops, carried), min(high.hops, carried)
	}

	buffer, err := s.Fabric.QueueCapacity(w.Packet)
	mayDrop := err == nil && buffer > 0 && !s.HasDependencies() && w.Source != "window"
	if mayDrop {
		low.hops = min(low.hops, low.seconds*sumRates/bits)
	}
	return low, high
}

// meanShortestHops returns the mean length of the shortest paths between two
// nodes. Pairs that are not connected count as 0.
func (r *routingSystem) meanShortestHops() float64 {
	if r.Torus != nil {
		n := float64(r.Torus.Nodes())
		return float64(r.Torus.Distances().Sum) / n / (n - 1)
	}

	n, sum := r.Whole.Nodes, 0.0
	allLinks := func(int) bool { return true }
	const reverse = false
	tree := r.shortestPathTree(allLinks, reverse)
	for src := range n {
		tree.Breadth(src) // sets Order, the reached nodes, and Dist, their distances
		for _, node := range tree.Order {
			sum += tree.Dist[node]
		}
	}
	return sum / float64(n) / float64(n-1)
}

// backlog returns the approximate number of packets in the network when the last
// packet is injected: the injected packets less the packets that the links can
// have carried by then.
func (r *routingSystem) backlog(x workEstimate) float64 {
	if x.packets == 0 || x.seconds == 0 {
		return 0
	}

	sumRates := 0.0
	for _, l := range r.Whole.Links {
		sumRates += l.Rate
	}

	// A simulation that ends early injects only a part of the packets.
	simulatedPart := 1.0
	if until := r.s.Engine.Until.Seconds(); until > 0 {
		simulatedPart = min(1, until/x.seconds)
	}
	packetBits := 8 * float64(r.s.Workload.Packet)

	// The links are used as evenly as the mean path allows.
	carried := x.seconds * sumRates / packetBits * x.packets / x.hops
	return simulatedPart * (x.packets - carried)
}
