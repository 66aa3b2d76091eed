package routing

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/packet"
	"sim/fabric/torus"
)

// minMaxLoad returns the minimum over all simple paths of the maximum link load, by exhaustive
// search.
func minMaxLoad(n *engine.Network, flows []engine.Flow, demand []float64) float64 {
	out := make([][]int32, n.Nodes)
	for i, l := range n.Links {
		if l.Rate > 0 {
			out[l.From] = append(out[l.From], int32(i))
		}
	}
	load, best := make([]float64, len(n.Links)), math.Inf(1)
	var lead func(f int)
	var extend func(f int, node int32, visited uint64)
	extend = func(f int, node int32, visited uint64) {
		if node == flows[f].Dst {
			lead(f + 1)
			return
		}
		for _, l := range out[node] {
			to := n.Links[l].To
			if visited>>to&1 == 1 || load[l]+demand[f] >= best {
				continue
			}
			load[l] += demand[f]
			extend(f, to, visited|1<<to)
			load[l] -= demand[f]
		}
	}
	lead = func(f int) {
		if f == len(flows) {
			best = min(best, maxOf(load))
			return
		}
		extend(f, flows[f].Src, 1<<flows[f].Src)
	}
	lead(0)
	return best
}

// TestOptimisedAnyGraph verifies on small graphs with any demand that bound <= optimum <= load of
// the choice. The optimum is found by exhaustive search. With two channels the paths are free of
// deadlock.
func TestOptimisedAnyGraph(t *testing.T) {
	met, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(2, 5).Draw(t, "nodes")
		n := &engine.Network{Nodes: int32(nodes)}
		both := func(a, b int) {
			for _, k := range [][2]int{{a, b}, {b, a}} {
				n.Links = append(n.Links, engine.Link{From: int32(k[0]), To: int32(k[1]), Rate: 1e9, Channels: 2})
			}
		}
		for a := 1; a < nodes; a++ {
			both(a, rapid.IntRange(0, a-1).Draw(t, "parent"))
		}
		for range rapid.IntRange(0, 3).Draw(t, "more") {
			a, b := rapid.IntRange(0, nodes-1).Draw(t, "a"), rapid.IntRange(0, nodes-1).Draw(t, "b")
			if a != b {
				both(a, b)
			}
		}
		p := &Problem{Network: n}
		whole := rapid.Bool().Draw(t, "whole")
		for range rapid.IntRange(1, 5).Draw(t, "flows") {
			a := rapid.IntRange(0, nodes-1).Draw(t, "src")
			b := rapid.IntRange(0, nodes-1).Filter(func(b int) bool { return b != a }).Draw(t, "dst")
			p.Flows = append(p.Flows, engine.Flow{Src: int32(a), Dst: int32(b)})
			if whole {
				p.Demand = append(p.Demand, float64(rapid.IntRange(0, 4).Draw(t, "demand")))
			} else {
				p.Demand = append(p.Demand, rapid.Float64Range(0.1, 4).Draw(t, "demand"))
			}
		}
		d, err := OptimisedRouter{NeighbourCap: -1, Budget: 20000, Rounds: 200}.Route(context.Background(), p, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Paths.Check(t.Context(), n, p.Flows); err != nil {
			t.Fatal(err)
		}
		best := minMaxLoad(n, p.Flows, p.Demand)
		have := linkLoads(p, d.Paths).MaxWeighted
		if math.Abs(have-d.Metrics["max_link_load"]) > 1e-9 {
			t.Fatalf("load %g, metric %g", have, d.Metrics["max_link_load"])
		}
		if d.Bound > best+1e-9 || have < best-1e-9 || d.Metrics["unconstrained_max_link_load"] < best-1e-9 {
			t.Fatalf("bound %g, optimum %g, unconstrained %g, load %g", d.Bound, best, d.Metrics["unconstrained_max_link_load"], have)
		}
		if c, err := packet.CheckChannels(t.Context(), n, d.Paths, p.Flows); err != nil || c != nil {
			t.Fatalf("%v: %s", err, c.Names(n))
		}
		all++
		if d.Metrics["unconstrained_max_link_load"] < best+1e-9 {
			met++
		}
	})
	t.Logf("%d of %d unconstrained choices are optimal", met, all)
	if 10*met < 9*all {
		t.Error("few are")
	}
}

