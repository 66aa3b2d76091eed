package circulant

import (
	"math"
	"slices"
	"testing"

	"sim/policies/reconfigure/plan"
)

// minSlots returns the minimum slots for one chunk per pair over phases of two offsets,
// without relaying, on any paths. It computes all reachable vectors of loads up to maxLoad
// by dynamic programming. The slots of a phase are its largest load, which is a lower bound
// on them.
func minSlots(n int, phases [][]int, maxLoad int) int {
	type loads [4]int8
	now := map[loads]bool{{}: true}
	for o := 1; o < n; o++ {
		next := map[loads]bool{}
		for p, offsets := range phases {
			for x := range maxLoad + 1 {
				for y := range maxLoad + 1 {
					if (x*offsets[0]+y*offsets[1])%n != o {
						continue
					}
					for l := range now {
						l[2*p] += int8(x)
						l[2*p+1] += int8(y)
						if int(max(l[0], l[1]))+int(max(l[2], l[3])) <= maxLoad {
							next[l] = true
						}
					}
				}
			}
		}
		// Remove vectors that another vector dominates.
		list := make([]loads, 0, len(next))
		for l := range next {
			list = append(list, l)
		}
		slices.SortFunc(list, func(a, b loads) int {
			return int(a[0]) + int(a[1]) + int(a[2]) + int(a[3]) - int(b[0]) - int(b[1]) - int(b[2]) - int(b[3])
		})
		now = map[loads]bool{}
		var minimal []loads
		for _, l := range list {
			if !slices.ContainsFunc(minimal, func(k loads) bool {
				return k[0] <= l[0] && k[1] <= l[1] && k[2] <= l[2] && k[3] <= l[3]
			}) {
				minimal = append(minimal, l)
				now[l] = true
			}
		}
	}
	lowest := math.MaxInt
	for l := range now {
		lowest = min(lowest, int(max(l[0], l[1]))+int(max(l[2], l[3])))
	}
	return lowest
}

// The bases of degree 2 on 8 GPUs. The paper's {2, 3} takes 8 slots even with waiting:
// shortest paths take 14 hops in total, so 7 slots would leave no slack, but 8 of the hops
// use offset 3. These shortest paths are unique, so no schedule is better, symmetric or
// not. {1, 3} takes 7 slots.
func TestBasesOf8(t *testing.T) {
	var paths []offsetPath
	for _, w := range phasePaths(8, [][]int{{2, 3}}, 1) {
		if w.hops == plan.Reach(8, []int{2, 3})[w.to] {
			paths = append(paths, w)
		}
	}
	count := make([]int, 8)
	hops, threes := int32(0), int32(0)
	for _, w := range paths {
		count[w.to]++
		hops += w.hops
		for i, g := range w.gen {
			if g == 1 {
				threes += w.count[i]
			}
		}
	}
	if !slices.Equal(count, []int{0, 1, 1, 1, 1, 1, 1, 1}) || hops != 14 || threes != 8 {
		t.Errorf("shortest paths over {2, 3}: %v, %d hops, %d of them 3; want one each, 14 and 8", count, hops, threes)
	}
	if got := minSlots(8, [][]int{{2, 3}}, 9); got != 8 {
		t.Errorf("{2, 3} takes %d slots, want 8", got)
	}
	if got := minSlots(8, [][]int{{1, 3}}, 9); got != 7 {
		t.Errorf("{1, 3} takes %d slots, want 7", got)
	}
	l := newPlanner(8, 2, 1, Options{}, 0)
	for _, c := range []struct {
		base  []int
		slots int64
	}{{[]int{2, 3}, 8}, {[]int{1, 3}, 7}} {
		if got := l.schedulePhases([][]int{c.base}, l.numPerturbations()).total(); got != c.slots {
			t.Errorf("%v: scheduled in %d slots, want %d", c.base, got, c.slots)
		}
	}
}

// For up to 9 GPUs, candidates of one and two phases are compared with all pairs of
// offsets.
func TestBestOffsetPairs(t *testing.T) {
	for n := 4; n <= 9; n++ {
		list, err := Candidates(plan.UniformProblem(n, 2, 1), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var pairs [][]int
		for a := 1; a < n; a++ {
			for b := a; b < n; b++ {
				pairs = append(pairs, []int{a, b})
			}
		}
		got := func(d int) int64 {
			minimum := int64(math.MaxInt64)
			for _, c := range list {
				if c.Reconfigurations <= d {
					minimum = min(minimum, c.Slots)
				}
			}
			return minimum
		}
		one, two := int(got(1)), int(got(2))
		best1, best2 := one, two
		for _, p := range pairs {
			if n%p[0] != 0 && n%p[1] != 0 {
				continue // multiplication by a unit modulo n gives another pair
			}
			if x := minSlots(n, [][]int{p}, best1); x < best1 {
				best1 = x
			}
			for _, q := range pairs {
				if x := minSlots(n, [][]int{p, q}, best2-1); x < best2 {
					best2 = x
				}
			}
		}
		if one != best1 || two != best2 {
			t.Errorf("%d GPUs: %d slots in one phase and %d in two, the best pairs take %d and %d", n, one, two, best1, best2)
		}
	}
}
