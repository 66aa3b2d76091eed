package circulant

import (
	"math"
	"slices"

	"sim/internal/numbers"
	"sim/policies/reconfigure/plan"
)

// balanceChunks spreads the chunks over words.
func (l *allToAllPlanner) balanceChunks(phases [][]int, paths []offsetPath, relay bool, kicks int) *sourceSchedule {
	l.options.Stop.Check()
	b := newLoadBalancer(newPathTable(l.n, len(phases)*l.k, paths), l.k, l.chunks, nil)
	return l.improveBalance(b, phases, relay, kicks)
}

// improveBalance searches on from where the chunks are.
func (l *allToAllPlanner) improveBalance(b *loadBalancer, phases [][]int, relay bool, kicks int) *sourceSchedule {
	var hops int64 // of the shortest words
	for o := 1; o < l.n; o++ {
		hops += int64(b.hops[b.start[o]]) * int64(l.chunks)
	}
	b.stop = l.options.Stop
	b.search(kicks, (hops+int64(l.k)-1)/int64(l.k), l.random("kicks", len(phases)))
	s := &sourceSchedule{n: l.n, k: l.k, chunks: l.chunks, relay: relay, phases: phases, paths: b.pathTable, pathChunks: b.pathChunks, imbalance: b.totalImbalance}
	s.setSlots()
	return s
}

// numPerturbations is how many kicks a search of n GPUs gets.
func (l *allToAllPlanner) numPerturbations() int { return max(4, 4096/l.n) }

const (
	// maxRandomStarts is the most random starts of scatter.
	maxRandomStarts = 300
	// maxStartSteps and fewStartSteps, for more than manyGPUs GPUs, bound n x d^2 x starts, to which the time that random
	// starts of d phases of n GPUs take is proportional.
	maxStartSteps, maxStartStepsIfLarge = 100_000, 40_000
	largeGPUs                           = 128
)

// restartRandomly seeks a better scheme than s from random starts: multiples, by units, of good tuples for one phase, improved
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
	for starts := min(maxRandomStarts, steps/(l.n*d*d)); starts > 0 && s.total() > bound; starts-- {
		phases := make([][]int, d)
		for p := range phases {
			u := units[random.IntN(len(units))]
			for _, a := range firsts[random.IntN(len(firsts))].phases[0] {
				phases[p] = append(phases[p], a*u%l.n)
			}
		}
		if sum := t.exchangeOffsets(phases, maxExchangeSteps/100); sum*int64(l.chunks) > s.total()*int64(l.k) {
			continue
		}
		if x := l.schedulePhases(phases, 0); x.total() < s.total() || x.total() == s.total() && x.imbalance < s.imbalance {
			s = x
		}
	}
	return s
}

// minPhaseSlots is a lower bound on the slots of degree k for so many chunks a pair, whose words stay within one of so many
// phases of generators each.
func minPhaseSlots(n, k, phases, generators int, chunks int32) int64 {
	return (plan.LeastHops(n, phases, generators)*int64(chunks) + int64(k) - 1) / int64(k)
}

// schedulePhases is the scheme of phases without relaying.
func (l *allToAllPlanner) schedulePhases(phases [][]int, kicks int) *sourceSchedule {
	return l.balanceChunks(phases, phasePaths(l.n, phases, l.slack(), false), false, kicks)
}

// slack is how many hops more than the least words without relaying may have. Of degree 1 more hops even out nothing.
func (l *allToAllPlanner) slack() int32 { return int32(min(1, l.k-1)) }

// separateSchedules returns schemes without relaying, at least one for each of counts.
func (l *allToAllPlanner) separateSchedules() (list []*sourceSchedule) {
	if l.chunks > 1 {
		// The best offsets for one chunk a pair may be found better than those for many.
		one := newPlanner(l.n, l.k, 1, Options{Wanted: l.options.Wanted, Stop: l.options.Stop}, l.seed)
		one.repeats = l.chunks
		for _, s := range one.separateSchedules() {
			list = append(list, l.repeatChunks(s))
		}
	}
	if l.k > 1 {
		list = append(list, l.schedulePhases(l.directPhases(), l.numPerturbations()))
	}
	if l.k > 1 || l.chunks == 1 { // at degree 1 each of many chunks goes where one alone does
		list = append(list, l.minHopSchedules(list)...)
	}
	return list
}

// minHopSchedules returns schemes of few hops without relaying, for the numbers of topologies for which list is not known to be
// best.
func (l *allToAllPlanner) minHopSchedules(list []*sourceSchedule) []*sourceSchedule {
	if l.k == 1 {
		return l.shiftSchedules()
	}
	return l.tupleSchedules(list)
}

// shiftSchedules returns a scheme of degree 1 for each of counts.
func (l *allToAllPlanner) shiftSchedules() (list []*sourceSchedule) {
	counts := l.counts()
	if len(counts) == 0 {
		return nil
	}
	sets, _ := shiftSets(l.n, counts[len(counts)-1], l.options.Stop)
	for _, d := range counts {
		list = append(list, l.schedulePhases(sets[d-1], 0))
	}
	return list
}

// minSlotsByCount returns by number of topologies, up to most, the fewest slots of list with at most so many.
func minSlotsByCount(list []*sourceSchedule, maxCount int) []int64 {
	slots := slices.Repeat([]int64{math.MaxInt64}, maxCount+1)
	for _, s := range list {
		for d := s.usedPhases(); d <= maxCount; d++ {
			slots[d] = min(slots[d], s.total())
		}
	}
	return slots
}