// TestOptimisedSmallTori verifies on small tori with failed links that bound <= load of the
// choice <= load of wild-first routing. Paths are live and free of deadlock.
func TestOptimisedSmallTori(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, err := torus.New(rapid.SampledFrom([][]int{{3, 3}, {2, 2, 3}, {4, 3}, {5}, {3, 3, 2}, {4, 4}}).Draw(t, "dims")...)
		if err != nil {
			t.Fatal(err)
		}
		var f torus.Faults
		for range rapid.IntRange(0, 2).Draw(t, "down") {
			f.Links = append(f.Links, torus.Hop{Node: rapid.Int32Range(0, int32(o.Nodes())-1).Draw(t, "node"), Dim: rapid.IntRange(0, len(o.Dims)-1).Draw(t, "dim"), Up: true})
		}
		h, err := o.Health(f)
		if err != nil {
			t.Fatal(err)
		}
		p := &Problem{Network: o.Network(h, engine.Link{Rate: 1e9, Channels: 2}), Torus: o, Flows: everyPair(o.Nodes())}
		d, err := OptimisedRouter{NeighbourCap: -1, Budget: 300000, Rounds: 200}.Route(context.Background(), p, Options{Seed: 1})
		if err != nil {
			if strings.Contains(err.Error(), "do not join") {
				return
			}
			t.Fatal(err)
		}
		if err := d.Paths.Check(t.Context(), p.Network, p.Flows); err != nil {
			t.Fatal(err)
		}
		z := linkLoads(p, d.Paths)
		if d.Bound > float64(z.Max) || float64(z.Max) != d.Metrics["max_link_load"] || d.Metrics["unconstrained_max_link_load"] > float64(z.Max) {
			t.Fatalf("bound %g, load %d, metrics %v", d.Bound, z.Max, d.Metrics)
		}
		if w, err := (WildRule{}).Route(context.Background(), p, Options{Seed: 1}); err == nil {
			if y := linkLoads(p, w.Paths); y.Max < z.Max || float64(y.Max) < d.Bound {
				t.Fatalf("wild-first loads %d, optimised %d, bound %g", y.Max, z.Max, d.Bound)
			}
		}
		if c, err := packet.CheckChannels(t.Context(), p.Network, d.Paths, p.Flows); err != nil || c != nil {
			t.Fatalf("%v: %s", err, c.Names(p.Network))
		}
	})
}

// TestOptimisedCanonical verifies that faults of all 48 optical switches give the load of the
// first switch of their dimension, with valid paths.
func TestOptimisedCanonical(t *testing.T) {
	for _, c := range []struct {
		twist string
		dims  []int
		// Step between the switches of short tests; 0 means no switch.
		every int
	}{{"", []int{4, 4, 4}, 11}, {"tpuv4", []int{4, 4, 8}, 0}, {"tpuv4", []int{4, 8, 8}, 0}, {"", []int{4, 4, 8}, 0}, {"", []int{4, 8, 8}, 0}} {
		if c.every == 0 && !*long {
			continue
		}
		for dim := range 3 {
			first := int64(0)
			for index := 0; index < torus.TPUCube.Face(0); index++ {
				if !*long && index%c.every != 0 {
					continue
				}
				p := torusProblem(t, torus.Faults{Switches: []torus.Switch{{Dim: dim, Index: index}}}, c.twist, c.dims...)
				d, z := route(t, OptimisedRouter{Budget: 100_000, Rounds: 2}, p, Options{Seed: 1})
				if index == 0 {
					first = z.Max
				}
				if z.Max != first || !strings.HasPrefix(d.Labels["deadlock"], "free") {
					t.Errorf("%s %s: switch %d of dimension %d: load %d, of the first %d; deadlock %s", p.Torus, c.twist, index, dim, z.Max, first, d.Labels["deadlock"])
				}
			}
		}
	}
}

