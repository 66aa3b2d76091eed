package routing

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/fabric/torus"
)

// loadsOf returns the maximum units on a link, and the maximum of units over relative rate.
func loadsOf(p *Problem, w *engine.Paths, by float64) (units, over float64) {
	load := make([]float64, len(p.Network.Links))
	for i, f := range p.Flows {
		first, _ := w.Of(w.ClassOf(int32(i)))
		node := f.Src
		for _, s := range w.Steps(first) {
			l := w.Out(node, s)
			load[l] += p.Demand[i]
			node = p.Network.Links[l].To
		}
	}
	for l, y := range load {
		units = max(units, y)
		if y > 0 {
			over = max(over, y*by/p.Network.Links[l].Rate)
		}
	}
	return units, over
}

// TestBinPacking verifies that the pigeonhole bound is at most the best packing of demands on
// links, by exhaustive search, and at least the bound of the largest demand alone.
func TestBinPacking(t *testing.T) {
	exact, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		perUnit := rapid.SliceOfN(rapid.SampledFrom([]float64{1, 1, 1.5, 3}), 1, 3).Draw(t, "press")
		demand := rapid.SliceOfN(rapid.SampledFrom([]float64{0.7, 1, 1, 2, 3.5}), 1, 6).Draw(t, "demand")
		load, best := make([]float64, len(perUnit)), math.Inf(1)
		var put func(i int)
		put = func(i int) {
			if i == len(demand) {
				best = min(best, maxOf(load))
				return
			}
			for l := range load {
				load[l] += demand[i] * perUnit[l]
				put(i + 1)
				load[l] -= demand[i] * perUnit[l]
			}
		}
		put(0)
		largest, quick := maxOf(demand), math.Inf(1)
		for _, x := range perUnit {
			quick = min(quick, x)
		}
		got := binPacking(append([]float64(nil), demand...), append([]float64(nil), perUnit...))
		if got > best+1e-9 || got < largest*quick {
			t.Fatalf("bound %g, best %g, largest %g", got, best, largest*quick)
		}
		if all++; got > best-1e-9 {
			exact++
		}
	})
	if 3*exact < all {
		t.Errorf("%d of %d bounds are exact", exact, all)
	}
}

// TestDemandUnit verifies that a bound is raised to the next multiple of the common unit of all
// demands, and is unchanged if there is no such unit.
func TestDemandUnit(t *testing.T) {
	for _, c := range []struct {
		demand            []float64
		slow              []float64
		unit, bound, want float64
	}{
		{[]float64{4, 6, 0}, nil, 2, 4.1, 6},
		{[]float64{4, 6}, nil, 2, 6, 6},
		{[]float64{4, 6.5}, nil, 0.5, 4.1, 4.5},
		{[]float64{1, math.Pi}, nil, 0, 4.1, 4.1},
		{[]float64{1, 3}, []float64{1, 1.5}, 1, 4.1, 4.5},
		{[]float64{0}, nil, 0, 0.5, 0.5},
	} {
		in := &routeInstance{demand: c.demand, loadPerUnit: c.slow}
		if unit := in.demandUnit(); unit != c.unit || in.roundUp(c.bound, unit) != c.want {
			t.Errorf("%v: unit %g raises %g to %g, want %g and %g", c.demand, unit, c.bound, in.roundUp(c.bound, unit), c.unit, c.want)
		}
	}
}

