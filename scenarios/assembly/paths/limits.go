package paths

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/engine/static"
	"sim/scenarios/assembly"
	"sim/scenarios/schema"
)

// Cost estimates what the simulation of one policy takes: of packets by the hops of shortest routes, of work of ranks at flow
// level by its transfers. Otherwise it is 0. Cost returns the context's error when ctx is cancelled.
func (s *Scenario) Cost(ctx context.Context) (assembly.Cost, error) {
	switch w := s.Workload.Work; {
	case s.Engine.Level == "flow" && w != nil:
		_, transfers, _ := w.Size()
		return assembly.LinkTask.Scale(transfers), nil
	case s.Engine.Level != "packet":
		return assembly.Cost{}, nil
	}

	r, err := build(ctx, s)
	if err != nil {
		return assembly.Cost{}, err
	}
	a := &routingResult{system: r, bottleneckLoad: r.loadBound,
		loads: &static.Loads{Weighted: []float64{}, WeightedHops: r.shortestHops}}
	cost := s.hopCost().Scale(a.estimateHops(a.estimateInjection())).Add(assembly.Flow.Scale(float64(len(r.load.flows))))
	if g := r.load.graph; g != nil {
		cost = cost.Add(assembly.LinkTask.Scale(float64(len(g.Tasks))))
	}
	return cost, nil
}

// hopCost is the cost of a hop of a packet.
func (s *Scenario) hopCost() assembly.Cost {
	if l := &s.Fabric; l.Queue != "unbounded" || l.BitErrors > 0 || l.FailAt > 0 {
		return assembly.QueuedHop
	}
	return assembly.ScheduledHop
}

// unservedAnswer is the answer of a router that cannot serve the fabric for some reason.
func (r *routingSystem) unservedAnswer(name string, why error) *assembly.PolicyResult {
	return assembly.RejectedResult(name, why.Error(),
		func() schema.Diagnostic { return r.unservedDiagnostic(name, why) })
}

// hasUnreachableFlow reports whether links that routers know join the ends of some flow by no way.
func (r *routingSystem) hasUnreachableFlow() bool {
	far := r.Known.Hops(nil)
	return slices.ContainsFunc(r.load.flows,
		func(f engine.Flow) bool { return far(f.Src)[f.Dst] < 0 })
}

// inputError is what only routes show to be wrong with a scenario.
func (r *routingSystem) inputError(key, what, want string) error {
	return schema.Diagnostics{{File: r.s.Name, Key: key, Problem: what, Remedy: want}}
}

// checkChannels fails where paths take more virtual channels than links have.
func (a *routingResult) checkChannels(needed int) error {
	l := &a.system.s.Fabric
	if a.system.s.Engine.Level != "packet" || l.Queue != "credit" || needed <= l.Channels {
		return nil
	}
	return fmt.Errorf("its ways take %d virtual channels and links have %d: set fabric.channels = %d", needed, l.Channels, needed)
}

// checkCost fails where simulating the traffic on a router's routes exceeds the limits.
func (a *routingResult) checkCost(name string) error {
	if a.system.s.Engine.Level == "static" {
		return nil
	}
	packets, seconds := a.estimateInjection()
	if err := a.system.checkLimits(name,
		workEstimate{packets: packets, hops: a.estimateHops(packets, seconds), seconds: seconds}, a.pathLatency()); err != nil {
		return err
	}
	return a.system.checkSamples(name, seconds)
}

// roundUp returns whole ticks of at least so many seconds, and a little more, with two digits for people to read.
func roundUp(seconds float64) engine.Time {
	ticks := math.Floor(seconds*float64(engine.Second)*(1+1e-9)) + 1
	scale := math.Pow(10, max(0, math.Floor(math.Log10(ticks))-1))
	return engine.Time(math.Ceil(ticks/scale) * scale)
}

// estimateHops returns about how many links packets take in all that are injected for so many seconds: no more than links can
// carry until the end, or, where queues are limited, until these are empty.
func (a *routingResult) estimateHops(packets, seconds float64) float64 {
	hops := packets * a.meanHops()
	if until := a.system.s.Engine.Until.Seconds(); until > 0 {
		hops = min(hops, a.throughput()*until)
	}
	if drain, drops := a.drainTime(); drops && a.system.load.graph == nil &&
		a.system.s.Workload.Source != "window" {
		hops = min(hops, a.throughput()*(seconds+drain))
	}
	return hops
}

