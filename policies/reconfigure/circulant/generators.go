package circulant

import (
	"math/rand/v2"
	"slices"

	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// Generators returns m offsets, 1 <= m < n, over which GPUs reach all others in few hops in
// total.
func Generators(n, m int, stop cancellation.Condition) []int {
	return generatorSets(n, m, newPlanner(n, 1, 1, Options{}, 0).random("generators",
		0), stop)[m-1]
}

// generatorSets returns sets of m offsets for m = 1..maxGenerators. Each set reaches all
// offsets in few hops in total. With relaying, d phases of k offsets act as one circulant
// of d k such generators. Each set extends the previous one and is improved by local
// search, unless it meets plan.LeastHops. Small sets are also searched from random starts.
func generatorSets(n, maxGenerators int, random *rand.Rand, stop cancellation.Condition) [][]int {
	sets := make([][]int, 0, maxGenerators)
	t := newOffsetSearch(n, 0)
	t.stop = stop
	origin := plan.OriginHops(n)

	// improve replaces generators until no replacement saves hops or the sum of hops, which
	// it returns, is free. The larger the set, the less a replacement saves.
	improve := func(set []int, free int64) int64 {
		work := int64(0)
		all := plan.TotalHops(origin)
		return all - t.localSearch(origin, set, func(saved int64) bool {
			work += 2 * int64(n) * int64(n)
			return work <= maxExchangeSteps && all-saved > free
		})
	}

	set := []int{1}
	allWithinTwoHops := false // the set reaches each offset in at most two hops
	for m := 1; m <= maxGenerators; m++ {
		if allWithinTwoHops {
			// Every other offset is then optimal.
			v := 1
			for slices.Contains(set, v) {
				v++
			}
			set = append(slices.Clone(set), v)
			sets = append(sets, set)
			continue
		}

		if m > 1 {
			v, _ := t.bestOffset(origin, set, 0)
			set = append(slices.Clone(set), v)
		}
		free := plan.MinHops(n, 1, m)
		sum := plan.TotalHops(plan.Reach(n, set))
		if m > 1 && sum > free {
			sum = improve(set, free)

			// Fewer random starts if a replacement takes longer.
			for tries := min(24, 40_000_000/(2*m*m*n*n*m)); tries > 0 &&
				sum > free; tries-- {
				other := []int{1}
				for len(other) < m {
					other = append(other, 1+random.IntN(n-1))
				}
				if s := improve(other, free); s < sum {
					set, sum = other, s
				}
			}
		}

		sets = append(sets, set)
		allWithinTwoHops = sum == int64(2*(n-1)-m)
	}

	return sets
}

// maxExchangeSteps limits the steps of one local search.
const maxExchangeSteps = 200_000_000