// TestOptimisedRepeats verifies that equal seeds give equal paths.
func TestOptimisedRepeats(t *testing.T) {
	dims, twist := []int{4, 4, 4}, ""
	if *long {
		dims, twist = []int{4, 4, 8}, "tpuv4"
	}
	p := torusProblem(t, torus.Faults{Switches: []torus.Switch{{Dim: 0, Index: 3}}}, twist, dims...)
	var first string
	for range 2 {
		d, _ := route(t, OptimisedRouter{Budget: 100_000, Rounds: 20}, p, Options{Seed: 7})
		have := fmt.Sprint(d.Paths.Class, d.Paths.Step, d.Bound, d.Metrics)
		if first == "" {
			first = have
		}
		if have != first {
			t.Error("other paths")
		}
	}
}

// TestOptimisedCap verifies that the cap on neighbour traffic takes precedence over the load.
// Node 3 is attached to node 1 of the triangle 0, 1, 2. Its 3 units would best be alone on the
// link from 0 to 1; then the unit for 1 would share a link with the unit for 2.
func TestOptimisedCap(t *testing.T) {
	n := &engine.Network{Nodes: 4}
	for _, l := range [][2]int32{{0, 1}, {0, 2}, {1, 2}, {1, 3}} {
		n.Links = append(n.Links, engine.Link{From: l[0], To: l[1], Rate: 1e9, Channels: 2}, engine.Link{From: l[1], To: l[0], Rate: 1e9, Channels: 2})
	}
	p := &Problem{Network: n, Flows: []engine.Flow{{Src: 0, Dst: 1}, {Src: 0, Dst: 2}, {Src: 0, Dst: 3}}, Demand: []float64{1, 1, 3}}
	for _, c := range []struct {
		cap       int
		load, own float64
	}{{-1, 3, 2}, {0, 3, 2}, {1, 4, 1}} {
		d, z := route(t, OptimisedRouter{NeighbourCap: c.cap, Budget: 10000, Rounds: 20}, p, Options{Seed: 1})
		if z.MaxWeighted != c.load || d.Metrics["nearest_neighbour_max_load"] != c.own || neighbourLoad(p, d) != int64(c.own) {
			t.Errorf("cap %d: load %g and of neighbours %g, want %g and %g", c.cap, z.MaxWeighted, d.Metrics["nearest_neighbour_max_load"], c.load, c.own)
		}
	}
}

// TestOptimisedUnreachable verifies that the error names pairs that no path joins.
func TestOptimisedUnreachable(t *testing.T) {
	p := &Problem{Network: &engine.Network{Nodes: 3, Links: []engine.Link{{From: 0, To: 1, Rate: 1}, {From: 1, To: 2}}}, Flows: []engine.Flow{{Src: 0, Dst: 1}, {Src: 0, Dst: 2}}}
	_, err := OptimisedRouter{}.Route(t.Context(), p, Options{})
	if err == nil || !strings.Contains(err.Error(), "from node 0 to 2") {
		t.Error(err)
	}
	p.Flows, p.Demand = p.Flows[:1], []float64{math.NaN()}
	if _, err := (OptimisedRouter{}).Route(t.Context(), p, Options{}); err == nil {
		t.Error("demand NaN")
	}
}

// TestOptimisedNoChoice verifies that nothing is searched if every pair has one path.
func TestOptimisedNoChoice(t *testing.T) {
	p := setRandomDemands(torusProblem(t, torus.Faults{}, "", 9), 1, 2)
	d, z := route(t, OptimisedRouter{Budget: 200_000}, p, Options{Seed: 1})
	if d.Metrics["max_link_load"] != z.MaxWeighted {
		t.Errorf("load %g, metric %g", z.MaxWeighted, d.Metrics["max_link_load"])
	}
}
