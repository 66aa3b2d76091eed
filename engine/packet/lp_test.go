package packet_test

import (
	"fmt"
	"reflect"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/packet"
)

// TestLogicalProcesses: lpSim with one to three workers yields the same statistics and
// errors as the event loop. The random networks and sources have many simultaneous
// events. Some runs end early, are sampled or stopped, lose packets, or deadlock. The
// test runs 200 cases, 10,000 with -long, and 50 with -short.
func TestLogicalProcesses(t *testing.T) {
	rare := []int{387, 1790} // a run that ends when a packet is sent, and buffer space of lost packets
	cases, stuck, stopped, faulty := numCases(10000, 50, 200), 0, 0, 0
	for k := range cases + len(rare) {
		seed := k
		if k >= cases {
			seed = rare[k-cases]
		}
		c := creditWork.Example(seed)
		if k%3 == 1 && k < cases {
			shortenLastPackets(c.w)
		}
		want, failed := packet.Run(c.n, c.w, packet.LPsAfter(c.o, -1))
		c.o.Workers = []int{1, 2, 1, 3}[seed%4]
		got, err := packet.Run(c.n, c.w, packet.LPsAfter(c.o, []int{1, 50, 300}[seed%3]))
		if fmt.Sprint(err) != fmt.Sprint(failed) {
			t.Fatalf("case %d: %v, want %v", seed, err, failed)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("case %d: %s", seed, gocmp.Diff(*want, *got, gocmp.AllowUnexported(packet.Stats{}, packet.Delay{})))
		}
		switch {
		case err != nil:
			stuck++
		case got.InFlight() > 0:
			stopped++
		case got.Dropped > 0:
			faulty++
		}
	}
	t.Logf("%d cases, %d of them stuck, %d stopped and %d with losses", cases, stuck, stopped, faulty)
	if stuck > cases/2 || stopped < cases/100 || faulty < cases/100 {
		t.Errorf("of %d cases %d were stuck, %d stopped and %d had losses, so little is tested", cases, stuck, stopped, faulty)
	}
}

