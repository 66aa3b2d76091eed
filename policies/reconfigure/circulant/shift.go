package circulant

import (
	"slices"

	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// maxGPUsForExchanges is the most GPUs for which sets of shifts are improved by exchanges, which take of the order of n^3 steps.
const maxGPUsForExchanges = 64

// shiftSets returns for d = 1..most, at index d-1, d phases of one shift each and the slots of one uniform all-to-all (a
// chunk a pair) over them, every chunk on one topology only, that of fewest hops: the sum over offsets of these hops
// (the paper's power sum, Sec. 3.1). The sets are the first d of an order in which each shift saves most slots beside
// those before it, even ones, which split into several cycles, included; of equals the smallest goes first. Up to
// swapGPUs the sets are improved by exchanging shifts.
func shiftSets(n, maxShifts int, stop halt.When) (sets [][][]int, slots []int64) {
	t := newOffsetSearch(n, 1)
	t.stop = stop
	var order [][]int
	base := plan.Origin(n)
	add := func() []int {
		v, _ := t.bestOffset(base, nil, 0)
		return []int{v}
	}
	for range maxShifts {
		order = append(order, add())
		lowerHops(base, plan.Reach(n, order[len(order)-1]))
		sets, slots = append(sets, order[:len(order):len(order)]), append(slots, plan.Total(base))
	}
	if n > maxGPUsForExchanges {
		return sets, slots
	}
	try := func(start [][]int) {
		set, d := slices.Clone(start), len(start)
		if sum := t.exchangeOffsets(set, maxExchangeSteps); sum < slots[d-1] {
			sets[d-1], slots[d-1] = set, sum
		}
	}
	for d := 2; d <= maxShifts; d++ {
		grown := slices.Clone(sets[d-2])
		try(order[:d])
		base = t.minHops(grown, -1)
		try(append(grown, add()))
	}
	// A set of d+1 less the shift that is missed least may be better than what grew from d-1.
	for d := maxShifts - 1; d >= 2; d-- {
		drop, least := 0, int64(-1)
		for i := range sets[d] {
			if sum := plan.Total(t.minHops(sets[d], i)); least < 0 || sum < least {
				drop, least = i, sum
			}
		}
		try(slices.Delete(slices.Clone(sets[d]), drop, drop+1))
	}
	return sets, slots
}

// minHops returns the least hops over phases, each offset within one, but for phase skip (-1 for all).
func (t *offsetSearch) minHops(phases [][]int, skip int) []int32 {
	base := plan.Origin(t.n)
	for p, tuple := range phases {
		if p != skip {
			lowerHops(base, plan.Reach(t.n, tuple))
		}
	}
	return base
}

// lowerHops lowers base to hops where these are fewer.
func lowerHops(base, hops []int32) {
	for o, h := range hops {
		base[o] = min(base[o], h)
	}
}
