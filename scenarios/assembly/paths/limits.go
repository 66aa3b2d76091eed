// This file estimates the cost of simulating a decision whose paths are known, and
// checks it against the limits.

package paths

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/engine/static"
	"sim/policies/routing"
	"sim/scenarios/assembly"
	"sim/scenarios/schema"
)

// Cost estimates the cost of simulating the decision of one policy, other than of a
// collective call. It follows from the hops of shortest paths, and at level flow from the
// flows, or the transfers of work of ranks. At level static it is 0. Cost fails if the
// traffic cannot be built, or with the error of a cancelled ctx.
func (s *Scenario) Cost(ctx context.Context) (assembly.Cost, error) {
	switch w := s.Workload.Work; {
	case s.Engine.Level == "static":
		return assembly.Cost{}, nil
	case s.Engine.Level == "flow" && w != nil:
		_, tasks, _ := w.Size()
		if s.folds() {
			_, tasks = w.Tasks()
		}
		return assembly.LinkTask.Scale(tasks), nil
	}

	// Identical nodes have as many messages and hops as one of them, times the nodes.
	if s.Engine.Level == "flow" {
		hardware, err := s.Fabric.Build()
		if err != nil {
			return assembly.Cost{}, err
		}
		r := &routingSystem{s: s, System: hardware}
		if r.isTranslationSymmetric() {
			n := float64(r.Whole.Nodes)
			return r.messageCost(n*(n-1), float64(r.Torus.Distances().Sum)), nil
		}
	}

	r, err := build(ctx, s)
	if err != nil {
		return assembly.Cost{}, err
	}
	if flows := float64(len(r.load.flows)); s.Engine.Level == "flow" {
		// shortestHops counts a message by its size.
		return r.messageCost(flows, r.shortestHops*flows/r.totalMessages()), nil
	}

	cost := r.packetCost().Add(assembly.Flow.Scale(float64(len(r.load.flows))))
	if g := r.load.graph; g != nil {
		cost = cost.Add(assembly.LinkTask.Scale(float64(len(g.Tasks))))
	}
	return cost, nil
}

// messageCost estimates the cost of messages that are all sent at once, at level flow, on
// the paths of the router that takes the longest. hops is the number of links of the
// shortest paths of all messages.
func (r *routingSystem) messageCost(messages, hops float64) assembly.Cost {
	isSymmetric, isLarge := r.isTranslationSymmetric(), messages*hops > maxFlowLevelHops
	costOf := func(row *routing.Row) assembly.Cost {
		switch {
		// The messages of one node stand for all, as paths follow from the vector between nodes.
		case isSymmetric && (row.AnyGraph == nil || row.SharesPaths):
			classes := messages / float64(r.Whole.Nodes)
			return assembly.FoldedHop.Scale(hops).Add(assembly.LinkTask.Scale(classes))
		case isLarge && r.hasUniformRates(row, messages):
			return assembly.UniformHop.Scale(hops)
		case isSymmetric || r.load.demand == nil:
			return assembly.LinkTask.Scale(messages).Add(assembly.EqualFlowHop.Scale(messages * hops))
		}
		return flowCost(messages, hops)
	}
	cost := assembly.Cost{}
	for _, row := range r.s.routers() {
		cost = cost.Max(costOf(row))
	}
	return cost.Add(assembly.Flow.Scale(messages))
}

// isTranslationSymmetric reports whether the traffic and the fabric are the same for all
// nodes: an all-to-all on a torus without faults.
func (r *routingSystem) isTranslationSymmetric() bool {
	return r.s.trafficKind().IsUniform && r.Torus != nil && !r.s.Fabric.Faulty() &&
		len(r.s.Fabric.Open) == 0
}

// packetCost estimates the cost of all hops of packets. Bounds of loads and hops represent the
// loads that a router would reach.
func (r *routingSystem) packetCost() assembly.Cost {
	a := &routingResult{
		system: r, bottleneckLoad: r.loadBound,
		pathLoads: &static.Loads{Weighted: []float64{}, WeightedHops: r.shortestHops},
	}
	return r.s.HopCost().Scale(a.estimateHops(a.estimateInjection()))
}

// HopCost returns the cost of one hop of one packet. Links with limited queues,
// errors or failures cannot schedule packets in advance.
func (s *Scenario) HopCost() assembly.Cost {
	if l := &s.Fabric; s.Transport.IsUsed() || l.Queue != "unbounded" || l.BitErrors > 0 || l.FailAt > 0 {
		return assembly.QueuedHop
	}
	return assembly.ScheduledHop
}

