package circulant

import (
	"slices"

	"sim/policies/reconfigure/plan"
)

// This file lists the short paths from one GPU to each other GPU of a circulant. In a circulant
// each GPU u has links to u+a mod n for each generator a. A path is described from GPU 0: it leads
// to an offset, the sum of the generators of its hops mod n. The order of hops does not change the
// offset, so a path is the number of hops over each generator.
//
// The generators of all phases are numbered together, phase after phase.

// pathTable has the paths to each offset. Path w takes count[i] hops over generator gen[i], for
// pathStart[w] <= i < pathStart[w+1]. Paths start[o] .. start[o+1]-1 lead to offset o, by
// increasing number of hops.
type pathTable struct {
	n, generators    int     // number of GPUs, and of generators of all phases
	start, pathStart []int32 // indexed by offset, and by path
	gen, count       []int32
	hops             []int32 // total hops, indexed by path
}

// maxPathsPerOffset limits the paths in a table per offset. The number of shortest paths grows
// exponentially with the hops, and a few of them suffice to even out loads.
const maxPathsPerOffset = 24

// offsetPath is a path to offset to: count[i] hops over generator gen[i], hops in total. It lists
// only generators with hops, in ascending order.
type offsetPath struct {
	to, hops   int32
	gen, count []int32
}

