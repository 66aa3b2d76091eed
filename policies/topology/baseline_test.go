package topology_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"sim/engine"
	"sim/policies/topology"
)

// TestBaselines compares the rules on the traffic matrix with direct simulation on small
// random problems. EstimateMakespan must be the best of three rules, and QuickBound no
// higher than any makespan. A fixed matrix must be simulated unchanged, and an invalid
// one rejected.
func TestBaselines(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 12))
	fixed, err := topology.ByName("fixed")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for range numCases(150) {
		d := drawSmallProblem(rng, 4)
		parts := d.graph(t)
		o, err := parts.pods.Connect(parts.graph)
		if err != nil {
			t.Fatal(err)
		}
		p, err := topology.NewProblem(parts.graph, o)
		if err != nil {
			continue // too few ports
		}
		tried++
		best := engine.Never
		for _, name := range []string{"prop-alloc", "sqrt-alloc", "iter-halve", "uniform"} {
			rule, err := topology.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			z, err := rule.Choose(t.Context(), p, topology.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !p.Feasible(z.Circuits) || z.Makespan != newTopologySimulator(t, p).simulate(t,
				z.Circuits, testServices[0]) || z.Bound > z.Makespan {
				t.Errorf("%s chooses %v, of %v, bound %v", name, z.Circuits, z.Makespan, z.Bound)
			}
			if name != "uniform" {
				best = min(best, z.Makespan)
			}
		}
		quickBound := p.QuickBound(t.Context())
		if got := p.EstimateMakespan(t.Context()); got != best || quickBound > best {
			t.Errorf("EstimateMakespan returns %v, want %v; QuickBound %v", got, best, quickBound)
		}
		x := randomTopology(p, rng)
		for _, s := range testServices {
			if c := newTopologySimulator(t, p).simulate(t, x, s); c < quickBound {
				t.Errorf("topology %v: makespan %v is below the bound %v", x, c, quickBound)
			}
		}
		n := len(o.Pods)
		var options topology.Options
		for range n {
			options.Fixed.Circuits = append(options.Fixed.Circuits, make([]int, n))
		}
		for e, b := range o.Bundles {
			options.Fixed.Circuits[b.A][b.B], options.Fixed.Circuits[b.B][b.A] = x[e], x[e]
		}
		z, err := fixed.Choose(t.Context(), p, options)
		if err != nil || !slices.Equal(z.Circuits, x) ||
			z.Makespan != newTopologySimulator(t, p).simulate(t, x, testServices[0]) {
			t.Errorf("fixed circuits %v: %+v (%v)", x, z, err)
		}
		b := o.Bundles[0]
		for _, n := range []int{0, 99} {
			options.Fixed.Circuits[b.A][b.B] = n
			if _, err := fixed.Choose(t.Context(), p, options); err == nil {
				t.Errorf("%d fixed circuits are accepted", n)
			}
		}
		for _, bad := range [][][]int{nil, options.Fixed.Circuits[1:], append(slices.Clone(options.Fixed.Circuits[1:]), nil)} {
			options.Fixed.Circuits = bad
			if _, err := fixed.Choose(t.Context(), p, options); err == nil {
				t.Errorf("the fixed matrix %v is accepted for %d pods", bad, n)
			}
		}
	}

	if tried < 10 {
		t.Errorf("%d problems have enough ports", tried)
	}
}

// TestFit checks Shrink and Fit on random topologies. Results fit the ports and have at
// least one circuit per bundle, and Shrink adds none. Yielding bundles lose circuits
// first. After Fit no further useful circuit fits.
func TestFit(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 13))
	for range numCases(300) {
		parts := drawSmallProblem(rng, 4).graph(t)
		o, err := parts.pods.Connect(parts.graph)
		if err != nil {
			t.Fatal(err)
		}
		p, err := topology.NewProblem(parts.graph, o)
		if err != nil {
			continue
		}
		x := make([]int, len(o.Bundles))
		var yielding []int
		for e := range x {
			x[e] = 1 + rng.IntN(5)
			if rng.IntN(2) == 0 {
				yielding = append(yielding, e)
			}
		}
		before := slices.Clone(x)
		smallest := slices.Clone(x) // minimum circuits of the yielding bundles
		for _, e := range yielding {
			smallest[e] = 1
		}
		small, full := p.Shrink(x, yielding), p.Fit(x, yielding)
		if !slices.Equal(x, before) {
			t.Fatalf("input %v was changed to %v", before, x)
		}
		if !p.Feasible(small) || !p.Feasible(full) || p.Feasible(x) && !slices.Equal(small, x) {
			t.Errorf("topology %v: Shrink returns %v, Fit returns %v", x, small, full)
		}
		for e := range x {
			if small[e] < 1 || small[e] > x[e] || full[e] < small[e] {
				t.Errorf("topology %v: Shrink returns %v, Fit returns %v", x, small, full)
			}
			if p.Feasible(smallest) && !slices.Contains(yielding, e) && small[e] != x[e] {
				t.Errorf("Shrink of %v returns %v, want only bundles %v reduced", x, small, yielding)
			}
			if full[e]++; full[e] <= p.Useful[e] && p.Feasible(full) {
				t.Errorf("Fit of %v leaves ports for bundle %d: %v", x, e, full)
			}
			full[e]--
		}
	}
}

// TestObjectiveNames checks that ParseObjective accepts exactly the names of Objectives.
func TestObjectiveNames(t *testing.T) {
	for _, name := range topology.Objectives() {
		o, err := topology.ParseObjective(name)
		if err != nil || topology.Objectives()[o] != name || o.Description() == "" {
			t.Errorf("%s is objective %d (%v)", name, o, err)
		}
	}
	if _, err := topology.ParseObjective("min-max"); err == nil {
		t.Error("ParseObjective accepts min-max")
	}
	if _, err := topology.ByName("min-max"); err == nil {
		t.Error("Find accepts min-max")
	}
}
