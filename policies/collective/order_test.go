package collective

import (
	"math"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
	"sim/fabric/torus"
	"sim/policies/routing"
)

// TestOrder: where packets of a call and a fluid that shares links fairly differ, the order of service makes the
// difference, and not packets: a fluid that serves rounds in turn, as links do with packets, takes as long as these.
func TestOrder(t *testing.T) {
	for _, f := range []struct {
		dims  []int
		twist string
		down  bool
	}{{[]int{4, 4}, "", false}, {[]int{2, 2, 4}, torus.TPUv4, false}, {[]int{4, 4}, "", true}} {
		if f.down && testing.Short() {
			continue
		}
		o, err := torus.New(f.dims...)
		if err != nil {
			t.Fatal(err)
		}
		if f.twist != "" {
			if err := o.Twist(f.twist); err != nil {
				t.Fatal(err)
			}
		}
		var h *torus.Health
		if f.down {
			if h, err = o.Health(torus.Faults{Links: []torus.Hop{{Node: 3, Up: true}}}); err != nil {
				t.Fatal(err)
			}
		}
		p := &Problem{Call: Call{Kind: AllReduce, Group: places(16), Bytes: 3_200_000}, Network: o.Network(h, engine.Link{Rate: 400e9}), Torus: o}
		for _, r := range Table {
			s, err := r.Expand(t.Context(), p, Options{Hierarchical: Hierarchical{Domain: 4, Inner: "ring", Outer: "ring"}})
			if err != nil {
				continue
			}
			run := func(packets, ranked bool) float64 {
				g := new(engine.Graph)
				s.Append(g, Attach{Packets: ranked})
				ranks := append(s.Ranks(), make([]int32, len(g.Tasks)-len(s.Transfers))...)
				for i := range g.Tasks {
					g.Tasks[i].Priority = -int64(ranks[i])
				}
				if err := g.Freeze(); err != nil {
					t.Fatal(err)
				}
				flows, _ := s.Routed()
				d, err := routing.Shortest{}.Route(t.Context(), &routing.Problem{Network: p.Network, Flows: flows}, routing.Options{})
				if err != nil {
					t.Fatal(err)
				}
				ends, paths, err := Pin(g, p.Network, s.Links(), flows, d.Paths)
				if err != nil {
					t.Fatal(err)
				}
				if packets {
					trace, _, err := packet.RunGraph(g, p.Network, ends, paths, 500, packet.Options{TaskRank: ranks})
					if err != nil {
						t.Fatal(err)
					}
					return trace.Makespan.Seconds()
				}
				routes, err := engine.RoutesOf(g, p.Network, paths, ends)
				if err != nil {
					t.Fatal(err)
				}
				service := flow.MaxMin
				if ranked {
					service = flow.FixedPriority
				}
				trace, err := flow.Run(t.Context(), g, p.Network, routes, flow.Options{Service: service})
				if err != nil {
					t.Fatal(err)
				}
				return trace.Makespan.Seconds()
			}
			fair, ordered, packets := run(false, false), run(false, true), run(true, true)
			if off := packets/ordered - 1; math.Abs(off) > 0.01 {
				t.Errorf("%s on %v %s: %g s in packets, as fluid %g s in their order and %g s shared fairly", r.Name, o, f.twist, packets, ordered, fair)
			}
			if r.Name == "swing" && f.twist != "" && packets > 0.8*fair {
				t.Errorf("swing across a twist: %g s in packets, %g s as fluid; they differ no more, and docs/model.md says why they do", packets, fair)
			}
		}
	}
}
