package packet_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/packet"
)

// referenceSim is a simple simulator of scheduled links. It has an unsorted list of
// events, which is searched for the earliest event, and computes times with rational
// numbers.
type referenceSim struct {
	network     *engine.Network
	work        *packet.Work
	events      []referenceEvent
	numSet      int                 // events scheduled so far
	free        []*big.Rat          // indexed by link: end of the last transmission in ticks
	queue       [][]referencePacket // indexed by link
	links       []packet.LinkStats
	delivered   []referencePacket
	numInjected int64
}

// referenceEvent is the arrival of the first packet of a link, or an injection.
type referenceEvent struct {
	time        engine.Time
	order       int   // number of events scheduled before
	link        int32 // -1 for a source
	source, lap int   // the source and its number of injections so far
}

// referencePacket is a packet that has passed hop links of its path.
type referencePacket struct {
	flow              int32
	hop               int
	bytes             int32
	inject, leaveTime engine.Time
}

// set schedules an event.
func (z *referenceSim) set(e referenceEvent) {
	e.order = z.numSet
	z.numSet++
	z.events = append(z.events, e)
}

// run simulates all events.
func (z *referenceSim) run() {
	z.free, z.queue, z.links = make([]*big.Rat, len(z.network.Links)), make([][]referencePacket, len(z.network.Links)), make([]packet.LinkStats, len(z.network.Links))
	for i, s := range z.work.Sources {
		if s.Count > 0 && s.End > s.First {
			z.set(referenceEvent{time: s.Start, link: -1, source: i})
		}
	}

	for len(z.events) > 0 {
		k := 0
		for i, e := range z.events {
			if e.time < z.events[k].time || e.time == z.events[k].time && e.order < z.events[k].order {
				k = i
			}
		}

		e := z.events[k]
		z.events = slices.Delete(z.events, k, k+1)
		if e.link < 0 {
			s := z.work.Sources[e.source]
			if e.lap++; int64(e.lap) < s.Count {
				z.set(referenceEvent{time: s.Start + engine.Time(s.Every*float64(e.lap)), link: -1, source: e.source, lap: e.lap})
			}
			for f := s.First; f < s.End; f++ {
				z.numInjected++
				bytes := s.Bytes
				if int64(e.lap) == s.Count && s.Last > 0 {
					bytes = s.Last
				}
				z.forward(referencePacket{flow: f, bytes: bytes, inject: e.time}, e.time)
			}
			continue
		}

		p := z.queue[e.link][0]
		z.queue[e.link] = z.queue[e.link][1:]
		if len(z.queue[e.link]) > 0 {
			z.set(referenceEvent{time: z.queue[e.link][0].leaveTime, link: e.link})
		}
		z.links[e.link].Packets++
		z.links[e.link].Bytes += int64(p.bytes)
		p.hop++
		z.forward(p, e.time)
	}
}

// forward enqueues a packet at its next link or delivers it.
func (z *referenceSim) forward(p referencePacket, now engine.Time) {
	path := pathOf(z.network, z.work, p.flow)
	if p.hop == len(path) {
		p.leaveTime = now
		z.delivered = append(z.delivered, p)
		return
	}
	id := path[p.hop]
	if free := z.free[id]; free == nil || free.Cmp(new(big.Rat).SetInt64(int64(now))) < 0 {
		// The fraction of a tick is carried over only if the link has been busy until
		// now.
		floor := engine.Time(-1)
		if free != nil {
			floor = floorOf(free)
		}
		if floor < now {
			z.free[id] = new(big.Rat).SetInt64(int64(now))
		}
	}

	l := z.network.Links[id]
	duration := new(big.Rat).Quo(new(big.Rat).SetInt64(8*int64(p.bytes)*int64(engine.Second)), new(big.Rat).SetFloat64(l.Rate))
	z.free[id] = new(big.Rat).Add(z.free[id], duration)
	p.leaveTime = floorOf(z.free[id]) + l.Latency
	z.queue[id] = append(z.queue[id], p)
	z.links[id].MaxQueue = max(z.links[id].MaxQueue, int32(len(z.queue[id])))
	if len(z.queue[id]) == 1 {
		z.set(referenceEvent{time: p.leaveTime, link: id})
	}
}

// floorOf rounds down to ticks.
func floorOf(r *big.Rat) engine.Time {
	return engine.Time(new(big.Int).Div(r.Num(), r.Denom()).Int64())
}

