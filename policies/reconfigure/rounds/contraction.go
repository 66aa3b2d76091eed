package rounds

import (
	"cmp"
	"slices"

	"sim/fabric/scaleup"
	"sim/internal/csr"
	"sim/internal/numbers"
	"sim/policies/reconfigure/cancellation"
)

// contractLongestRound returns the schedule with an additional topology that connects the
// ends of the flows of a longest round directly (Sec. 4.3). tie selects one of several
// longest rounds, in decreasing order of paths. Links left unused connect flows of the next
// longest rounds, flows with more hops first. A flow that would exceed k links into its
// destination keeps its path. The result is nil if there is no such round with more than
// one hop.
func (s *roundSchedule) contractLongestRound(tie int) *roundSchedule {
	numPaths := make([]int32, len(s.rounds))
	for _, r := range s.round {
		numPaths[r]++
	}

	// Rank the rounds by decreasing hops and number of paths, and move the selected one to
	// the front.
	rank := numbers.Below(int32(len(s.rounds)))
	slices.SortStableFunc(rank, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.rounds[b].hops, s.rounds[a].hops),
			cmp.Compare(numPaths[b], numPaths[a]))
	})
	if tie >= len(rank) || s.rounds[rank[tie]].hops < s.rounds[rank[0]].hops ||
		s.rounds[rank[0]].hops < 2 {
		return nil
	}
	first := rank[tie]
	copy(rank[1:tie+1], rank[:tie])
	rank[0] = first
	position := make([]int32, len(rank))
	for i, r := range rank {
		position[r] = int32(i)
	}

	// Order the flows with several hops by the rank of their round, then by decreasing
	// hops.
	var order []int32
	for u, h := range s.hops {
		if h > 1 {
			order = append(order, int32(u))
		}
	}
	maxHops := slices.Max(s.hops)
	_, order = csr.Sort(order, int(maxHops)+1, func(u int32) int32 { return maxHops - s.hops[u] })
	_, order = csr.Sort(order, len(position), func(u int32) int32 { return position[s.round[u]] })

	// Connect the flows directly in this order while their ports are free.
	c := s.clone()
	c.origin = s.baseName() + ", contraction"
	number := int32(len(c.rounds))
	c.rounds = append(c.rounds, roundInfo{phase: int32(s.numPhases()), hops: 1})
	out := make([]int32, s.n)
	in := make([]int32, s.n)
	var offsets []int32

	var edges scaleup.Topology
	for _, u := range order {
		v, w := s.src[u], s.dst[u]
		if out[v] == int32(s.k) || in[w] == int32(s.k) {
			continue
		}
		out[v]++
		in[w]++

		link := int32(len(edges))
		if s.isCirculant() {
			link = int32(len(offsets))
			offsets = append(offsets, w)
		} else {
			edges = append(edges, scaleup.Edge{From: v, To: w})
		}

		c.round[u], c.hops[u], c.paths[int(u)*c.stride] = number, 1, link
	}

	if s.isCirculant() {
		c.offsets = append(c.offsets, offsets)
	} else {
		c.edges = append(c.edges, edges)
	}
	return c
}

// baseName returns the first part of origin.
func (s *roundSchedule) baseName() string {
	for i := range s.origin {
		if s.origin[i] == ',' {
			return s.origin[:i]
		}
	}
	return s.origin
}

// mergeRounds merges rounds of a phase that use no resource in the same step (Sec. 4.2).
// Starting with the longest, each round is merged into the first possible one. The merged
// round takes as many slots as the longer one. normaliseRounds must follow, to remove empty
// rounds.
func (s *roundSchedule) mergeRounds(stop cancellation.Condition) {
	numResources, steps := 0, 0
	for i := range s.numPhases() {
		if s.isCirculant() {
			numResources = max(numResources, len(s.offsets[i]))
		} else {
			numResources = max(numResources, len(s.edges[i]))
		}
	}

	for i := range s.rounds {
		s.rounds[i].hops = 0
	}
	for u, r := range s.round {
		s.rounds[r].hops = max(s.rounds[r].hops, s.hops[u])
		steps = max(steps, int(s.hops[u]))
	}

	// The set of (step, resource) of each round, as a bit set.
	words := (numResources*steps + 63) / 64
	set := make([]uint64, words*len(s.rounds))
	for u, r := range s.round {
		for step, resource := range s.path(u) {
			bit := step*numResources + int(resource)
			set[int(r)*words+bit/64] |= 1 << (bit % 64)
		}
	}

	order := make([]int32, len(s.rounds))
	mergedInto := make([]int32, len(s.rounds))
	for i := range order {
		order[i], mergedInto[i] = int32(i), int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.rounds[a].phase, s.rounds[b].phase),
			cmp.Compare(s.rounds[b].hops, s.rounds[a].hops))
	})

	for i, b := range order {
		stop.Check()
		for j := i - 1; j >= 0 && s.rounds[order[j]].phase == s.rounds[b].phase; j-- {
			i = j
		}
		for _, a := range order[i:] {
			if a == b {
				break
			}
			if mergedInto[a] == a && areDisjoint(set[int(a)*words:int(a+1)*words],
				set[int(b)*words:int(b+1)*words]) {
				mergedInto[b] = a
				for w := range words {
					set[int(a)*words+w] |= set[int(b)*words+w]
				}
				break
			}
		}
	}

	for u, r := range s.round {
		s.round[u] = mergedInto[r]
	}
}

// areDisjoint reports whether two bit sets have no common element.
func areDisjoint(a, b []uint64) bool {
	for i, x := range a {
		if x&b[i] != 0 {
			return false
		}
	}
	return true
}
