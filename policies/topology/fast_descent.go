package topology

import (
	"slices"

	"sim/engine"
	"sim/internal/numbers"
)

// steepestDescent is steepest descent from the best individual: of all its neighbours the fittest is next, until none is fitter.
// It reports whether the makespan has become shorter.
func (s *fastSearch) steepestDescent() bool {
	before := s.best.makespan
	for !s.mustStop() {
		var neighbours []individual
		s.visitNeighbours(s.best.circuits, func(x []int) {
			neighbours = append(neighbours, s.individual(slices.Clone(x)))
		})
		s.evaluate(neighbours, (makespanClass(s.best.makespan)+1)*classTicks) // the lowest makespan that is worse
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

// visitNeighbours visits the topologies that have one circuit, or two, more or fewer in one bundle. Where a pod is then
// overrun, another bundle gives way there, any of them.
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
			y[e] += n
			s.visitRepairs(y, e, 0, visit)
			y[e] -= n
		}
	}
}

// visitRepairs visits x, or where a pod from the given one on is overrun, what is left when a bundle there other than e gives
// way.
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

// minimisePorts replaces the best by what needs the fewest ports at a makespan within a limit (DELTA, Eq. 4). Circuits are
// taken from the cheapest topologies seen that keep it, bundle after bundle in several orders, all in step, so that
// what one has simulated serves the others.
func (s *fastSearch) minimisePorts(limit engine.Time) {
	type shaving struct {
		individual
		order []int // of the bundles from which circuits may be taken yet
	}
	var all []*shaving
	for _, start := range s.reductionStarts(limit) {
		for _, order := range s.bundleOrders(len(start.circuits)) {
			all = append(all, &shaving{start, order})
		}
	}
	for active := slices.Clone(all); len(active) > 0 && !s.interrupted(); {
		var next []individual
		active = slices.DeleteFunc(active, func(t *shaving) bool {
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
	for _, t := range all {
		if t.ports < s.best.ports || t.ports == s.best.ports && t.makespan < s.best.makespan {
			s.best = t.individual
		}
	}
}

// reductionStarts returns the best individual and some others simulated whose makespan keeps a limit, those with the fewest
// ports.
func (s *fastSearch) reductionStarts(limit engine.Time) []individual {
	const starts = 8
	within := slices.DeleteFunc(slices.Clone(s.simulated), func(t individual) bool { return t.makespan > limit })
	slices.SortStableFunc(within, func(a, b individual) int { return a.ports - b.ports })
	return append([]individual{s.best}, within[:min(len(within), starts-1)]...)
}

// bundleOrders returns orders in which to take circuits from bundles: as they are numbered, the reverse, and some at random.
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
