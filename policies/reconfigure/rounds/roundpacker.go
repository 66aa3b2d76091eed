package rounds

import (
	"math/bits"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/pack"
	"sim/policies/reconfigure/plan"
)

// roundPacker packs paths through one topology into rounds so that no link is used twice in
// a step of a round. All paths of a round start in step 0.
//
// In a circulant all sources use the same paths, rotated. A single path then represents the
// paths of all sources, and it occupies an offset instead of a link. A resource is an offset of
// a circulant, and a link of another topology.
//
// contractionChain has one packer per topology. For each flow it calls findRound, and openRound
// if no round has a free path, and then reserve.
type roundPacker struct {
	n int
	// Link i leads to GPU head[i] and occupies resource[i]. The links out of GPU w are
	// start[w] .. start[w+1]-1.
	start, head, resource []int32
	numResources          int

	// hopsTable[v*n+w] are the hops from w to v, -1 if there is no path. In a circulant, they
	// depend only on w-v, and hopsTable[n-v+w] has them.
	circulant bool
	hopsTable []int32

	// used[(step*numResources+resource)*words:] is the bit set of rounds that use the
	// resource in the step.
	used         []uint64
	steps, words int     // steps with storage in used, and words per set of rounds
	numRounds    int     // number of open rounds
	roundNumber  []int32 // number in the schedule, indexed by open round

	// Scratch of findRound. reached[w*words:] is the set of rounds in which a free path
	// reaches w; it is valid if stamp[w] is search, the number of the current search.
	reached []uint64
	stamp   []int32
	search  int32
	queue   []int32 // GPUs that the search reaches, in breadth-first order
	work    int     // words of reached that all searches have computed, for maxPackWork
}

// newRoundPacker returns a packer without rounds for a topology: of offsets if they are not
// nil, else of edges.
func newRoundPacker(n int, offsets []int32, edges scaleup.Topology, stop cancellation.Condition) *roundPacker {
	p := &roundPacker{n: n, circulant: offsets != nil, words: 1}
	if p.circulant {
		p.numResources = len(offsets)
		p.start = make([]int32, n+1)
		generators := make([]int, len(offsets))
		for i, o := range offsets {
			generators[i] = int(o)
		}
		for w := range int32(n) {
			for i, o := range offsets {
				p.head = append(p.head, (w+o)%int32(n))
				p.resource = append(p.resource, int32(i))
			}
			p.start[w+1] = int32(len(p.head))
		}

		from := plan.Reach(n, generators)
		for i := range 2 * n { // i = n-v+w; w to v is as far as 0 to v-w
			p.hopsTable = append(p.hopsTable, from[(2*n-i)%n])
		}
	} else {
		p.numResources = len(edges)
		p.start, p.resource = edges.Outgoing(n)
		for _, e := range p.resource {
			p.head = append(p.head, edges[e].To)
		}
		p.hopsTable = pack.Shortest(edges, n, stop).HopsTo
	}

	p.reached = make([]uint64, n)
	p.stamp = make([]int32, n)
	return p
}

// hopsTo returns the hops to v, indexed by GPU.
func (p *roundPacker) hopsTo(v int32) []int32 {
	if p.circulant {
		return p.hopsTable[p.n-int(v) : 2*p.n-int(v)]
	}
	return p.hopsTable[int(v)*p.n : (int(v)+1)*p.n]
}

// reset removes all rounds.
func (p *roundPacker) reset() {
	p.numRounds = 0
	clear(p.used)
	p.roundNumber = p.roundNumber[:0]
}

// openRound adds a round with its number in the schedule, and returns its index.
func (p *roundPacker) openRound(number int32) int {
	if p.numRounds == p.words*64 {
		p.used = widenSets(p.used, p.words)
		p.words *= 2
		p.reached = make([]uint64, p.n*p.words)
	}

	p.roundNumber = append(p.roundNumber, number)
	p.numRounds++
	return p.numRounds - 1
}

// findRound returns the earliest open round in which a shortest path from u to v, of h
// hops, is free, and stores the resources of this path in path. It returns -1 if there is
// no such round. It searches breadth first, for all rounds at the same time: the bit set of a
// GPU has the rounds in which a free path reaches it.
func (p *roundPacker) findRound(u, v int32, h int, path []int32) int {
	if p.steps < h {
		p.used = append(p.used, make([]uint64, (h-p.steps)*p.numResources*p.words)...)
		p.steps = h
	}
	hops, words := p.hopsTo(v), p.words
	p.search++
	p.stamp[u] = p.search

	// At u, all open rounds are possible: set the first numRounds bits.
	remaining := p.numRounds
	for i := range words {
		p.reached[int(u)*words+i] = ^uint64(0)
		if remaining < 64 {
			p.reached[int(u)*words+i] = 1<<max(0, remaining) - 1
		}
		remaining -= 64
	}

	queue := append(p.queue[:0], u)
	for q, step, end := 0, 0, 1; step < h; step++ {
		for ; q < end; q++ {
			w := queue[q]
			for i := p.start[w]; i < p.start[w+1]; i++ {
				x := p.head[i]
				if int(hops[x]) != h-step-1 {
					continue // not on a shortest path
				}
				if p.stamp[x] != p.search {
					p.stamp[x] = p.search
					clear(p.reached[int(x)*words : (int(x)+1)*words])
					queue = append(queue, x)
				}
				used := p.used[(step*p.numResources+int(p.resource[i]))*words:]
				for k := range words {
					p.reached[int(x)*words+k] |= p.reached[int(w)*words+k] &^ used[k]
				}
			}
		}

		end = len(queue)
	}

	p.queue = queue
	p.work += len(queue) * words

	// The rounds that reach v have a free path; take the earliest.
	round := -1
	for k := range words {
		if m := p.reached[int(v)*words+k]; m != 0 {
			round = k*64 + bits.TrailingZeros64(m)
			break
		}
	}

	if round >= 0 {
		p.tracePath(u, v, h, round, path)
	}
	return round
}

// tracePath stores the resources of the path found by findRound, from its end.
func (p *roundPacker) tracePath(u, v int32, h, round int, path []int32) {
	hops := p.hopsTo(v)
	word, bit := round/64, uint64(1)<<(round%64)
	x := v
	for step := h - 1; step >= 0; step-- {
		x, path[step] = p.predecessor(x, step, hops, h, word, bit)
	}
}

// predecessor returns a GPU from which the path of h hops reaches x in a step, and the resource of
// that hop. word and bit are the position of the round in a bit set, and hops the hops to the end
// of the path. It scans the GPUs that the last search has reached.
func (p *roundPacker) predecessor(x int32, step int, hops []int32, h, word int, bit uint64) (node, resource int32) {
	for _, w := range p.queue {
		if int(hops[w]) != h-step || p.reached[int(w)*p.words+word]&bit == 0 {
			continue
		}
		for i := p.start[w]; i < p.start[w+1]; i++ {
			if p.head[i] == x && p.used[(step*p.numResources+int(p.resource[i]))*p.words+word]&bit == 0 {
				return w, p.resource[i]
			}
		}
	}

	return -1, -1
}

// reserve marks the resources of a path as used in a round.
func (p *roundPacker) reserve(round int, path []int32) {
	for step, resource := range path {
		p.used[(step*p.numResources+int(resource))*p.words+round/64] |= 1 << (round % 64)
	}
}
