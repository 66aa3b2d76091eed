package topology

import "slices"

// firstGeneration is random (Alg. 3, Line 1) but for the topologies that the traffic matrix alone suggests, so that
// none of them is better than the search.
func (s *fastSearch) firstGeneration() []individual {
	population := make([]individual, 0, s.options.Population)
	for _, rule := range matrixRules {
		x := rule(s.p)
		if len(population) < s.options.Population && s.repair(x) {
			population = append(population, s.individual(x))
		}
	}
	for len(population) < s.options.Population {
		population = append(population, s.individual(s.randomTopology()))
	}
	return population
}

// randomTopology is Alg. 5 (FeasibleRandomInit). Bundles are taken in random order, as otherwise the first ones would
// tend to have the most circuits.
func (s *fastSearch) randomTopology() []int {
	bundles := s.p.Fabric.Bundles
	x := s.p.ones()
	free := s.p.freePorts(x) // one circuit each is reserved for those to come
	for _, e := range s.random.Perm(len(bundles)) {
		limit := max(1, min(1+s.p.maxAdditional(free, e), s.p.Useful[e]))
		x[e] = 1 + s.random.IntN(limit)
		s.p.allocate(free, e, x[e]-1)
	}
	return x
}

// repair is Alg. 6 (RepairTopo). It reports whether x is feasible afterwards.
func (s *fastSearch) repair(x []int) bool {
	for e := range x {
		x[e] = max(1, min(x[e], s.p.Useful[e]))
	}
	free := s.p.freePorts(x)
	var over, reducible []int
	for {
		over = over[:0]
		for pod, f := range free {
			if f < 0 {
				over = append(over, pod)
			}
		}
		if len(over) == 0 {
			return true
		}
		pod := over[s.random.IntN(len(over))]
		reducible = reducible[:0]
		for e := range x {
			if x[e] > 1 && s.p.endsAt(e, pod) {
				reducible = append(reducible, e)
			}
		}
		if len(reducible) == 0 {
			return false
		}
		e := reducible[s.random.IntN(len(reducible))]
		x[e]--
		s.p.allocate(free, e, -1)
	}
}

// tournament returns the fittest of some individuals drawn at random from the population, which is ranked.
func (s *fastSearch) tournament() *individual {
	first := len(s.population)
	for range s.options.Tournament {
		first = min(first, s.random.IntN(len(s.population)))
	}
	return &s.population[first]
}

// crossover returns a child that has each bundle's circuits from one of two parents, or a copy of the first.
func (s *fastSearch) crossover(mother, father []int) []int {
	child := slices.Clone(mother)
	if s.random.Float64() >= s.options.Crossover {
		return child
	}
	for e := range child {
		if s.random.IntN(2) == 0 {
			child[e] = father[e]
		}
	}
	return child
}

// mutate changes a child. The operators know what makes neighbours of topologies: a few circuits more or less in one
// bundle, circuits that move between bundles at a common pod, and ports left free that are used.
func (s *fastSearch) mutate(x []int) {
	const step = 3
	e := s.random.IntN(len(x))
	n := 1 + s.random.IntN(step)
	switch s.random.IntN(4) {
	case 0:
		x[e] += n
	case 1:
		x[e] -= n
	case 2:
		if o := s.randomNeighbour(e); o >= 0 {
			x[e] -= n
			x[o] += n
		}
	case 3:
		s.addRandom(x)
	}
}

// addRandom adds circuits at random while any fits.
func (s *fastSearch) addRandom(x []int) {
	free := s.p.freePorts(x)
	for {
		e := s.randomBundle(func(e int) bool { return x[e] < s.p.Useful[e] && s.p.maxAdditional(free, e) > 0 })
		if e < 0 {
			return
		}
		x[e]++
		s.p.allocate(free, e, 1)
	}
}

// randomBundle returns a bundle at random among those that may be, -1 if none may.
func (s *fastSearch) randomBundle(may func(e int) bool) int {
	found, seen := -1, 0
	for e := range s.p.Fabric.Bundles {
		if may(e) {
			if seen++; s.random.IntN(seen) == 0 {
				found = e
			}
		}
	}
	return found
}

// randomNeighbour returns a random bundle that shares a pod with e, -1 if none does.
func (s *fastSearch) randomNeighbour(e int) int {
	b := s.p.endPods[e]
	return s.randomBundle(func(o int) bool { return o != e && (s.p.endsAt(o, b[0]) || s.p.endsAt(o, b[1])) })
}
