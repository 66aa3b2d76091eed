package topology

import (
	"slices"

	"sim/engine"
	"sim/internal/numbers"
)

// polish is steepest descent from the best individual: of all its neighbours the fittest is next, until none is fitter.
// It reports whether the makespan has become shorter.
func (s *fastSearch) polish() bool {
	before := s.best.makespan
	for !s.over() {
		var around []individual
		s.neighbours(s.best.x, func(x []int) {
			around = append(around, s.individual(slices.Clone(x)))
		})
		s.value(around, (class(s.best.makespan)+1)*classTicks) // the lowest makespan that is worse
		if len(around) == 0 {
			break
		}
		here := s.best
		if s.keep(slices.MinFunc(around, compareFitness)); compareFitness(s.best, here) == 0 {
			break
		}
	}
	return class(s.best.makespan) < class(before)
}

// neighbours visits the topologies that have one circuit, or two, more or fewer in one bundle. Where a pod is then
// overrun, another bundle gives way there, any of them.
func (s *fastSearch) neighbours(x []int, visit func([]int)) {
	y := slices.Clone(x)
	for e := range x {
		if s.cut() {
			return
		}
		for _, n := range []int{-2, -1, 1, 2} {
			if to := x[e] + n; to < 1 || to > s.p.Useful[e] {
				continue
			}
			y[e] += n
			s.yield(y, e, 0, visit)
			y[e] -= n
		}
	}
}

// yield visits x, or where a pod from the given one on is overrun, what is left when a bundle there other than e gives
// way.
func (s *fastSearch) yield(x []int, e, pod int, visit func([]int)) {
	free := s.p.room(x)
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
		if o == e || x[o] <= n || !s.p.meets(o, pod) {
			continue
		}
		x[o] -= n
		s.yield(x, e, pod+1, visit)
		x[o] += n
	}
}

// savePorts replaces the best by what needs the fewest ports at a makespan within a limit (DELTA, Eq. 4). Circuits are
// taken from the cheapest topologies seen that keep it, bundle after bundle in several orders, all in step, so that
// what one has simulated serves the others.
func (s *fastSearch) savePorts(limit engine.Time) {
	type shaving struct {
		individual
		order []int // of the bundles from which circuits may be taken yet
	}
	var all []*shaving
	for _, start := range s.cheapest(limit) {
		for _, order := range s.orders(len(start.x)) {
			all = append(all, &shaving{start, order})
		}
	}
	for active := slices.Clone(all); len(active) > 0 && !s.cut(); {
		var next []individual
		active = slices.DeleteFunc(active, func(t *shaving) bool {
			for len(t.order) > 0 && t.x[t.order[0]] == 1 {
				t.order = t.order[1:]
			}
			if len(t.order) == 0 {
				return true
			}
			x := slices.Clone(t.x)
			x[t.order[0]]--
			next = append(next, s.individual(x))
			return false
		})
		s.value(next, limit+1)
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

// cheapest returns the best individual and some others simulated whose makespan keeps a limit, those with the fewest
// ports.
func (s *fastSearch) cheapest(limit engine.Time) []individual {
	const starts = 8
	within := slices.DeleteFunc(slices.Clone(s.simulated), func(t individual) bool { return t.makespan > limit })
	slices.SortStableFunc(within, func(a, b individual) int { return a.ports - b.ports })
	return append([]individual{s.best}, within[:min(len(within), starts-1)]...)
}

// orders returns orders in which to take circuits from bundles: as they are numbered, the reverse, and some at random.
func (s *fastSearch) orders(bundles int) [][]int {
	const random = 4
	down := numbers.Below(bundles)
	slices.Reverse(down)
	list := [][]int{numbers.Below(bundles), down}
	for range random {
		list = append(list, s.random.Perm(bundles))
	}
	return list
}
