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
	a := &routedAnswer{r: r, pressed: r.least, loads: &static.Loads{Weighted: []float64{}, WeightedHops: r.shortest}}
	cost := s.hop().Scale(a.hops(a.injected())).Add(assembly.Flow.Scale(float64(len(r.load.flows))))
	if g := r.load.graph; g != nil {
		cost = cost.Add(assembly.LinkTask.Scale(float64(len(g.Tasks))))
	}
	return cost, nil
}

// hop is the cost of a hop of a packet.
func (s *Scenario) hop() assembly.Cost {
	if l := &s.Fabric; l.Queue != "unbounded" || l.BitErrors > 0 || l.FailAt > 0 {
		return assembly.QueuedHop
	}
	return assembly.ScheduledHop
}

// unserved is the answer of a router that cannot serve the fabric for some reason.
func (r *routed) unserved(name string, why error) *assembly.PolicyResult {
	return assembly.RejectedResult(name, why.Error(), func() schema.Diagnostic { return r.unserving(name, why) })
}

// apart reports whether links that routers know join the ends of some flow by no way.
func (r *routed) apart() bool {
	far := r.Known.Hops(nil)
	return slices.ContainsFunc(r.load.flows, func(f engine.Flow) bool { return far(f.Src)[f.Dst] < 0 })
}

// fault is what only routes show to be wrong with a scenario.
func (r *routed) fault(key, what, want string) error {
	return schema.Diagnostics{{File: r.s.Name, Key: key, Problem: what, Remedy: want}}
}

// channels fails where paths take more virtual channels than links have.
func (a *routedAnswer) channels(needed int) error {
	l := &a.r.s.Fabric
	if a.r.s.Engine.Level != "packet" || l.Queue != "credit" || needed <= l.Channels {
		return nil
	}
	return fmt.Errorf("its ways take %d virtual channels and links have %d: set fabric.channels = %d", needed, l.Channels, needed)
}

// bearable fails where simulating the traffic on a router's routes exceeds the limits.
func (a *routedAnswer) bearable(name string) error {
	if a.r.s.Engine.Level == "static" {
		return nil
	}
	packets, seconds := a.injected()
	if err := a.r.limits(name, extent{packets: packets, hops: a.hops(packets, seconds), seconds: seconds}, a.latency()); err != nil {
		return err
	}
	return a.r.samples(name, seconds)
}

// roundUp returns whole ticks of at least so many seconds, and a little more, with two digits for people to read.
func roundUp(seconds float64) engine.Time {
	ticks := math.Floor(seconds*float64(engine.Second)*(1+1e-9)) + 1
	scale := math.Pow(10, max(0, math.Floor(math.Log10(ticks))-1))
	return engine.Time(math.Ceil(ticks/scale) * scale)
}

// hops returns about how many links packets take in all that are injected for so many seconds: no more than links can
// carry until the end, or, where queues are limited, until these are empty.
func (a *routedAnswer) hops(packets, seconds float64) float64 {
	hops := packets * a.meanHops()
	if until := a.r.s.Engine.Until.Seconds(); until > 0 {
		hops = min(hops, a.throughput()*until)
	}
	if drain, drops := a.drain(); drops && a.r.load.graph == nil && a.r.s.Workload.Source != "window" {
		hops = min(hops, a.throughput()*(seconds+drain))
	}
	return hops
}

// drain returns the seconds that packets that found room are on their way for once none is injected, at most, and
// whether others are dropped.
func (a *routedAnswer) drain() (seconds float64, drops bool) {
	buffer, err := a.r.s.Fabric.QueueCapacity(a.r.s.Workload.Packet)
	if err != nil || buffer == 0 {
		return 0, false
	}
	slowest := math.Inf(1)
	for _, l := range a.r.Whole.Links {
		if l.Rate > 0 {
			slowest = min(slowest, l.Rate)
		}
	}
	full := float64(buffer+a.r.s.Workload.Packet) * 8 / slowest / (1 - a.wrong())
	return float64(a.loads.MaxHops) * (full + a.r.s.Fabric.LinkLatency.Seconds()), true
}

