package packet_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/packet"
)

// TestComponents: componentSim with one or two workers yields the same statistics as the
// event loop, on random networks and sources with many simultaneous events. The test runs
// 300 cases, 3,000 with -long, and 20 with -short.
func TestComponents(t *testing.T) {
	cases, parted := numCases(3000, 20, 300), 0
	for seed := range cases {
		c := componentWork.Example(seed)
		want, _, err := packet.RunLog(c.n, c.w, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if c.o.EndMeasured && want.Injected > 10_000 && !*longTests {
			continue // each end check moves all packets to the event loop and back, which is slow
		}
		for workers := range 3 {
			o := packet.ForceParallel(c.o)
			o.Workers = workers
			if packet.NumComponents(c.n, c.w, o) > 1 {
				parted++
			}
			got, err := packet.Run(c.n, c.w, o)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("case %d: %d workers: %s", seed, workers, cmp.Diff(*want, *got, cmp.AllowUnexported(packet.Stats{}, packet.Delay{})))
			}
		}
	}
	if parted < 3*cases/2 {
		t.Errorf("%d of %d cases had several parts", parted, 3*cases)
	}
}

// workCase is the input of a run.
type workCase struct {
	n *engine.Network
	w *packet.Work
	o packet.Options
}

// componentWork draws traffic on a torus in dimension order, or through layers of nodes.
var componentWork = rapid.Custom(func(t *rapid.T) workCase {
	of := engine.Link{Rate: 8e12, Latency: engine.Time(rapid.SampledFrom([]int{0, 0, 0, 4, 2, 12}).Draw(t, "latency"))}
	var n *engine.Network
	var w *packet.Work
	var bySource []int32 // first flow of each node, followed by the number of flows
	if rapid.Bool().Draw(t, "torus") {
		b := torus{[3]int{rapid.IntRange(1, 5).Draw(t, "x"), rapid.IntRange(1, 4).Draw(t, "y"), rapid.IntRange(2, 4).Draw(t, "z")}}
		n = b.network(of)
		w = &packet.Work{Flows: b.allPairs(), Paths: b.dimensionOrder(false)}
		for node := range b.nodes() + 1 {
			bySource = append(bySource, node*(b.nodes()-1))
		}
	} else {
		n, w, bySource = layeredNetwork(t, of)
	}

	if rapid.Bool().Draw(t, "rates") {
		for i := range n.Links {
			n.Links[i].Rate = rapid.SampledFrom([]float64{8e12, 4e12, 2e12}).Draw(t, "rate")
		}
	}

	bytes := rapid.SampledFrom([]int32{4, 4, 8, 9}).Draw(t, "bytes")
	count := int64(rapid.IntRange(1, 6).Draw(t, "count"))
	for range rapid.IntRange(1, 3).Draw(t, "sources") {
		s := packet.Source{Bytes: bytes, Count: count, Start: engine.Time(rapid.SampledFrom([]int{0, 0, 1, 2, 5}).Draw(t, "start")), Seed: 7}
		s.Order = rapid.SampledFrom([]packet.Order{packet.RoundRobin, packet.Random, packet.Sequential}).Draw(t, "order")
		s.Process = packet.Greedy
		if rapid.Bool().Draw(t, "periodic") {
			s.Process = packet.Periodic
			s.Every = rapid.SampledFrom([]float64{1, 1.5, 2.25, 4, 7, 7.3, 16, 32, 400}).Draw(t, "every")
			s.Order = rapid.SampledFrom([]packet.Order{packet.RoundRobin, packet.Uniform, packet.Together}).Draw(t, "periodic order")
		}
		if !rapid.Bool().Draw(t, "by node") {
			s.End = int32(len(w.Flows))
			w.Sources = append(w.Sources, s)
			continue
		}
		for node := range len(bySource) - 1 {
			s.First, s.End = bySource[node], bySource[node+1]
			w.Sources = append(w.Sources, s)
		}
	}

	o := packet.Options{Until: engine.Time(rapid.SampledFrom([]int{0, 0, 30, 200}).Draw(t, "until"))}
	if rapid.Bool().Draw(t, "measured") {
		o.MeasureFrom, o.MeasureUntil, o.EndMeasured = 20, 90, true
	}
	return workCase{n, w, o}
})

// layeredNetwork draws nodes in layers, links from each layer to the next, and flows
// through some of the layers. bySource is the first flow of each node, followed by the
// number of flows.
func layeredNetwork(t *rapid.T, template engine.Link) (n *engine.Network, w *packet.Work, bySource []int32) {
	wide, deep := rapid.IntRange(1, 4).Draw(t, "wide"), rapid.IntRange(2, 5).Draw(t, "deep")
	n = &engine.Network{Nodes: int32(wide * deep)}
	out := make([][]int32, n.Nodes)
	for a := range wide * (deep - 1) {
		for range rapid.IntRange(1, 3).Draw(t, "links") {
			template.From, template.To = int32(a), int32((a/wide+1)*wide+rapid.IntRange(0, wide-1).Draw(t, "to"))
			out[a] = append(out[a], int32(len(n.Links)))
			n.Links = append(n.Links, template)
		}
	}
	w = &packet.Work{Paths: portsOf(n)}
	for a := range n.Nodes {
		bySource = append(bySource, int32(len(w.Flows)))
		for range rapid.IntRange(0, 5).Draw(t, "flows") {
			node := a
			var steps []engine.Step
			for hops := rapid.IntRange(0, deep).Draw(t, "hops"); hops > 0 && len(out[node]) > 0; hops-- {
				l := rapid.SampledFrom(out[node]).Draw(t, "hop")
				steps = append(steps, stepOver(n, w.Paths, l, 0))
				node = n.Links[l].To
			}
			w.Paths.Add(steps...)
			w.Flows = append(w.Flows, engine.Flow{Src: a, Dst: node})
		}
	}
	return n, w, append(bySource, int32(len(w.Flows)))
}

