package mapping

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"sim/engine"
	"sim/fabric/torus"
)

// TestSearchSteps compares placements, bounds and evaluations of the search with stored values,
// on seeded tori and graphs, for single ranks and blocks, with several budgets. It detects
// changes of the order of the search, of its counts, and of its end.
func TestSearchSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 41))
	kinds := map[string]func() *Problem{
		"torus": func() *Problem {
			return onTorus(t, []Dim{{"tp", 2}, {"dp", 3}}, drawFlows(rng, 6, 14), 2, 3)
		},
		"torus with room": func() *Problem {
			return onTorus(t, []Dim{{"tp", 3}, {"pp", 1}, {"dp", 3}}, drawFlows(rng, 9, 25), 3, 4)
		},
		"large torus": func() *Problem { // only for the local search near peers
			return onTorus(t, []Dim{{"tp", 4}, {"pp", 5}, {"dp", 5}}, drawFlows(rng, 100, 250), 5, 5, 4)
		},
		"graph": func() *Problem {
			n := int32(7)
			p := &Problem{Dims: []Dim{{"pp", 6}}, Network: &engine.Network{Nodes: n}, Slots: []int32{0, 1, 2, 3, 4, 5, 6}, Demand: drawFlows(rng, 6, 14)}
			for i := range n {
				p.Network.Links = append(p.Network.Links, engine.Link{From: i, To: (i + 1) % n, Rate: 1}, engine.Link{From: i, To: rng.Int32N(n), Rate: 1})
			}
			return p
		},
		"blocks": func() *Problem {
			p := onTorus(t, []Dim{{"tp", 2}, {"pp", 3}, {"dp", 2}}, drawFlows(rng, 12, 20), 4, 4)
			p.Block = 2
			return p
		},
	}
	for _, c := range []struct {
		name string
		want uint64
	}{
		{"torus", 0xc6ed3715f96ae118},
		{"torus with room", 0x4209aae1bbb7f454},
		{"large torus", 0xff03ba80aadf47a7},
		{"graph", 0xc4b93475dd6d83e5},
		{"blocks", 0xc75d36e17931a289},
	} {
		digest := fnv.New64a()
		for range 5 {
			p := kinds[c.name]()
			for _, evaluations := range []int{1, 30, 300, 2000, 9000} {
				out, err := Place(t.Context(), "optimised", p, Options{Evaluations: evaluations, Seed: 3})
				if err != nil {
					t.Fatal(err)
				}
				if out.Bound > cost(p, out.At) {
					t.Errorf("%s: bound %d of a mapping that costs %d", c.name, out.Bound, cost(p, out.At))
				}
				fmt.Fprintln(digest, out.At, out.Bound, out.Evaluations)
			}
		}
		if got := digest.Sum64(); got != c.want {
			t.Errorf("%s: digest %#x, want %#x", c.name, got, c.want)
		}
	}
}

// TestGroupingSteps compares results of Grouping.Search, and the order of its guesses, bounds and
// values, with stored ones, for loose bounds and misleading guesses.
func TestGroupingSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 41))
	digest := fnv.New64a()
	for range 60 {
		capacity, pods := 1+rng.IntN(3), 2+rng.IntN(3)
		units := min(7, capacity*pods-rng.IntN(2))
		weight := make([]float64, units*units)
		for i := range weight {
			weight[i] = float64(rng.IntN(9))
		}
		total := func(at []int32, scale float64) float64 {
			sum := 0.0
			for u := range units {
				for v := range units {
					if at[u] >= 0 && at[v] >= 0 && at[u] != at[v] {
						sum += weight[u*units+v] * scale
						scale = 1.5 - scale
					}
				}
			}
			return sum
		}
		log := func(what string, at []int32, v float64) float64 {
			fmt.Fprintln(digest, what, at, v)
			return v
		}
		g := &Grouping{Units: units, Pods: pods, Starts: [][]int32{make([]int32, units)}}
		for u := range g.Starts[0] {
			g.Starts[0][u] = int32(u / capacity)
		}
		g.Fits = func(at []int32, _, pod int32) bool {
			n := 0
			for _, p := range at {
				if p == pod {
					n++
				}
			}
			return n < capacity
		}
		g.Bound = func(_ context.Context, at []int32) (float64, error) { return log("bound", at, total(at, 0.75)/2), nil }
		g.Guess = func(_ context.Context, at []int32) (float64, error) { return log("guess", at, total(at, 0.5)), nil }
		g.Value = func(_ context.Context, at []int32, _ bool) (float64, float64, error) {
			v := total(at, 0.75)
			return log("value", at, v), v * 0.9, nil
		}
		for _, trials := range []int{1, 3, 40} {
			f, err := g.Search(t.Context(), Options{Trials: trials, Seed: 9})
			if err != nil {
				t.Fatal(err)
			}
			if f.Trials > trials {
				t.Errorf("%d trials, want at most %d", f.Trials, trials)
			}
			fmt.Fprintln(digest, *f)
		}
	}
	if got, want := digest.Sum64(), uint64(0x6ac32df6114aeb28); got != want {
		t.Errorf("groups: digest %#x, want %#x", got, want)
	}
}

// TestAxesPlace verifies that ranks are on the nodes with their coordinates on the axes of each
// dimension, the first of several axes varying fastest. Coordinates on other axes are 0.
func TestAxesPlace(t *testing.T) {
	z, err := torus.New(2, 3, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		dims []Dim
		node func(tp, dp int) []int
	}{
		{"tp=x,dp=yz", []Dim{{"tp", 2}, {"dp", 12}}, func(tp, dp int) []int { return []int{tp, dp % 3, dp / 3} }},
		{"tp=x,dp=zy", []Dim{{"tp", 2}, {"dp", 12}}, func(tp, dp int) []int { return []int{tp, dp / 4, dp % 4} }},
		{"dp=z,tp=yx", []Dim{{"tp", 6}, {"dp", 4}}, func(tp, dp int) []int { return []int{tp / 3, tp % 3, dp} }},
		{"tp=z", []Dim{{"tp", 4}, {"dp", 1}}, func(tp, dp int) []int { return []int{0, 0, tp} }},
	} {
		p := onTorus(t, c.dims, nil, 2, 3, 4)
		out, err := Place(t.Context(), c.text, p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var want []int32
		for dp := range c.dims[1].Size {
			for tp := range c.dims[0].Size {
				want = append(want, z.Node(c.node(tp, dp)...))
			}
		}
		if !slices.Equal(out.At, want) {
			t.Errorf("%s: ranks are on %v, want %v", c.text, out.At, want)
		}
	}
}
