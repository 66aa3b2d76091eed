package circulant

import (
	"math/rand/v2"
	"slices"

	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// generatorSets returns for m = 1..most sets of m offsets that together reach all offsets in few hops in all: with
// relaying, d phases of k offsets act as one circulant of d k generators. Each set grows from the one before it and is
// improved by exchanges, unless it meets plan.LeastHops; small ones are also sought from some other starts.
func generatorSets(n, most int, random *rand.Rand, stop halt.When) [][]int {
	sets := make([][]int, 0, most)
	g := &generators{n: n, stop: stop, hops: make([]int32, n)}
	set := []int{1}
	near := false // the set leaves no offset more than two hops away
	for m := 1; m <= most; m++ {
		if near {
			// Then any other offset does as well as can be.
			v := 1
			for slices.Contains(set, v) {
				v++
			}
			set = append(slices.Clone(set), v)
			sets = append(sets, set)
			continue
		}
		if m > 1 {
			set = append(slices.Clone(set), 0)
			set[m-1], _ = g.best(plan.Reach(n, set[:m-1]))
		}
		free := plan.LeastHops(n, 1, m)
		sum := plan.Total(plan.Reach(n, set))
		if m > 1 && sum > free {
			sum = g.improve(set, sum, free)
			for tries := g.starts(m); tries > 0 && sum > free; tries-- {
				other := []int{1}
				for len(other) < m {
					other = append(other, 1+random.IntN(n-1))
				}
				if s := g.improve(other, plan.Total(plan.Reach(n, other)), free); s < sum {
					set, sum = other, s
				}
			}
		}
		sets = append(sets, set)
		near = sum == int64(2*(n-1)-m)
	}
	return sets
}

type generators struct {
	n    int
	stop halt.When
	hops []int32
}

// starts is how many other starts to try for m generators: fewer where an exchange takes longer.
func (g *generators) starts(m int) int {
	return min(24, 40_000_000/(2*m*m*g.n*g.n*m))
}

// best returns the generator that, beside those of hops, leaves the least sum of hops, the smallest of equals.
func (g *generators) best(hops []int32) (generator int, sum int64) {
	sum = -1
	g.stop.Check()
	for v := 1; v < g.n; v++ {
		copy(g.hops, hops)
		plan.Relax(g.hops, v)
		if s := plan.Total(g.hops); sum < 0 || s < sum {
			generator, sum = v, s
		}
	}
	return generator, sum
}

// improve exchanges generators of set, whose sum of hops is given, one by one until none helps or the sum is free.
func (g *generators) improve(set []int, sum, free int64) int64 {
	work := int64(0)
	for same := 0; same < len(set); {
		for i := range set {
			// The larger the set, the less an exchange brings.
			if work += int64(2*g.n) * int64(g.n); work > exchangeSteps || sum <= free {
				return sum
			}
			rest := append(slices.Clone(set[:i]), set[i+1:]...)
			if v, s := g.best(plan.Reach(g.n, rest)); s < sum {
				set[i], sum, same = v, s, 0
			} else if same++; same == len(set) {
				break
			}
		}
	}
	return sum
}

// exchangeSteps bounds the steps of one improvement.
const exchangeSteps = 200_000_000
