package flow_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/flow"
)

// TestManyShareAlike: what many transfers get is, to the last bit, what each gets where all are asked one by one, as they are
// where they have limits, which here bind none.
func TestManyShareAlike(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, service := range []flow.Service{flow.MaxMin, flow.FixedPriority} {
		for range 20 {
			const transfers, links = 300, 40
			g, n, r := &engine.Graph{}, &engine.Network{Nodes: 2}, &engine.Routes{Start: []int32{0}}
			for range links {
				n.Links = append(n.Links, engine.Link{From: 0, To: 1, Rate: 1e9 * (1 + rng.Float64())})
			}
			for i := range transfers {
				g.AddTask(engine.Task{Kind: engine.Transfer, Dst: 1, Flows: 1 + rng.Int32N(3), Bytes: 1 + rng.Int64N(1e6), Priority: rng.Int64N(2)})
				if i > 0 && rng.IntN(4) == 0 {
					g.AddEdge(rng.Int32N(int32(i)), int32(i), 0)
				}
				for _, l := range rng.Perm(links)[:1+rng.IntN(4)] {
					r.Uses = append(r.Uses, engine.Use{Resource: int32(l), Weight: 1})
				}
				r.Start = append(r.Start, int32(len(r.Uses)))
			}
			if err := g.Freeze(); err != nil {
				t.Fatal(err)
			}
			limited := *r
			limited.FlowCap = slices.Repeat([]float64{1e30}, transfers)
			var traces [2]*engine.Trace
			for i, routes := range []*engine.Routes{r, &limited} {
				var err error
				if traces[i], err = flow.Run(t.Context(), g, n, routes, flow.Options{Service: service, Rates: true}); err != nil {
					t.Fatal(err)
				}
			}
			if a, b := traces[0], traces[1]; !slices.Equal(a.End, b.End) || !slices.Equal(a.Steps, b.Steps) {
				t.Fatalf("%v: %v ends together, %v one by one", service, a.Makespan, b.Makespan)
			}
		}
	}
}
