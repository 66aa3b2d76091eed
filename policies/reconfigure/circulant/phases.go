package circulant

import (
	"math"
	"slices"

	"sim/internal/numbers"
	"sim/policies/reconfigure/plan"
)

// noPerturbations is the number of perturbations of a search that only descends.
const noPerturbations = 0

// balanceChunks assigns the chunks to the given paths and improves the assignment by a search
// with the given number of perturbations (loadBalancer.search). relay states whether a path may
// use several phases.
func (l *allToAllPlanner) balanceChunks(phases [][]int, paths []offsetPath, relay bool, perturbations int) *sourceSchedule {
	l.options.Stop.Check()
	var noLoad []int64
	b := newLoadBalancer(newPathTable(l.n, len(phases)*l.k, paths), l.k, l.chunks, noLoad)
	return l.improveBalance(b, phases, relay, perturbations)
}

// improveBalance improves the assignment of a balancer and returns it as a schedule.
func (l *allToAllPlanner) improveBalance(b *loadBalancer, phases [][]int, relay bool, perturbations int) *sourceSchedule {
	var hops int64 // of all chunks on shortest paths
	for o := 1; o < l.n; o++ {
		hops += int64(b.hops[b.start[o]]) * int64(l.chunks)
	}
	minSlots := (hops + int64(l.k) - 1) / int64(l.k)
	b.stop = l.options.Stop
	b.search(perturbations, minSlots, l.random("kicks", len(phases)))
	s := &sourceSchedule{n: l.n, k: l.k, chunks: l.chunks, relay: relay, phases: phases,
		paths: b.pathTable, pathChunks: b.pathChunks, imbalance: b.totalImbalance}
	s.setSlots()
	return s
}

// numPerturbations is the number of perturbations of a search. It is lower for more GPUs,
// because each perturbation then takes longer.
func (l *allToAllPlanner) numPerturbations() int { return max(4, 4096/l.n) }

const (
	// maxRandomStarts limits the starts of restartRandomly.
	maxRandomStarts = 300
	// The time of random starts of d phases for n GPUs is proportional to n x d^2 x starts.
	// maxStartSteps limits this product, maxStartStepsIfLarge for more than largeGPUs GPUs.
	maxStartSteps, maxStartStepsIfLarge = 100_000, 40_000
	largeGPUs                           = 128
)

// maxSequenceSteps limits the operations of exchangeOffsets for one of many sequences of phases.
const maxSequenceSteps = maxExchangeSteps / 100

// restartRandomly returns s or a better schedule from random starts. The phases of a start are
// the tuples of firsts, which are good for one phase, multiplied by units modulo n and improved
// by exchanges.
func (l *allToAllPlanner) restartRandomly(s *sourceSchedule, t *offsetSearch, firsts []*sourceSchedule) *sourceSchedule {
	d, steps := len(s.phases), maxStartSteps
	if l.n > largeGPUs {
		steps = maxStartStepsIfLarge
	}
	random := l.random("scatter", d)
	var units []int
	for u := 1; u < l.n; u++ {
		if plan.GCD(u, l.n) == 1 {
			units = append(units, u)
		}
	}

	bound := minPhaseSlots(l.n, l.k, d, l.k, l.chunks)
	for starts := min(maxRandomStarts, steps/(l.n*d*d)); starts > 0 &&
		s.total() > bound; starts-- {
		phases := make([][]int, d)
		for p := range phases {
			u := units[random.IntN(len(units))]
			for _, a := range firsts[random.IntN(len(firsts))].phases[0] {
				phases[p] = append(phases[p], a*u%l.n)
			}
		}

		// The slots are at least the hops per link.
		if hops := t.exchangeOffsets(phases, maxSequenceSteps); hops*int64(l.chunks) > s.total()*int64(l.k) {
			continue
		}
		if x := l.schedulePhases(phases, noPerturbations); x.total() < s.total() ||
			x.total() == s.total() && x.imbalance < s.imbalance {
			s = x
		}
	}

	return s
}

// minPhaseSlots returns a lower bound on the slots for degree k and the given chunks per
// pair, if each path stays within one of the phases with the given number of generators
// each.
func minPhaseSlots(n, k, phases, generators int, chunks int32) int64 {
	return (plan.MinHops(n, phases, generators)*int64(chunks) + int64(k) - 1) / int64(k)
}

// schedulePhases returns a schedule on the phases without relaying.
func (l *allToAllPlanner) schedulePhases(phases [][]int, perturbations int) *sourceSchedule {
	const relay = false
	return l.balanceChunks(phases, phasePaths(l.n, phases, l.slack()), relay, perturbations)
}

