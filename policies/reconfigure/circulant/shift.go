package circulant

import (
	"slices"

	"sim/policies/graph"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// swapGPUs is the most GPUs for which sets of shifts are improved by exchanges, which take of the order of n^3 steps.
const swapGPUs = 64

// shiftSets returns for d = 1..most, at index d-1, a set of d shifts and the slots of one uniform all-to-all (a chunk a
// pair) over them, every chunk on one topology only, that of fewest hops: the sum over offsets of these hops (the
// paper's power sum, Sec. 3.1). The sets are the first d of an order in which each shift saves most slots beside those
// before it, even ones, which split into several cycles, included; of equals the smallest goes first. Up to swapGPUs
// the sets are improved by exchanging shifts.
func shiftSets(n, most int, stop halt.When) (sets [][]int, slots []int64) {
	x := &shifts{tuples: newTuples(n, 1), base: make([]int32, n)}
	x.stop = stop
	var order []int
	sum := x.without(nil, -1)
	// What a shift saves only falls as shifts are added (it is submodular, as facility location is), so a shift is
	// weighed again only when its last known saving leads.
	type saving struct {
		shift, at int // weighed beside the first at shifts
		slots     int64
	}
	queue := graph.NewHeap(func(a, b saving) bool { return a.slots > b.slots || a.slots == b.slots && a.shift < b.shift })
	for s := 1; s < n; s++ { // the first is 1, up to a renaming of GPUs, and saves as much as any
		queue.Push(saving{s, 0, int64(n*(n-1)) - int64(n*(n-1)/2)})
	}
	longest := int32(n)
	for len(order) < most {
		stop.Check()
		top := queue.First()
		if top.at < len(order) {
			top.slots, top.at = x.saves(top.shift, longest), len(order)
			queue.Fix()
			continue
		}
		order, sum = append(order, top.shift), sum-top.slots
		x.beside(queue.Pop().shift)
		longest = slices.Max(x.base)
		sets, slots = append(sets, order[:len(order):len(order)]), append(slots, sum)
	}
	if n > swapGPUs {
		return sets, slots
	}
	for d := 2; d <= most; d++ {
		grown := slices.Clone(sets[d-2])
		x.without(grown, -1)
		best, _ := x.bestOffset(x.base, nil, 0)
		for _, start := range [][]int{order[:d], append(grown, best)} {
			if set, sum := x.improve(start); sum < slots[d-1] {
				sets[d-1], slots[d-1] = set, sum
			}
		}
	}
	// A set of d+1 less one shift may be better than what grew from d-1.
	for d := most - 1; d >= 2; d-- {
		if set, sum := x.improve(x.shrink(sets[d])); sum < slots[d-1] {
			sets[d-1], slots[d-1] = set, sum
		}
	}
	return sets, slots
}

// shifts are tuples of one offset; base is the least hops over some of them, n where none leads.
type shifts struct {
	*tuples
	base []int32
}

// saves is what a shift takes off the sum of base, whose largest is given. A path along its cycle ends where no offset
// is worse off than its hops.
func (x *shifts) saves(shift int, longest int32) (sum int64) {
	for h, at := int32(1), shift; h < longest && at != 0; h++ {
		sum += int64(max(0, x.base[at]-h))
		if at += shift; at >= x.n {
			at -= x.n
		}
	}
	return sum
}

// beside lowers base to the hops of a shift.
func (x *shifts) beside(shift int) {
	for o, h := range plan.Reach(x.n, []int{shift}) {
		x.base[o] = min(x.base[o], h)
	}
}

// without sets base to the least hops over set but for its element skip (-1 for all), and returns their sum.
func (x *shifts) without(set []int, skip int) int64 {
	for i := range x.base {
		x.base[i] = int32(x.n)
	}
	x.base[0] = 0
	for i, s := range set {
		if i != skip {
			x.beside(s)
		}
	}
	return plan.Total(x.base)
}

// improve exchanges one shift for another until none saves a slot. It returns the set and its sum of hops.
func (x *shifts) improve(set []int) ([]int, int64) {
	set = slices.Clone(set)
	sum := x.without(set, -1)
	for better := true; better; {
		better = false
		for i := range set {
			rest := x.without(set, i)
			if s, saved := x.bestOffset(x.base, nil, 0); rest-saved < sum {
				set[i], sum, better = s, rest-saved, true
			}
		}
	}
	return set, sum
}

// shrink returns set less the shift that is missed least.
func (x *shifts) shrink(set []int) []int {
	drop, least := 0, int64(-1)
	for i := range set {
		if sum := x.without(set, i); least < 0 || sum < least {
			drop, least = i, sum
		}
	}
	return slices.Delete(slices.Clone(set), drop, drop+1)
}
