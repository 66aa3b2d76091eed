package circulant

import (
	"slices"

	"sim/policies/graph"
)

// openShop schedules the hops of one phase, slot by slot, as an open shop of unit tasks: in a slot a generator carries one
// chunk and a chunk takes one hop. It needs no more slots than the most of its generators' loads and its chunks' hops,
// because every slot serves all that have as many hops left as slots remain (decrementing sets, as in Gonzalez and
// Sahni's preemptive open shop). Among the chunks that it may serve it takes those first that leave transit, or do not
// enter it.
type openShop struct {
	k             int
	remaining     []int32 // hops left of chunk i on generator j at i*k+j
	chunkHops     []int32 // hops left by chunk, in this phase
	generatorLoad []int32 // hops left by generator
	laterHops     []int32 // hops by chunk in later phases
	inTransit     []bool  // whether a chunk is under way
	transitLoad   []int32 // hops left by generator of chunks under way

	// candidates are the chunks with hops left that this phase has moved, and of those alike that it has not, k: no slot
	// takes more, and no more chunks have as many hops left as slots remain.
	candidates    []int32
	lastIdentical []int32 // by chunk: the last of those alike, which come one after the other
	nextIdentical []int32 // by last chunk of those alike: the first one that is not active
	isUnmoved     []bool  // by chunk: the phase has not moved it

	matched    []int32 // by generator: its chunk in this slot, -1 for none
	assignment graph.Assignment
	weight     []int64 // by generator and active chunk, and then k times none
}

// newOpenShop takes the hops of the phase, as need has them; it changes need and started. Chunks of one way are identical.
func newOpenShop(k int, remaining, laterHops, path []int32, inTransit []bool) *openShop {
	jobs := len(laterHops)
	s := &openShop{k: k, remaining: remaining, chunkHops: make([]int32, jobs), generatorLoad: make([]int32, k), laterHops: laterHops, inTransit: inTransit,
		transitLoad: make([]int32, k), matched: make([]int32, k), lastIdentical: make([]int32, jobs), nextIdentical: make([]int32, jobs), isUnmoved: make([]bool, jobs)}
	for i := jobs - 1; i >= 0; i-- {
		s.isUnmoved[i] = true
		if s.lastIdentical[i] = int32(i); i+1 < jobs && path[i+1] == path[i] {
			s.lastIdentical[i] = s.lastIdentical[i+1]
		}
		s.nextIdentical[s.lastIdentical[i]] = int32(i)
	}
	for i, last := range s.lastIdentical {
		if i == 0 || s.lastIdentical[i-1] != last {
			for range k {
				s.addCandidate(last)
			}
		}
	}
	for i := range jobs {
		for j := range k {
			x := remaining[i*k+j]
			s.chunkHops[i] += x
			s.generatorLoad[j] += x
			if inTransit[i] {
				s.transitLoad[j] += x
			}
		}
	}
	return s
}

// addCandidate makes one more of the identical chunks that end at last active, if there is one.
func (s *openShop) addCandidate(last int32) {
	if i := s.nextIdentical[last]; i <= last {
		s.nextIdentical[last]++
		s.candidates = append(s.candidates, i)
	}
}

// Weights of a generator with a chunk: each of them that must not idle counts most, then that there is a pair at all,
// less the rank of the chunk.
const (
	mustWeight = 1 << 52
	pairWeight = 1 << 44
	forbidden  = -1 << 58
	rankBits   = 40 // bits below a rank
)

// matchSlot matches generators with chunks for the slot after which remain-1 are left, into mate. Where neither must be
// served, no chunk starts that stays in transit.
func (s *openShop) matchSlot(remain int32) {
	columns := len(s.candidates) + s.k
	s.weight = append(s.weight[:0], make([]int64, s.k*columns)...)
	for c, i := range s.candidates {
		rank := s.rank(int(i))
		for j := range s.k {
			w := pairWeight - rank
			if s.generatorLoad[j] == remain {
				w += mustWeight
			}
			if s.chunkHops[i] == remain {
				w += mustWeight
			}
			if s.remaining[int(i)*s.k+j] == 0 || w < mustWeight && !s.inTransit[i] && s.chunkHops[i]+s.laterHops[i] > 1 {
				w = forbidden
			}
			s.weight[j*columns+c] = w
		}
	}
	s.assignment.Solve(s.k, columns, s.weight, s.matched, nil)
	for j, c := range s.matched {
		if s.matched[j] = -1; int(c) < len(s.candidates) {
			s.matched[j] = s.candidates[c]
		}
	}
}

// Ranks, the first served first: chunks that leave transit in this phase, chunks that pass through in one hop or come
// and go within the phase, chunks that stay in transit, and chunks that enter transit to stay.
const (
	rankLeaving = iota
	rankDirect
	rankWithinPhase
	rankStaying
	rankEntering
)

func (s *openShop) rank(i int) int64 {
	ends, rank := s.laterHops[i] == 0, int64(rankWithinPhase)
	switch {
	case s.inTransit[i] && ends:
		return int64(rankLeaving)<<rankBits + int64(s.chunkHops[i])
	case s.inTransit[i]:
		return int64(rankStaying)<<rankBits + int64(s.chunkHops[i])
	case ends && s.chunkHops[i] == 1:
		return int64(rankDirect) << rankBits
	case !ends:
		rank = rankEntering
	}
	// Of fresh chunks, one that keeps the work under way even among the generators, so that none has to start others.
	low, high := int32(1<<30), int32(0)
	for j, b := range s.transitLoad {
		x := b + s.remaining[i*s.k+j]
		low, high = min(low, x), max(high, x)
	}
	return rank<<rankBits + int64(high-low)
}

// commitSlot carries the slot out and returns by how much the chunks in transit grow in number.
func (s *openShop) commitSlot() (growth int32) {
	for j, i := range s.matched {
		if i < 0 {
			continue
		}
		if s.isUnmoved[i] {
			s.isUnmoved[i] = false
			s.addCandidate(s.lastIdentical[i])
		}
		if !s.inTransit[i] {
			s.inTransit[i] = true
			growth++
			for g := range s.k {
				s.transitLoad[g] += s.remaining[int(i)*s.k+g]
			}
		}
		s.remaining[int(i)*s.k+j]--
		s.chunkHops[i]--
		s.generatorLoad[j]--
		s.transitLoad[j]--
		if s.chunkHops[i]+s.laterHops[i] == 0 {
			growth--
		}
	}
	s.candidates = slices.DeleteFunc(s.candidates, func(i int32) bool { return s.chunkHops[i] == 0 })
	return growth
}
