package collective

import (
	"math"
	"math/rand/v2"
	"slices"

	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// maxCirculantHops limits the time of the search for offsets, counted in distances that it
// computes. maxCirculantStarts is the number of random starts. The search ends at either limit,
// with the best offsets so far.
const (
	maxCirculantHops   = 24e6
	maxCirculantStarts = 8
)

// searchCirculant returns k offsets whose circulant on Z_q has a small diameter, and among these
// a small sum of distances. It returns nil if rings are optimal: with one link, or a link to each
// GPU. From equal strides and from random offsets, it repeatedly moves one offset to its best
// value, until no move improves or the budget is used up.
func searchCirculant(q, k int, stop cancellation.Condition) (best []int32) {
	if k == 1 || k >= q-1 {
		return nil
	}
	rng := rand.New(rand.NewPCG(uint64(q)<<32|1, uint64(k)))
	minValue := int64(math.MaxInt64)
	budget := int(maxCirculantHops)
	others := make([]int, k-1)

	hops := make([]int32, q)
	for start := 0; start <= maxCirculantStarts && budget > 0; start++ {
		const stridesIndex = 2 // ringSets returns one ring, rings in both directions, and k strides
		offsets := ringSets(q, k)[stridesIndex].offsets
		if start > 0 {
			for i := range offsets {
				offsets[i] = 1 + rng.Int32N(int32(q-1))
			}
		}

		// Local search. value is the diameter in the high 32 bits and the sum of distances in the
		// low 32 bits.
		value := int64(math.MaxInt64)
		for moved := true; moved && budget > 0; {
			moved = false
			for i := range offsets {
				for j := range others {
					others[j] = int(offsets[(i+1+j)%k])
				}

				// Reach computes the distances over the other offsets once per offset that moves. Relax
				// then adds one value of this offset.
				otherHops := plan.Reach(q, others)
				for a := int32(1); a < int32(q) && budget > 0; a++ {
					stop.Check()
					budget -= 2 * q
					copy(hops, otherHops)
					plan.Relax(hops, int(a))
					if v := int64(slices.Max(hops))<<32 + plan.TotalHops(hops); v < value {
						offsets[i], value, moved = a, v, true
					}
				}
			}
		}

		if value < minValue {
			best, minValue = offsets, value
		}
	}

	return best
}
