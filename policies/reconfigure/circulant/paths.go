package circulant

import (
	"slices"

	"sim/policies/reconfigure/plan"
)

// pathTable lists how chunks can get to each offset: way w takes count[i] hops of generator gen[i] for i = first[w] ..
// first[w+1]-1, in any order. Those to offset D are start[D] .. start[D+1]-1, short ones first.
type pathTable struct {
	n, generators    int
	start, pathStart []int32
	gen, count       []int32
	hops             []int32 // of a way in all
}

// maxPathsPerOffset is the most routes listed to one offset.
const maxPathsPerOffset = 24

// offsetPath is a way while they are collected.
type offsetPath struct {
	to, hops   int32
	gen, count []int32
}

// newPathTable turns words into ways, the shortest of each offset first and no more than maxWays.
func newPathTable(n, generators int, paths []offsetPath) *pathTable {
	// Words by offset, then by hops, keeping their order among equals.
	start := make([]int32, n+1)
	for i := range paths {
		start[paths[i].to+1]++
	}
	for o := range n {
		start[o+1] += start[o]
	}
	sorted := make([]int32, len(paths))
	filled := slices.Clone(start)
	for i := range paths {
		o := paths[i].to
		index := filled[o]
		for ; index > start[o] && paths[sorted[index-1]].hops > paths[i].hops; index-- {
			sorted[index] = sorted[index-1]
		}
		sorted[index] = int32(i)
		filled[o]++
	}
	w := &pathTable{n: n, generators: generators, start: make([]int32, n+1), pathStart: make([]int32, 1, len(paths)+1)}
	for o := range n {
		for _, i := range sorted[start[o]:min(start[o+1], start[o]+maxPathsPerOffset)] {
			w.gen = append(w.gen, paths[i].gen...)
			w.count = append(w.count, paths[i].count...)
			w.pathStart = append(w.pathStart, int32(len(w.gen)))
			w.hops = append(w.hops, paths[i].hops)
		}
		w.start[o+1] = int32(len(w.hops))
	}
	return w
}

// indexOf returns the ways that words are, nil if one of them is none.
func (w *pathTable) indexOf(paths []offsetPath) (list []int32) {
	for _, x := range paths {
		q := w.start[x.to]
		for ; q < w.start[x.to+1]; q++ {
			from, to := w.pathStart[q], w.pathStart[q+1]
			if slices.Equal(w.gen[from:to], x.gen) && slices.Equal(w.count[from:to], x.count) {
				break
			}
		}
		if q == w.start[x.to+1] {
			return nil
		}
		list = append(list, q)
	}
	return list
}

// pathEnumerator lists words over some of the generators of a sequence.
type pathEnumerator struct {
	n          int
	offsets    []int   // by generator of this speller
	generators []int32 // its number among all
	minHops    []int32 // least by offset over these
	maxHops    []int32 // by offset: no longer words to it are wanted
	slack      int32   // hops more than the least over these
	maxDepth   int32   // the largest of longest
	maxPaths   int     // words to one offset
	numPaths   []int32 // by offset
	paths      []offsetPath
	count      []int32
}

// enumerate appends to words all words to offsets 1..n-1 of no more than slack hops above the least and no longer than
// longest. A word of the least hops plus e starts with words of no more than e above theirs, which prunes the search;
// with slack below 2 no part of a word leads back to where it began.
func (s *pathEnumerator) enumerate() {
	s.count = make([]int32, len(s.offsets))
	s.numPaths = make([]int32, s.n)
	for o, h := range s.maxHops {
		if o > 0 {
			s.maxDepth = max(s.maxDepth, h)
		}
	}
	s.enumerateFrom(0, 0, 0)
}

func (s *pathEnumerator) enumerateFrom(position, g int, hops int32) {
	if position != 0 && hops <= s.maxHops[position] && int(s.numPaths[position]) < s.maxPaths {
		s.numPaths[position]++
		w := offsetPath{to: int32(position), hops: hops}
		for i, c := range s.count {
			if c > 0 {
				w.gen = append(w.gen, s.generators[i])
				w.count = append(w.count, c)
			}
		}
		s.paths = append(s.paths, w)
	}
	for ; g < len(s.offsets) && hops < s.maxDepth; g++ {
		to := (position + s.offsets[g]) % s.n
		if to == 0 || hops+1 > s.minHops[to]+s.slack {
			continue
		}
		s.count[g]++
		s.enumerateFrom(to, g, hops+1)
		s.count[g]--
	}
}

// phasePaths lists the words that stay within one phase: to each offset those of no more than slack hops above the
// least over all phases. single lists those of one generator alone.
func phasePaths(n int, phases [][]int, slack int32, single bool) []offsetPath {
	var enumerators []*pathEnumerator
	maxHops := plan.Origin(n)
	for p, offsets := range phases {
		enumerator := &pathEnumerator{n: n, slack: min(slack, 1), maxHops: maxHops, maxPaths: maxPathsPerOffset}
		for j, a := range offsets {
			g := int32(p*len(offsets) + j)
			if single {
				enumerators = append(enumerators, &pathEnumerator{
					n: n, offsets: []int{a}, generators: []int32{g}, minHops: plan.Reach(n, []int{a}), maxHops: maxHops, maxPaths: 1})
				continue
			}
			enumerator.offsets, enumerator.generators = append(enumerator.offsets, a), append(enumerator.generators, g)
		}
		if !single {
			enumerator.minHops = plan.Reach(n, offsets)
			enumerators = append(enumerators, enumerator)
		}
	}
	for _, s := range enumerators {
		for o, h := range s.minHops {
			maxHops[o] = min(maxHops[o], h)
		}
	}
	for o := range maxHops {
		maxHops[o] += slack
	}
	var paths []offsetPath
	for _, s := range enumerators {
		s.enumerate()
		paths = append(paths, s.paths...)
	}
	return paths
}

// relayPaths lists the words over all generators at once, those of the least hops.
func relayPaths(n int, phases [][]int) []offsetPath {
	return phasePaths(n, [][]int{slices.Concat(phases...)}, 0, false)
}

// loadParts makes the parts of evenly whole for the most counts of ways.
const loadParts = 5040

// equalSplitLoads returns the hops by generator, in parts of 1/evenParts, if a chunk to each offset went to equal parts by all
// its ways.
func (w *pathTable) equalSplitLoads() []int64 {
	load := make([]int64, w.generators)
	for o := 1; o < w.n; o++ {
		span := int64(w.start[o+1] - w.start[o])
		for i := w.pathStart[w.start[o]]; i < w.pathStart[w.start[o+1]]; i++ {
			load[w.gen[i]] += loadParts * int64(w.count[i]) / span
		}
	}
	return load
}