// TestComponentsOfUnusualWork: componentSim and the event loop agree on unusual inputs.
// Examples are two ports with one link, an unused path over a port that does not exist,
// packets that take days, and times near the limit.
//
// Two of the runs switch from components to the event loop. In "little memory", memory is
// short. In "many leaves", thousands of packets arrive simultaneously at a link.
func TestComponentsOfUnusualWork(t *testing.T) {
	line := &engine.Network{Nodes: 3, Links: []engine.Link{{From: 1, To: 2, Rate: 8e12}, {From: 0, To: 1, Rate: 8e12}}}
	twoPorts := &engine.Paths{Degree: 2, Link: []int32{1, 1, 0, 0, -1, -1}}
	twoPorts.Add(engine.MakeStep(0, 0), engine.MakeStep(0, 0))
	unused := &engine.Paths{Degree: 1, Link: []int32{1, 0, -1}, Class: []int32{0}}
	unused.Add(engine.MakeStep(0, 0), engine.MakeStep(0, 0))
	unused.Add(engine.MakeStep(5, 0), engine.MakeStep(7, 0))

	greedy := packet.Source{End: 1, Bytes: 4, Count: 100, Process: packet.Greedy, Order: packet.RoundRobin}

	separate := &engine.Network{Nodes: 2000}
	var each [][]int32
	for i := range int32(1000) {
		separate.Links = append(separate.Links, engine.Link{From: 2 * i, To: 2*i + 1, Rate: 8e12})
		each = append(each, slices.Repeat([][]int32{{i}}, 70)...)
	}

	ring := func(rate float64) *engine.Network {
		return torus{[3]int{1, 1, 4}}.network(engine.Link{Rate: rate})
	}
	slow, lastPossible := greedy, greedy
	slow.Bytes, slow.Count = 1e6, 40
	lastPossible.First, lastPossible.End, lastPossible.Start = 1, 2, 1<<62+10

	queue := pathsOver(&engine.Network{Nodes: 2, Links: []engine.Link{{To: 1, Rate: 8e12}}}, nil, []int32{0})
	for range 20 {
		queue.Sources = append(queue.Sources, packet.Source{End: 1, Bytes: 4, Count: 2000, Every: 4})
	}

	self := pathsOver(&engine.Network{Nodes: 1, Links: []engine.Link{{Rate: 8e12, Latency: 5}}}, []packet.Source{
		{End: 1, Bytes: 4, Count: 50, Every: 3}, {End: 1, Bytes: 9, Count: 50, Every: 7},
	}, []int32{0, 0, 0})

	leaves := &engine.Network{Nodes: 3002, Links: []engine.Link{{From: 3000, To: 3001, Rate: 64e12}}}
	var leafPaths [][]int32
	for i := range int32(3000) {
		leaves.Links = append(leaves.Links, engine.Link{From: 2999 - i, To: 3000, Rate: 8e12})
		leafPaths = append(leafPaths, []int32{1 + i, 0})
	}

	for name, c := range map[string]workCase{
		"a link from a node to itself": {&engine.Network{Nodes: 1, Links: []engine.Link{{Rate: 8e12, Latency: 5}}}, self, packet.Options{}},
		"many leaves":                  {leaves, pathsOver(leaves, []packet.Source{{End: 3000, Bytes: 4000, Count: 3, Every: 4000}}, leafPaths...), packet.Options{}},
		"two ports of one link":        {line, &packet.Work{Paths: twoPorts, Flows: []engine.Flow{{Dst: 2}}, Sources: []packet.Source{greedy}}, packet.Options{}},
		"a path of no flow":            {line, &packet.Work{Paths: unused, Flows: []engine.Flow{{Dst: 2}}, Sources: []packet.Source{greedy}}, packet.Options{}},
		"little memory":                {separate, pathsOver(separate, []packet.Source{{End: 70_000, Bytes: 4, Count: 10, Every: 280}}, each...), packet.Options{MaxBytes: 11 << 19}},
		"a long queue":                 {&engine.Network{Nodes: 2, Links: []engine.Link{{To: 1, Rate: 8e12}}}, queue, packet.Options{MaxBytes: 3 << 20}},
		"days": {ring(8e3), pathsOver(ring(8e3), []packet.Source{slow, {End: 1, Bytes: 1e6, Count: 40, Every: 1}}, []int32{4}),
			packet.Options{MeasureUntil: 8e15, EndMeasured: true}},
		"late": {ring(8e12), pathsOver(ring(8e12), []packet.Source{
			{End: 1, Bytes: 4, Every: 1 << 61, Start: 5, Stop: engine.Never, Order: packet.RoundRobin}, lastPossible,
		}, []int32{4}, []int32{10}), packet.Options{Until: 1<<62 + 1000}},
	} {
		t.Run(name, func(t *testing.T) {
			want, _, err := packet.RunLog(c.n, c.w, c.o)
			if err != nil {
				t.Fatal(err)
			}
			for workers := range 4 {
				c.o.Workers = workers
				for _, o := range []packet.Options{c.o, packet.ForceParallel(c.o)} {
					o.Workers = workers
					if got, err := packet.Run(c.n, c.w, o); err != nil || !reflect.DeepEqual(got, want) {
						t.Errorf("%d workers: %+v, %v\nwant %+v", workers, got, err, want)
					}
				}
			}
		})
	}
}