// unservedResult returns the result of a router that cannot serve the fabric
// because of err.
func (r *routingSystem) unservedResult(name string, err error) *assembly.PolicyResult {
	return assembly.RejectedResult(name, err.Error(), func() schema.Diagnostic {
		return r.unservedDiagnostic(name, err)
	})
}

// hasUnreachableFlow reports whether the working links do not connect the ends of
// some flow.
func (r *routingSystem) hasUnreachableFlow() bool {
	var allLinks func(int) bool // that are up
	hops := r.Known.Hops(allLinks)
	isUnreachable := func(f engine.Flow) bool { return hops(f.Src)[f.Dst] < 0 }
	return slices.ContainsFunc(r.load.flows, isUnreachable)
}

// inputError returns a diagnostic of the scenario as an error.
func (r *routingSystem) inputError(key, problem, remedy string) error {
	return schema.Diagnostics{{File: r.s.Name, Key: key, Problem: problem, Remedy: remedy}}
}

// checkChannels returns an error if the paths need more virtual channels than
// links have.
func (a *routingResult) checkChannels(needed int) error {
	l := &a.system.s.Fabric
	if a.system.s.Engine.Level != "packet" || l.Queue != "credit" || needed <= l.Channels {
		return nil
	}
	return fmt.Errorf("its ways take %d virtual channels and links have %d: set fabric.channels = %d",
		needed, l.Channels, needed)
}

// checkCost returns a diagnostic if simulating the traffic on the paths exceeds
// the limits. name is the router.
func (a *routingResult) checkCost(name string) error {
	if a.system.s.Engine.Level == "static" {
		return nil
	}
	packets, seconds := a.estimateInjection()
	size := workEstimate{
		packets: packets, hops: a.estimateHops(packets, seconds), seconds: seconds,
	}
	if err := a.system.checkLimits(name, size, a.pathLatency()); err != nil {
		return err
	}
	return a.system.checkSamples(name, seconds)
}

// roundUp returns a time of at least the given seconds that has two significant
// digits.
func roundUp(seconds float64) engine.Time {
	const tolerance = 1e-9 // covers rounding errors of seconds
	ticks := math.Floor(seconds*float64(engine.Second)*(1+tolerance)) + 1
	scale := math.Pow(10, max(0, math.Floor(math.Log10(ticks))-1))
	return engine.Time(math.Ceil(ticks/scale) * scale)
}

// estimateHops returns the approximate number of links that packets cross. packets
// are injected within a number of seconds. The links carry no more than their
// rates allow until the end of the simulation, or, with limited queues, until
// these are empty.
func (a *routingResult) estimateHops(packets, seconds float64) float64 {
	hops := packets * a.meanHops()
	if until := a.system.s.Engine.Until.Seconds(); until > 0 {
		hops = min(hops, a.throughput()*until)
	}
	drain, mayDrop := a.drainTime()
	if mayDrop && a.system.load.graph == nil && a.system.s.Workload.Source != "window" {
		hops = min(hops, a.throughput()*(seconds+drain))
	}
	return hops
}

// drainTime returns an upper bound, in seconds, on the time in which the network
// becomes empty after the last injection. mayDrop reports whether full queues drop
// packets; if not, the time is 0.
func (a *routingResult) drainTime() (seconds float64, mayDrop bool) {
	r := a.system
	buffer, err := r.s.Fabric.QueueCapacity(r.s.Workload.Packet)
	if err != nil || buffer == 0 {
		return 0, false
	}

	minRate := math.Inf(1)
	for _, l := range r.Whole.Links {
		if l.Rate > 0 {
			minRate = min(minRate, l.Rate)
		}
	}

	// A packet waits for a full buffer on each link of the longest path.
	queueTime := float64(buffer+r.s.Workload.Packet) * 8 / minRate / (1 - a.errorProbability())
	return float64(a.pathLoads.MaxHops) * (queueTime + r.s.Fabric.LinkLatency.Seconds()), true
}

// errorProbability returns the probability that a packet has a bit error and is
// sent again.
func (a *routingResult) errorProbability() float64 {
	if a.system.s.Engine.Level != "packet" {
		return 0
	}
	bits := 8 * float64(a.system.s.Workload.Packet)
	return -math.Expm1(bits * math.Log1p(-a.system.s.Fabric.BitErrors))
}

