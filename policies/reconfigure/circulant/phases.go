package circulant

import (
	"math"
	"slices"

	"sim/internal/numbers"
	"sim/policies/reconfigure/plan"
)

// balance spreads the chunks over words.
func (l *planner) balance(phases [][]int, words []word, relay bool, kicks int) *scheme {
	l.o.Stop.Check()
	b := newBalancer(collect(l.n, len(phases)*l.k, words), l.k, l.chunks, nil)
	return l.finish(b, phases, relay, kicks)
}

// finish searches on from where the chunks are.
func (l *planner) finish(b *balancer, phases [][]int, relay bool, kicks int) *scheme {
	var hops int64 // of the shortest words
	for o := 1; o < l.n; o++ {
		hops += int64(b.hops[b.start[o]]) * int64(l.chunks)
	}
	b.stop = l.o.Stop
	b.search(kicks, (hops+int64(l.k)-1)/int64(l.k), l.random("kicks", len(phases)))
	s := &scheme{n: l.n, k: l.k, chunks: l.chunks, relay: relay, phases: phases, ways: b.ways, taken: b.taken, spread: b.spread}
	s.count()
	return s
}

// kicks is how many kicks a search of n GPUs gets.
func (l *planner) kicks() int { return max(4, 4096/l.n) }

const (
	// maxStarts is the most random starts of scatter.
	maxStarts = 300
	// startSteps and fewStartSteps, for more than manyGPUs GPUs, bound n x d^2 x starts, to which the time that random
	// starts of d phases of n GPUs take is proportional.
	startSteps, fewStartSteps = 100_000, 40_000
	manyGPUs                  = 128
)

// scatter seeks a better scheme than s from random starts: multiples, by units, of good tuples for one phase, improved
// by exchanges.
func (l *planner) scatter(s *scheme, t *tuples, firsts []*scheme) *scheme {
	d, steps := len(s.phases), startSteps
	if l.n > manyGPUs {
		steps = fewStartSteps
	}
	random := l.random("scatter", d)
	var units []int
	for u := 1; u < l.n; u++ {
		if plan.GCD(u, l.n) == 1 {
			units = append(units, u)
		}
	}
	least := freeSlots(l.n, l.k, d, l.k, l.chunks)
	for starts := min(maxStarts, steps/(l.n*d*d)); starts > 0 && s.total() > least; starts-- {
		phases := make([][]int, d)
		for p := range phases {
			u := units[random.IntN(len(units))]
			for _, a := range firsts[random.IntN(len(firsts))].phases[0] {
				phases[p] = append(phases[p], a*u%l.n)
			}
		}
		if sum := t.improve(phases, exchangeSteps/100); sum*int64(l.chunks) > s.total()*int64(l.k) {
			continue
		}
		if x := l.stay(phases, 0); x.total() < s.total() || x.total() == s.total() && x.spread < s.spread {
			s = x
		}
	}
	return s
}

// freeSlots is a lower bound on the slots of degree k for so many chunks a pair, whose words stay within one of so many
// phases of generators each.
func freeSlots(n, k, phases, generators int, chunks int32) int64 {
	return (plan.LeastHops(n, phases, generators)*int64(chunks) + int64(k) - 1) / int64(k)
}

// stay is the scheme of phases without relaying.
func (l *planner) stay(phases [][]int, kicks int) *scheme {
	return l.balance(phases, phaseWords(l.n, phases, l.slack(), false), false, kicks)
}

// slack is how many hops more than the least words without relaying may have. Of degree 1 more hops even out nothing.
func (l *planner) slack() int32 { return int32(min(1, l.k-1)) }

// plain returns schemes without relaying, at least one for each of counts.
func (l *planner) plain() (list []*scheme) {
	if l.chunks > 1 {
		// The best offsets for one chunk a pair may be found better than those for many.
		one := newPlanner(l.n, l.k, 1, Options{Wanted: l.o.Wanted, Stop: l.o.Stop}, l.seed)
		one.times = l.chunks
		for _, s := range one.plain() {
			list = append(list, l.repeat(s))
		}
	}
	if l.k > 1 {
		list = append(list, l.stay(l.direct(), l.kicks()))
	}
	if l.k > 1 || l.chunks == 1 { // at degree 1 each of many chunks goes where one alone does
		list = append(list, l.fewHops(list)...)
	}
	return list
}

// fewHops returns schemes of few hops without relaying, for the numbers of topologies for which list is not known to be
// best.
func (l *planner) fewHops(list []*scheme) []*scheme {
	if l.k == 1 {
		return l.shifts()
	}
	return l.tuples(list)
}

// shifts returns a scheme of degree 1 for each of counts.
func (l *planner) shifts() (list []*scheme) {
	counts := l.counts()
	if len(counts) == 0 {
		return nil
	}
	sets, _ := shiftSets(l.n, counts[len(counts)-1], l.o.Stop)
	for _, d := range counts {
		list = append(list, l.stay(sets[d-1], 0))
	}
	return list
}

// fewest returns by number of topologies, up to most, the fewest slots of list with at most so many.
func fewest(list []*scheme, most int) []int64 {
	slots := slices.Repeat([]int64{math.MaxInt64}, most+1)
	for _, s := range list {
		for d := s.used(); d <= most; d++ {
			slots[d] = min(slots[d], s.total())
		}
	}
	return slots
}