// wrong returns the probability that a packet arrives wrong, and is sent again.
func (a *routedAnswer) wrong() float64 {
	if a.r.s.Engine.Level != "packet" {
		return 0
	}
	return -math.Expm1(8 * float64(a.r.s.Workload.Packet) * math.Log1p(-a.r.s.Fabric.BitErrors))
}

// latency returns the seconds of injected that are latency.
func (a *routedAnswer) latency() float64 {
	late := a.r.s.Fabric.LinkLatency.Seconds()
	if a.r.load.graph != nil {
		return late * a.steps()
	}
	return late * float64(a.loads.MaxHops)
}

// injected returns about how many packets are injected, and for how many seconds at least they are on their way.
func (a *routedAnswer) injected() (packets, seconds float64) {
	r := a.r
	w := &r.s.Workload.Traffic
	packet := r.s.packetTime() / float64(engine.Second) // seconds on a link
	if r.load.graph != nil {
		for i := range r.load.graph.Tasks {
			if b := r.load.graph.Tasks[i].Bytes; b > 0 {
				packets += math.Ceil(float64(b) / float64(w.Packet))
			}
		}
		return packets, a.fluid(float64(r.load.parts[0].traffic.Message))/(1-a.wrong()) + a.latency()
	}
	for i := range r.load.parts {
		p := &r.load.parts[i]
		flows := float64(p.end - p.first)
		switch w.Source {
		case "on-off":
			for _, s := range r.onOff(p) {
				packets += flows * float64(s.Count)
				seconds = max(seconds, (float64(s.Start)+s.Every*float64(s.Count-1))/float64(engine.Second))
			}
		case "poisson":
			seconds = w.Warmup.Seconds() + w.Duration.Seconds()
			packets += float64(r.live()) * seconds * w.Load / packet
		default:
			message := float64(p.traffic.Message)
			if p.traffic.Bytes == nil {
				packets += flows * float64(p.count(0, int64(w.Payload)))
			} else {
				for f := range p.traffic.Bytes {
					packets += float64(p.count(f, int64(w.Payload)))
				}
			}
			if r.s.Engine.Level == "packet" {
				message = w.WireBytes(message)
			}
			seconds = a.fluid(message) / (1 - a.wrong())
			if w.Source == "paced" && r.s.Engine.Level == "packet" {
				seconds = max(seconds, a.fluid(message)/w.Pace)
			}
		}
	}
	return packets, seconds + a.latency()
}

// fluid returns the seconds that the link that takes longest is busy with messages of so many bytes.
func (a *routedAnswer) fluid(message float64) float64 {
	return a.pressed * message * 8 / float64(a.r.s.Fabric.LinkRate)
}

// steps returns the links of transfers that wait for each other, at most.
func (a *routedAnswer) steps() float64 {
	if c := a.r.load.call; c != nil {
		return c.depth() * float64(a.loads.MaxHops)
	}
	it := a.r.it
	if it.Spec.CallsInGraph() {
		return depth(it.Graph) * float64(a.loads.MaxHops)
	}
	return float64(2*it.Spec.Microbatches*it.Spec.PP*it.Spec.Chunks+1) * float64(a.loads.MaxHops)
}

// depth returns the most transfers of a graph that wait for each other in a row.
func depth(g *engine.Graph) float64 {
	deep, most := make([]int32, len(g.Tasks)), int32(0)
	for _, id := range g.Order() {
		if g.Tasks[id].Kind == engine.Transfer {
			deep[id]++
		}
		most = max(most, deep[id])
		for _, e := range g.Out(id) {
			deep[e.To] = max(deep[e.To], deep[id])
		}
	}
	return float64(most)
}

// meanHops returns the links of a path, on average over messages.
func (a *routedAnswer) meanHops() float64 {
	hops := float64(a.loads.SumHops)
	if a.loads.Weighted != nil {
		hops = a.loads.WeightedHops
	}
	return hops / max(1, a.r.messages())
}

// throughput returns the packets that all links together can carry in a second.
func (a *routedAnswer) throughput() float64 {
	sum := 0.0
	for _, l := range a.r.Whole.Links {
		sum += l.Rate / 8 / float64(a.r.s.Workload.Packet)
	}
	return sum
}