// pathLatency returns the part of the seconds of estimateInjection that is link
// latency.
func (a *routingResult) pathLatency() float64 {
	latency := a.system.s.Fabric.LinkLatency.Seconds()
	if a.system.load.graph != nil {
		return latency * a.maxSequentialHops()
	}
	return latency * float64(a.pathLoads.MaxHops)
}

// estimateInjection returns the approximate number of packets that are injected,
// and a lower bound on the time, in seconds, until they are delivered.
func (a *routingResult) estimateInjection() (packets, seconds float64) {
	r := a.system
	w := &r.s.Workload.Traffic

	// Work with dependencies: the bottleneck is busy with all bytes, and the
	// latencies of dependent transfers add up.
	packetSeconds := r.s.packetTime() / float64(engine.Second) // of a packet on a link
	if r.load.graph != nil {
		for i := range r.load.graph.Tasks {
			if b := r.load.graph.Tasks[i].Bytes; b > 0 {
				packets += math.Ceil(float64(b) / float64(w.Packet))
			}
		}
		busy := a.busyTime(float64(r.load.parts[0].traffic.Message))
		return packets, busy/(1-a.errorProbability()) + a.pathLatency()
	}

	// Traffic without dependencies: the time follows from the sources.
	for i := range r.load.parts {
		p := &r.load.parts[i]
		flows := float64(p.end - p.first)
		switch w.Source {
		case "on-off":
			for _, s := range r.onOffSources(p) {
				packets += flows * float64(s.Count)
				lastPacket := float64(s.Start) + s.Every*float64(s.Count-1)
				seconds = max(seconds, lastPacket/float64(engine.Second))
			}
		case "poisson":
			seconds = w.Warmup.Seconds() + w.Duration.Seconds()
			packets += float64(r.numUpNodes()) * seconds * w.Load / packetSeconds
		default:
			// The sources follow the bottleneck, or the network.
			message := float64(p.traffic.Message)
			if p.traffic.Bytes == nil {
				packets += flows * float64(p.numPackets(0, int64(w.Payload)))
			} else {
				for f := range p.traffic.Bytes {
					packets += float64(p.numPackets(f, int64(w.Payload)))
				}
			}
			if r.s.Engine.Level == "packet" {
				message = w.WireBytes(message)
			}

			seconds = a.busyTime(message) / (1 - a.errorProbability())
			if w.Source == "paced" && r.s.Engine.Level == "packet" {
				seconds = max(seconds, a.busyTime(message)/w.Pace)
			}
		}
	}

	return packets, seconds + a.pathLatency()
}

// busyTime returns the time, in seconds, for which the bottleneck is busy with
// messages of the given bytes.
func (a *routingResult) busyTime(message float64) float64 {
	return a.bottleneckLoad * message * 8 / float64(a.system.s.Fabric.LinkRate)
}

// maxSequentialHops returns an upper bound on the links in a chain of dependent
// transfers.
func (a *routingResult) maxSequentialHops() float64 {
	if c := a.system.load.call; c != nil {
		return c.maxChainLength() * float64(a.pathLoads.MaxHops)
	}
	it := a.system.iteration
	if it.Spec.CallsInGraph() {
		return maxTransferChain(it.Graph) * float64(a.pathLoads.MaxHops)
	}

	// Each micro-batch passes each virtual stage forward and backward.
	passes := 2*it.Spec.Microbatches*it.Spec.PP*it.Spec.Chunks + 1
	return float64(passes) * float64(a.pathLoads.MaxHops)
}

// maxTransferChain returns the largest number of transfers in a chain of
// dependencies of g.
func maxTransferChain(g *engine.Graph) float64 {
	length := make([]int32, len(g.Tasks)) // transfers in the longest chain to a task
	longest := int32(0)
	for _, id := range g.Order() {
		if g.Tasks[id].Kind == engine.Transfer {
			length[id]++
		}
		longest = max(longest, length[id])
		for _, e := range g.Out(id) {
			length[e.To] = max(length[e.To], length[id])
		}
	}
	return float64(longest)
}

// meanHops returns the mean length of a path, weighted by messages.
func (a *routingResult) meanHops() float64 {
	hops := float64(a.pathLoads.SumHops)
	if a.pathLoads.Weighted != nil {
		hops = a.pathLoads.WeightedHops
	}
	return hops / max(1, a.system.totalMessages())
}

// throughput returns the packets per second that all links together can carry.
func (a *routingResult) throughput() float64 {
	sum := 0.0
	for _, l := range a.system.Whole.Links {
		sum += l.Rate / 8 / float64(a.system.s.Workload.Packet)
	}
	return sum
}