// portsOf returns an engine.Paths without paths. The ports of a node are its outgoing
// links in order.
func portsOf(n *engine.Network) *engine.Paths {
	out := make([][]int32, n.Nodes)
	degree := 1
	for i, l := range n.Links {
		out[l.From] = append(out[l.From], int32(i))
		degree = max(degree, len(out[l.From]))
	}
	w := &engine.Paths{Degree: degree, Link: slices.Repeat([]int32{-1}, int(n.Nodes)*degree)}
	for node, links := range out {
		copy(w.Link[node*degree:], links)
	}
	return w
}

// stepOver returns the step over a link on a channel.
func stepOver(n *engine.Network, w *engine.Paths, link int32, channel int) engine.Step {
	from := int(n.Links[link].From)
	return engine.MakeStep(slices.Index(w.Link[from*w.Degree:(from+1)*w.Degree], link), channel)
}

// pathOf returns the links of the first path of a flow.
func pathOf(n *engine.Network, w *packet.Work, flow int32) []int32 {
	first, _ := w.Paths.Of(w.Paths.ClassOf(flow))
	node := w.Flows[flow].Src
	var path []int32
	for _, s := range w.Paths.Steps(first) {
		l := w.Paths.Out(node, s)
		path = append(path, l)
		node = n.Links[l].To
	}
	return path
}

// pathsOver returns work with one flow per path. Paths are sequences of links, all on
// channel 0.
func pathsOver(n *engine.Network, sources []packet.Source, paths ...[]int32) *packet.Work {
	w := &packet.Work{Paths: portsOf(n), Sources: sources}
	for _, path := range paths {
		var steps []engine.Step
		for _, l := range path {
			steps = append(steps, stepOver(n, w.Paths, l, 0))
		}
		w.Paths.Add(steps...)
		w.Flows = append(w.Flows, engine.Flow{Src: n.Links[path[0]].From, Dst: n.Links[path[len(path)-1]].To})
	}
	return w
}

// randomWork draws a small network and traffic for it.
func randomWork(t *rapid.T) (*engine.Network, *packet.Work) {
	nodes := rapid.IntRange(2, 5).Draw(t, "nodes")
	n := &engine.Network{Nodes: int32(nodes)}
	out := make([][]int32, nodes)
	link := func(a, b int) {
		out[a] = append(out[a], int32(len(n.Links)))
		n.Links = append(n.Links, engine.Link{
			From: int32(a), To: int32(b),
			Channels: int32(rapid.IntRange(0, 3).Draw(t, "channels")),
			Rate:     []float64{8e12, 4e12, 3e12, 7e11}[rapid.IntRange(0, 3).Draw(t, "rate")],
			Latency:  engine.Time(rapid.IntRange(0, 4).Draw(t, "latency")),
		})
	}

	for a := range nodes {
		link(a, (a+1)%nodes)
	}
	for range rapid.IntRange(0, 4).Draw(t, "more") {
		link(rapid.IntRange(0, nodes-1).Draw(t, "from"), rapid.IntRange(0, nodes-1).Draw(t, "to"))
	}

	w := &packet.Work{Paths: portsOf(n)}
	for range rapid.IntRange(1, 6).Draw(t, "flows") {
		node := int32(rapid.IntRange(0, nodes-1).Draw(t, "src"))
		f := engine.Flow{Src: node}
		var steps []engine.Step
		for range rapid.IntRange(0, 4).Draw(t, "hops") {
			l := rapid.SampledFrom(out[node]).Draw(t, "hop")
			steps = append(steps, stepOver(n, w.Paths, l, rapid.IntRange(0, int(max(1, n.Links[l].Channels))-1).Draw(t, "channel")))
			node = n.Links[l].To
		}
		f.Dst = node
		w.Paths.Add(steps...)
		w.Flows = append(w.Flows, f)
	}

	for range rapid.IntRange(1, 3).Draw(t, "sources") {
		first := rapid.IntRange(0, len(w.Flows)-1).Draw(t, "first")
		w.Sources = append(w.Sources, packet.Source{
			First: int32(first), End: int32(rapid.IntRange(first, len(w.Flows)).Draw(t, "end")),
			Bytes: int32(rapid.IntRange(1, 9).Draw(t, "bytes")), Count: int64(rapid.IntRange(0, 12).Draw(t, "count")),
			Start: engine.Time(rapid.IntRange(0, 20).Draw(t, "start")), Every: float64(rapid.IntRange(0, 40).Draw(t, "every")) / 4,
		})
		if s := &w.Sources[len(w.Sources)-1]; s.Count > 0 {
			s.Last = int32(rapid.IntRange(0, int(s.Bytes)).Draw(t, "last"))
		}
	}
	return n, w
}

