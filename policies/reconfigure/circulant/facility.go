package circulant

import (
	"cmp"
	"slices"

	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// offsetSearch selects the circulants of a plan. The offset from GPU u to GPU v is v-u
// modulo n. A phase is the time between two reconfigurations. Its circulant links each
// GPU to the GPUs at k offsets, called the tuple of the phase.
//
// Each chunk travels within one phase, so the hops to an offset are the minimum over the
// phases. The search minimises the sum of these hops over all offsets. This is a facility
// location problem: the tuples are the facilities and the offsets are the customers.
// Tuples are added greedily and then improved offset by offset.
//
// While one tuple is selected, the other phases are fixed. Their minimum hops, indexed by
// offset, are called base.
type offsetSearch struct {
	n, k int
	stop cancellation.Condition

	// Scratch of bestOffset: hops indexed by offset.
	others      []int32 // over the other offsets of a tuple
	extended    []int32 // over the other offsets and one more
	lowest      []int32 // minimum of others and base
	nearOffsets []nearOffset
	stamp       []int32 // generation in which extended was set, indexed by offset
	generation  int32   // number of the current call of savedByShortPaths

	work int64 // estimated operations so far, see candidateWork
}

// nearOffset is an offset with its hops over the other offsets of a tuple.
type nearOffset struct{ offset, hops int32 }

// newOffsetSearch returns a search for tuples of k offsets modulo n.
func newOffsetSearch(n, k int) *offsetSearch {
	return &offsetSearch{
		n:        n,
		k:        k,
		others:   make([]int32, n),
		extended: make([]int32, n),
		lowest:   make([]int32, n),
		stamp:    make([]int32, n),
	}
}

// savedHops returns the decrease of the sum of base if it is lowered to hops.
func savedHops(base, hops []int32) (sum int64) {
	for o, h := range hops {
		if b := base[o]; b > h {
			sum += int64(b - h)
		}
	}
	return sum
}

// noPreference is the argument prefer of bestOffset if no offset is preferred.
const noPreference = 0

// bestOffset returns the offset that saves most hops of base if it is added to the other
// offsets of a tuple. Of equal offsets it returns prefer, else the smallest.
func (t *offsetSearch) bestOffset(base []int32, others []int, prefer int) (offset int, saved int64) {
	t.stop.Check()
	for i := range t.others {
		t.others[i] = plan.Far
	}
	t.others[0] = 0
	for _, a := range others {
		plan.Relax(t.others, a)
	}

	// A new offset v adds paths that go over the other offsets first and then over v. Such a
	// path saves hops only if it has fewer than maxHops, the maximum hops without v. If only
	// few paths are that short, they are enumerated. Otherwise, Relax recomputes all hops.
	maxHops := int32(0)
	for o, h := range t.others {
		t.lowest[o] = min(h, base[o])
		maxHops = max(maxHops, t.lowest[o])
	}
	t.nearOffsets = t.nearOffsets[:0]
	for o, h := range t.others {
		if h+1 < maxHops {
			t.nearOffsets = append(t.nearOffsets, nearOffset{offset: int32(o), hops: h})
		}
	}
	shortPaths := t.countShortPaths(maxHops)
	already := savedHops(base, t.others)
	t.work += int64(t.n) * t.candidateWork(base)

	// try evaluates offset v and keeps it if it saves more hops.
	saved = -1
	try := func(v int) {
		var sum int64
		if shortPaths <= 2*t.n {
			sum = already + t.savedByShortPaths(v, maxHops)
		} else {
			copy(t.extended, t.others)
			plan.Relax(t.extended, v)
			sum = savedHops(base, t.extended)
		}

		if sum > saved {
			offset, saved = v, sum
		}
	}

	if prefer != noPreference {
		try(prefer)
	}
	for v := 1; v < t.n; v++ {
		try(v)
	}
	return offset, saved
}

// candidateWork returns an estimate of the operations in which bestOffset evaluates one
// offset, either by enumeration or by Relax. Enumeration takes one operation per short path.
// Here the maximum of base stands for maxHops, which is not larger. Relax takes at most 3 n
// operations: up to two rounds over all offsets, and one round in savedHops. The estimate
// adds a constant for the call.
func (t *offsetSearch) candidateWork(base []int32) int64 {
	const callWork = 8
	relaxWork := 3 * t.n
	return int64(min(t.countShortPaths(slices.Max(base)), relaxWork) + callWork)
}

// countShortPaths returns the number of paths with fewer than maxHops hops that go over the
// other offsets and then over a new one. It stops counting above 2 n.
func (t *offsetSearch) countShortPaths(maxHops int32) (count int) {
	for _, h := range t.others {
		if h+1 < maxHops {
			count += int(maxHops - 1 - h)
		}
		if count > 2*t.n {
			break
		}
	}

	return count
}

// savedByShortPaths returns the hops that offset v saves in addition to the other offsets,
// by the paths of countShortPaths.
func (t *offsetSearch) savedByShortPaths(v int, maxHops int32) (sum int64) {
	t.generation++
	n := int32(t.n)
	for _, w := range t.nearOffsets {
		offset := w.offset
		for h := w.hops + 1; h < maxHops; h++ {
			if offset += int32(v); offset >= n {
				offset -= n
			}
			if offset == 0 {
				break
			}
			current := t.lowest[offset]
			if t.stamp[offset] == t.generation {
				current = min(current, t.extended[offset])
			}
			if h < current {
				sum += int64(current - h)
				t.extended[offset], t.stamp[offset] = h, t.generation
			}
		}
	}

	return sum
}

// untilNoGain is the argument proceed of localSearch for a search without another end.
var untilNoGain func(saved int64) bool

// localSearch replaces the offsets of a tuple one by one by better ones, given base, until
// no replacement saves hops. proceed may be nil. It is called with the hops saved so far,
// and ends the search by returning false. The result is the number of hops that the tuple
// saves.
func (t *offsetSearch) localSearch(base []int32, tuple []int, proceed func(saved int64) bool) (saved int64) {
	others := make([]int, 0, len(tuple))
	saved = savedHops(base, plan.Reach(t.n, tuple))
	for unchanged := 0; unchanged < len(tuple); {
		for j := range tuple {
			if proceed != nil && !proceed(saved) {
				return saved
			}
			others = append(append(others[:0], tuple[:j]...), tuple[j+1:]...)
			if v, s := t.bestOffset(base, others, tuple[j]); s > saved {
				tuple[j], saved, unchanged = v, s, 0
			} else if unchanged++; unchanged == len(tuple) {
				break
			}
		}
	}

	return saved
}

// bestTuple returns a tuple to be added to base: built greedily, then improved by
// localSearch.
func (t *offsetSearch) bestTuple(base []int32) []int {
	tuple := make([]int, 0, t.k)
	for range t.k {
		v, _ := t.bestOffset(base, tuple, noPreference)
		tuple = append(tuple, v)
	}
	t.localSearch(base, tuple, untilNoGain)
	return tuple
}

// exchangeOffsets replaces offsets of all phases while this saves hops, for about maxWork
// operations (see candidateWork). It returns the sum of hops.
func (t *offsetSearch) exchangeOffsets(phases [][]int, maxWork int64) int64 {
	n, limit := t.n, t.work+maxWork
	hops := make([][]int32, len(phases))
	for p, tuple := range phases {
		hops[p] = plan.Reach(n, tuple)
	}

	// without sets base to the hops over all phases except skip, and returns their sum.
	base := make([]int32, n)
	without := func(skip int) int64 {
		copy(base, plan.OriginHops(n))
		for p := range hops {
			if p != skip {
				lowerHops(base, hops[p])
			}
		}
		return plan.TotalHops(base)
	}

	sum := without(noPhase)
	minSum := plan.MinHops(n, len(phases), t.k) // lower bound of sum
	for better := true; better && sum > minSum; {
		better = false
		for p := range phases {
			if t.work > limit {
				return sum
			}
			rest := without(p)
			tuple := slices.Clone(phases[p])
			if s := rest - t.localSearch(base, tuple, untilNoGain); s < sum {
				phases[p], sum, better = tuple, s, true
				hops[p] = plan.Reach(n, tuple)
			}
		}
	}

	return sum
}

// initialTuples returns up to maxTuples tuples whose single phase reaches all offsets, sorted
// by the sum of their hops.
//
// Multiplication by a unit modulo n renames the GPUs. Up to such a renaming, the first
// offset divides n, so only divisors are tried first. If all these tuples would take more
// than about maxSteps operations, tuples are found by local search instead.
func (t *offsetSearch) initialTuples(maxTuples int) [][]int {
	const maxSteps = 4_000_000
	var divisors []int
	for a := 1; a < t.n; a++ {
		if t.n%a == 0 {
			divisors = append(divisors, a)
		}
	}

	// There are C(n-3+k, k-1) multisets of the other k-1 offsets. Each takes about 3n operations, up
	// to two rounds of Relax and one of TotalHops.
	steps := 3.0 * float64(t.n) * float64(len(divisors))
	for j := 1; j < t.k; j++ {
		steps = steps * float64(t.n-2+j) / float64(j)
	}
	var list []rankedTuple
	if steps <= maxSteps {
		list = t.allTuples(divisors)
	} else {
		list = t.searchTuples()
	}

	slices.SortStableFunc(list, func(a, b rankedTuple) int {
		return cmp.Compare(a.hops, b.hops)
	})
	var tuples [][]int
	for _, r := range list[:min(maxTuples, len(list))] {
		tuples = append(tuples, r.tuple)
	}
	return tuples
}

// rankedTuple is a tuple with the sum of its hops to all offsets.
type rankedTuple struct {
	tuple []int
	hops  int64
}

// allTuples returns all tuples that reach all offsets, with one of firsts as first offset. The
// other offsets are in ascending order.
func (t *offsetSearch) allTuples(firsts []int) (list []rankedTuple) {
	// extend adds offsets v >= from to a tuple, whose hops are given.
	var extend func(tuple []int, from int, hops []int32)
	extend = func(tuple []int, from int, hops []int32) {
		if len(tuple) == t.k {
			if sum := plan.TotalHops(hops); sum < int64(plan.Far) {
				list = append(list, rankedTuple{tuple: tuple, hops: sum})
			}
			return
		}
		t.stop.Check()
		for v := from; v < t.n; v++ {
			with := slices.Clone(hops)
			plan.Relax(with, v)
			extend(append(slices.Clip(tuple), v), v, with)
		}
	}

	for _, a := range firsts {
		const minOffset = 1
		extend([]int{a}, minOffset, plan.Reach(t.n, []int{a}))
	}
	return list
}

// searchTuples returns tuples found by local search. Each search starts at offset 1 and another
// offset, for about 64 values of the other one if n is large.
func (t *offsetSearch) searchTuples() (list []rankedTuple) {
	base := plan.OriginHops(t.n)
	for v := 2; v < t.n; v += max(1, t.n/64) {
		tuple := []int{1, v}
		for len(tuple) < t.k {
			w, _ := t.bestOffset(base, tuple, noPreference)
			tuple = append(tuple, w)
		}
		t.localSearch(base, tuple, untilNoGain)
		list = append(list, rankedTuple{tuple: tuple, hops: plan.TotalHops(plan.Reach(t.n, tuple))})
	}
	return list
}
