package rounds

import (
	"math/bits"

	"sim/fabric/scaleup"
	"sim/internal/random"
	"sim/policies/reconfigure/cancellation"
)

// This file implements the generalised Kautz base of "To Reconfigure or Not to Reconfigure" (Sec. 4.2,
// Fig. 9c of the paper): it lists the paths of the topology, assigns each to a round, and selects
// one path per flow. In a round, each path starts in step 0 and crosses one link per step. Two
// paths contend if they cross the same link in the same step.

// kautzPath is a path of a kautzPathSet.
type kautzPath struct {
	round     int32 // index in kautzPathSet.rounds
	hops      int32
	firstLink int32 // index of its first link in kautzPathSet.links
}

// kautzPathSet has paths of a generalised Kautz topology, packed into rounds without contention.
type kautzPathSet struct {
	edges  scaleup.Topology
	paths  []kautzPath
	links  []int32 // links of all paths, as indices into edges
	rounds []roundInfo
}

// listKautzPaths lists the paths with 1, 2, .. hops until each GPU reaches all others. This includes
// paths that visit a GPU or a link twice. For each number h of hops, paths are ordered by source
// and then by their links. Each is packed into the first round of h hops without contention. There
// are k^(h-1) rounds if no round has a gap; the greedy packing may leave gaps and take more.
//
// Without all, only the shortest paths between two GPUs are stored, in the rounds that they
// have among all paths.
func listKautzPaths(n, k int, all bool, stop cancellation.Condition) *kautzPathSet {
	l := &kautzPathSet{edges: scaleup.GeneralizedKautz(n, k)}
	minHops := make([]int32, n*n) // indexed by source*n+destination; 0 if not reached yet
	missing := n * (n - 1)        // pairs of GPUs that are not reached yet
	for h := 1; missing > 0; h++ {
		firstRound := len(l.rounds) // first round of h hops
		used := newLinkUsage(n*k, h)
		path := make([]int32, h)
		pathsPerSource := 1
		for range h {
			pathsPerSource *= k
		}

		for i := range n * pathsPerSource {
			const pathsPerCheck = 1 << 10
			if i%pathsPerCheck == 0 {
				stop.Check()
			}

			// Path i starts at GPU i / k^h. The h digits of the rest in base k select one of the
			// k links of each GPU on the path, the most significant digit first.
			source := int32(i / pathsPerSource)
			node, weight := source, pathsPerSource
			for step := range path {
				weight /= k
				digit := int32(i / weight % k)
				path[step] = node*int32(k) + digit
				node = l.edges[path[step]].To
			}

			shortest := &minHops[int(source)*n+int(node)]
			if node != source && *shortest == 0 {
				*shortest = int32(h)
				missing--
			}

			round := used.firstFree(path)
			used.reserve(path, round)
			for firstRound+round >= len(l.rounds) {
				l.rounds = append(l.rounds, roundInfo{hops: int32(h)})
			}
			if all || node != source && *shortest == int32(h) {
				l.paths = append(l.paths, kautzPath{
					round:     int32(firstRound + round),
					hops:      int32(h),
					firstLink: int32(len(l.links)),
				})
				l.links = append(l.links, path...)
			}
		}
	}

	return l
}

// linkUsage records which rounds use a link in a step.
type linkUsage struct {
	numLinks int
	words    int      // words per set of rounds
	rounds   []uint64 // rounds[(step*numLinks+link)*words:] is the set of rounds, as a bit set
}

// newLinkUsage returns a linkUsage without paths, for paths of up to the given number of steps.
func newLinkUsage(numLinks, steps int) *linkUsage {
	return &linkUsage{numLinks: numLinks, words: 1, rounds: make([]uint64, steps*numLinks)}
}

// firstFree returns the first round in which a path contends with no other path.
func (u *linkUsage) firstFree(path []int32) int {
	for w := 0; ; w++ {
		if w == u.words {
			u.rounds = widenSets(u.rounds, u.words)
			u.words *= 2
		}
		occupied := uint64(0)
		for step, link := range path {
			occupied |= u.rounds[(step*u.numLinks+int(link))*u.words+w]
		}
		if occupied != ^uint64(0) {
			return w*64 + bits.TrailingZeros64(^occupied)
		}
	}
}

// reserve marks the links of a path as used in a round.
func (u *linkUsage) reserve(path []int32, round int) {
	for step, link := range path {
		u.rounds[(step*u.numLinks+int(link))*u.words+round/64] |= 1 << (round % 64)
	}
}

// widenSets returns bit sets with twice as many words per set. The additional words are 0.
func widenSets(sets []uint64, words int) []uint64 {
	wide := make([]uint64, 2*len(sets))
	for i := range len(sets) / words {
		copy(wide[2*i*words:], sets[i*words:(i+1)*words])
	}
	return wide
}

// kautzBase returns a schedule on the generalised Kautz topology. It selects one of the shortest
// paths of each flow at random and keeps its round. Rounds that no longer contend are merged.
func kautzBase(n, k int, seed uint64, stop cancellation.Condition) *roundSchedule {
	const all = false
	l := listKautzPaths(n, k, all, stop)
	var noOffsets []int32
	s := newRoundSchedule(n, k, noOffsets, l.edges)
	s.origin = "GenKautz"
	draws := random.Stream(seed, "reconfigure-during: paths of GenKautz")
	classOf := make([]int32, n*n) // class of the flow, indexed by source*n+destination
	for u := range s.src {
		classOf[int(s.src[u])*n+int(s.dst[u])] = int32(u)
	}
	s.stride = int(l.rounds[len(l.rounds)-1].hops)
	s.paths = make([]int32, len(s.src)*s.stride)

	// Reservoir sampling (Vitter's algorithm R): the i-th path of a flow replaces the selected one
	// with probability 1/i, so all paths are selected with the same probability.
	numPaths := make([]int32, len(s.src)) // paths so far, indexed by class
	for _, p := range l.paths {
		links := l.links[p.firstLink : p.firstLink+p.hops]
		from := l.edges[links[0]].From
		to := l.edges[links[p.hops-1]].To
		u := classOf[int(from)*n+int(to)]

		numPaths[u]++
		if numPaths[u] > 1 && draws.IntN(int(numPaths[u])) > 0 {
			continue
		}
		s.hops[u], s.round[u] = p.hops, p.round
		copy(s.paths[int(u)*s.stride:], links)
	}

	s.rounds = l.rounds
	s.mergeRounds(stop)
	s.normaliseRounds()
	return s
}
