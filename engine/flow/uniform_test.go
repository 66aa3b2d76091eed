package flow_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/flow"
)

// TestUniformEnds: the ends of transfers of equal size that start together are identical to the
// ends of Run.
func TestUniformEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for range 60 {
		nodes, degree := 4+rng.Int32N(12), 2+rng.IntN(3)
		n := &engine.Network{Nodes: nodes}
		w := &engine.Paths{Degree: degree}
		rates := []float64{1e9, 2e9, 1e9 * (1 + 3e-13), 1e9 * (1 + rng.Float64())}
		for v := range nodes {
			for range degree {
				w.Link = append(w.Link, int32(len(n.Links)))
				n.Links = append(n.Links, engine.Link{From: v, To: (v + 1 + rng.Int32N(nodes-1)) % nodes, Rate: rates[rng.IntN(len(rates))]})
			}
		}
		g, bytes := &engine.Graph{}, 1+rng.Int64N(1e6)
		var flows []engine.Flow
		for range 20 + rng.IntN(300) {
			f := engine.Flow{Src: rng.Int32N(nodes)}
			f.Dst = f.Src
			w.Start = append(w.Start, int64(len(w.Step)))
			for range 1 + rng.IntN(5) { // a path may visit a node twice
				port := rng.IntN(degree)
				w.Step = append(w.Step, engine.MakeStep(port, 0))
				f.Dst = n.Links[w.Link[int(f.Dst)*degree+port]].To
			}
			if f.Dst == f.Src { // Run accepts no transfer from a node to itself
				w.Start, w.Step = w.Start[:len(w.Start)-1], w.Step[:w.Start[len(w.Start)-1]]
				continue
			}
			w.Step = append(w.Step, engine.Arrived)
			flows = append(flows, f)
			g.AddTask(engine.Task{Kind: engine.Transfer, Src: f.Src, Dst: f.Dst, Flows: 1, Bytes: bytes})
		}
		if err := g.Freeze(); err != nil {
			t.Fatal(err)
		}
		r, err := engine.RoutesOf(g, n, w, flows)
		if err != nil {
			t.Fatal(err)
		}
		want, err := flow.Run(t.Context(), g, n, r, flow.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := flow.UniformEnds(t.Context(), n, w, flows, bytes)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want.End) {
			t.Fatalf("%d flows of %d bytes end at %v, want %v", len(flows), bytes, got, want.End)
		}
		n.Links[w.Link[int(flows[0].Src)*degree+w.Step[0].Port()]].Rate = 0
		if _, err := flow.UniformEnds(t.Context(), n, w, flows, bytes); !errors.Is(err, flow.ErrStalled) {
			t.Fatalf("%v on a link that is down", err)
		}
	}
}