// TestSearchContinues verifies a search that continues. Its loads match its assignment, neighbour
// loads respect the cap, it never ends with a larger load than it started with, and it does
// nothing if the target is met.
func TestSearchContinues(t *testing.T) {
	p := setRandomDemands(torusProblem(t, torus.Faults{Switches: []torus.Switch{{Dim: 0, Index: 3}}}, "", 4, 4, 4), 0, 2)
	in, err := newRouteInstance(p, p.Symmetry(1))
	if err != nil {
		t.Fatal(err)
	}
	r := &optimiser{problem: p, in: in, symmetry: in.symmetry}
	rules, err := NewCandidates(p, WildRule{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.listPaths(rules)
	if err != nil {
		t.Fatal(err)
	}
	s := newPathAssignmentSearch(in, c, 1, 2, 200_000)
	if err := s.run(t.Context(), 0, nil); err != nil {
		t.Fatal(err)
	}
	begin := s.bestLoad
	s.budget = 1000
	if err := s.run(t.Context(), begin, nil); err != nil || s.budget != 1000 || s.bestLoad != begin {
		t.Errorf("%v: a target that was met left %d of 1000 and %g of %g", err, s.budget, s.bestLoad, begin)
	}
	for range 5 {
		before := s.bestLoad
		s.budget = 100_000
		if err := s.run(t.Context(), 0, nil); err != nil {
			t.Fatal(err)
		}
		load, near := make([]float64, in.numOrbits), make([]float64, in.numOrbits)
		for i, k := range s.best {
			for _, o := range c.pathOrbits(k) {
				load[o] += in.demand[i]
				if in.isNeighbour[i] {
					near[o]++
				}
			}
		}
		if math.Abs(maxOf(load)-s.bestLoad) > 1e-9 || s.bestLoad > before || maxOf(near) > 2 {
			t.Errorf("load %g, metric %g, %g before; neighbours' %g", maxOf(load), s.bestLoad, before, maxOf(near))
		}
	}
}

// TestOptimisedSparse verifies that rings of one step in each direction need no search: one flow
// per link is optimal even if demands differ slightly.
func TestOptimisedSparse(t *testing.T) {
	for _, dims := range [][]int{{8}, {4, 8, 4}, {8, 8, 8}} {
		p := torusProblem(t, torus.Faults{}, "", dims...)
		n := int32(p.Torus.Nodes())
		p.Flows = nil
		for a := range n { // rows along the last dimension
			last := int32(dims[len(dims)-1])
			p.Flows = append(p.Flows, engine.Flow{Src: a, Dst: a - a%last + (a+1)%last})
		}
		setRandomDemands(p, 0.999, 1)
		d, z := route(t, OptimisedRouter{Budget: 100_000}, p, Options{Seed: 1})
		if d.Metrics["gap"] != 0 || z.MaxWeighted != maxOf(p.Demand) || d.BoundModel != ModelSinglePath {
			t.Errorf("%v: load %g, bound %g (%s), want %g", dims, z.MaxWeighted, d.Bound, d.BoundModel, maxOf(p.Demand))
		}
	}
}

// TestOptimisedWeighted verifies that weighted pairs come close to the bound, with equal paths
// each time.
func TestOptimisedWeighted(t *testing.T) {
	for _, c := range []struct {
		twist string
		dims  []int
		gap   float64
	}{{"", []int{4, 4, 4}, 0.011}, {"", []int{2, 4, 8}, 0.002}, {"tpuv4", []int{4, 4, 8}, 0.009}, {"", []int{4, 4, 8}, 0.0005}} {
		if c.dims[0]*c.dims[1]*c.dims[2] > 64 && !*long {
			continue
		}
		p := setRandomDemands(torusProblem(t, torus.Faults{}, c.twist, c.dims...), 0, 2)
		d, z := route(t, OptimisedRouter{Budget: 8_000_000}, p, Options{Seed: 1})
		t.Logf("%v %s: load %g, gap %.5f", c.dims, c.twist, z.MaxWeighted, d.Metrics["gap"])
		if d.Metrics["gap"] > c.gap {
			t.Errorf("%v %s: gap %g, want at most %g", c.dims, c.twist, d.Metrics["gap"], c.gap)
		}
		first := ""
		for range 2 {
			d, _ := route(t, OptimisedRouter{Budget: 500_000}, p, Options{Seed: 1})
			if have := fmt.Sprint(d.Paths.Class, d.Paths.Step, d.Bound, d.Metrics); first == "" {
				first = have
			} else if have != first {
				t.Errorf("%v: other walks", c.dims)
			}
		}
	}
}

// TestOptimisedRates verifies two paths to one node, one three times as fast: four units split in
// proportion to the rates, and metrics are relative to Problem.Rate.
func TestOptimisedRates(t *testing.T) {
	n := &engine.Network{Nodes: 4}
	for _, l := range []engine.Link{{From: 0, To: 1, Rate: 3e9}, {From: 1, To: 3, Rate: 3e9}, {From: 0, To: 2, Rate: 1e9}, {From: 2, To: 3, Rate: 1e9}} {
		l.Channels = 2
		n.Links = append(n.Links, l)
	}
	p := &Problem{Network: n, Demand: []float64{1, 1, 1, 1}, Flows: []engine.Flow{{Src: 0, Dst: 3}, {Src: 0, Dst: 3}, {Src: 0, Dst: 3}, {Src: 0, Dst: 3}}}
	for _, c := range []struct{ rate, want float64 }{{0, 3}, {1e9, 1}, {6e9, 6}} {
		p.Rate = c.rate
		d, err := OptimisedRouter{}.Route(t.Context(), p, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		m := d.Metrics
		if m["max_load_over_rate"] != c.want || m["bound_max_load_over_rate"] != c.want || m["gap"] != 0 || m["max_link_load"] != 3 {
			t.Errorf("relative to %g: %v, want %g", c.rate, m, c.want)
		}
		if _, ok := m["bound_max_link_load"]; ok || d.Bound != 0 {
			t.Errorf("a bound of units: %v", m)
		}
	}
	// An all-to-all on a torus with one slow link has no symmetry.
	q := torusProblem(t, torus.Faults{}, "", 4, 4)
	q.Network.Links[0].Rate /= 4
	d, err := OptimisedRouter{Budget: 300_000}.Route(t.Context(), q, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	q.Demand = make([]float64, len(q.Flows))
	for i := range q.Demand {
		q.Demand[i] = 1
	}
	if _, over := loadsOf(q, d.Paths, q.referenceRate()); over != d.Metrics["max_load_over_rate"] || over > 10 {
		t.Errorf("load over rate %g, metric %g", over, d.Metrics["max_load_over_rate"])
	}
}
