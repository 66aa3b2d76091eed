package packet_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
)

// TestLatest: on drawn links, in circles too, and drawn graphs, transfers of several paths among them, every task has
// ended by when Latest says, in packets that come as they may or go by ranks, and as fluid; a chain's parts are its
// length.
func TestLatest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, w := anyWork(t)
		g := &engine.Graph{}
		var rank []int32
		paths, flows := several(t, w), []engine.Flow{} // by task
		for k, f := range w.Flows {
			if f.Src == f.Dst { // which takes no link as fluid
				continue
			}
			for range rapid.IntRange(0, 4).Draw(t, "tasks") {
				task := engine.Task{Kind: engine.Transfer, Src: f.Src, Dst: f.Dst, Flows: 1, Bytes: int64(rapid.IntRange(0, 200).Draw(t, "bytes"))}
				if rapid.IntRange(0, 5).Draw(t, "computes") == 0 {
					task = engine.Task{Duration: engine.Time(rapid.IntRange(0, 50).Draw(t, "duration"))}
				}
				id := g.AddTask(task)
				flows, paths.Class = append(flows, f), append(paths.Class, int32(k))
				rank = append(rank, int32(rapid.IntRange(0, 3).Draw(t, "rank")))
				for range rapid.IntRange(0, 2).Draw(t, "edges") {
					if id > 0 {
						g.AddEdge(rapid.Int32Range(0, id-1).Draw(t, "for"), id, engine.Time(rapid.IntRange(0, 20).Draw(t, "lag")))
					}
				}
			}
		}
		if err := g.Freeze(); err != nil {
			t.Fatal(err)
		}
		o := packet.Options{Seed: 5}
		if rapid.Bool().Draw(t, "ranked") {
			o.TaskRank = rank
		}
		bytes := int32(rapid.IntRange(1, 40).Draw(t, "packet"))
		trace, _, err := packet.RunGraph(g, n, flows, paths, bytes, o)
		if err != nil {
			t.Fatal(err)
		}
		late, err := packet.NewLatest(t.Context(), g, n, flows, paths, bytes, o.TaskRank, 1e9)
		if err != nil {
			t.Fatal(err)
		}
		last := engine.Time(0)
		for i, end := range late.End {
			if trace.End[i] > end {
				t.Errorf("task %d ends at %v, at %v at the latest", i, trace.End[i], end)
			}
			last = max(last, end)
		}
		if sum := late.Parts.Sum(); len(late.End) > 0 && (sum < last-4 || sum > last+4) {
			t.Errorf("%v in all, of %+v", last, late.Parts)
		}
		if o.TaskRank != nil {
			return
		}
		routes, err := engine.RoutesOf(g, n, paths, flows)
		if err != nil {
			t.Fatal(err)
		}
		fluid, err := flow.Run(t.Context(), g, n, routes, flow.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, end := range late.End {
			if fluid.End[i] > end {
				t.Errorf("as fluid task %d ends at %v, at %v at the latest", i, fluid.End[i], end)
			}
		}
	})
}

// several returns paths in which flows with the same ends may take those of each other.
func several(t *rapid.T, w *packet.Work) *engine.Paths {
	k := *w.Paths
	k.Start, k.First, k.Class = nil, []int32{0}, []int32{}
	for f, ends := range w.Flows {
		for other := range w.Flows {
			if other == f || w.Flows[other] == ends && rapid.Bool().Draw(t, "shares") {
				k.Start = append(k.Start, w.Paths.Start[other])
			}
		}
		k.First = append(k.First, int32(len(k.Start)))
	}
	return &k
}

// TestLatestAlone: where no two transfers are under way on a link at once the time is just that of the packets.
func TestLatestAlone(t *testing.T) {
	n := line(3, engine.Link{})
	n.Links[1].Latency = us
	g := &engine.Graph{}
	for i := range 3 {
		g.AddTask(engine.Task{Kind: engine.Transfer, Src: 0, Dst: 3, Flows: 1, Bytes: 5000})
		if i > 0 {
			g.AddEdge(int32(i-1), int32(i), us)
		}
	}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	w := over(n, nil, []int32{0, 1, 2})
	trace, _, err := packet.RunGraph(g, n, w.Flows, w.Paths, 1000, packet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	late, err := packet.NewLatest(t.Context(), g, n, w.Flows, w.Paths, 1000, nil, 1e6)
	if err != nil {
		t.Fatal(err)
	}
	if off := late.End[2] - trace.Makespan; off < 0 || off > 4 || late.Parts.Stored != 6*us || late.Parts.Shared != 0 {
		t.Errorf("%v at the latest, of %+v; %v as packets", late.End[2], late.Parts, trace.Makespan)
	}
	if _, err := packet.NewLatest(t.Context(), g, n, w.Flows, w.Paths, 1000, nil, 1); !errors.Is(err, packet.ErrLatest) {
		t.Errorf("%v, want that it takes too long", err)
	}
}

// TestFirstComeFirstServed: a transfer that shares its link with one that is held back further on takes a third longer
// than as fluid, however small packets are.
func TestFirstComeFirstServed(t *testing.T) {
	n := line(2, engine.Link{})
	g, w := &engine.Graph{}, over(n, nil, []int32{0, 1}, []int32{0}, []int32{1})
	for _, task := range []struct {
		flow, kilobytes int
	}{{0, 2000}, {1, 600}, {2, 2000}, {2, 2000}} {
		f := w.Flows[task.flow]
		g.AddTask(engine.Task{Kind: engine.Transfer, Src: f.Src, Dst: f.Dst, Flows: 1, Bytes: int64(task.kilobytes) * 1000})
	}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	routes, err := engine.RoutesOf(g, n, w.Paths, w.Flows)
	if err != nil {
		t.Fatal(err)
	}
	fluid, err := flow.Run(t.Context(), g, n, routes, flow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, bytes := range []int32{1000, 100, 10} {
		trace, _, err := packet.RunGraph(g, n, w.Flows, w.Paths, bytes, packet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if longer := float64(trace.End[1]) / float64(fluid.End[1]); longer < 1.32 || longer > 1.34 {
			t.Errorf("packets of %d B: %v, as fluid %v", bytes, trace.End[1], fluid.End[1])
		}
	}
}