// TestWindowsByLoad: lpSim uses windows under high load and the event loop under low
// load, with the same result as the event loop alone.
func TestWindowsByLoad(t *testing.T) {
	b := torus{[3]int{4, 4, 4}}
	n := b.network(engine.Link{Rate: 400e9, Latency: 20 * engine.Nanosecond, Buffer: 4 << 10, Channels: 2})
	for _, c := range []struct {
		every              float64 // ns between packets of 1 KiB per node
		minShare, maxShare float64 // of hops that lpSim simulates
	}{{20, 0.9, 1}, {60, 0.8, 1}, {20_000, 0, 0.1}} {
		w := &packet.Work{Flows: b.allPairs(), Paths: b.dimensionOrder(true), Sources: b.sourcePerNode(packet.Source{
			Process: packet.Poisson, Order: packet.Uniform, Bytes: 1 << 10, Count: 4, Every: c.every * float64(engine.Nanosecond), Seed: 3,
		})}
		want, err := packet.Run(n, w, packet.LPsAfter(packet.Options{Control: packet.Credit}, -1))
		if err != nil {
			t.Fatal(err)
		}
		got, hops, err := packet.RunLPs(n, w, packet.Options{Control: packet.Credit, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("every %g ns: %s", c.every, gocmp.Diff(*want, *got, gocmp.AllowUnexported(packet.Stats{}, packet.Delay{})))
		}
		if share := float64(hops) / float64(got.Hops); share < c.minShare || share > c.maxShare {
			t.Errorf("every %g ns: lpSim simulated a share of %.3f of the hops, want %g to %g", c.every, share, c.minShare, c.maxShare)
		}
	}
}

// TestWindowsInRareCases: lpSim and the event loop agree in rare cases. A link fails or
// pauses while its packets wait for buffer space. Latencies are so long that events are
// near the end of the time range.
func TestWindowsInRareCases(t *testing.T) {
	greedy := func(first int32, bytes int32, count int64, start engine.Time) packet.Source {
		return packet.Source{First: first, End: first + 1, Process: packet.Greedy, Order: packet.RoundRobin, Bytes: bytes, Count: count, Start: start}
	}
	for _, planned := range []bool{false, true} {
		n := &engine.Network{Nodes: 4, Links: []engine.Link{
			{From: 0, To: 1, Rate: 8e12, Latency: 1000, Buffer: 8},
			{From: 2, To: 3, Rate: 8e12, Latency: 100, Buffer: 8},
		}, Changes: []engine.Change{{At: 1100, Link: 0, Planned: planned}}}
		w := pathsOver(n, []packet.Source{greedy(0, 8, 2, 0), greedy(1, 8, 1, 1200)}, []int32{0}, []int32{1})
		compareWithEventLoop(t, n, w, packet.Options{Control: packet.Credit, Until: 1500}, 1)
	}

	for links := range int32(8) {
		n := &engine.Network{Nodes: links + 2}
		var path []int32
		for i := range links + 1 {
			n.Links = append(n.Links, engine.Link{From: i, To: i + 1, Rate: 8e3, Latency: engine.Never/8 - 1, Buffer: 1 << 28})
			path = append(path, i)
		}
		w := pathsOver(n, []packet.Source{greedy(0, 1<<28, 3, 0)}, path)
		compareWithEventLoop(t, n, w, packet.Options{Control: packet.Credit}, 1)
	}

	n, paths := &engine.Network{Nodes: 800}, [][]int32{}
	for i := range int32(400) {
		n.Links = append(n.Links, engine.Link{From: 2 * i, To: 2*i + 1, Rate: 8e3, Latency: 1 << 58, Buffer: 1 << 28})
		paths = append(paths, []int32{i})
	}
	s := greedy(0, 1<<26, 12, 0)
	s.End = 400
	compareWithEventLoop(t, n, pathsOver(n, []packet.Source{s}, paths...), packet.Options{Control: packet.Credit}, 0)
}

// TestCutWindows: windows in which sources inject more packets than fit into the arrival
// lists are cut, with the same result as the event loop. The links of a ring have the
// latency of a window. The packets that each source sends in one window therefore arrive,
// in the next one, at a link over which other sources send.
func TestCutWindows(t *testing.T) {
	const nodes = 800
	n := &engine.Network{Nodes: nodes}
	var paths [][]int32
	for i := range int32(nodes) {
		n.Links = append(n.Links, engine.Link{From: i, To: (i + 1) % nodes, Rate: 8e12, Latency: 31, Buffer: 1 << 10})
		paths = append(paths, []int32{i, (i + 1) % nodes})
	}
	for _, process := range []packet.Process{packet.Poisson, packet.Periodic} {
		var sources []packet.Source
		for f := range int32(nodes) {
			sources = append(sources, packet.Source{First: f, End: f + 1, Process: process, Order: packet.RoundRobin, Bytes: 1, Count: 60, Every: 1, Seed: uint64(f)})
		}
		w := pathsOver(n, sources, paths...)
		for _, workers := range []int{1, 2} {
			compareWithEventLoop(t, n, w, packet.Options{Control: packet.Credit, Workers: workers}, 1)
		}
	}
}

// compareWithEventLoop compares a run that uses lpSim after the given number of events
// with the event loop.
func compareWithEventLoop(t *testing.T, n *engine.Network, w *packet.Work, o packet.Options, events int) {
	t.Helper()
	want, failed := packet.Run(n, w, packet.LPsAfter(o, -1))
	got, err := packet.Run(n, w, packet.LPsAfter(o, events))
	if fmt.Sprint(err) != fmt.Sprint(failed) {
		t.Fatalf("%v, want %v", err, failed)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatal(gocmp.Diff(*want, *got, gocmp.AllowUnexported(packet.Stats{}, packet.Delay{})))
	}
}

// creditWork draws a network with latencies and credits, and traffic for it.
var creditWork = rapid.Custom(func(t *rapid.T) workCase {
	n, w := tiedWork(t)
	if rapid.Bool().Draw(t, "torus") {
		b := torus{[3]int{rapid.IntRange(1, 4).Draw(t, "x"), rapid.IntRange(1, 4).Draw(t, "y"), rapid.IntRange(2, 4).Draw(t, "z")}}
		n = b.network(engine.Link{Rate: 8e12})
		w = &packet.Work{Flows: b.allPairs(), Paths: b.dimensionOrder(true), Sources: w.Sources[:1]}
		w.Sources[0].First, w.Sources[0].End = 0, int32(len(w.Flows))
		if s := w.Sources[0]; s.Process == packet.Greedy || rapid.Bool().Draw(t, "each") {
			w.Sources = b.sourcePerNode(s)
		}
	}

	latencies := rapid.SampledFrom([][]engine.Time{{1}, {5}, {4, 8}, {1, 7, 12}, {64}, {3, 64}, {30, 500}, {1000, 1024}}).Draw(t, "all latencies")
	channels := rapid.IntRange(1, 3).Draw(t, "channels")
	buffers := rapid.SampledFrom([][]int64{{0}, {9}, {18}, {10, 14, 30}, {100}}).Draw(t, "buffers")
	for i := range n.Links {
		l := &n.Links[i]
		l.Latency = rapid.SampledFrom(latencies).Draw(t, "latency")
		l.Buffer = rapid.SampledFrom(buffers).Draw(t, "buffer")
		l.Channels = int32(max(2, channels))
	}

	for i, s := range w.Paths.Step {
		if s != engine.Arrived && channels > 1 && s.Channel() == 0 {
			w.Paths.Step[i] = engine.MakeStep(s.Port(), rapid.IntRange(0, channels-1).Draw(t, "channel"))
		}
	}

	o := packet.Options{Control: packet.Credit}
	at := func(name string) engine.Time {
		return engine.Time(rapid.IntRange(1, 400).Draw(t, name)) * max(1, latencies[0]/10)
	}
	if rapid.IntRange(0, 3).Draw(t, "stops") == 0 {
		o.Until = at("until")
	}
	if rapid.IntRange(0, 3).Draw(t, "sampled") == 0 {
		o.SampleEvery = at("sample")
	}
	if rapid.IntRange(0, 3).Draw(t, "measured") == 0 {
		o.MeasureFrom = at("from")
		o.MeasureUntil = o.MeasureFrom + at("measure")
		o.EndMeasured = rapid.Bool().Draw(t, "end measured")
	}

	if rapid.IntRange(0, 3).Draw(t, "changes") == 0 {
		now := engine.Time(0)
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			now += at("after")
			l := int32(rapid.IntRange(0, len(n.Links)-1).Draw(t, "link"))
			down := engine.Change{At: now, Link: l, Planned: rapid.Bool().Draw(t, "planned")}
			now += at("for")
			n.Changes = append(n.Changes, down, engine.Change{At: now, Link: l, Rate: n.Links[l].Rate})
		}
	}
	return workCase{n, w, o}
})