// TestAgainstReference: Run and referenceSim agree on link statistics and delays, also
// for a run that is cut at half its time, and all packets are delivered.
func TestAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, w := randomWork(t)
		z := referenceSim{network: n, work: w}
		z.run()
		s, err := packet.Run(n, w, packet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Injected != z.numInjected || s.Delivered != z.numInjected || s.InFlight() != 0 {
			t.Fatalf("%d injected, %d delivered, want %d", s.Injected, s.Delivered, z.numInjected)
		}

		sum, minDelay, maxDelay := 0.0, engine.Never, engine.Time(0)
		for _, p := range z.delivered {
			d := p.leaveTime - p.inject
			sum += d.Seconds()
			minDelay, maxDelay = min(minDelay, d), max(maxDelay, d)
		}
		if z.numInjected > 0 && (math.Abs(s.Delay.MeanSeconds()*float64(z.numInjected)/sum-1) > 1e-12 && sum > 0 || s.Delay.Min != minDelay || s.Delay.Max != maxDelay) {
			t.Fatalf("delays of %v mean, %v to %v; want sum %v, %v to %v", s.Delay.MeanSeconds(), s.Delay.Min, s.Delay.Max, sum, minDelay, maxDelay)
		}

		for i, l := range s.Links {
			if l.Busy, l.Waited = 0, 0; l != z.links[i] {
				t.Fatalf("link %d: %+v, want %+v", i, l, z.links[i])
			}
		}

		var cut, hist int64
		half := s.End / 2
		if half > 0 {
			c, err := packet.Run(n, w, packet.Options{Until: half})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range z.delivered {
				if p.leaveTime <= half {
					cut++
				}
			}
			c.Delay.Histogram(func(_, _ engine.Time, k int64) { hist += k })
			if c.Delivered != cut || hist != cut || c.End > half {
				t.Fatalf("until %v of %v %d were delivered (%d in the histogram), want %d", half, s.End, c.Delivered, hist, cut)
			}
		}
	})
}

// TestRatesDoNotDrift: fractions of ticks are carried over, so the duration of 7 million
// packets is exact to a tick.
func TestRatesDoNotDrift(t *testing.T) {
	n := &engine.Network{Nodes: 2, Links: []engine.Link{{From: 0, To: 1, Rate: 7e12}}}
	w := pathsOver(n, []packet.Source{{End: 1, Bytes: 1, Count: 7_000_000}}, []int32{0})
	s, err := packet.Run(n, w, packet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if difference := s.End - 8_000_000; difference < -1 || difference > 1 {
		t.Errorf("7 million bytes take %d ticks at 7 Tb/s, want 8 million", s.End)
	}
}

// TestMD1: the mean delay of Poisson arrivals at a link equals the Pollaczek-Khinchine
// formula for M/D/1. It is s + rho s / (2 (1 - rho)) for service time s and load rho.
func TestMD1(t *testing.T) {
	const bytes, packets = 1000, 2_000_000
	n := &engine.Network{Nodes: 2, Links: []engine.Link{{From: 0, To: 1, Rate: 8e9}}} // 1 us per packet
	service := float64(engine.Microsecond)
	for _, load := range []float64{0.3, 0.6, 0.85} {
		w := pathsOver(n, []packet.Source{{End: 1, Process: packet.Poisson, Bytes: bytes, Count: packets, Every: service / load, Seed: 7}}, []int32{0})
		s, err := packet.Run(n, w, packet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := (service + load*service/(2*(1-load))) / float64(engine.Second)
		if difference := s.Delay.MeanSeconds()/want - 1; math.Abs(difference) > 0.02 {
			t.Errorf("load %g: mean delay %g s, want %g", load, s.Delay.MeanSeconds(), want)
		}
		if busy := s.Links[0].Busy; busy != packets*engine.Microsecond {
			t.Errorf("load %g: busy for %v", load, busy)
		}
	}
}

// TestQuantiles: a quantile is at least the exact one and at most 1/128 above it.
func TestQuantiles(t *testing.T) {
	n := &engine.Network{Nodes: 2, Links: []engine.Link{{From: 0, To: 1, Rate: 8e12}}}
	w := pathsOver(n, []packet.Source{{End: 1, Bytes: 1, Count: 100_000}}, []int32{0}) // delays 1..100,000 ticks
	s, err := packet.Run(n, w, packet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []float64{0, 0.001, 0.25, 0.5, 0.99, 0.999, 1} {
		want := max(1, math.Ceil(q*100_000))
		if got := float64(s.Delay.Quantile(q)); got < want || got > want*(1+1.0/128)+1 {
			t.Errorf("quantile %g is %g, want %g", q, got, want)
		}
	}
}
