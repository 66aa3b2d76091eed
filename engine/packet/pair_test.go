package packet_test

import (
	"cmp"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/packet"
)

// TestPairWorkers: two goroutines find to the tick what one does, on random networks and work with many ties: 100, with
// -long 1,000, with -short 30 of them.
func TestPairWorkers(t *testing.T) {
	cases, divided := cases(1000, 30, 100), 0
	type work struct {
		n *engine.Network
		w *packet.Work
		o packet.Options
	}
	any := rapid.Custom(func(t *rapid.T) work {
		n, w := crowdedWork(t)
		o := packet.Options{
			Until:       engine.Time(rapid.SampledFrom([]int{0, 0, 30, 200}).Draw(t, "until")),
			SampleEvery: engine.Time(rapid.SampledFrom([]int{0, 0, 37}).Draw(t, "sample")),
		}
		if rapid.Bool().Draw(t, "measured") {
			o.MeasureFrom, o.MeasureUntil, o.EndMeasured = 20, 90, true
		}
		return work{n, w, o}
	})
	for seed := range cases {
		c := any.Example(seed)
		if seed%3 == 1 {
			endShort(c.w)
		}
		want, wantLog, err := packet.RunLog(c.n, c.w, c.o)
		if err != nil {
			t.Fatal(err)
		}
		both := packet.Divided(c.o)
		if packet.Divides(c.n, c.w, both) {
			divided++
		}
		got, gotLog, err := packet.RunLog(c.n, c.w, both)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("case %d: %+v\nwant %+v", seed, got, want)
		}
		byEnd := func(a, b packet.Arrival) int {
			return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Flow, b.Flow), cmp.Compare(a.Inject, b.Inject))
		}
		slices.SortFunc(gotLog, byEnd)
		slices.SortFunc(wantLog, byEnd)
		if !slices.Equal(gotLog, wantLog) {
			t.Fatalf("case %d: packets ended %v, want %v", seed, gotLog, wantLog)
		}
	}
	if divided < cases/2 {
		t.Errorf("%d of %d cases were divided", divided, cases)
	}
}

// crowdedWork draws a network and traffic of which many packets come to a link at one time.
func crowdedWork(t *rapid.T) (*engine.Network, *packet.Work) {
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
	of := make([]int32, nodes+1) // by node: its first flow
	for a := range nodes {
		of[a] = int32(len(w.Flows))
		for range rapid.IntRange(0, 5).Draw(t, "flows") {
			at := int32(a)
			var steps []engine.Step
			for range rapid.IntRange(0, 6).Draw(t, "hops") {
				l := out[at][rapid.IntRange(0, len(out[at])-1).Draw(t, "hop")]
				steps = append(steps, stepOver(n, w.Paths, l, 0))
				at = n.Links[l].To
			}
			w.Paths.Add(steps...)
			w.Flows = append(w.Flows, engine.Flow{Src: int32(a), Dst: at})
		}
	}
	of[nodes] = int32(len(w.Flows))
	bytes := rapid.SampledFrom([][]int32{{4}, {2, 4}, {1, 5, 9}}).Draw(t, "bytes")
	for range rapid.IntRange(1, 4).Draw(t, "sources") {
		s := packet.Source{
			End: of[nodes], Bytes: rapid.SampledFrom(bytes).Draw(t, "size"), Count: int64(rapid.IntRange(1, 12).Draw(t, "count")),
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
				s.First, s.End = of[a], of[a+1]
				w.Sources = append(w.Sources, s)
			}
			continue
		}
		w.Sources = append(w.Sources, s)
	}
	return n, w
}