// slack is the number of hops above the minimum that paths without relaying may have. For
// degree 1 it is 0, because longer paths cannot even out loads.
func (l *allToAllPlanner) slack() int32 { return int32(min(1, l.k-1)) }

// separateSchedules returns schedules whose chunks stay within a phase (no relaying), at
// least one for each of counts.
func (l *allToAllPlanner) separateSchedules() (list []*sourceSchedule) {
	if l.chunks > 1 {
		// The search for one chunk per pair may find better offsets than the search for
		// several.
		const chunks = 1
		one := newPlanner(l.n, l.k, chunks, Options{
			Wanted: l.options.Wanted,
			Stop:   l.options.Stop,
		}, l.seed)
		one.repeats = l.chunks
		for _, s := range one.separateSchedules() {
			list = append(list, l.repeatChunks(s))
		}
	}

	if l.k > 1 {
		list = append(list, l.schedulePhases(l.directPhases(), l.numPerturbations()))
	}

	// For degree 1, all chunks of a pair take the path of one chunk.
	if l.k > 1 || l.chunks == 1 {
		list = append(list, l.minHopSchedules(list)...)
	}
	return list
}

// minHopSchedules returns schedules with few hops and without relaying, for the numbers of
// topologies for which no schedule of list is optimal.
func (l *allToAllPlanner) minHopSchedules(list []*sourceSchedule) []*sourceSchedule {
	if l.k == 1 {
		return l.shiftSchedules()
	}
	return l.tupleSchedules(list)
}

// shiftSchedules returns a schedule of degree 1 for each of counts.
func (l *allToAllPlanner) shiftSchedules() (list []*sourceSchedule) {
	counts := l.counts()
	if len(counts) == 0 {
		return nil
	}
	sets, _ := shiftSets(l.n, counts[len(counts)-1], l.options.Stop)
	for _, d := range counts {
		list = append(list, l.schedulePhases(sets[d-1], noPerturbations))
	}
	return list
}

// minSlotsByCount returns the minimum slots of the schedules of list with at most d
// topologies, for d up to maxCount.
func minSlotsByCount(list []*sourceSchedule, maxCount int) []int64 {
	slots := slices.Repeat([]int64{math.MaxInt64}, maxCount+1)
	for _, s := range list {
		for d := s.usedPhases(); d <= maxCount; d++ {
			slots[d] = min(slots[d], s.total())
		}
	}
	return slots
}

// openCounts returns the counts for which no schedule of list, multiplied by repeats, meets
// the lower bound.
func (l *allToAllPlanner) openCounts(list []*sourceSchedule, counts []int) []int {
	minSlots := minSlotsByCount(list, l.n)
	return slices.DeleteFunc(counts, func(d int) bool {
		return minSlots[d]*int64(l.repeats) == minPhaseSlots(l.n, l.k, d, l.k,
			l.chunks*l.repeats)
	})
}

const (
	// maxInitialTuples limits the tuples for one phase that tupleSchedules schedules, and
	// maxImprovedTuples the best of these that it improves by perturbations and restartRandomly
	// starts from. They limit the time that it takes before the first sequence is planned.
	maxInitialTuples  = 96
	maxImprovedTuples = 12
)

// tupleSchedules is minHopSchedules for degrees above 1.
func (l *allToAllPlanner) tupleSchedules(list []*sourceSchedule) (better []*sourceSchedule) {
	open := l.openCounts(list, l.allCounts())
	if len(open) == 0 {
		return nil
	}
	open = l.filterWanted(open)
	last := 1
	if len(open) > 0 {
		last = open[len(open)-1]
	}

	// firsts are the best schedules with one phase.
	t := newOffsetSearch(l.n, l.k)
	t.stop = l.options.Stop
	var firsts []*sourceSchedule
	for _, tuple := range t.initialTuples(maxInitialTuples) {
		firsts = append(firsts, l.schedulePhases([][]int{tuple}, noPerturbations))
	}
	bySlots := func(a, b *sourceSchedule) int { return int(a.total() - b.total()) }
	slices.SortStableFunc(firsts, bySlots)
	firsts = firsts[:min(maxImprovedTuples, len(firsts))]
	for i, s := range firsts {
		firsts[i] = l.schedulePhases(s.phases, l.numPerturbations())
	}
	slices.SortStableFunc(firsts, bySlots)

	// Extend the best tuples greedily to sequences of phases (beam search).
	beam := 3
	if l.n > 128 {
		beam = 1
	}
	for _, first := range firsts[:min(beam, len(firsts))] {
		better = append(better, first)
		phases := [][]int{first.phases[0]}
		base := plan.Reach(l.n, phases[0])
		for d := 2; d <= last; d++ {
			phases = append(phases, t.bestTuple(base))
			if slices.Contains(open, d) {
				t.exchangeOffsets(phases, maxSequenceSteps)
				better = append(better, l.schedulePhases(clonePhases(phases),
					l.numPerturbations()))
			}
			base = t.minHops(phases, noPhase)
		}
	}

	better = frontier(nil, append(better,
		l.schedulePhases(l.directPhases(), l.numPerturbations())))
	for i, s := range better {
		if len(s.phases) > 1 {
			better[i] = l.restartRandomly(s, t, firsts)
		}
	}
	return better
}

