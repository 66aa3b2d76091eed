package rounds

import (
	"math/bits"

	"sim/fabric/scaleup"
	"sim/internal/random"
	"sim/policies/reconfigure/cancellation"
)

// kautzPath is a path of a kautzPathSet: its round, its hops, and the index of its first
// link in kautzPathSet.links.
type kautzPath struct {
	round     int32
	hops      int32
	firstLink int32
}

// kautzPathSet has all paths of a generalised Kautz topology with 1, 2, .. hops, including
// paths with loops and returns. They are packed into rounds without contention (Sec. 4.2,
// Fig. 9c).
type kautzPathSet struct {
	edges  scaleup.Topology
	paths  []kautzPath
	links  []int32
	rounds []roundInfo
}

// listKautzPaths lists paths until each GPU reaches all others. For each number h of hops,
// it lists all paths by source and then by the order of links, each in the first round of
// this h without contention. Packed without gaps they would fill k^(h-1) rounds; the greedy
// packing may leave gaps and take more.
//
// Without all, only the shortest paths between two GPUs are stored, in the rounds that they
// have among all paths.
func listKautzPaths(n, k int, all bool, stop cancellation.Condition) *kautzPathSet {
	l := &kautzPathSet{edges: scaleup.GeneralizedKautz(n, k)}
	reached := make([]int32, n*n) // minimum hops so far, indexed by source*n+destination; 0 if not reached
	missing := n * (n - 1)
	for h := 1; missing > 0; h++ {
		words := 1
		used := make([]uint64, h*n*k*words)
		first := int32(len(l.rounds))
		path := make([]int32, h)
		count := n
		for range h {
			count *= k
		}

		for i := range count {
			if i&(1<<10-1) == 0 {
				stop.Check()
			}

			// Path i of h hops: the digits of i are its source and its choices of links.
			node := int32(i / (count / n))
			rest := count / n
			source := node
			for step := range path {
				rest /= k
				path[step] = node*int32(k) + int32(i/rest%k)
				node = l.edges[path[step]].To
			}
			hops := &reached[int(source)*n+int(node)]
			if node != source && *hops == 0 {
				*hops = int32(h)
				missing--
			}

			round := -1
			for w := 0; round < 0; w++ {
				if w == words {
					wide := make([]uint64, 2*len(used))
					for j := range len(used) / words {
						copy(wide[2*j*words:], used[j*words:(j+1)*words])
					}
					used, words = wide, 2*words
				}

				occupied := uint64(0)
				for step, e := range path {
					occupied |= used[(step*n*k+int(e))*words+w]
				}
				if occupied != ^uint64(0) {
					round = w*64 + bits.TrailingZeros64(^occupied)
				}
			}

			for step, e := range path {
				used[(step*n*k+int(e))*words+round/64] |= 1 << (round % 64)
			}
			for int(first)+round >= len(l.rounds) {
				l.rounds = append(l.rounds, roundInfo{hops: int32(h)})
			}
			if !all && (node == source || *hops < int32(h)) {
				continue
			}
			l.paths = append(l.paths, kautzPath{first + int32(round), int32(h),
				int32(len(l.links))})
			l.links = append(l.links, path...)
		}
	}

	return l
}

// kautzBase selects one of the shortest paths of each flow from the listing, drawn by seed,
// removes all others, and merges rounds without contention (Sec. 4.2).
func kautzBase(n, k int, seed uint64, stop cancellation.Condition) *roundSchedule {
	l := listKautzPaths(n, k, false, stop)
	s := newRoundSchedule(n, k, nil, l.edges)
	s.origin = "GenKautz"
	draws := random.Stream(seed, "reconfigure-during: paths of GenKautz")
	unit := make([]int32, n*n)
	for u := range s.src {
		unit[int(s.src[u])*n+int(s.dst[u])] = int32(u)
	}
	s.stride = int(l.rounds[len(l.rounds)-1].hops)
	s.paths = make([]int32, len(s.src)*s.stride)

	ties := make([]int32, len(s.src))
	for _, p := range l.paths {
		links := l.links[p.firstLink : p.firstLink+p.hops]
		from := l.edges[links[0]].From
		to := l.edges[links[p.hops-1]].To
		u := unit[int(from)*n+int(to)]

		// Reservoir sampling: each of the paths is selected with equal probability.
		if ties[u]++; ties[u] > 1 && draws.IntN(int(ties[u])) > 0 {
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