// drainTime returns the seconds that packets that found room are on their way for once none is injected, at most, and
// whether others are dropped.
func (a *routingResult) drainTime() (seconds float64, drops bool) {
	buffer, err := a.system.s.Fabric.QueueCapacity(a.system.s.Workload.Packet)
	if err != nil || buffer == 0 {
		return 0, false
	}
	slowest := math.Inf(1)
	for _, l := range a.system.Whole.Links {
		if l.Rate > 0 {
			slowest = min(slowest, l.Rate)
		}
	}
	full := float64(buffer+a.system.s.Workload.Packet) * 8 / slowest / (1 - a.errorProbability())
	return float64(a.loads.MaxHops) * (full + a.system.s.Fabric.LinkLatency.Seconds()), true
}

// errorProbability returns the probability that a packet arrives wrong, and is sent again.
func (a *routingResult) errorProbability() float64 {
	if a.system.s.Engine.Level != "packet" {
		return 0
	}
	return -math.Expm1(8 * float64(a.system.s.Workload.Packet) * math.Log1p(-a.system.s.Fabric.BitErrors))
}

// pathLatency returns the seconds of injected that are latency.
func (a *routingResult) pathLatency() float64 {
	late := a.system.s.Fabric.LinkLatency.Seconds()
	if a.system.load.graph != nil {
		return late * a.maxSequentialHops()
	}
	return late * float64(a.loads.MaxHops)
}

// estimateInjection returns about how many packets are injected, and for how many seconds at least they are on their way.
func (a *routingResult) estimateInjection() (packets, seconds float64) {
	r := a.system
	w := &r.s.Workload.Traffic
	packet := r.s.packetTime() / float64(engine.Second) // seconds on a link
	if r.load.graph != nil {
		for i := range r.load.graph.Tasks {
			if b := r.load.graph.Tasks[i].Bytes; b > 0 {
				packets += math.Ceil(float64(b) / float64(w.Packet))
			}
		}
		return packets, a.busyTime(float64(r.load.parts[0].traffic.Message))/(1-a.errorProbability()) + a.pathLatency()
	}

	for i := range r.load.parts {
		p := &r.load.parts[i]
		flows := float64(p.end - p.first)
		switch w.Source {
		case "on-off":
			for _, s := range r.onOffSources(p) {
				packets += flows * float64(s.Count)
				seconds = max(seconds,
					(float64(s.Start)+s.Every*float64(s.Count-1))/float64(engine.Second))
			}
		case "poisson":
			seconds = w.Warmup.Seconds() + w.Duration.Seconds()
			packets += float64(r.numUpNodes()) * seconds * w.Load / packet
		default:
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

// busyTime returns the seconds that the link that takes longest is busy with messages of so many bytes.
func (a *routingResult) busyTime(message float64) float64 {
	return a.bottleneckLoad * message * 8 / float64(a.system.s.Fabric.LinkRate)
}

// maxSequentialHops returns the links of transfers that wait for each other, at most.
func (a *routingResult) maxSequentialHops() float64 {
	if c := a.system.load.call; c != nil {
		return c.maxChainLength() * float64(a.loads.MaxHops)
	}
	it := a.system.iteration
	if it.Spec.CallsInGraph() {
		return maxTransferChain(it.Graph) * float64(a.loads.MaxHops)
	}
	return float64(2*it.Spec.Microbatches*it.Spec.PP*it.Spec.Chunks+1) * float64(a.loads.MaxHops)
}

// maxTransferChain returns the most transfers of a graph that wait for each other in a row.
func maxTransferChain(g *engine.Graph) float64 {
	length, longest := make([]int32, len(g.Tasks)), int32(0)
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

// meanHops returns the links of a path, on average over messages.
func (a *routingResult) meanHops() float64 {
	hops := float64(a.loads.SumHops)
	if a.loads.Weighted != nil {
		hops = a.loads.WeightedHops
	}
	return hops / max(1, a.system.totalMessages())
}

// throughput returns the packets that all links together can carry in a second.
func (a *routingResult) throughput() float64 {
	sum := 0.0
	for _, l := range a.system.Whole.Links {
		sum += l.Rate / 8 / float64(a.system.s.Workload.Packet)
	}
	return sum
}