// tiedWork draws a network and traffic with many simultaneous arrivals at links.
func tiedWork(t *rapid.T) (*engine.Network, *packet.Work) {
	nodes := rapid.IntRange(2, 9).Draw(t, "nodes")
	n := &engine.Network{Nodes: int32(nodes)}
	rates := rapid.SampledFrom([][]float64{{8e12}, {8e12, 4e12}, {8e12, 3e12, 7e11}}).Draw(t, "rates")
	latencies := rapid.SampledFrom([][]engine.Time{{0}, {3}, {0, 1, 7, 40}}).Draw(t, "latencies")
	out := make([][]int32, nodes)
	link := func(a, b int) {
		out[a] = append(out[a], int32(len(n.Links)))
		n.Links = append(n.Links, engine.Link{
			From: int32(a), To: int32(b), Rate: rapid.SampledFrom(rates).Draw(t, "rate"), Latency: rapid.SampledFrom(latencies).Draw(t, "latency"),
		})
	}

	for a := range nodes {
		link(a, (a+1)%nodes)
		link(a, (a+nodes-1)%nodes)
	}
	for range rapid.IntRange(0, 6).Draw(t, "more") {
		link(rapid.IntRange(0, nodes-1).Draw(t, "from"), rapid.IntRange(0, nodes-1).Draw(t, "to"))
	}

	w := &packet.Work{Paths: portsOf(n)}
	firstFlow := make([]int32, nodes+1) // indexed by node
	for a := range nodes {
		firstFlow[a] = int32(len(w.Flows))
		for range rapid.IntRange(0, 5).Draw(t, "flows") {
			node := int32(a)
			var steps []engine.Step
			for range rapid.IntRange(0, 6).Draw(t, "hops") {
				l := out[node][rapid.IntRange(0, len(out[node])-1).Draw(t, "hop")]
				steps = append(steps, stepOver(n, w.Paths, l, 0))
				node = n.Links[l].To
			}
			w.Paths.Add(steps...)
			w.Flows = append(w.Flows, engine.Flow{Src: int32(a), Dst: node})
		}
	}
	firstFlow[nodes] = int32(len(w.Flows))

	bytes := rapid.SampledFrom([][]int32{{4}, {2, 4}, {1, 5, 9}}).Draw(t, "bytes")
	for range rapid.IntRange(1, 4).Draw(t, "sources") {
		s := packet.Source{
			End: firstFlow[nodes], Bytes: rapid.SampledFrom(bytes).Draw(t, "size"), Count: int64(rapid.IntRange(1, 12).Draw(t, "count")),
			Start: engine.Time(rapid.IntRange(0, 9).Draw(t, "start")), Seed: 7,
		}
		s.Process = rapid.SampledFrom([]packet.Process{packet.Periodic, packet.Greedy, packet.Poisson}).Draw(t, "process")
		switch s.Order = rapid.SampledFrom([]packet.Order{packet.Together, packet.RoundRobin, packet.Random, packet.Sequential, packet.Uniform}).Draw(t, "order"); {
		case s.Process == packet.Greedy && (s.Order == packet.Together || s.Order == packet.Uniform):
			s.Order = packet.Random
		case s.Process != packet.Greedy:
			s.Every = float64(rapid.IntRange(0, 40).Draw(t, "every")) / 4
		}
		if s.Process == packet.Poisson {
			s.Every++
		}
		if rapid.Bool().Draw(t, "by node") {
			for a := range nodes {
				s.First, s.End = firstFlow[a], firstFlow[a+1]
				w.Sources = append(w.Sources, s)
			}
			continue
		}
		w.Sources = append(w.Sources, s)
	}
	return n, w
}
