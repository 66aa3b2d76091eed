package circulant

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/policies/reconfigure/plan"
)

// searchHops returns the hops to each offset, by breadth-first search.
func searchHops(n int, generators []int) []int32 {
	hops := plan.OriginHops(n)
	for list := []int{0}; len(list) > 0; list = list[1:] {
		for _, a := range generators {
			if to := (list[0] + a) % n; hops[to] == plan.Far {
				hops[to] = hops[list[0]] + 1
				list = append(list, to)
			}
		}
	}
	return hops
}

// plan.Reach is compared with a breadth-first search.
func TestReach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 60).Draw(t, "n")
		generators := rapid.SliceOfN(rapid.IntRange(1, n-1), 1, 5).Draw(t, "generators")
		if got, want := plan.Reach(n, generators), searchHops(n, generators); !slices.Equal(got, want) {
			// What nothing reaches may be farther than far.
			for o := range got {
				if got[o] != want[o] && min(got[o], want[o]) < plan.Far {
					t.Fatalf("%v reaches %d in %d hops, want %d", generators, o, got[o], want[o])
				}
			}
		}
	})
}

// bestOffset is compared with all offsets.
func TestBestOffset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 40).Draw(t, "n")
		draw := func(name string, highest int) []int {
			return rapid.SliceOfN(rapid.IntRange(1, n-1), 0, highest).Draw(t, name)
		}
		others := draw("others", 3)
		base := plan.Reach(n, append(draw("base", 6), 1))
		got, saved := newOffsetSearch(n, 2).bestOffset(base, others, 0)
		want, highest := 0, int64(-1)
		for v := 1; v < n; v++ {
			if s := savedHops(base, searchHops(n, append(slices.Clone(others), v))); s > highest {
				want, highest = v, s
			}
		}
		if got != want || saved != highest {
			t.Fatalf("with %v: offset %d saves %d, want %d with %d", others, got, saved, want, highest)
		}
	})
}

// The enumerated paths are compared with all vectors of counts. Each path leads to its
// offset within the limits, and none is missing or duplicated.
func TestPhasePaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 14).Draw(t, "n")
		k := rapid.IntRange(1, 3).Draw(t, "k")
		d := rapid.IntRange(1, 2).Draw(t, "d")
		slack := int32(rapid.IntRange(0, 1).Draw(t, "slack"))
		var phases [][]int
		for range d {
			phases = append(phases, rapid.SliceOfN(rapid.IntRange(1, n-1), k, k).Draw(t, "offsets"))
		}
		relay := rapid.Bool().Draw(t, "relay")
		paths := phasePaths(n, phases, slack)
		all := slices.Concat(phases...)
		minHops := searchHops(n, all)
		if relay {
			paths, slack = relayPaths(n, phases), 0
		} else {
			minHops = plan.OriginHops(n)
			for _, p := range phases {
				for o, h := range searchHops(n, p) {
					minHops[o] = min(minHops[o], h)
				}
			}
		}
		found := map[string]bool{}
		count := make([]int, n)
		for _, w := range paths {
			sum, hops := 0, int32(0)
			key := make([]byte, len(all))
			for i, g := range w.gen {
				sum += all[g] * int(w.count[i])
				hops += w.count[i]
				key[g] = byte(w.count[i])
				if !relay && int(g)/k != int(w.gen[0])/k {
					t.Fatalf("%v spans phases", w)
				}
			}
			if sum%n != int(w.to) || hops != w.hops || hops < minHops[w.to] || hops > minHops[w.to]+slack || found[string(key)] {
				t.Fatalf("%v over %v: ends at %d after %d hops, the minimum is %d", w, phases, sum%n, hops, minHops[w.to])
			}
			found[string(key)] = true
			count[w.to]++
		}
		// Enumerate all vectors of counts with few hops.
		key := make([]byte, len(all))
		var try func(g, at int, hops int32)
		try = func(g, at int, hops int32) {
			if g == len(all) {
				o := at % n
				if o == 0 || hops > minHops[o]+slack || found[string(key)] || count[o] >= maxPathsPerOffset {
					return
				}
				if !relay {
					first := slices.IndexFunc(key, func(c byte) bool { return c > 0 })
					for i, c := range key {
						if c > 0 && i/k != first/k {
							return
						}
					}
					// A word of a phase that takes 2 hops more than it must is not wanted.
					if hops > searchHops(n, phases[first/k])[o]+slack {
						return
					}
				}
				t.Fatalf("no path %v to %d over %v", key, o, phases)
			}
			for c := 0; c <= 5 && hops+int32(c) <= 5; c++ {
				key[g] = byte(c)
				try(g+1, at+c*all[g], hops+int32(c))
			}
			key[g] = 0
		}
		try(0, 0, 0)
	})
}

// Sets of generators are compared with all sets of up to 4 offsets for up to 16 GPUs, and
// with the bound for larger sets.
func TestGeneratorSets(t *testing.T) {
	for n := 5; n <= 16; n++ {
		sets := generatorSets(n, n-1, rand.New(rand.NewPCG(1, 1)), nil)
		for m := 1; m <= 4; m++ {
			minimum := int64(plan.Far)
			var try func(from int, set []int)
			try = func(from int, set []int) {
				if len(set) == m {
					minimum = min(minimum, plan.TotalHops(plan.Reach(n, set)))
					return
				}
				for v := from; v < n; v++ {
					try(v+1, append(set[:len(set):len(set)], v))
				}
			}
			try(1, nil)
			if got := plan.TotalHops(plan.Reach(n, sets[m-1])); got != minimum {
				t.Errorf("%d GPUs, %v: %d hops, the best set takes %d", n, sets[m-1], got, minimum)
			}
		}
		for m, set := range sets {
			if got, free := plan.TotalHops(searchHops(n, set)), plan.MinHops(n, 1, m+1); len(set) != m+1 || got < free || m+1 > n/2 && got != free {
				t.Errorf("%d GPUs, %v: %d hops, the bound is %d", n, set, got, free)
			}
		}
	}
	// Greedy sets, where each offset is only the best addition to those before it, have 106
	// and 19 hops.
	for _, c := range [][3]int{{34, 3, 105}, {12, 4, 18}} {
		if sum := plan.TotalHops(plan.Reach(c[0], Generators(c[0], c[1], nil))); sum > int64(c[2]) {
			t.Errorf("%d GPUs, %d offsets: %d hops, want at most %d", c[0], c[1], sum, c[2])
		}
	}
}
