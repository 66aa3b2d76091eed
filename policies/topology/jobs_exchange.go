package topology

import (
	"slices"

	"sim/engine"
	"sim/internal/numbers"
)

// descent makes a first decision: from all circuits that could be useful it takes away, pod by pod where one is
// overrun, the one whose loss raises the objective's bound least.
func (z *jobsSearch) descent() []int {
	x := slices.Clone(z.s.Useful)
	z.s.yield(x, nil, func(pod int) int {
		if z.cut() {
			return -1
		}
		return z.cheapest(x, pod, -1)
	})
	return x
}

// cheapest returns the bundle at a pod, other than one, of whose circuits the loss of one raises the objective's bound
// least; -1 where none may lose one.
func (z *jobsSearch) cheapest(x []int, pod, other int) int {
	best := -1
	var lowest score
	for e := range x {
		if e == other || !z.s.meets(e, pod) || x[e] == 1 {
			continue
		}
		x[e]--
		if v := z.bound(x); best < 0 || slices.Compare(v, lowest) < 0 {
			best, lowest = e, v
		}
		x[e]++
	}
	return best
}

// bound returns the objective of the jobs' bounds.
func (z *jobsSearch) bound(x []int) score {
	least := make([]engine.Time, len(z.jobs))
	for j, part := range z.s.split(x) {
		least[j] = z.jobs[j].bound(part)
	}
	return z.s.score(least)
}

// improve keeps x and what exchanges of circuits, within and between jobs, make of it for as long as they lower the
// objective's bound.
func (z *jobsSearch) improve(x []int) {
	if z.s.overrun(x) {
		return
	}
	x = slices.Clone(x)
	z.s.fill(x, numbers.Below(len(x)))
	z.keep(x)
	for here := z.bound(x); !z.half(); {
		var next []int
		for e := range x {
			if z.cut() {
				return
			}
			y, v := z.exchanged(x, e)
			if y != nil && compare(v, here, z.eps) < 0 {
				next, here = y, v
			}
		}
		if next == nil {
			return
		}
		x = next
		z.s.fill(x, numbers.Below(len(x)))
		here = z.bound(x)
		z.keep(x)
	}
}

// half reports whether half of the budget is used, or the search has been cut short.
func (z *jobsSearch) half() bool { return z.effort >= forksAPlay*(z.MaxEvaluations/2) || z.cut() }

// exchanged returns x with one more circuit of bundle e, where need be in place of one of another bundle at each of its
// pods: those whose loss costs least. nil where e can use no more or nothing can give way.
func (z *jobsSearch) exchanged(x []int, e int) ([]int, score) {
	if x[e] >= z.s.Useful[e] {
		return nil, nil
	}
	y := slices.Clone(x)
	y[e]++
	if !z.s.yield(y, z.s.pods[e][:], func(pod int) int { return z.cheapest(y, pod, e) }) {
		return nil, nil
	}
	return y, z.bound(y)
}