// open lists those of counts for which list, repeated times, does not reach the least slots.
func (l *planner) open(list []*scheme, counts []int) []int {
	known := fewest(list, l.n)
	return slices.DeleteFunc(counts, func(d int) bool { return known[d]*int64(l.times) == freeSlots(l.n, l.k, d, l.k, l.chunks*l.times) })
}

// tuples is fewHops for degrees above 1.
func (l *planner) tuples(list []*scheme) (better []*scheme) {
	open := l.open(list, l.all())
	if len(open) == 0 {
		return nil
	}
	open = l.wanted(open)
	last := 1
	if len(open) > 0 {
		last = open[len(open)-1]
	}
	t := newTuples(l.n, l.k)
	t.stop = l.o.Stop
	var firsts []*scheme
	for _, tuple := range t.firsts(96) {
		firsts = append(firsts, l.stay([][]int{tuple}, 0))
	}
	few := func(a, b *scheme) int { return int(a.total() - b.total()) }
	slices.SortStableFunc(firsts, few)
	firsts = firsts[:min(12, len(firsts))]
	for i, s := range firsts {
		firsts[i] = l.stay(s.phases, l.kicks())
	}
	slices.SortStableFunc(firsts, few)
	beam := 3
	if l.n > 128 {
		beam = 1
	}
	for _, first := range firsts[:min(beam, len(firsts))] {
		better = append(better, first)
		phases := [][]int{first.phases[0]}
		base := plan.Reach(l.n, phases[0])
		for d := 2; d <= last; d++ {
			phases = append(phases, t.next(base))
			if slices.Contains(open, d) {
				t.improve(phases, exchangeSteps/100)
				better = append(better, l.stay(cloneAll(phases), l.kicks()))
			}
			base = t.reach(phases, -1)
		}
	}
	better = frontier(nil, append(better, l.stay(l.direct(), l.kicks())))
	for i, s := range better {
		if len(s.phases) > 1 {
			better[i] = l.scatter(s, t, firsts)
		}
	}
	return better
}

// along is a scheme without relaying whose chunks start on a word given for each offset, and move to other words where
// that saves slots, or evens loads.
func (l *planner) along(phases [][]int, words []word, kicks int) *scheme {
	near := phaseWords(l.n, phases, l.slack(), false)
	var all *ways
	var places []int32
	for _, list := range [][]word{near, slices.Concat(words, near), words} { // of many words to an offset some are cut off
		all = collect(l.n, len(phases)*l.k, list)
		if places = all.places(words); places != nil {
			break
		}
	}
	b := emptyBalancer(all, l.k)
	for _, q := range places {
		b.shift(-1, q, l.chunks)
		b.settle()
		b.taken[q] += l.chunks
	}
	return l.finish(b, phases, false, kicks)
}

// repeat takes all chunks where a scheme of one chunk a pair takes one, and goes on from there.
func (l *planner) repeat(s *scheme) *scheme {
	phases, words := s.words()
	return l.along(phases, words, l.kicks())
}

// direct joins every GPU to all others in turn; links to spare in the last phase double the others of that phase.
func (l *planner) direct() (phases [][]int) {
	for a := 1; a < l.n; a += l.k {
		var tuple []int
		for j := range l.k {
			tuple = append(tuple, a+j%min(l.k, l.n-a))
		}
		phases = append(phases, tuple)
	}
	return phases
}

func cloneAll(phases [][]int) [][]int {
	c := make([][]int, len(phases))
	for i, p := range phases {
		c[i] = slices.Clone(p)
	}
	return c
}

// relayed returns a scheme with relaying for each of counts above 1.
func (l *planner) relayed() (list []*scheme) {
	counts := l.counts()
	if len(counts) == 0 {
		return nil
	}
	last := counts[len(counts)-1]
	sets := generatorSets(l.n, min(l.n-1, last*l.k), l.random("generators", 0), l.o.Stop)
	for _, d := range counts {
		if d == 1 {
			continue
		}
		set := slices.Clone(sets[min(d*l.k, len(sets))-1])
		for i := 0; len(set) < d*l.k; i++ {
			set = append(set, set[i])
		}
		list = append(list, l.pair(set))
	}
	return list
}

// pair deals generators out to phases of k such that those of a phase carry much the same loads, which is where they
// waste least, spreads the chunks, and deals again by the loads of that, as long as it helps.
func (l *planner) pair(set []int) (best *scheme) {
	load := collect(l.n, len(set), relayWords(l.n, [][]int{set})).evenly()
	for {
		order := numbers.Below(len(set))
		slices.SortStableFunc(order, func(a, b int) int { return int(load[b] - load[a]) })
		phases := make([][]int, len(set)/l.k)
		for i, g := range order {
			phases[i/l.k] = append(phases[i/l.k], set[g])
		}
		s := l.balance(phases, relayWords(l.n, phases), true, l.kicks())
		if best != nil && s.total() >= best.total() {
			return best
		}
		best, load, set = s, s.loads(), slices.Concat(phases...)
	}
}

// loads is the hops by generator.
func (s *scheme) loads() []int64 {
	load := make([]int64, s.ways.generators)
	for q, c := range s.taken {
		for i := s.ways.first[q]; i < s.ways.first[q+1]; i++ {
			load[s.ways.gen[i]] += int64(s.ways.count[i]) * int64(c)
		}
	}
	return load
}
