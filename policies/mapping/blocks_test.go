package mapping

import (
	"context"
	"math/rand/v2"
	"testing"
)

// TestBlocks verifies the search over blocks: each block stays together in order. The result is
// the cheapest of all placements of four blocks, and the bound is at most its cost.
func TestBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	proved := 0
	for try := range 40 {
		sizes := [][]int{{2, 4}, {8}, {4, 2}}[try%3]
		demand := drawFlows(r, 8, 12)
		if try%2 == 0 { // between ranks of equal position, as in a step
			for i := range demand {
				demand[i].Dst = (demand[i].Dst/2*2 + demand[i].Src%2) % 8
			}
			var distinct []Flow
			seen := map[[2]int32]bool{}
			for _, f := range demand {
				if k := [2]int32{f.Src, f.Dst}; f.Src != f.Dst && !seen[k] {
					seen[k] = true
					distinct = append(distinct, f)
				}
			}
			demand = distinct
		}
		p := onTorus(t, []Dim{{"tp", 2}, {"ep", 1}, {"pp", 2}, {"dp", 2}}, demand, sizes...)
		p.Block = 2
		out, err := Place(context.Background(), "optimised", p, Options{Evaluations: 100000, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		minCost := int64(1 << 60)
		permute([]int32{0, 1, 2, 3}, 0, func(order []int32) bool {
			var at []int32
			for _, block := range order {
				at = append(at, 2*block, 2*block+1)
			}
			minCost = min(minCost, cost(p, at))
			return true
		})
		if out.Bound > minCost {
			t.Errorf("%v on %v: a bound of %d, and %d is possible", demand, sizes, out.Bound, minCost)
		}
		if got := cost(p, out.At); out.Bound > 0 && got != minCost {
			t.Errorf("%v on %v: costs %d, and %d is possible", demand, sizes, got, minCost)
		} else if out.Bound > 0 {
			proved++
		}
	}
	if proved < 5 {
		t.Errorf("%d are proved", proved)
	}
}

// TestParts verifies that given distances replace hops, in parts of a hop, and that small numbers
// of parts do not mislead the search.
func TestParts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	p := onTorus(t, []Dim{{"tp", 4}, {"dp", 32}}, drawFlows(r, 128, 300), 8, 16)
	plain, err := Place(context.Background(), "optimised", p, Options{Evaluations: 200000, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	hops := p.Network.Hops(nil)
	of := make([]int32, len(p.Slots))
	p.PartsPerHop, p.Distances = 64, func(from int32) []int32 {
		for i, h := range hops(from) {
			of[i] = 64 * h
		}
		return of
	}
	parts, err := Place(context.Background(), "optimised", p, Options{Evaluations: 200000, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := cost(p, plain.At), cost(p, parts.At); a != b || 64*plain.Bound > parts.Bound {
		t.Errorf("%d, at least %d, in hops, and %d, at least %d, in parts of them", a, plain.Bound, b, parts.Bound)
	}
}
