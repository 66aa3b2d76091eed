package topology

import "slices"

// firstGeneration returns random topologies (Alg. 3, Line 1) and the topologies of
// matrixRules, so that no baseline is better than the result.
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

// randomTopology is Alg. 5 (FeasibleRandomInit), but visits bundles in random order. In a
// fixed order the first bundles would tend to get the most circuits.
func (s *fastSearch) randomTopology() []int {
	bundles := s.p.Fabric.Bundles
	x := s.p.ones()
	free := s.p.freePorts(x) // with one circuit reserved for every bundle
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

	// Remove circuits of random bundles at random pods until all pods fit.
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

// tournament returns the fittest of several individuals drawn at random from the sorted
// population.
func (s *fastSearch) tournament() *individual {
	first := len(s.population)
	for range s.options.Tournament {
		first = min(first, s.random.IntN(len(s.population)))
	}
	return &s.population[first]
}

// crossover returns a child that takes the circuits of each bundle from one of its two
// parents at random, or a copy of the first parent.
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

// mutate changes x at random: circuits are added to a bundle, removed from it, moved to a
// bundle that shares a pod, or added while ports are free.
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

// addRandom adds circuits to random bundles while any fits.
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

// randomBundle returns a random bundle that accept permits, or -1 if it permits none.
func (s *fastSearch) randomBundle(accept func(e int) bool) int {
	found, seen := -1, 0
	for e := range s.p.Fabric.Bundles {
		if accept(e) {
			if seen++; s.random.IntN(seen) == 0 {
				found = e
			}
		}
	}
	return found
}

// randomNeighbour returns a random bundle that shares a pod with e, or -1 if no bundle
// does.
func (s *fastSearch) randomNeighbour(e int) int {
	b := s.p.endPods[e]
	return s.randomBundle(func(o int) bool { return o != e && (s.p.endsAt(o, b[0]) || s.p.endsAt(o, b[1])) })
}
