package routing

import (
	"context"
	"slices"
	"testing"

	"sim/engine"
	"sim/fabric/torus"
)

// TestWildFirst verifies that wild-first routing without faults equals dimension-order routing.
// With a failed switch it serves all pairs. UseNeeded keeps the dimension-ordered path of every
// pair that the fault does not affect. Loads are logged.
func TestWildFirst(t *testing.T) {
	for _, s := range shapes {
		whole := torusProblem(t, torus.Faults{}, s.twist, s.dims...)
		if whole.Torus.Nodes() > 128 && !*long {
			continue
		}
		wild, load := route(t, WildRule{}, whole, Options{Seed: 5})
		dor, want := route(t, DimensionOrder{}, whole, Options{})
		if load.Max != want.Max || load.SumHops != want.SumHops || wild.Metrics["wild_pairs"] != 0 || wild.Labels["order"] != dor.Labels["order"] {
			t.Errorf("%s %s: load %d in %d hops, dor %d in %d", whole.Torus, s.twist, load.Max, load.SumHops, want.Max, want.SumHops)
		}
		for d := range 3 {
			p := torusProblem(t, torus.Faults{Switches: []torus.Switch{{Dim: d, Index: 5}}}, s.twist, s.dims...)
			c, err := NewCandidates(p, WildRule{})
			if err != nil {
				t.Fatal(err)
			}
			order := c.geometry.order
			if order[len(order)-1] == d {
				t.Errorf("%s %s, fault in %s: order %v has it last", p.Torus, s.twist, torus.DimName(d), order)
			}
			whole, _ := route(t, DimensionOrder{Order: named(order...)}, whole, Options{})
			var max []int64
			for _, use := range []string{UseNeeded, UseAnyDead, UseAll} {
				got, load := route(t, WildRule{WildFirst: WildFirst{Use: use}}, p, Options{Seed: 5})
				if p.Torus.Nodes() <= 64 || *long {
					again, _ := route(t, WildRule{WildFirst: WildFirst{Use: use}}, p, Options{Seed: 5})
					if !slices.Equal(got.Paths.Class, again.Paths.Class) || !slices.Equal(got.Paths.Step, again.Paths.Step) {
						t.Errorf("%s %s, fault in %s, %s: other paths the second time", p.Torus, s.twist, torus.DimName(d), use)
					}
					if other, _ := route(t, WildRule{WildFirst: WildFirst{Use: use}}, p, Options{Seed: 6}); slices.Equal(got.Paths.Class, other.Paths.Class) && slices.Equal(got.Paths.Step, other.Paths.Step) {
						t.Errorf("%s %s, fault in %s, %s: the same paths of another seed", p.Torus, s.twist, torus.DimName(d), use)
					}
				}
				max = append(max, load.Max)
				if got.Metrics["wild_pairs"] == 0 {
					t.Errorf("%s %s, fault in %s, %s: no pair takes wild hops", p.Torus, s.twist, torus.DimName(d), use)
				}
				if use == UseAll { // candidates with the minimum number of hops
					for i, f := range p.Flows {
						if have, shortest := got.Paths.Steps(got.Paths.ClassOf(int32(i))), c.Paths(f)[0]; len(have) != len(shortest) {
							t.Fatalf("%s %s, fault in %s: flow %v takes %d hops, the shortest candidate %d", p.Torus, s.twist, torus.DimName(d), f, len(have), len(shortest))
						}
					}
				}

				// Ties are broken differently on twisted tori.
				if use != UseNeeded || s.twist != "" {
					continue
				}
				for i, f := range p.Flows {
					path := whole.Paths.Steps(whole.Paths.ClassOf(int32(i)))
					if have := got.Paths.Steps(got.Paths.ClassOf(int32(i))); c.geometry.isPathUp(f.Src, path) && len(have) != len(path) {
						t.Fatalf("%s, fault in %s: flow %v takes %v, though %v is live", p.Torus, torus.DimName(d), f, have, path)
					}
				}
			}
			t.Logf("%s %s, fault in %s, order %s: loads %v of needed, any-dead, all; %d without", p.Torus, s.twist, torus.DimName(d), dimString(order), max, want.Max)
		}
	}
}

// TestWildRules verifies that the first rule orders dimensions with links that are down first, if
// there are any. Missing links of a mesh are not down.
func TestWildRules(t *testing.T) {
	rules := func(p *Problem) []WildRule {
		in, err := newRouteInstance(p, p.Symmetry(1))
		if err != nil {
			t.Fatal(err)
		}
		return (&optimiser{problem: p, in: in}).wildRules()
	}

	mesh, err := torus.New(3, 4, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := mesh.Mesh(0, 2); err != nil {
		t.Fatal(err)
	}
	h, err := mesh.Health(torus.Faults{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*Problem{
		torusProblem(t, torus.Faults{}, "", 3, 4, 2),
		{Network: mesh.Network(h, engine.Link{Rate: 400e9, Channels: 2}), Torus: mesh, Flows: everyPair(mesh.Nodes())},
	} {
		if got := rules(p); len(got) != 1 || got[0].Order != nil {
			t.Errorf("%s without faults: got %+v, want one rule without an order", p.Torus, got)
		}
	}
	for d, want := range [][]string{{"x", "y", "z"}, {"y", "x", "z"}, {"z", "y", "x"}} {
		p := torusProblem(t, torus.Faults{Links: []torus.Hop{{Node: 0, Dim: d, Up: true}}}, "", 3, 4, 2)
		if got := rules(p); len(got) != 2 || !slices.Equal(got[0].Order, want) || got[1].Order != nil {
			t.Errorf("a link in dimension %s is down: got %+v, want the order %v and then the default", torus.DimName(d), got, want)
		}
	}
}

// TestCancelled verifies that routers return the error of a context that ends.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := torusProblem(t, torus.Faults{}, "", 4, 4, 4)
	for _, r := range []Router{DimensionOrder{}, WildRule{}, Shortest{}, Multipath{Routes: 4}, wildMultipath{Multipath: Multipath{Routes: 4}}} {
		if _, err := r.Route(ctx, p, Options{}); err != context.Canceled {
			t.Errorf("%T: %v", r, err)
		}
	}
}
