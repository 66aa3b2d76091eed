package circulant

import (
	"math"
	"math/bits"
	"slices"

	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// exhaustive finds the fewest slots of one chunk a pair without relaying, over all phases of k offsets.
//
// A phase of s slots serves a set of offsets: those to which chunks have words that load no generator, and are, more
// than s. Which sets some phase serves in how few slots is found by trying all offsets of a phase, up to multiplication
// by a unit, which renames GPUs; and how few slots d phases take for all offsets, by dynamic programming over sets: the
// phase of the smallest offset serves some set, and d-1 phases the rest.
//
// Phases that serve too little for the others to serve the rest in the slots that are left need not be known, where
// only plans of fewer slots than known ones are asked for.
type exhaustive struct {
	n, k   int
	need   []int   // by slots of a phase: the fewest offsets that it must serve to be of use
	units  []int   // ascending, 1 first
	phases [][]int // phases tried that are of use, up to units
	// By set, offset o being bit o-1: the fewest slots of a phase that serves it, unserved where none does, and the
	// phase.
	slots []uint8
	phase []unitPhase
	steps int64 // that are left
	stop  halt.When
}

// unitPhase is a phase multiplied by a unit.
type unitPhase struct {
	phase int32
	unit  uint8
}

const (
	// mostExhausted is the most GPUs whose plans are all tried: sets of offsets grow by a factor of 2 a GPU, plans by
	// 3.
	mostExhausted = 16
	// exhaustSteps bounds the loads that are weighed, to some 0.1 s.
	exhaustSteps = 10_000_000
	unserved     = 255
)

// exhaust tries all plans of fewer slots than those of list, and returns those of the fewest slots where they are not
// in list. What none is better than is marked as proved, but where the steps ended first.
func (l *planner) exhaust(list []*scheme) (better []*scheme) {
	known := fewest(list, l.n)
	open := slices.DeleteFunc(l.counts(), func(d int) bool { return known[d] == l.least(d) })
	if len(open) == 0 || l.n > mostExhausted || l.chunks != 1 || known[1] >= unserved {
		return nil
	}
	e := &exhaustive{n: l.n, k: l.k, steps: exhaustSteps, stop: l.o.Stop}
	e.needs(known, open)
	whole := e.serveAll()
	plans := [][]uint8{e.slots} // by d-1 and set, as far as halves of the plans sought
	for last := open[len(open)-1]; len(plans) < (last+1)/2; {
		plans = append(plans, e.oneMore(plans[len(plans)-1]))
		l.o.Stop.Check()
	}
	for _, d := range open {
		slots, sets := e.split(plans, d)
		if int64(slots) < known[d] {
			phases, words := e.rebuild(plans, sets)
			s := l.along(phases, words, 0)
			s.proved = whole
			better = append(better, s)
			continue
		}
		for _, s := range list {
			s.proved = s.proved || whole && s.used() == d && s.total() == known[d]
		}
	}
	return better
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

// needs sets need, to find plans of fewer slots than known for some of open numbers of topologies.
func (e *exhaustive) needs(known []int64, open []int) {
	last := int(known[open[0]]) - 1
	serves := make([]int, last+1) // by slots: most offsets of one phase, as words to distinct offsets
	for s := 1; s <= last; s++ {
		count, hops := 1, s*e.k
		for h := 1; h <= s && hops >= h; h++ {
			count = count * (h + e.k - 1) / h
			now := min(count, hops/h)
			serves[s] = min(serves[s]+now, e.n-1)
			hops -= now * h
		}
	}
	e.need = slices.Repeat([]int{e.n}, last+1)
	others := make([]int, last+1) // by slots: most offsets of one phase fewer than d
	for d := 1; d <= open[len(open)-1]; d++ {
		if slices.Contains(open, d) {
			within := int(known[d]) - 1
			for s := 1; s <= within; s++ {
				if x := e.n - 1 - others[within-s]; x <= serves[s] {
					e.need[s] = min(e.need[s], max(1, x))
				}
			}
		}
		more := slices.Clone(others)
		for t := range more {
			for s := 1; s <= t; s++ {
				more[t] = max(more[t], others[t-s]+serves[s])
			}
		}
		others = more
	}
}

// serveAll sets slots and phase. It reports whether it came to the end.
func (e *exhaustive) serveAll() bool {
	e.slots = slices.Repeat([]uint8{unserved}, 1<<(e.n-1))
	e.slots[0] = 0
	e.phase = make([]unitPhase, len(e.slots))
	for u := 1; u < e.n; u++ {
		if plan.GCD(u, e.n) == 1 {
			e.units = append(e.units, u)
		}
	}
	offsets := make([]int, e.k)
	var rest func(j, from int) bool
	rest = func(j, from int) bool {
		if j < e.k {
			for a := from; a < e.n; a++ {
				if offsets[j] = a; !rest(j+1, a) {
					return false
				}
			}
			return true
		}
		if !e.first(offsets) {
			return true
		}
		e.phases = append(e.phases, slices.Clone(offsets))
		for s, need := range e.need {
			if need < e.n {
				e.serve(offsets, s, need)
			}
		}
		e.stop.Check()
		return e.steps > 0
	}
	return rest(0, 1)
}

// first reports whether offsets, which ascend, are the first of their multiples by units.
func (e *exhaustive) first(offsets []int) bool {
	multiple := make([]int, len(offsets))
	for _, u := range e.units[1:] {
		for j, a := range offsets {
			multiple[j] = a * u % e.n
		}
		slices.Sort(multiple)
		if slices.Compare(multiple, offsets) < 0 {
			return false
		}
	}
	return true
}

// loads are those of the generators of a phase, in fields of equal width whose highest bit is free, so that one
// subtraction compares all.
type loads struct {
	width uint
	guard uint64 // the highest bit of every field
}

func newLoads(k int) loads {
	l := loads{width: uint(64 / k)}
	for j := range k {
		l.guard |= 1 << (uint(j+1)*l.width - 1)
	}
	return l
}

// within reports that no load of a is above that of b.
func (l loads) within(a, b uint64) bool { return ((b|l.guard)-a)&l.guard == l.guard }

// words lists by offset the loads of words of at most s hops over offsets, but for those with another within them. nil
// if such loads do not fit.
func (l loads) words(n int, offsets []int, s int) [][]uint64 {
	if uint64(s) >= 1<<(l.width-1) {
		return nil
	}
	words := make([][]uint64, n)
	var spell func(j, at, hops int, word uint64)
	spell = func(j, at, hops int, word uint64) {
		if j < len(offsets) {
			for x := 0; hops+x <= s; x++ {
				spell(j+1, (at+x*offsets[j])%n, hops+x, word|uint64(x)<<(uint(j)*l.width))
			}
			return
		}
		words[at] = l.add(words[at], 0, word)
	}
	spell(0, 0, 0, 0)
	return words
}

// add appends word to list, of which the elements before from are not its equals, unless one of the others is within
// it; those that it is within go.
func (l loads) add(list []uint64, from int, word uint64) []uint64 {
	kept := from
	for _, w := range list[from:] {
		if l.within(w, word) {
			return list
		}
	}
	for _, w := range list[from:] {
		if !l.within(word, w) {
			list[kept] = w
			kept++
		}
	}
	return append(list[:kept], word)
}

// serve notes all sets of at least need offsets that a phase serves in s slots.
func (e *exhaustive) serve(offsets []int, s, need int) {
	l := newLoads(e.k)
	words := l.words(e.n, offsets, s)
	if words == nil {
		e.steps = 0
		return
	}
	var most uint64
	for j := range e.k {
		most |= uint64(s) << (uint(j) * l.width)
	}
	// The sets so far, and of each the loads that none is within, from first[i] on.
	sets, first, all := []uint32{0}, []int{0, 1}, []uint64{0}
	for o := 1; o < e.n; o++ {
		var nextSets []uint32
		next, nextFirst := make([]uint64, 0, 2*len(all)), []int{0}
		left := e.n - 1 - o
		for i, set := range sets {
			count, here := bits.OnesCount32(set), all[first[i]:first[i+1]]
			if count+left >= need {
				next = append(next, here...)
				nextSets, nextFirst = append(nextSets, set), append(nextFirst, len(next))
			}
			if count+1+left < need {
				continue
			}
			from := len(next)
			for _, x := range here {
				for _, w := range words[o] {
					if sum := x + w; l.within(sum, most) {
						e.steps -= int64(len(next)-from) + 1
						next = l.add(next, from, sum)
					}
				}
			}
			if len(next) > from {
				nextSets, nextFirst = append(nextSets, set|1<<(o-1)), append(nextFirst, len(next))
			}
		}
		sets, first, all = nextSets, nextFirst, next
	}
	for _, set := range sets {
		for _, u := range e.units {
			if at := e.multiple(set, u); s < int(e.slots[at]) {
				e.slots[at] = uint8(s)
				e.phase[at] = unitPhase{int32(len(e.phases) - 1), uint8(u)}
			}
		}
	}
}

// multiple is the set of the multiples by u.
func (e *exhaustive) multiple(set uint32, u int) (by uint32) {
	for ; set != 0; set &= set - 1 {
		o := bits.TrailingZeros32(set) + 1
		by |= 1 << (o*u%e.n - 1)
	}
	return by
}

// oneMore returns by set the fewest slots of one phase more than those of plans.
func (e *exhaustive) oneMore(plans []uint8) []uint8 {
	more := slices.Clone(plans)
	for set := 1; set < len(plans); set++ {
		low := set & -set
		rest := set ^ low
		best := int(more[set])
		for sub := rest; ; sub = (sub - 1) & rest {
			best = min(best, int(e.slots[sub|low])+int(plans[rest^sub]))
			if sub == 0 {
				break
			}
		}
		more[set] = uint8(best)
	}
	return more
}

// part is a set that so many phases serve.
type part struct{ set, phases int }

// split returns the fewest slots of d phases for all offsets, and the two sets that halves of the phases serve.
func (e *exhaustive) split(plans [][]uint8, d int) (slots int, halves []part) {
	full, one, other := len(e.slots)-1, (d+1)/2, d/2
	if d == 1 {
		return int(e.slots[full]), []part{{full, 1}}
	}
	slots = 2 * unserved
	for set := range e.slots {
		if x := int(plans[one-1][set]) + int(plans[other-1][full^set]); x < slots {
			slots, halves = x, []part{{set, one}, {full ^ set, other}}
		}
	}
	return slots, halves
}

// rebuild returns phases that serve parts in the fewest slots, and a word for each offset.
func (e *exhaustive) rebuild(plans [][]uint8, parts []part) (phases [][]int, words []word) {
	for len(parts) > 0 {
		p := parts[0]
		if parts = parts[1:]; p.set == 0 {
			continue
		}
		here, least := p.set, int(plans[p.phases-1][p.set])
		if p.phases > 1 {
			// Some phase serves the smallest offset, and others the rest.
			low, rest := p.set&-p.set, plans[p.phases-2]
			for here&low == 0 || int(e.slots[here])+int(rest[p.set^here]) != least {
				here = (here - 1) & p.set
			}
			parts = append(parts, part{p.set ^ here, p.phases - 1})
		}
		by := e.phase[here]
		offsets := slices.Clone(e.phases[by.phase])
		for j := range offsets {
			offsets[j] = offsets[j] * int(by.unit) % e.n
		}
		words = append(words, e.assign(offsets, int(e.slots[here]), here, len(phases)*e.k)...)
		phases = append(phases, offsets)
	}
	return phases, words
}

// assign returns a word for each offset of a set that a phase serves in s slots; its generators are numbered from gen.
func (e *exhaustive) assign(offsets []int, s, set, gen int) (words []word) {
	l := newLoads(e.k)
	choices := l.words(e.n, offsets, s)
	field := uint64(1)<<(l.width-1) - 1
	var most uint64
	for j := range e.k {
		most |= uint64(s) << (uint(j) * l.width)
	}
	type state struct {
		set   int
		loads uint64
	}
	failed := map[state]bool{}
	var fill func(set int, sum uint64) bool
	fill = func(set int, sum uint64) bool {
		if set == 0 {
			return true
		}
		if failed[state{set, sum}] {
			return false
		}
		o := bits.TrailingZeros(uint(set)) + 1
		for _, c := range choices[o] {
			if l.within(sum+c, most) && fill(set&(set-1), sum+c) {
				w := word{to: int32(o)}
				for j := range e.k {
					if x := int32(c >> (uint(j) * l.width) & field); x > 0 {
						w.gen, w.count, w.hops = append(w.gen, int32(gen+j)), append(w.count, x), w.hops+x
					}
				}
				words = append(words, w)
				return true
			}
		}
		failed[state{set, sum}] = true
		return false
	}
	fill(set, 0)
	return words
}
