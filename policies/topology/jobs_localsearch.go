package topology

import (
	"slices"

	"sim/engine"
	"sim/internal/numbers"
)

// greedyStart makes a first decision: from all circuits that could be useful it takes away, pod by pod where one is
// overrun, the one whose loss raises the objective's bound least.
func (z *jobsSearch) greedyStart() []int {
	x := slices.Clone(z.shared.Useful)
	z.shared.removeExcess(x, nil, func(pod int) int {
		if z.interrupted() {
			return -1
		}
		return z.minLossBundle(x, pod, -1)
	})
	return x
}

// minLossBundle returns the bundle at a pod, other than one, of whose circuits the loss of one raises the objective's bound
// least; -1 where none may lose one.
func (z *jobsSearch) minLossBundle(x []int, pod, other int) int {
	best := -1
	var lowest score
	for e := range x {
		if e == other || !z.shared.endsAt(e, pod) || x[e] == 1 {
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
	minMakespans := make([]engine.Time, len(z.jobs))
	for j, part := range z.shared.split(x) {
		minMakespans[j] = z.jobs[j].bound(part)
	}
	return z.shared.score(minMakespans)
}

// localSearch keeps x and what exchanges of circuits, within and between jobs, make of it for as long as they lower the
// objective's bound.
func (z *jobsSearch) localSearch(x []int) {
	if z.shared.exceedsPorts(x) {
		return
	}
	x = slices.Clone(x)
	z.shared.fillFreePorts(x, numbers.Below(len(x)))
	z.updateBest(x)
	for here := z.bound(x); !z.halfUsed(); {
		var next []int
		for e := range x {
			if z.interrupted() {
				return
			}
			y, v := z.exchange(x, e)
			if y != nil && compareScores(v, here, z.resolution) < 0 {
				next, here = y, v
			}
		}
		if next == nil {
			return
		}
		x = next
		z.shared.fillFreePorts(x, numbers.Below(len(x)))
		here = z.bound(x)
		z.updateBest(x)
	}
}

// halfUsed reports whether half of the budget is used, or the search has been cut short.
func (z *jobsSearch) halfUsed() bool {
	return z.charged >= forksPerEvaluation*(z.MaxEvaluations/2) || z.interrupted()
}

// exchange returns x with one more circuit of bundle e, where need be in place of one of another bundle at each of its
// pods: those whose loss costs least. nil where e can use no more or nothing can give way.
func (z *jobsSearch) exchange(x []int, e int) ([]int, score) {
	if x[e] >= z.shared.Useful[e] {
		return nil, nil
	}
	y := slices.Clone(x)
	y[e]++
	if !z.shared.removeExcess(y, z.shared.endPods[e][:], func(pod int) int { return z.minLossBundle(y, pod, e) }) {
		return nil, nil
	}
	return y, z.bound(y)
}
