package pack

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The incremental state equals its recomputation from the permutations: hops before and
// after each phase, and the hops of all chunks. This holds for lanes of 8 and 16 bits.
func TestPermutationSearchState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{5, 8, 9, noPathHops8 + 2}).Draw(t, "n")
		k := rapid.IntRange(1, 2).Draw(t, "k")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "list"), 1))
		var list [][][]int32
		for i := range rapid.IntRange(2, 4).Draw(t, "d") {
			var phase [][]int32
			for j := range k {
				to := make([]int32, n)
				for u, v := range random.Perm(n) {
					if to[u] = int32(v); i+j == 0 {
						to[u] = int32((u + 1) % n)
					}
				}
				phase = append(phase, to)
			}
			list = append(list, phase)
		}
		p := drawDemand(n, k, "zipf", 3, rapid.Uint64Range(0, 9).Draw(t, "seed"))
		r := newPermutationSearch(n, k, p.Chunks)
		sum := r.reset(list)
		for range rapid.IntRange(1, 2).Draw(t, "times") {
			sum = r.reoptimise(min(5, 2*len(list)*k), sum)
			sum = r.exchange(10, random, sum)
			fresh := newPermutationSearch(n, k, p.Chunks)
			if again := fresh.reset(r.phases); again != sum {
				t.Fatalf("%d hops stored, want %d", sum, again)
			}
			for i := range len(list) + 1 {
				if !slices.Equal(r.before[i].rows, fresh.before[i].rows) {
					t.Fatalf("the hops before phase %d differ", i)
				}
				if i >= r.afterFrom && !slices.Equal(r.pathsFrom(i).rows, fresh.pathsFrom(i).rows) {
					t.Fatalf("the hops from phase %d onward differ", i)
				}
			}
			hops, err := Sequence{Topologies: joinPermutations(r.phases)}.hops(n, true, nil)
			if err != nil {
				t.Fatal(err)
			}
			if totalHops(p.Chunks, hops) != sum {
				t.Fatalf("%d hops stored, %d by shortest paths", sum, totalHops(p.Chunks, hops))
			}
		}
	})
}
