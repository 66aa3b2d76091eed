package collective

import (
	"math"
	"math/rand/v2"
	"slices"

	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// searchBudget bounds a search for offsets, in hops that are looked at. searchStarts are the random starts.
const (
	searchBudget = 24e6
	searchStarts = 8
)

// circulant returns k offsets whose circulant on Z_q has a small diameter, and of such in few hops in all; nil where
// rings have the least: with one link, or a link to everyone. From strides, and then from random offsets, it moves one
// offset at a time to where that is best, until none moves or the budget ends.
func circulant(q, k int, stop halt.When) (best []int32) {
	if k == 1 || k >= q-1 {
		return nil
	}
	rng := rand.New(rand.NewPCG(uint64(q)<<32|1, uint64(k)))
	least, budget := int64(math.MaxInt64), int(searchBudget)
	others, hops := make([]int, k-1), make([]int32, q)
	for start := 0; start <= searchStarts && budget > 0; start++ {
		offsets := rings(q, k)[2].offsets
		if start > 0 {
			for i := range offsets {
				offsets[i] = 1 + rng.Int32N(int32(q-1))
			}
		}
		value := int64(math.MaxInt64)
		for moved := true; moved && budget > 0; {
			moved = false
			for i := range offsets {
				for j := range others {
					others[j] = int(offsets[(i+1+j)%k])
				}
				beside := plan.Reach(q, others)
				for a := int32(1); a < int32(q) && budget > 0; a++ {
					stop.Check()
					budget -= 2 * q
					copy(hops, beside)
					plan.Relax(hops, int(a))
					if v := int64(slices.Max(hops))<<32 + plan.TotalHops(hops); v < value {
						offsets[i], value, moved = a, v, true
					}
				}
			}
		}
		if value < least {
			best, least = offsets, value
		}
	}
	return best
}
