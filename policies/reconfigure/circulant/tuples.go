package circulant

import (
	"cmp"
	"slices"

	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// tuples searches for phases of k offsets each that reach all offsets in few hops in all, each within one phase: a
// facility location over tuples. Phases are added greedily and then exchanged offset by offset.
type tuples struct {
	n, k int
	stop halt.When
	// Scratch: hops over the other offsets of a tuple, beside one more, and the fewest of the others and the base.
	others, with, low []int32
	near              []near
	stamp             []int32
	move              int32
	work              int64 // steps taken so far
}

// near is an offset that others reach in hops.
type near struct{ offset, hops int32 }

func newTuples(n, k int) *tuples {
	return &tuples{n: n, k: k, others: make([]int32, n), with: make([]int32, n), low: make([]int32, n), stamp: make([]int32, n)}
}

// saves is what the hops of tuple take off the sum of base.
func saves(base, hops []int32) (sum int64) {
	for o, h := range hops {
		if b := base[o]; b > h {
			sum += int64(b - h)
		}
	}
	return sum
}

// bestOffset returns the offset which, beside the other ones of a tuple, saves most hops of base: of equals prefer (0
// for none), then the smallest.
func (t *tuples) bestOffset(base []int32, others []int, prefer int) (offset int, saved int64) {
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
	most := int32(0)
	for o, h := range t.others {
		t.low[o] = min(h, base[o])
		most = max(most, t.low[o])
	}
	t.near = t.near[:0]
	for o, h := range t.others {
		if h+1 < most {
			t.near = append(t.near, near{int32(o), h})
		}
	}
	words := t.words(most)
	already := saves(base, t.others)
	t.work += int64(t.n) * int64(min(t.words(slices.Max(base)), 3*t.n)+8)
	saved = -1
	weigh := func(v int) {
		var sum int64
		if words <= 2*t.n {
			sum = already + t.saveNear(v, most)
		} else {
			copy(t.with, t.others)
			plan.Relax(t.with, v)
			sum = saves(base, t.with)
		}
		if sum > saved {
			offset, saved = v, sum
		}
	}
	if prefer > 0 {
		weigh(prefer)
	}
	for v := 1; v < t.n; v++ {
		weigh(v)
	}
	return offset, saved
}

// words is how many words of fewer hops than most go over the others and then on, counted to above 2 n.
func (t *tuples) words(most int32) (count int) {
	for _, h := range t.others {
		if h+1 < most {
			count += int(most - 1 - h)
		}
		if count > 2*t.n {
			break
		}
	}
	return count
}

// saveNear is what offset v saves beside what the others do, from the words that are short enough to.
func (t *tuples) saveNear(v int, most int32) (sum int64) {
	t.move++
	n := int32(t.n)
	for _, w := range t.near {
		at := w.offset
		for h := w.hops + 1; h < most; h++ {
			if at += int32(v); at >= n {
				at -= n
			}
			if at == 0 {
				break
			}
			now := t.low[at]
			if t.stamp[at] == t.move {
				now = min(now, t.with[at])
			}
			if h < now {
				sum += int64(now - h)
				t.with[at], t.stamp[at] = h, t.move
			}
		}
	}
	return sum
}

// climb exchanges the offsets of tuple one by one for better ones beside base, until none is, or more, which may be nil
// and is told what the tuple saves, says to end. It returns what the tuple saves then.
func (t *tuples) climb(base []int32, tuple []int, more func(saved int64) bool) (saved int64) {
	others := make([]int, 0, len(tuple))
	saved = saves(base, plan.Reach(t.n, tuple))
	for same := 0; same < len(tuple); {
		for j := range tuple {
			if more != nil && !more(saved) {
				return saved
			}
			others = append(append(others[:0], tuple[:j]...), tuple[j+1:]...)
			if v, s := t.bestOffset(base, others, tuple[j]); s > saved {
				tuple[j], saved, same = v, s, 0
			} else if same++; same == len(tuple) {
				break
			}
		}
	}
	return saved
}

// next returns the tuple that is best added to base: climbing from one taken offset by offset.
func (t *tuples) next(base []int32) []int {
	tuple := make([]int, 0, t.k)
	for range t.k {
		v, _ := t.bestOffset(base, tuple, 0)
		tuple = append(tuple, v)
	}
	t.climb(base, tuple, nil)
	return tuple
}

// improve exchanges offsets of all phases while that saves hops, for about as many steps as work. It returns the sum of
// hops.
func (t *tuples) improve(phases [][]int, work int64) int64 {
	n, until := t.n, t.work+work
	hops := make([][]int32, len(phases))
	for p, tuple := range phases {
		hops[p] = plan.Reach(n, tuple)
	}
	base := make([]int32, n)
	without := func(skip int) int64 {
		copy(base, plan.Origin(n))
		for p := range hops {
			if p != skip {
				lower(base, hops[p])
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
			if s := rest - t.climb(base, tuple, nil); s < sum {
				phases[p], sum, better = tuple, s, true
				hops[p] = plan.Reach(n, tuple)
			}
		}
	}
	return sum
}

// firsts returns tuples for one phase that reaches all, those of fewest hops first. Up to multiplication by a unit,
// which renames GPUs, the first offset divides n. Where these are too many tuples to try, every offset beside 1 starts
// a climb, or some where n is large.
func (t *tuples) firsts(most int) [][]int {
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
	const triable = 4_000_000
	if count*float64(len(divisors)) <= triable {
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
			t.climb(base, tuple, nil)
			list = append(list, ranked{tuple, plan.Total(plan.Reach(t.n, tuple))})
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(a.hops, b.hops) })
	var tuples [][]int
	for _, r := range list[:min(most, len(list))] {
		tuples = append(tuples, r.tuple)
	}
	return tuples
}