// openCounts lists those of counts for which list, repeated times, does not reach the least slots.
func (l *allToAllPlanner) openCounts(list []*sourceSchedule, counts []int) []int {
	minSlots := minSlotsByCount(list, l.n)
	return slices.DeleteFunc(counts, func(d int) bool {
		return minSlots[d]*int64(l.repeats) == minPhaseSlots(l.n, l.k, d, l.k, l.chunks*l.repeats)
	})
}

// tupleSchedules is fewHops for degrees above 1.
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
	t := newOffsetSearch(l.n, l.k)
	t.stop = l.options.Stop
	var firsts []*sourceSchedule
	for _, tuple := range t.initialTuples(96) {
		firsts = append(firsts, l.schedulePhases([][]int{tuple}, 0))
	}
	bySlots := func(a, b *sourceSchedule) int { return int(a.total() - b.total()) }
	slices.SortStableFunc(firsts, bySlots)
	firsts = firsts[:min(12, len(firsts))]
	for i, s := range firsts {
		firsts[i] = l.schedulePhases(s.phases, l.numPerturbations())
	}
	slices.SortStableFunc(firsts, bySlots)
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
				t.exchangeOffsets(phases, maxExchangeSteps/100)
				better = append(better, l.schedulePhases(clonePhases(phases), l.numPerturbations()))
			}
			base = t.minHops(phases, -1)
		}
	}
	better = frontier(nil, append(better, l.schedulePhases(l.directPhases(), l.numPerturbations())))
	for i, s := range better {
		if len(s.phases) > 1 {
			better[i] = l.restartRandomly(s, t, firsts)
		}
	}
	return better
}

// scheduleFromPaths is a scheme without relaying whose chunks start on a word given for each offset, and move to other words where
// that saves slots, or evens loads.
func (l *allToAllPlanner) scheduleFromPaths(phases [][]int, paths []offsetPath, kicks int) *sourceSchedule {
	phasePathsOf := phasePaths(l.n, phases, l.slack(), false)
	var all *pathTable
	var indices []int32
	for _, list := range [][]offsetPath{phasePathsOf, slices.Concat(paths, phasePathsOf), paths} { // of many words to an offset some are cut off
		all = newPathTable(l.n, len(phases)*l.k, list)
		if indices = all.indexOf(paths); indices != nil {
			break
		}
	}
	b := newEmptyBalancer(all, l.k)
	for _, q := range indices {
		b.tryMove(-1, q, l.chunks)
		b.commitMove()
		b.pathChunks[q] += l.chunks
	}
	return l.improveBalance(b, phases, false, kicks)
}

// repeatChunks takes all chunks where a scheme of one chunk a pair takes one, and goes on from there.
func (l *allToAllPlanner) repeatChunks(s *sourceSchedule) *sourceSchedule {
	phases, words := s.usedPaths()
	return l.scheduleFromPaths(phases, words, l.numPerturbations())
}

// directPhases joins every GPU to all others in turn; links to spare in the last phase double the others of that phase.
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

func clonePhases(phases [][]int) [][]int {
	c := make([][]int, len(phases))
	for i, p := range phases {
		c[i] = slices.Clone(p)
	}
	return c
}

// relaySchedules returns a scheme with relaying for each of counts above 1.
func (l *allToAllPlanner) relaySchedules() (list []*sourceSchedule) {
	counts := l.counts()
	if len(counts) == 0 {
		return nil
	}
	last := counts[len(counts)-1]
	sets := generatorSets(l.n, min(l.n-1, last*l.k), l.random("generators", 0), l.options.Stop)
	for _, d := range counts {
		if d == 1 {
			continue
		}
		set := slices.Clone(sets[min(d*l.k, len(sets))-1])
		for i := 0; len(set) < d*l.k; i++ {
			set = append(set, set[i])
		}
		list = append(list, l.dealGenerators(set))
	}
	return list
}

// dealGenerators deals generators out to phases of k such that those of a phase carry much the same loads, which is where they
// waste least, spreads the chunks, and deals again by the loads of that, as long as it helps.
func (l *allToAllPlanner) dealGenerators(set []int) (best *sourceSchedule) {
	load := newPathTable(l.n, len(set), relayPaths(l.n, [][]int{set})).equalSplitLoads()
	for {
		order := numbers.Below(len(set))
		slices.SortStableFunc(order, func(a, b int) int { return int(load[b] - load[a]) })
		phases := make([][]int, len(set)/l.k)
		for i, g := range order {
			phases[i/l.k] = append(phases[i/l.k], set[g])
		}
		s := l.balanceChunks(phases, relayPaths(l.n, phases), true, l.numPerturbations())
		if best != nil && s.total() >= best.total() {
			return best
		}
		best, load, set = s, s.loads(), slices.Concat(phases...)
	}
}

// loads is the hops by generator.
func (s *sourceSchedule) loads() []int64 {
	load := make([]int64, s.paths.generators)
	for q, c := range s.pathChunks {
		for i := s.paths.pathStart[q]; i < s.paths.pathStart[q+1]; i++ {
			load[s.paths.gen[i]] += int64(s.paths.count[i]) * int64(c)
		}
	}
	return load
}
