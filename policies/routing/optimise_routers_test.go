package routing

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/packet"
	"sim/fabric/torus"
)

// neverWorseRouters are the routers that TestNeverWorse compares with.
var neverWorseRouters = []string{"dor", "wild-first", "shortest", "ecmp", "random-shortest"}

// TestNeverWorse verifies that paths are never worse than the paths of any other router, even with
// a tiny budget: freedom from deadlock comes first, then the neighbours' cap, then the maximum
// load, or the makespan if transfers depend on each other. Problems are random tori and graphs,
// also with twists, failed links, directed links, unequal rates and unequal demands. Loads of
// other routers are included in the unconstrained load.
func TestNeverWorse(t *testing.T) {
	met := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		p := drawProblem(t, rt)
		o := Options{Seed: 1}
		o.Optimised = OptimisedRouter{Budget: 1, Rounds: 1, NeighbourCap: rapid.SampledFrom([]int{-1, 0, 1, 2, 3}).Draw(rt, "cap")}
		best, err := ByName("route-optimised").Router.Route(t.Context(), p, o)
		if errors.Is(err, ErrUnserved) {
			return
		}
		if err != nil {
			rt.Fatal(err)
		}
		merit := func(d *Decision) []float64 {
			cycle, err := packet.CheckChannels(t.Context(), p.Network, d.Paths, p.Flows)
			if err != nil {
				rt.Fatal(err)
			}
			cycles := 0.0
			if cycle != nil {
				cycles = 1
			}
			excess := float64(p.overload(d.Paths, o.Optimised.neighbourCap(p)))
			return []float64{cycles, excess, objective(rt, p, d.Paths)}
		}
		chosen := merit(best)
		free, isFree := best.Metrics["unconstrained_max_link_load"]
		if p.RatesDiffer() {
			free, isFree = best.Metrics["unconstrained_max_load_over_rate"]
		}
		for _, name := range neverWorseRouters {
			d, err := ByName(name).Router.Route(t.Context(), p, o)
			if errors.Is(err, ErrUnserved) {
				continue
			}
			if err != nil {
				rt.Fatal(err)
			}
			other := merit(d)
			if other[0] == 0 {
				met[name]++
			}
			if slices.Compare(chosen, other) > 0 {
				rt.Fatalf("%v: cycle, load above the cap, and objective are %v, under %s %v", p.Torus, chosen, name, other)
			}
			if p.Graph == nil && other[1] == 0 && (!isFree || free > other[2]) {
				rt.Fatalf("%s loads a link with %g, the unconstrained load is %g (%v)", name, other[2], free, isFree)
			}
		}
	})
	for _, name := range neverWorseRouters {
		if met[name] == 0 {
			t.Errorf("%s is never free of deadlock", name)
		}
	}
}

// drawProblem draws a graph or a torus for TestNeverWorse, with its traffic.
func drawProblem(t *testing.T, rt *rapid.T) *Problem {
	p := drawGraph(rt)
	if rapid.Bool().Draw(rt, "torus") {
		dims := rapid.SliceOfN(rapid.IntRange(1, 6), 1, 3).Draw(rt, "dims")
		o, err := torus.New(dims...)
		if err != nil {
			rt.Fatal(err)
		}
		if o.Nodes() > 100 {
			rt.Skip()
		}
		if len(dims) == 3 && rapid.Bool().Draw(rt, "twisted") {
			if err := o.Twist(rapid.SampledFrom(patterns()).Draw(rt, "pattern")); err != nil {
				rt.Fatal(err)
			}
		}
		p = &Problem{Network: o.Network(nil, engine.Link{Rate: 1, Channels: 2}), Torus: o, Flows: everyPair(o.Nodes())}
		if n := len(p.Network.Links); rapid.IntRange(0, 3).Draw(rt, "fault") == 0 && n > 0 {
			p.Network.Links[rapid.IntRange(0, n-1).Draw(rt, "down")].Rate = 0
		}
	}
	if rapid.IntRange(0, 4).Draw(rt, "rates") == 0 {
		p = twoRates(p)
	}
	switch rapid.IntRange(0, 4).Draw(rt, "traffic") {
	case 0:
		p.Demand = make([]float64, len(p.Flows))
		for i := range p.Demand {
			p.Demand[i] = rapid.SampledFrom([]float64{0, 1, 2, 7}).Draw(rt, "demand")
		}
	case 1:
		for i := range p.Network.Links {
			p.Network.Links[i].Rate *= 1e9 // the transfers take milliseconds
		}
		if n := p.Network.Nodes; n > 1 {
			p = ringsGraph(t, p, rapid.SliceOfN(rapid.Int32Range(1, n-1), 1, 3).Draw(rt, "rounds")...)
		}
	}
	return p
}

// objective returns the objective of the optimiser: the maximum link load, over the rate in units of
// the highest rate, or the makespan of transfers that depend on each other.
func objective(t *rapid.T, p *Problem, paths *engine.Paths) (value float64) {
	if p.Graph == nil {
		loads := linkLoads(p, paths)
		for l, load := range loads.Link {
			x := float64(load)
			if loads.Weighted != nil {
				x = loads.Weighted[l]
			}
			if x > 0 {
				value = max(value, x*p.maxRate()/p.Network.Links[l].Rate)
			}
		}
		return value
	}

	class := map[engine.Flow]int32{}
	for i, f := range p.Flows {
		class[f] = paths.ClassOf(int32(i))
	}
	routes := &engine.Routes{Start: []int32{0}}
	for _, task := range p.Graph.Tasks {
		node := task.Src
		for _, s := range paths.Steps(class[engine.Flow{Src: task.Src, Dst: task.Dst}]) {
			l := paths.Out(node, s)
			routes.Uses = append(routes.Uses, engine.Use{Resource: l, Weight: 1})
			node = p.Network.Links[l].To
		}
		routes.Start = append(routes.Start, int32(len(routes.Uses)))
	}
	trace, err := flow.Run(t.Context(), p.Graph, p.Network, routes, flow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return float64(trace.Makespan)
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
