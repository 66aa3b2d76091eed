package mapping

import (
	"context"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawGrouping draws a grouping whose cost is a sum over pairs of units in different pods.
func drawGrouping(t *rapid.T) (*Grouping, func(at []int32) float64) {
	capacity, pods := rapid.IntRange(1, 3).Draw(t, "room"), rapid.IntRange(1, 4).Draw(t, "pods")
	units := rapid.IntRange(1, min(6, capacity*pods)).Draw(t, "units")
	weight := make([]float64, units*units)
	for i := range weight {
		weight[i] = float64(rapid.IntRange(0, 9).Draw(t, "weight"))
	}
	fits := func(at []int32, _, pod int32) bool {
		n := 0
		for _, p := range at {
			if p == pod {
				n++
			}
		}
		return n < capacity
	}
	cost := func(at []int32) float64 {
		sum := 0.0
		for u := range units {
			for v := range units {
				if at[u] >= 0 && at[v] >= 0 && at[u] != at[v] {
					sum += weight[u*units+v]
				}
			}
		}
		return sum
	}
	start := make([]int32, units)
	for u := range start {
		start[u] = int32(u / capacity)
	}
	value := func(_ context.Context, at []int32) (float64, error) { return cost(at), nil }
	return &Grouping{Units: units, Pods: pods, Fits: fits, Starts: [][]int32{start}, Bound: value, Guess: value,
		Value: func(_ context.Context, at []int32, _ bool) (float64, float64, error) { return cost(at), cost(at), nil }}, cost
}

// minCostOfAll returns the minimum cost of all placements.
func minCostOfAll(g *Grouping, cost func([]int32) float64) float64 {
	at, best := slices.Repeat([]int32{-1}, g.Units), math.Inf(1)
	var place func(u int)
	place = func(u int) {
		if u == g.Units {
			best = min(best, cost(at))
			return
		}
		for pod := range int32(g.Pods) {
			if g.Fits(at, int32(u), pod) {
				at[u] = pod
				place(u + 1)
				at[u] = -1
			}
		}
	}
	place(0)
	return best
}

// TestGroupingIsExact verifies that with sufficient trials the result is the optimum, and proved.
// With a small budget bound <= optimum <= value.
func TestGroupingIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, cost := drawGrouping(t)
		want := minCostOfAll(g, cost)
		all, err := g.Search(context.Background(), Options{Trials: 1000, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if all.Value != want || all.Bound != want || cost(all.At) != want {
			t.Fatalf("found %g at %v, bound %g; the best of all is %g", all.Value, all.At, all.Bound, want)
		}
		few, err := g.Search(context.Background(), Options{Trials: 1, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if few.Bound > want || few.Value < want || few.Trials > 1 || cost(few.At) != few.Value {
			t.Fatalf("with a trial %g at %v, bound %g; the best of all is %g", few.Value, few.At, few.Bound, want)
		}
	})
}

// TestGroupingUsesSymmetries verifies that equivalent placements are evaluated once.
func TestGroupingUsesSymmetries(t *testing.T) {
	g := &Grouping{Units: 6, Pods: 3, Starts: [][]int32{{0, 0, 1, 1, 2, 2}}, Symmetries: [][]int32{{3, 4, 5, 0, 1, 2}}}
	g.Fits = func(at []int32, _, pod int32) bool {
		return !slices.Contains(at, pod) || slices.Index(at, pod) == lastIndex(at, pod)
	}
	zero := func(context.Context, []int32) (float64, error) { return 0, nil }
	seen := map[string]int{}
	g.Bound, g.Guess = zero, zero
	g.Value = func(_ context.Context, at []int32, _ bool) (float64, float64, error) {
		seen[g.canonicalKey(at)]++
		return 1, 0, nil
	}
	if _, err := g.Search(context.Background(), Options{Trials: 1000}); err != nil {
		t.Fatal(err)
	}
	// Of 15 pairings, 7 are symmetric under the exchange of halves, and the other 8 form 4 pairs.
	if len(seen) != 11 {
		t.Errorf("%d placements, want 11", len(seen))
	}
	for form, n := range seen {
		if n > 1 {
			t.Errorf("%q was tried %d times", form, n)
		}
	}
}

func lastIndex(at []int32, pod int32) int {
	last := -1
	for i, p := range at {
		if p == pod {
			last = i
		}
	}
	return last
}
