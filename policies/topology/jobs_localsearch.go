package topology

import (
	"slices"

	"sim/engine"
	"sim/internal/numbers"
)

// greedyStart returns a first topology. It starts from all useful circuits. Pod by pod it
// removes the circuit whose loss increases the bound of the objective least, until the
// ports suffice.
func (z *jobsSearch) greedyStart() []int {
	x := slices.Clone(z.shared.Useful)
	z.shared.removeExcess(x, allPods, func(pod int) int {
		if z.interrupted() {
			return -1
		}
		return z.minLossBundle(x, pod, noBundle)
	})
	return x
}

// minLossBundle returns the bundle at the pod, except other, that can lose a circuit with
// the smallest increase of the objective's bound. It returns -1 if none can lose a
// circuit.
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

// bound returns the objective at the lower bounds of the jobs' makespans.
func (z *jobsSearch) bound(x []int) score {
	minMakespans := make([]engine.Time, len(z.jobs))
	for j, part := range z.shared.split(x) {
		minMakespans[j] = z.jobs[j].bound(part)
	}
	return z.shared.score(minMakespans)
}

// localSearch exchanges circuits within and between jobs, starting from x, while this
// lowers the objective's bound. Each intermediate topology is a candidate for the best.
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

// halfUsed reports whether half of the budget is used or the search is cancelled.
func (z *jobsSearch) halfUsed() bool {
	return z.charged >= forksPerEvaluation*(z.MaxEvaluations/2) || z.interrupted()
}

// exchange returns x with one more circuit of bundle e, and the bound of the result. If a
// pod of e then uses too many ports, minLossBundle selects the circuits to remove there.
// It returns nil if e can use no more circuits or nothing can be removed.
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
