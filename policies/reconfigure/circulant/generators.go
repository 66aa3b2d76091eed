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
	const degree, chunks, seed = 1, 1, 0
	random := newPlanner(n, degree, chunks, Options{}, seed).random("generators", anyPhases)
	return generatorSets(n, m, random, stop)[m-1]
}

// anyPhases is the number of phases for the random numbers of generatorSets, which are the same
// for all numbers of phases.
const anyPhases = 0

// generatorSets returns sets of m offsets for m = 1..maxGenerators. Each set reaches all
// offsets in few hops in total. With relaying, d phases of k offsets act as one circulant
// of d k such generators. Each set extends the previous one and is improved by local
// search, unless its sum of hops meets the lower bound plan.MinHops. Small sets are also
// searched from random starts.
func generatorSets(n, maxGenerators int, random *rand.Rand, stop cancellation.Condition) [][]int {
	sets := make([][]int, 0, maxGenerators)
	const noTuples = 0 // only bestOffset and localSearch are used, not tuples of k offsets
	t := newOffsetSearch(n, noTuples)
	t.stop = stop
	origin := plan.OriginHops(n)

	// improve replaces generators of a set until no replacement saves hops, the sum of hops meets
	// bound, or maxExchangeSteps are used. It returns the sum of hops.
	improve := func(set []int, bound int64) int64 {
		work := int64(0)
		all := plan.TotalHops(origin)
		return all - t.localSearch(origin, set, func(saved int64) bool {
			work += 2 * int64(n) * int64(n)
			return work <= maxExchangeSteps && all-saved > bound
		})
	}

	set := []int{1}
	allWithinTwoHops := false // the set reaches each offset in at most two hops
	for m := 1; m <= maxGenerators; m++ {
		if allWithinTwoHops {
			// A generator only saves the second hop to its own offset, so any new one is optimal.
			v := 1
			for slices.Contains(set, v) {
				v++
			}
			set = append(slices.Clone(set), v)
			sets = append(sets, set)
			continue
		}

		if m > 1 {
			v, _ := t.bestOffset(origin, set, noPreference)
			set = append(slices.Clone(set), v)
		}
		const circulants = 1
		bound := plan.MinHops(n, circulants, m)
		sum := plan.TotalHops(plan.Reach(n, set))
		if m > 1 && sum > bound {
			sum = improve(set, bound)

			// A start takes about 2 n^2 operations per replacement and m^3 replacements.
			starts := min(maxRandomSets, maxRandomSteps/(2*m*m*n*n*m))
			for ; starts > 0 && sum > bound; starts-- {
				other := []int{1}
				for len(other) < m {
					other = append(other, 1+random.IntN(n-1))
				}
				if s := improve(other, bound); s < sum {
					set, sum = other, s
				}
			}
		}

		// m offsets are one hop away; the sum is lowest if the others are two hops away.
		sets = append(sets, set)
		allWithinTwoHops = sum == int64(2*(n-1)-m)
	}

	return sets
}

const (
	// maxExchangeSteps limits the time of one local search, in operations. Beyond it the search ends
	// with the best set so far.
	maxExchangeSteps = 200_000_000
	// maxRandomSets limits the random starts of generatorSets for one number of generators, and
	// maxRandomSteps their operations in total.
	maxRandomSets  = 24
	maxRandomSteps = 40_000_000
)
