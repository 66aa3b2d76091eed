package circulant

import (
	"cmp"
	"slices"

	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// offsetSearch searches for phases of k offsets each that reach all offsets in few hops in all, each within one phase: a
// facility location over tuples. Phases are added greedily and then exchanged offset by offset.
type offsetSearch struct {
	n, k int
	stop halt.When
	// Scratch: hops over the other offsets of a tuple, beside one more, and the fewest of the others and the base.
	others, extended, lowest []int32
	nearOffsets              []nearOffset
	stamp                    []int32
	generation               int32
	work                     int64 // steps taken so far
}

// nearOffset is an offset that others reach in hops.
type nearOffset struct{ offset, hops int32 }

func newOffsetSearch(n, k int) *offsetSearch {
	return &offsetSearch{n: n, k: k, others: make([]int32, n), extended: make([]int32, n), lowest: make([]int32, n), stamp: make([]int32, n)}
}

// savedHops is what the hops of tuple take off the sum of base.
func savedHops(base, hops []int32) (sum int64) {
	for o, h := range hops {
		if b := base[o]; b > h {
			sum += int64(b - h)
		}
	}
	return sum
}

// bestOffset returns the offset which, beside the other ones of a tuple, saves most hops of base: of equals prefer (0
// for none), then the smallest.
func (t *offsetSearch) bestOffset(base []int32, others []int, prefer int) (offset int, saved int64) {
	t.stop.Check()
	for i := range t.others {
		t.others[i] = plan.Far
	}
	t.others[0] = 0
	for _, a := range others {
		plan.Relax(t.others, a)
	}
	// Where all are near already, few words can save; these are the words over the others that one more hop may
	// follow.
	maxHops := int32(0)
	for o, h := range t.others {
		t.lowest[o] = min(h, base[o])
		maxHops = max(maxHops, t.lowest[o])
	}
	t.nearOffsets = t.nearOffsets[:0]
	for o, h := range t.others {
		if h+1 < maxHops {
			t.nearOffsets = append(t.nearOffsets, nearOffset{int32(o), h})
		}
	}
	shortPaths := t.countShortPaths(maxHops)
	already := savedHops(base, t.others)
	t.work += int64(t.n) * int64(min(t.countShortPaths(slices.Max(base)), 3*t.n)+8)
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
	if prefer > 0 {
		try(prefer)
	}
	for v := 1; v < t.n; v++ {
		try(v)
	}
	return offset, saved
}

// countShortPaths is how many words of fewer hops than most go over the others and then on, counted to above 2 n.
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

// savedByShortPaths is what offset v saves beside what the others do, from the words that are short enough to.
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

// localSearch exchanges the offsets of tuple one by one for better ones beside base, until none is, or more, which may be nil
// and is told what the tuple saves, says to end. It returns what the tuple saves then.
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

// bestTuple returns the tuple that is best added to base: climbing from one taken offset by offset.
func (t *offsetSearch) bestTuple(base []int32) []int {
	tuple := make([]int, 0, t.k)
	for range t.k {
		v, _ := t.bestOffset(base, tuple, 0)
		tuple = append(tuple, v)
	}
	t.localSearch(base, tuple, nil)
	return tuple
}

// exchangeOffsets exchanges offsets of all phases while that saves hops, for about as many steps as work. It returns the sum of
// hops.
func (t *offsetSearch) exchangeOffsets(phases [][]int, maxWork int64) int64 {
	n, until := t.n, t.work+maxWork
	hops := make([][]int32, len(phases))
	for p, tuple := range phases {
		hops[p] = plan.Reach(n, tuple)
	}
	base := make([]int32, n)
	without := func(skip int) int64 {
		copy(base, plan.Origin(n))
		for p := range hops {
			if p != skip {
				lowerHops(base, hops[p])
			}
		}
		return plan.Total(base)
	}
	sum := without(-1)
	free := plan.LeastHops(n, len(phases), t.k)
	for better := true; better && sum > free; {
		better = false
		for p := range phases {
			if t.work > until {
				return sum
			}
			rest := without(p)
			tuple := slices.Clone(phases[p])
			if s := rest - t.localSearch(base, tuple, nil); s < sum {
				phases[p], sum, better = tuple, s, true
				hops[p] = plan.Reach(n, tuple)
			}
		}
	}
	return sum
}

// initialTuples returns tuples for one phase that reaches all, those of fewest hops first. Up to multiplication by a unit,
// which renames GPUs, the first offset divides n. Where these are too many tuples to try, every offset beside 1 starts
// a climb, or some where n is large.
func (t *offsetSearch) initialTuples(maxTuples int) [][]int {
	type ranked struct {
		tuple []int
		hops  int64
	}
	var list []ranked
	count := 3.0 * float64(t.n) // steps of trying all
	for j := 1; j < t.k; j++ {
		count = count * float64(t.n-2+j) / float64(j)
	}
	var divisors []int
	for a := 1; a < t.n; a++ {
		if t.n%a == 0 {
			divisors = append(divisors, a)
		}
	}
	base := plan.Origin(t.n)
	const maxSteps = 4_000_000
	if count*float64(len(divisors)) <= maxSteps {
		var rest func(tuple []int, from int, hops []int32)
		rest = func(tuple []int, from int, hops []int32) {
			if len(tuple) == t.k {
				list = append(list, ranked{tuple, plan.Total(hops)})
				return
			}
			t.stop.Check()
			for v := from; v < t.n; v++ {
				with := slices.Clone(hops)
				plan.Relax(with, v)
				rest(append(slices.Clip(tuple), v), v, with)
			}
		}
		for _, a := range divisors {
			rest([]int{a}, 1, plan.Reach(t.n, []int{a}))
		}
		list = slices.DeleteFunc(list, func(r ranked) bool { return r.hops >= int64(plan.Far) })
	} else {
		for v := 2; v < t.n; v += max(1, t.n/64) {
			tuple := []int{1, v}
			for len(tuple) < t.k {
				w, _ := t.bestOffset(base, tuple, 0)
				tuple = append(tuple, w)
			}
			t.localSearch(base, tuple, nil)
			list = append(list, ranked{tuple, plan.Total(plan.Reach(t.n, tuple))})
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(a.hops, b.hops) })
	var tuples [][]int
	for _, r := range list[:min(maxTuples, len(list))] {
		tuples = append(tuples, r.tuple)
	}
	return tuples
}
