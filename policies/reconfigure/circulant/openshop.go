package circulant

import (
	"math"
	"slices"

	"sim/policies/graph"
)

// openShop schedules the hops of one phase as an open shop of unit tasks. In a slot, a
// generator carries one chunk and a chunk takes one hop.
//
// It needs as many slots as the maximum of the loads of its generators and of the hops of
// its chunks. This is because each slot serves all generators and chunks that have as many
// hops left as slots (decrementing sets, as in the preemptive open shop of Gonzalez and
// Sahni). Of other chunks it prefers chunks that leave transit, or do not enter it.
//
// timetable calls, for each slot of the phase, matchSlot and then commitSlot.
type openShop struct {
	k int // generators
	// remaining has the hops of chunk i over generator j that are not done yet, at i*k+j.
	remaining []int32
	// chunkHops is the sum of remaining over generators, indexed by chunk.
	chunkHops []int32
	// generatorLoad is the sum of remaining over chunks, indexed by generator.
	generatorLoad []int32
	laterHops     []int32 // hops in later phases, indexed by chunk
	inTransit     []bool  // the chunk has left its source, indexed by chunk
	// transitLoad is the sum of remaining over chunks in transit, indexed by generator.
	transitLoad []int32

	// candidates are the chunks with remaining hops that have moved in this phase, and of
	// each set of identical chunks k that have not. This is enough, because a slot serves
	// at most k chunks, and at most k chunks have as many hops left as slots.
	candidates []int32
	// lastIdentical is the last one of the identical chunks, which are consecutive; indexed
	// by chunk.
	lastIdentical []int32
	// nextIdentical is the first of the identical chunks that is not a candidate, indexed by the
	// last one of them.
	nextIdentical []int32
	// isUnmoved reports whether the chunk has not moved in this phase, indexed by chunk.
	isUnmoved []bool

	// matched is the chunk in this slot, indexed by generator; -1 if the generator is idle.
	matched    []int32
	assignment graph.Assignment // solver of the matching with the maximum weight
	// weight is the matrix of the matching. Rows are generators; columns are candidates, then k
	// columns of weight 0 for idle generators.
	weight []int64
}

// newOpenShop returns the open shop of a phase. The arguments initialise the fields of the
// same names; it changes remaining and inTransit. path is the path of each chunk. Chunks
// with the same path are identical and consecutive.
func newOpenShop(k int, remaining, laterHops, path []int32, inTransit []bool) *openShop {
	numChunks := len(laterHops)
	s := &openShop{
		k:             k,
		remaining:     remaining,
		chunkHops:     make([]int32, numChunks),
		generatorLoad: make([]int32, k),
		laterHops:     laterHops,
		inTransit:     inTransit,
		transitLoad:   make([]int32, k),
		matched:       make([]int32, k),
		lastIdentical: make([]int32, numChunks),
		nextIdentical: make([]int32, numChunks),
		isUnmoved:     make([]bool, numChunks),
	}

	// No chunk has moved. Find the sets of identical chunks.
	for i := numChunks - 1; i >= 0; i-- {
		s.isUnmoved[i] = true
		if s.lastIdentical[i] = int32(i); i+1 < numChunks && path[i+1] == path[i] {
			s.lastIdentical[i] = s.lastIdentical[i+1]
		}
		s.nextIdentical[s.lastIdentical[i]] = int32(i)
	}

	// The first k chunks of each set are candidates.
	for i, last := range s.lastIdentical {
		if i == 0 || s.lastIdentical[i-1] != last {
			for range k {
				s.addCandidate(last)
			}
		}
	}

	// Add up the remaining hops.
	for i := range numChunks {
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

// addCandidate adds the next of the identical chunks that end at chunk last, if there is
// one.
func (s *openShop) addCandidate(last int32) {
	if i := s.nextIdentical[last]; i <= last {
		s.nextIdentical[last]++
		s.candidates = append(s.candidates, i)
	}
}

const (
	// Weights of a pair of generator and chunk: mustWeight for each of the two that must be
	// served in the slot, plus pairWeight, minus the rank of the chunk. Pairs with the weight
	// forbidden are never selected. A rank is one of 5 numbers with a tie-break in the rankBits bits
	// below it, so it is less than pairWeight. Up to 256 pairs weigh less than one mustWeight.
	mustWeight = 1 << 52
	pairWeight = 1 << 44
	forbidden  = -1 << 58
	rankBits   = 40
)

// matchSlot matches generators with chunks for the next slot, if there are remain slots
// including it. A chunk that would stay in transit starts only if it or the generator must
// be served.
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
			if s.remaining[int(i)*s.k+j] == 0 ||
				w < mustWeight && !s.inTransit[i] && s.chunkHops[i]+s.laterHops[i] > 1 {
				w = forbidden
			}
			s.weight[j*columns+c] = w
		}
	}

	var noCheck func() // the caller polls stop before each slot
	s.assignment.Solve(s.k, columns, s.weight, s.matched, noCheck)
	for j, c := range s.matched {
		if s.matched[j] = -1; int(c) < len(s.candidates) {
			s.matched[j] = s.candidates[c]
		}
	}
}

const (
	// Ranks of chunks, in the order in which they are served: chunks that leave transit in
	// this phase, chunks with one hop, chunks that start and arrive within the phase,
	// chunks that stay in transit, and chunks that enter transit and stay.
	rankLeaving = iota
	rankDirect
	rankWithinPhase
	rankStaying
	rankEntering
)

// rank returns the rank of a chunk, with the tie-break in the low rankBits bits.
func (s *openShop) rank(i int) int64 {
	ends := s.laterHops[i] == 0
	rank := int64(rankWithinPhase)
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

	// Of chunks that have not started, prefer one that keeps the transit load of the
	// generators even. Then no generator is forced to start further chunks.
	low, high := int32(math.MaxInt32), int32(0)
	for j, b := range s.transitLoad {
		x := b + s.remaining[i*s.k+j]
		low, high = min(low, x), max(high, x)
	}
	return rank<<rankBits + int64(high-low)
}

// commitSlot applies the matching of the slot. It returns the change of the number of
// chunks in transit.
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

	s.candidates = slices.DeleteFunc(s.candidates, func(i int32) bool {
		return s.chunkHops[i] == 0
	})
	return growth
}