// newPathTable returns a table with the maxPathsPerOffset shortest of the given paths to each
// offset. Of equally long paths it keeps the first ones in paths.
func newPathTable(n, generators int, paths []offsetPath) *pathTable {
	// Sort the paths by offset, by counting, and then by hops, by stable insertion.
	start := make([]int32, n+1)
	for i := range paths {
		start[paths[i].to+1]++
	}
	for o := range n {
		start[o+1] += start[o]
	}

	sorted := make([]int32, len(paths)) // indices into paths
	filled := slices.Clone(start)       // end of the sorted paths to each offset so far
	for i := range paths {
		o := paths[i].to
		index := filled[o]
		for ; index > start[o] && paths[sorted[index-1]].hops > paths[i].hops; index-- {
			sorted[index] = sorted[index-1]
		}
		sorted[index] = int32(i)
		filled[o]++
	}

	// Store the first paths to each offset.
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
func (w *pathTable) indexOf(paths []offsetPath) (indices []int32) {
	for i := range paths {
		index := w.find(&paths[i])
		if index < 0 {
			return nil
		}
		indices = append(indices, index)
	}
	return indices
}

// find returns the index of a path in the table, or -1 if it is not there.
func (w *pathTable) find(path *offsetPath) int32 {
	for q := w.start[path.to]; q < w.start[path.to+1]; q++ {
		from, to := w.pathStart[q], w.pathStart[q+1]
		if slices.Equal(w.gen[from:to], path.gen) && slices.Equal(w.count[from:to], path.count) {
			return q
		}
	}
	return -1
}

// pathEnumerator enumerates paths over some of the generators of a sequence, by depth-first search.
type pathEnumerator struct {
	n          int
	offsets    []int   // the generators that paths may use
	firstIndex int32   // number of the first of them in the sequence; the others follow
	minHops    []int32 // minimum hops over these generators, indexed by offset; plan.Far or more if unreachable
	slack      int32   // limit of the hops of a path above minHops; 0 or 1
	maxHops    []int32 // limit of the hops of a path, indexed by offset
	maxPaths   int     // limit of the number of paths per offset

	// State of the search.
	maxDepth int32   // largest limit in maxHops
	count    []int32 // hops of the current path over each generator, indexed as offsets
	numPaths []int32 // paths found so far, indexed by offset
	paths    []offsetPath
}

// newPathEnumerator returns an enumerator without a limit in maxHops, which the caller sets.
func newPathEnumerator(n int, offsets []int, firstIndex, slack int32, maxPaths int) *pathEnumerator {
	return &pathEnumerator{
		n:          n,
		offsets:    offsets,
		firstIndex: firstIndex,
		minHops:    plan.Reach(n, offsets),
		slack:      slack,
		maxPaths:   maxPaths,
		count:      make([]int32, len(offsets)),
		numPaths:   make([]int32, n),
	}
}

// enumerate sets paths to all paths to offsets 1..n-1 within the limits.
func (s *pathEnumerator) enumerate() {
	s.maxDepth = slices.Max(s.maxHops[1:])
	const position, firstGenerator, hops = 0, 0, 0
	s.enumerateFrom(position, firstGenerator, hops)
}

// enumerateFrom continues the current path, which has the given hops and leads to offset position,
// by hops over generator g and later ones.
//
// The search extends only prefixes that are within the slack themselves. If a prefix has e hops
// above the minimum to its offset, every continuation has at least e hops above the minimum to its
// own offset: a shorter prefix would shorten the whole path. So no path within the slack is lost.
//
// A path that returns to offset 0 can be shortened by at least 2 hops, more than the slack.
func (s *pathEnumerator) enumerateFrom(position, g int, hops int32) {
	if position != 0 && hops <= s.maxHops[position] && int(s.numPaths[position]) < s.maxPaths {
		s.addPath(position, hops)
	}
	if hops >= s.maxDepth {
		return
	}
	for ; g < len(s.offsets); g++ {
		to := (position + s.offsets[g]) % s.n
		if to == 0 || hops+1 > s.minHops[to]+s.slack {
			continue
		}
		s.count[g]++
		s.enumerateFrom(to, g, hops+1)
		s.count[g]--
	}
}

// addPath adds the current path, which leads to offset position, to paths.
func (s *pathEnumerator) addPath(position int, hops int32) {
	s.numPaths[position]++
	w := offsetPath{to: int32(position), hops: hops}
	for i, c := range s.count {
		if c > 0 {
			w.gen = append(w.gen, s.firstIndex+int32(i))
			w.count = append(w.count, c)
		}
	}
	s.paths = append(s.paths, w)
}

// noSlack is the slack that allows only paths with the minimum number of hops.
const noSlack = 0

// phasePaths returns the paths that stay within one phase. Each phase is a list of generators. Paths
// to an offset have at most slack hops above the minimum over the paths of all phases. A path also
// has at most one hop above the minimum within its phase, even if slack is larger.
func phasePaths(n int, phases [][]int, slack int32) []offsetPath {
	var enumerators []*pathEnumerator
	firstIndex := int32(0) // number of the first generator of the phase
	for _, offsets := range phases {
		enumerators = append(enumerators,
			newPathEnumerator(n, offsets, firstIndex, min(slack, 1), maxPathsPerOffset))
		firstIndex += int32(len(offsets))
	}
	return enumerateAll(n, enumerators, slack)
}

// singleGeneratorPaths returns the paths that use one generator only, the shortest path to each
// offset over each generator. Paths to an offset have at most slack hops above the minimum over
// all generators.
func singleGeneratorPaths(n int, phases [][]int, slack int32) []offsetPath {
	const maxPaths = 1
	var enumerators []*pathEnumerator
	for g, offset := range slices.Concat(phases...) {
		enumerators = append(enumerators,
			newPathEnumerator(n, []int{offset}, int32(g), noSlack, maxPaths))
	}
	return enumerateAll(n, enumerators, slack)
}

// enumerateAll returns the paths of all enumerators whose hops are at most slack above the minimum
// over all enumerators.
func enumerateAll(n int, enumerators []*pathEnumerator, slack int32) []offsetPath {
	maxHops := plan.OriginHops(n) // plan.Far for all offsets but 0
	for _, s := range enumerators {
		for offset, h := range s.minHops {
			maxHops[offset] = min(maxHops[offset], h)
		}
	}
	for offset := range maxHops {
		maxHops[offset] += slack
	}

	var paths []offsetPath
	for _, s := range enumerators {
		s.maxHops = maxHops
		s.enumerate()
		paths = append(paths, s.paths...)
	}
	return paths
}

// relayPaths returns the paths of chunks that may rest at GPUs across reconfigurations, so that a
// path may use the generators of all phases. It returns only paths with the minimum number of hops.
func relayPaths(n int, phases [][]int) []offsetPath {
	allGenerators := slices.Concat(phases...)
	return phasePaths(n, [][]int{allGenerators}, noSlack)
}

// loadParts is the number of parts of a chunk in equalSplitLoads. It is divisible by all numbers of
// paths up to 10, and by most larger ones up to maxPathsPerOffset.
const loadParts = 5040

// equalSplitLoads returns the load of each generator if one source sends a chunk to each offset and
// splits it equally among all paths to the offset. The unit is 1/loadParts of a hop of a chunk.
func (w *pathTable) equalSplitLoads() []int64 {
	load := make([]int64, w.generators)
	for offset := 1; offset < w.n; offset++ {
		first, end := w.start[offset], w.start[offset+1] // paths to the offset
		for i := w.pathStart[first]; i < w.pathStart[end]; i++ {
			load[w.gen[i]] += loadParts * int64(w.count[i]) / int64(end-first)
		}
	}

	return load
}
