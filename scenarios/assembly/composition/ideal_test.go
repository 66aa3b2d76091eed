package composition

import (
	"math/rand/v2"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/scenarios/result"
)

// switchTraffic returns transfers of random sizes between all pairs of nodes of one switch, on links
// of 400 Gbit/s.
func switchTraffic(t *testing.T, nodes int32) (*engine.Graph, *engine.Network, *engine.Routes) {
	rng := rand.New(rand.NewPCG(1, 1))
	g, n, r := &engine.Graph{}, &engine.Network{Nodes: nodes + 1}, &engine.Routes{Start: []int32{0}}
	for v := range nodes {
		n.Links = append(n.Links, engine.Link{From: v, To: nodes, Rate: 400e9}, engine.Link{From: nodes, To: v, Rate: 400e9})
	}
	for a := range nodes {
		for b := range nodes {
			if a == b {
				continue
			}
			g.AddTask(engine.Task{Kind: engine.Transfer, Src: a, Dst: b, Flows: 1, Bytes: 1 + rng.Int64N(4e6)})
			r.Uses = append(r.Uses, engine.Use{Resource: 2 * a, Weight: 1}, engine.Use{Resource: 2*b + 1, Weight: 1})
			r.Start = append(r.Start, int32(len(r.Uses)))
		}
	}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	return g, n, r
}

// TestFairReference checks that the reference of many transfers is the makespan of fair sharing, and
// that rows say so. The reference of few transfers uses priorities.
func TestFairReference(t *testing.T) {
	for nodes, isFairOnly := range map[int32]bool{4: false, 40: true} {
		g, n, r := switchTraffic(t, nodes)
		ideal, err := NewIdealReference(t.Context(), g, n, r)
		if err != nil {
			t.Fatal(err)
		}
		trace, err := flow.Run(t.Context(), g, n, r, flow.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if ideal.Times.Ideal > trace.Makespan || isFairOnly && ideal.Times.Ideal != trace.Makespan {
			t.Errorf("%d nodes: reference %v, fair sharing takes %v", nodes, ideal.Times.Ideal, trace.Makespan)
		}
		row := result.Row{Metrics: map[string]float64{}, Labels: map[string]string{}}
		ideal.AddExposed(&row, trace.Makespan, "")
		if _, says := row.Labels["nct_reference"]; ideal.IsFairOnly != isFairOnly || says != isFairOnly {
			t.Errorf("%d nodes: fair only %t, the row says so %t, want %t", nodes, ideal.IsFairOnly, says, isFairOnly)
		}
	}
}
