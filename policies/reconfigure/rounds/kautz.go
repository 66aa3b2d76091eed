package rounds

import (
	"math/bits"

	"sim/fabric/scaleup"
	"sim/internal/random"
	"sim/policies/reconfigure/halt"
)

// kautzPath is a path of the listing: its links, edges n*k apart at most, from GPU at the tail of the first.
type kautzPath struct {
	round     int32
	hops      int32
	firstLink int32 // index of its first link in listing.links
}

// kautzListing is all paths of a generalised Kautz topology of 1, 2, .. hops, loops and returns included, packed into rounds
// without contention (Sec. 4.2, Fig. 9c).
type kautzListing struct {
	edges  scaleup.Topology
	paths  []kautzPath
	links  []int32
	rounds []roundInfo
}

// listKautzPaths lists paths until every GPU is joined with every other: for each h all of h hops, by source and then by the
// links' order, each into the first round of this h where it contends with none. k^(h-1) rounds would hold them if
// packed full; where the greedy packing leaves holes there are more. With all false it keeps of the paths only the
// shortest ones between two GPUs, in the rounds that they have among all.
func listKautzPaths(n, k int, all bool, stop halt.When) *kautzListing {
	l := &kautzListing{edges: scaleup.GeneralizedKautz(n, k)}
	reached := make([]int32, n*n) // the fewest hops found
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
			// Path i of h hops: its source and its choices of links are the digits of i.
			node, rest := int32(i/(count/n)), count/n
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
			l.paths = append(l.paths, kautzPath{first + int32(round), int32(h), int32(len(l.links))})
			l.links = append(l.links, path...)
		}
	}
	return l
}

// kautzBase selects from the listing, for every flow, one of its shortest paths, drawn by seed, removes all others, and
// then combines rounds that do not contend (Sec. 4.2).
func kautzBase(n, k int, seed uint64, stop halt.When) *roundSchedule {
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
		from, to := l.edges[links[0]].From, l.edges[links[p.hops-1]].To
		u := unit[int(from)*n+int(to)]
		// Each of the ties stays with the same chance.
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
