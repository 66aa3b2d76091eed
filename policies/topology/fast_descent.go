package topology

import (
	"slices"

	"sim/engine"
	"sim/internal/numbers"
)

// steepestDescent moves from the best individual to its fittest neighbour until no
// neighbour is fitter. It reports whether the makespan became shorter.
func (s *fastSearch) steepestDescent() bool {
	before := s.best.makespan
	for !s.mustStop() {
		var neighbours []individual
		s.visitNeighbours(s.best.circuits, func(x []int) {
			neighbours = append(neighbours, s.individual(slices.Clone(x)))
		})
		// The cutoff is the lowest makespan of a worse class.
		s.evaluate(neighbours, (makespanClass(s.best.makespan)+1)*classTicks)
		if len(neighbours) == 0 {
			break
		}
		current := s.best
		if s.updateBest(slices.MinFunc(neighbours, compareFitness)); compareFitness(s.best, current) == 0 {
			break
		}
	}

	return makespanClass(s.best.makespan) < makespanClass(before)
}

// visitNeighbours visits the topologies with one or two circuits more or less in one
// bundle. If a pod then uses too many ports, each of its other bundles is reduced in
// turn.
func (s *fastSearch) visitNeighbours(x []int, visit func([]int)) {
	y := slices.Clone(x)
	for e := range x {
		if s.interrupted() {
			return
		}
		for _, n := range []int{-2, -1, 1, 2} {
			if to := x[e] + n; to < 1 || to > s.p.Useful[e] {
				continue
			}
			const firstPod = 0
			y[e] += n
			s.visitRepairs(y, e, firstPod, visit)
			y[e] -= n
		}
	}
}

// visitRepairs visits x if its pods, from the given one on, fit their ports. Otherwise it
// reduces each bundle other than e at the first pod that does not fit, one at a time, and
// recurses.
func (s *fastSearch) visitRepairs(x []int, e, pod int, visit func([]int)) {
	free := s.p.freePorts(x)
	for pod < len(free) && free[pod] >= 0 {
		pod++
	}
	if pod == len(free) {
		visit(x)
		return
	}

	for o := range x {
		ends := s.p.Fabric.Bundles[o].Ends
		n := (-free[pod] + ends - 1) / ends
		if o == e || x[o] <= n || !s.p.endsAt(o, pod) {
			continue
		}
		x[o] -= n
		s.visitRepairs(x, e, pod+1, visit)
		x[o] += n
	}
}

// minimisePorts replaces the best individual by one with fewer ports whose makespan is at
// most limit (DELTA, Eq. 4). It removes circuits one by one, starting from several
// topologies and in several orders of the bundles. All reductions advance together, so
// that they share simulations.
func (s *fastSearch) minimisePorts(limit engine.Time) {
	type portReduction struct {
		individual
		order []int // bundles from which circuits may still be removed, in this order
	}

	var all []*portReduction
	for _, start := range s.reductionStarts(limit) {
		for _, order := range s.bundleOrders(len(start.circuits)) {
			all = append(all, &portReduction{individual: start, order: order})
		}
	}

	// In each round, every reduction tries to remove one circuit of its first bundle. If
	// that fails, it goes to its next bundle.
	for active := slices.Clone(all); len(active) > 0 && !s.interrupted(); {
		var next []individual
		active = slices.DeleteFunc(active, func(t *portReduction) bool {
			for len(t.order) > 0 && t.circuits[t.order[0]] == 1 {
				t.order = t.order[1:]
			}
			if len(t.order) == 0 {
				return true
			}
			x := slices.Clone(t.circuits)
			x[t.order[0]]--
			next = append(next, s.individual(x))
			return false
		})
		s.evaluate(next, limit+1)
		for i, t := range active {
			if next[i].makespan <= limit {
				t.individual = next[i]
			} else {
				t.order = t.order[1:]
			}
		}
	}

	// The best reduction becomes the result.
	for _, t := range all {
		if t.ports < s.best.ports || t.ports == s.best.ports && t.makespan < s.best.makespan {
			s.best = t.individual
		}
	}
}

// reductionStarts returns the best individual and some simulated ones with makespans of
// at most limit and minimum ports.
func (s *fastSearch) reductionStarts(limit engine.Time) []individual {
	const starts = 8 // with six orders (bundleOrders) these are 48 reductions
	within := slices.DeleteFunc(slices.Clone(s.simulated),
		func(t individual) bool { return t.makespan > limit })
	slices.SortStableFunc(within, func(a, b individual) int { return a.ports - b.ports })
	return append([]individual{s.best}, within[:min(len(within), starts-1)]...)
}

// bundleOrders returns the orders in which minimisePorts visits the bundles: ascending,
// descending, and some at random.
func (s *fastSearch) bundleOrders(bundles int) [][]int {
	const random = 4
	down := numbers.Below(bundles)
	slices.Reverse(down)
	list := [][]int{numbers.Below(bundles), down}
	for range random {
		list = append(list, s.random.Perm(bundles))
	}
	return list
}
