package routing

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/packet"
	"sim/fabric/torus"
)

// large makes all graphs count as large until the test ends.
func large(t interface{ Cleanup(func()) }) {
	was := largeGraphArcs
	largeGraphArcs = 0
	t.Cleanup(func() { largeGraphArcs = was })
}

// TestLargeGraphs verifies that the search for large graphs finds the loads and bounds of the
// ordinary search on smaller graphs, with paths free of deadlock.
func TestLargeGraphs(t *testing.T) {
	for _, n := range []int32{24, 60, 128} {
		p := randomGraph(n, 0, 2)
		small, err := OptimisedRouter{Budget: 3_000_000, Rounds: 60}.Route(t.Context(), p, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			large(t)
			d, err := OptimisedRouter{Budget: 3_000_000, Rounds: 60}.Route(t.Context(), p, Options{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			load, _ := loadsOf(p, d.Paths, 1)
			if load > small.Metrics["max_link_load"]*(1+5e-3) || d.Bound < small.Bound*(1-1e-3) || load < small.Bound*(1-1e-9) || d.Bound > small.Metrics["max_link_load"]*(1+1e-9) {
				t.Errorf("load %g, bound %g; want %g and %g", load, d.Bound, small.Metrics["max_link_load"], small.Bound)
			}
			if c, err := packet.CheckChannels(t.Context(), p.Network, d.Paths, p.Flows); err != nil || c != nil {
				t.Errorf("%v: %s", err, c.Names(p.Network))
			}
		})
	}
}

// TestContraction verifies that lengths with many zeros prove the same bound with and without
// contraction.
func TestContraction(t *testing.T) {
	parts, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		p := randomGraph(rapid.Int32Range(24, 50).Draw(t, "nodes"), 0, 2)
		in, err := newRouteInstance(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		b := newDualBound(in)
		length, sum := make([]float64, in.numOrbits), 0.0
		for range rapid.IntRange(1, 30).Draw(t, "links") {
			length[rng.IntN(in.numOrbits)] = float64(1 + rng.IntN(1<<10))
		}
		length[0] = maxLength
		for o, l := range length {
			sum += l * b.capacity[o]
		}
		total := 0.0
		for i, f := range in.pairs {
			b.tree.grow(f.Src, length)
			total += in.demand[i] * b.tree.Dist[f.Dst]
		}
		all++
		if b.tryLengths(t.Context(), length, true) {
			parts++
		} else {
			b.tryLengths(t.Context(), length, false)
		}
		if math.Abs(b.value-total/sum) > 1e-12*b.value {
			t.Fatalf("proves %g, want %g", b.value, total/sum)
		}
	})
	if 2*parts < all {
		t.Errorf("nodes were as one %d times of %d", parts, all)
	}
}

// TestHalfCuts verifies that cuts across half a torus prove the load of the traffic between the
// halves.
func TestHalfCuts(t *testing.T) {
	p := setRandomDemands(torusProblem(t, torus.Faults{}, "", 4, 5, 2), 0, 2)
	in, err := newRouteInstance(p, p.Symmetry(1))
	if err != nil {
		t.Fatal(err)
	}
	for d, size := range p.Torus.Dims {
		var want []float64
		for from := range size {
			crossing := [2]float64{}
			half := func(a int32) bool { return (p.Torus.Coord(a, d)-from+size)%size < size/2 }
			for i, f := range p.Flows {
				switch {
				case half(f.Src) && !half(f.Dst):
					crossing[0] += p.Demand[i]
				case !half(f.Src) && half(f.Dst):
					crossing[1] += p.Demand[i]
				}
			}
			links := float64(p.Torus.Nodes() / size * 2)
			want = append(want, crossing[0]/links, crossing[1]/links)
		}
		for i, cut := range newDualBound(in).halfCuts(d) {
			b := newDualBound(in)
			if b.tryLengths(t.Context(), cut, false); math.Abs(b.value-want[i]) > 1e-9 {
				t.Errorf("dimension %d, half %d: %g, want %g", d, i, b.value, want[i])
			}
		}
	}
}

// TestPathLister verifies that paths listed once per class of translations equal the paths of each
// pair.
func TestPathLister(t *testing.T) {
	for _, faults := range []torus.Faults{{}, {Switches: []torus.Switch{{Dim: 0, Index: 3}}}} {
		p := torusProblem(t, faults, "", 4, 4, 8)
		rules, err := NewCandidates(p, WildRule{})
		if err != nil {
			t.Fatal(err)
		}
		r := &optimiser{problem: p}
		if r.in, err = newRouteInstance(setRandomDemands(p, 0, 2), p.Symmetry(1)); err != nil {
			t.Fatal(err)
		}
		list := r.pathLister(rules)
		for i, f := range p.Flows {
			if i%7 > 0 {
				continue
			}
			if got, want := list(f), rules.Paths(f); !slices.EqualFunc(got, want, func(a, b []engine.Step) bool { return slices.Equal(a, b) }) {
				t.Fatalf("from %d to %d: %v, want %v", f.Src, f.Dst, got, want)
			}
		}
	}
}
