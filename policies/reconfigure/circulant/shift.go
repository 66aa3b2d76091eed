package circulant

import (
	"slices"

	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// maxGPUsForExchanges is the largest number of GPUs for which sets of shifts are improved
// by exchanges, which take about n^3 operations.
const maxGPUsForExchanges = 64

// shiftSets returns d phases of one shift each for d = 1..maxShifts, at index d-1, and the
// slots of a uniform all-to-all with one chunk per pair. Each chunk stays within the phase
// in which it takes the smallest number of hops. The slots are the sum over offsets of
// these hops (the paper's power sum, Sec. 3.1).
//
// The sets are prefixes of a greedy order: each shift saves most slots given those before
// it, and the smallest of equal shifts is taken. Even shifts, which split into several
// cycles, are included. Up to maxGPUsForExchanges the sets are improved by exchanges.
func shiftSets(n, maxShifts int, stop cancellation.Condition) (sets [][][]int, slots []int64) {
	t := newOffsetSearch(n, 1)
	t.stop = stop
	var order [][]int
	base := plan.OriginHops(n)

	// add returns a phase with the shift that saves most hops of base.
	add := func() []int {
		var others []int // a phase has no other offset
		v, _ := t.bestOffset(base, others, noPreference)
		return []int{v}
	}

	for range maxShifts {
		order = append(order, add())
		lowerHops(base, plan.Reach(n, order[len(order)-1]))
		sets = append(sets, order[:len(order):len(order)])
		slots = append(slots, plan.TotalHops(base))
	}

	if n > maxGPUsForExchanges {
		return sets, slots
	}

	// try improves a set and keeps it if it takes fewer slots than the best set of its size.
	try := func(start [][]int) {
		set, d := slices.Clone(start), len(start)
		if sum := t.exchangeOffsets(set, maxExchangeSteps); sum < slots[d-1] {
			sets[d-1], slots[d-1] = set, sum
		}
	}

	for d := 2; d <= maxShifts; d++ {
		grown := slices.Clone(sets[d-2])
		try(order[:d])
		base = t.minHops(grown, noPhase)
		try(append(grown, add()))
	}

	// A set of d+1 shifts without the least useful one may be better than a set that grew
	// from d-1.
	for d := maxShifts - 1; d >= 2; d-- {
		drop, minSum := 0, int64(-1)
		for i := range sets[d] {
			if sum := plan.TotalHops(t.minHops(sets[d], i)); minSum < 0 ||
				sum < minSum {
				drop, minSum = i, sum
			}
		}

		try(slices.Delete(slices.Clone(sets[d]), drop, drop+1))
	}

	return sets, slots
}

// noPhase is the argument skip of minHops to skip no phase.
const noPhase = -1

// minHops returns the minimum hops to each offset over the phases, except phase skip. Each path
// stays within one phase.
func (t *offsetSearch) minHops(phases [][]int, skip int) []int32 {
	base := plan.OriginHops(t.n)
	for p, tuple := range phases {
		if p != skip {
			lowerHops(base, plan.Reach(t.n, tuple))
		}
	}
	return base
}

// lowerHops sets base to the minimum of base and hops.
func lowerHops(base, hops []int32) {
	for o, h := range hops {
		base[o] = min(base[o], h)
	}
}
