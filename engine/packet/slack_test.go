package packet_test

import (
	"context"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
)

// TestSlack: packets in the order of a flow-level trace end no later than in that trace
// plus Slack. The links are in layers; dependencies and services of the flow level are
// random.
func TestSlack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const layers = 3
		width := int32(rapid.IntRange(1, 3).Draw(t, "width"))
		n := &engine.Network{Nodes: (layers + 1) * width}
		paths := &engine.Paths{Degree: int(width)}
		for a := range n.Nodes {
			for port := range width {
				link := int32(-1)
				if a < layers*width {
					link = int32(len(n.Links))
					n.Links = append(n.Links, engine.Link{From: a, To: (a/width+1)*width + port, Rate: float64(rapid.IntRange(1, 5).Draw(t, "rate")) * 8e9})
				}
				paths.Link = append(paths.Link, link)
			}
		}

		g, flows := &engine.Graph{}, []engine.Flow{}
		index := map[engine.Flow]bool{}
		for range rapid.IntRange(1, 12).Draw(t, "tasks") {
			f := engine.Flow{Src: rapid.Int32Range(0, width-1).Draw(t, "src"), Dst: layers*width + rapid.Int32Range(0, width-1).Draw(t, "dst")}
			id := g.AddTask(engine.Task{Kind: engine.Transfer, Src: f.Src, Dst: f.Dst, Flows: 1, Bytes: int64(rapid.IntRange(1, 20_000).Draw(t, "bytes"))})
			if id > 0 && rapid.Bool().Draw(t, "waits") {
				g.AddEdge(rapid.Int32Range(0, id-1).Draw(t, "for"), id, engine.Time(rapid.IntRange(0, 2_000_000).Draw(t, "lag")))
			}
			if index[f] {
				continue
			}
			index[f] = true
			flows = append(flows, f)
			steps := []engine.Step{}
			for range layers - 1 {
				steps = append(steps, engine.MakeStep(rapid.IntRange(0, int(width)-1).Draw(t, "port"), 0))
			}
			paths.Add(append(steps, engine.MakeStep(int(f.Dst-layers*width), 0))...)
		}
		if err := g.Freeze(); err != nil {
			t.Fatal(err)
		}

		routes, err := engine.RoutesOf(g, n, paths, flows)
		if err != nil {
			t.Fatal(err)
		}
		service := rapid.SampledFrom([]flow.Service{flow.MaxMin, flow.LevelPriority, flow.TailPriority}).Draw(t, "service")
		fluid, err := flow.Run(context.Background(), g, n, routes, flow.Options{Service: service, Rates: true})
		if err != nil {
			t.Fatal(err)
		}

		bytes := int32(rapid.SampledFrom([]int{100, 1000, 3000}).Draw(t, "packet"))
		trace, _, err := packet.RunGraph(g, n, flows, paths, bytes, packet.Options{Reference: fluid})
		if err != nil {
			t.Fatal(err)
		}
		slack, err := packet.Slack(g, n, flows, paths, bytes, fluid)
		if err != nil {
			t.Fatal(err)
		}
		for i := range trace.End {
			if trace.End[i] > fluid.End[i]+slack {
				t.Errorf("task %d ends at %v, as fluid at %v, slack %v", i, trace.End[i], fluid.End[i], slack)
			}
		}
	})
}

// TestNoSlack: links that follow each other in a cycle have no bound.
func TestNoSlack(t *testing.T) {
	n := &engine.Network{Nodes: 2, Links: []engine.Link{{From: 0, To: 1, Rate: 8e9}, {From: 1, To: 0, Rate: 8e9}}}
	flows := []engine.Flow{{Src: 0, Dst: 0}, {Src: 1, Dst: 1}}
	paths := &engine.Paths{Degree: 1, Link: []int32{0, 1}}
	paths.Add(0, 0)
	paths.Add(0, 0)
	g := &engine.Graph{}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	if _, err := packet.Slack(g, n, flows, paths, 1000, &engine.Trace{}); !errors.Is(err, packet.ErrSlack) {
		t.Errorf("%v", err)
	}
}
