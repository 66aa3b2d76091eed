package topology

import (
	"slices"

	"sim/engine"
)

// polish ends the search with steepest descent from the best individual: of
// all its neighbours the fittest is next, until none is fitter.
func (s *fastSearch) polish() {
	for !s.over() {
		var around []individual
		s.neighbours(s.best.x, func(x []int) {
			around = append(around, s.individual(slices.Clone(x)))
		})
		s.value(around, nextClass(s.best.makespan))
		s.rank(around)
		if len(around) == 0 || s.compare(&around[0], &s.best) >= 0 {
			return
		}
		s.keep(&around[0])
	}
}

// nextClass returns the lowest makespan that is worse than c.
func nextClass(c engine.Time) engine.Time {
	return (class(c) + 1) * classTicks
}

// neighbours visits the topologies that have one circuit, or two, more or
// fewer in one bundle. Where a pod is then overrun, another bundle gives way
// there, any of them.
func (s *fastSearch) neighbours(x []int, visit func([]int)) {
	y := slices.Clone(x)
	for e := range x {
		for _, n := range []int{-2, -1, 1, 2} {
			if to := x[e] + n; to < 1 || to > s.most[e] {
				continue
			}
			y[e] += n
			s.yield(y, e, 0, visit)
			y[e] -= n
		}
	}
}

// yield visits x, or where a pod from the given one on is overrun, what is
// left when a bundle there other than e gives way.
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

// savePorts takes circuits away from the best while the makespan may grow by a
// fraction of no more than tolerance (DELTA, Eq. 4): one by one in several
// orders, from the topologies seen that do with the fewest ports.
func (s *fastSearch) savePorts(tolerance float64) {
	limit := grown(s.best.makespan, tolerance)
	s.shave(limit)
}

// shave removes circuits from the best, in each step the one whose loss costs
// least, for as long as the makespan keeps the limit.
func (s *fastSearch) shave(limit engine.Time) {
}
