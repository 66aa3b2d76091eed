package routing

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/packet"
	"sim/fabric/torus"
)

// TestNeverWorse verifies that paths are never worse than the paths of any other router free of
// deadlock, even with a tiny budget. Problems are random tori and graphs, also with failed links
// and with unequal demands. Loads of other routers are included in unconstrained_max_link_load.
func TestNeverWorse(t *testing.T) {
	met := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := drawGraph(t)
		if rapid.Bool().Draw(t, "torus") {
			dims := rapid.SliceOfN(rapid.IntRange(1, 6), 1, 3).Draw(t, "dims")
			o, err := torus.New(dims...)
			if err != nil {
				t.Fatal(err)
			}
			if o.Nodes() > 100 {
				t.Skip()
			}
			if len(dims) == 3 && rapid.Bool().Draw(t, "twisted") {
				if err := o.Twist(rapid.SampledFrom(patterns()).Draw(t, "pattern")); err != nil {
					t.Fatal(err)
				}
			}
			p = &Problem{Network: o.Network(nil, engine.Link{Rate: 1, Channels: 2}), Torus: o, Flows: everyPair(o.Nodes())}
			if n := len(p.Network.Links); rapid.IntRange(0, 3).Draw(t, "fault") == 0 && n > 0 {
				p.Network.Links[rapid.IntRange(0, n-1).Draw(t, "down")].Rate = 0
			}
		}
		if rapid.IntRange(0, 2).Draw(t, "weighed") == 0 {
			p.Demand = make([]float64, len(p.Flows))
			for i := range p.Demand {
				p.Demand[i] = rapid.SampledFrom([]float64{0, 1, 2, 7}).Draw(t, "demand")
			}
		}
		o := Options{Seed: 1}
		o.Optimised = OptimisedRouter{Budget: 1, Rounds: 1, NeighbourCap: -1}
		best, err := ByName("route-optimised").Router.Route(t.Context(), p, o)
		if errors.Is(err, ErrUnserved) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		load := float64(linkLoads(p, best.Paths).Max)
		for _, name := range []string{"dor", "wild-first", "shortest", "ecmp", "random-shortest"} {
			d, err := ByName(name).Router.Route(t.Context(), p, o)
			if errors.Is(err, ErrUnserved) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			other := float64(linkLoads(p, d.Paths).Max)
			if free := best.Metrics["unconstrained_max_link_load"]; free > other*(1+1e-9) {
				t.Fatalf("%s loads a link with %g, unconstrained_max_link_load is %g", name, other, free)
			}
			cycle, err := packet.CheckChannels(t.Context(), p.Network, d.Paths, p.Flows)
			if err != nil {
				t.Fatal(err)
			}
			if cycle == nil {
				if met[name]++; load > other*(1+1e-9) {
					t.Fatalf("%v: a link carries %g, under %s %g", p.Torus, load, name, other)
				}
			}
		}
	})
	for _, name := range []string{"dor", "wild-first", "shortest", "ecmp", "random-shortest"} {
		if met[name] == 0 {
			t.Errorf("%s is never free of deadlock", name)
		}
	}
}

// TestSearchProgress verifies that a search reports rising progress, and decides the same without
// progress. With equal demands dimension order meets the bound, which ends the search early.
func TestSearchProgress(t *testing.T) {
	p := torusProblem(t, torus.Faults{}, "", 14)
	for _, demand := range [][]float64{nil, unequal(len(p.Flows))} {
		p.Demand = demand
		var reports []float64
		o := Options{Seed: 1}
		o.Optimised = OptimisedRouter{Budget: 20000, Rounds: 200}
		quiet, err := ByName("route-optimised").Router.Route(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Progress = func(share float64) { reports = append(reports, share) }
		loud, err := ByName("route-optimised").Router.Route(t.Context(), p, o)
		if err != nil || !reflect.DeepEqual(quiet, loud) {
			t.Errorf("another decision (%v) if it is told how far it has come", err)
		}
		if len(reports) < 10 || !slices.IsSorted(reports) || reports[0] > 0.3 || (reports[len(reports)-1] < 0.3) != (demand == nil) || reports[len(reports)-1] > 1 {
			t.Errorf("told %d shares from %g to %g, in order: %v", len(reports), reports[0], reports[len(reports)-1], slices.IsSorted(reports))
		}
	}
}

// unequal returns distinct demands.
func unequal(flows int) []float64 {
	demand := make([]float64, flows)
	for i := range demand {
		demand[i] = 1 + float64(i%7)/8
	}
	return demand
}

// TestRouterMeetsBound verifies the early end of a search on a ring of n nodes with all-to-all
// traffic. Each link carries at least n²/8 units, because n²/4 cross each half of the ring over
// two links. Dimension order meets this bound. Therefore no linear program is solved.
func TestRouterMeetsBound(t *testing.T) {
	for _, n := range []int{64} {
		o, err := torus.New(n)
		if err != nil {
			t.Fatal(err)
		}
		p := &Problem{Network: o.Network(nil, engine.Link{Rate: 1, Channels: 2}), Torus: o}
		for a := range int32(n) {
			for b := range int32(n) {
				if a != b {
					p.Flows = append(p.Flows, engine.Flow{Src: a, Dst: b})
				}
			}
		}
		var of Options
		r := &optimiser{wild: of.wildFirst(), problem: p, given: p, symmetry: p.Symmetry(1)}
		if err := r.search(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !r.isRouterOptimal || r.spread != nil {
			t.Errorf("ring of %d: met is %v, and the linear program of paths was solved: %v", n, r.isRouterOptimal, r.spread != nil)
		}
		d, err := OptimisedRouter{}.Route(t.Context(), p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want := float64(n * n / 8); d.Metrics["max_link_load"] != want || d.Metrics["bound_max_link_load"] != want {
			t.Errorf("ring of %d: load %g and bound %g, want %g", n, d.Metrics["max_link_load"], d.Metrics["bound_max_link_load"], want)
		}
	}
}
