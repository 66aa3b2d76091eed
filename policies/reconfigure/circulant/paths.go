package circulant

import (
	"slices"

	"sim/policies/reconfigure/plan"
)

// pathTable has the paths to each offset. In a circulant the order of hops does not matter,
// so a path is the number of hops over each generator. Path w takes count[i] hops over
// gen[i] for pathStart[w] <= i < pathStart[w+1]. Paths start[o] .. start[o+1]-1 lead to
// offset o, short ones first.
type pathTable struct {
	n, generators    int
	start, pathStart []int32
	gen, count       []int32
	hops             []int32 // total hops, indexed by path
}

// maxPathsPerOffset limits the paths in a table per offset.
const maxPathsPerOffset = 24

// offsetPath is a path to an offset: count[i] hops over generator gen[i], hops in total.
type offsetPath struct {
	to, hops   int32
	gen, count []int32
}

// newPathTable returns a table with the shortest paths to each offset, at most
// maxPathsPerOffset.
func newPathTable(n, generators int, paths []offsetPath) *pathTable {
	// Sort the paths by offset, then stably by hops.
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

	w := &pathTable{n: n, generators: generators, start: make([]int32, n+1),
		pathStart: make([]int32, 1, len(paths)+1)}
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

// indexOf returns the index of each path in the table, or nil if one is not in it.
func (w *pathTable) indexOf(paths []offsetPath) (list []int32) {
	for _, x := range paths {
		q := w.start[x.to]
		for ; q < w.start[x.to+1]; q++ {
			from := w.pathStart[q]
			to := w.pathStart[q+1]
			if slices.Equal(w.gen[from:to], x.gen) && slices.Equal(w.count[from:to],
				x.count) {
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

// pathEnumerator enumerates paths over some of the generators of a sequence.
type pathEnumerator struct {
	n          int
	offsets    []int   // indexed by generator of this enumerator
	generators []int32 // its number in the sequence, indexed as offsets
	// minHops is the minimum over these generators, indexed by offset.
	minHops  []int32
	maxHops  []int32 // limit of path lengths, indexed by offset
	slack    int32   // limit of hops above minHops
	maxDepth int32   // largest limit in maxHops
	maxPaths int     // limit of paths per offset
	numPaths []int32 // paths found so far, indexed by offset
	paths    []offsetPath
	count    []int32 // hops of the current path, indexed as offsets
}

// enumerate appends to paths all paths to offsets 1..n-1 within the limits of slack and
// maxHops. A path with e hops above the minimum has only prefixes with at most e hops above
// their minimum, which prunes the search. With slack below 2, no part of a path returns to
// its start.
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

// enumerateFrom continues a path at a position with generators g and above.
func (s *pathEnumerator) enumerateFrom(position, g int, hops int32) {
	if position != 0 && hops <= s.maxHops[position] &&
		int(s.numPaths[position]) < s.maxPaths {
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

// phasePaths returns the paths that stay within one phase. Paths to an offset have at most
// slack hops above the minimum over all phases. With single, paths use one generator only.
func phasePaths(n int, phases [][]int, slack int32, single bool) []offsetPath {
	var enumerators []*pathEnumerator
	maxHops := plan.OriginHops(n)
	for p, offsets := range phases {
		enumerator := &pathEnumerator{
			n:        n,
			slack:    min(slack, 1),
			maxHops:  maxHops,
			maxPaths: maxPathsPerOffset,
		}

		for j, a := range offsets {
			g := int32(p*len(offsets) + j)
			if single {
				enumerators = append(enumerators, &pathEnumerator{
					n:          n,
					offsets:    []int{a},
					generators: []int32{g},
					minHops:    plan.Reach(n, []int{a}),
					maxHops:    maxHops,
					maxPaths:   1,
				})

				continue
			}

			enumerator.offsets = append(enumerator.offsets, a)
			enumerator.generators = append(enumerator.generators, g)
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

// relayPaths returns the paths with the minimum number of hops over the generators of all
// phases.
func relayPaths(n int, phases [][]int) []offsetPath {
	return phasePaths(n, [][]int{slices.Concat(phases...)}, 0, false)
}

// loadParts is the unit of equalSplitLoads: it is divisible by most numbers of paths.
const loadParts = 5040

// equalSplitLoads returns the hops per generator if one chunk to each offset is split
// equally among all its paths, in units of 1/loadParts.
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