// scheduleFromPaths returns a schedule without relaying. The chunks start on the given path
// of each offset and move to other paths if this saves slots or evens loads.
func (l *allToAllPlanner) scheduleFromPaths(phases [][]int, paths []offsetPath, perturbations int) *sourceSchedule {
	short := phasePaths(l.n, phases, l.slack())
	var all *pathTable
	var indices []int32

	// A table has a limit of paths per offset, so it may lack some of the given paths. Use the first
	// table that has them all.
	for _, list := range [][]offsetPath{short, slices.Concat(paths, short), paths} {
		all = newPathTable(l.n, len(phases)*l.k, list)
		if indices = all.indexOf(paths); indices != nil {
			break
		}
	}

	b := newEmptyBalancer(all, l.k)
	for _, q := range indices {
		b.tryMove(noPath, q, l.chunks)
		b.commitMove()
		b.pathChunks[q] += l.chunks
	}
	const relay = false
	return l.improveBalance(b, phases, relay, perturbations)
}

// repeatChunks sends all chunks of a pair on the path that a schedule of one chunk per pair
// uses, and improves the result.
func (l *allToAllPlanner) repeatChunks(s *sourceSchedule) *sourceSchedule {
	phases, paths := s.usedPaths()
	return l.scheduleFromPaths(phases, paths, l.numPerturbations())
}

// directPhases returns phases that connect each GPU to all others in turn. Unused links of
// the last phase double its other links.
func (l *allToAllPlanner) directPhases() (phases [][]int) {
	for a := 1; a < l.n; a += l.k {
		var tuple []int
		for j := range l.k {
			tuple = append(tuple, a+j%min(l.k, l.n-a))
		}
		phases = append(phases, tuple)
	}

	return phases
}

// clonePhases returns a deep copy.
func clonePhases(phases [][]int) [][]int {
	c := make([][]int, len(phases))
	for i, p := range phases {
		c[i] = slices.Clone(p)
	}
	return c
}

// relaySchedules returns a schedule with relaying for each of counts above 1.
func (l *allToAllPlanner) relaySchedules() (list []*sourceSchedule) {
	counts := l.counts()
	if len(counts) == 0 {
		return nil
	}
	last := counts[len(counts)-1]
	sets := generatorSets(l.n, min(l.n-1, last*l.k), l.random("generators", anyPhases),
		l.options.Stop)

	for _, d := range counts {
		if d == 1 {
			continue
		}

		// There are at most n-1 different generators. Repeat them to fill d phases.
		set := slices.Clone(sets[min(d*l.k, len(sets))-1])
		for i := 0; len(set) < d*l.k; i++ {
			set = append(set, set[i])
		}
		list = append(list, l.dealGenerators(set))
	}

	return list
}

// dealGenerators deals generators to phases of k. Generators of similar load share a phase,
// because this wastes no slots on idle ones. It assigns the chunks, deals again by the
// resulting loads, and repeats this while it saves slots.
func (l *allToAllPlanner) dealGenerators(set []int) (best *sourceSchedule) {
	load := newPathTable(l.n, len(set), relayPaths(l.n, [][]int{set})).equalSplitLoads()
	for {
		order := numbers.Below(len(set))
		slices.SortStableFunc(order, func(a, b int) int {
			return int(load[b] - load[a])
		})
		phases := make([][]int, len(set)/l.k)
		for i, g := range order {
			phases[i/l.k] = append(phases[i/l.k], set[g])
		}
		const relay = true
		s := l.balanceChunks(phases, relayPaths(l.n, phases), relay, l.numPerturbations())
		if best != nil && s.total() >= best.total() {
			return best
		}
		best, load, set = s, s.loads(), slices.Concat(phases...)
	}
}

// loads returns the hops per generator.
func (s *sourceSchedule) loads() []int64 {
	load := make([]int64, s.paths.generators)
	for q, c := range s.pathChunks {
		for i := s.paths.pathStart[q]; i < s.paths.pathStart[q+1]; i++ {
			load[s.paths.gen[i]] += int64(s.paths.count[i]) * int64(c)
		}
	}
	return load
}
