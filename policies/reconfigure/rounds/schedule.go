package rounds

import (
	"cmp"
	"slices"

	"sim/fabric/scaleup"
)

// roundSchedule is a schedule of one chunk per flow. Each unit has a round, and a path
// through the topology of the round's phase. A unit is a flow. If all topologies are
// circulants, it is instead a destination offset: the flows of all sources to this offset,
// which take the same path rotated (Sec. 4.2).
type roundSchedule struct {
	n, k int
	// offsets has the offsets of each phase if all topologies are circulants. Otherwise
	// edges has the topologies.
	offsets [][]int32
	edges   []scaleup.Topology
	// src and dst are the ends of each unit. With offsets, src is 0. round, hops: indexed
	// by unit.
	src, dst []int32
	round    []int32
	hops     []int32
	// paths[u*stride:] are the links of unit u, hops[u] of them, as indices into the
	// phase's offsets or edges. paths is nil if each phase has one offset, which determines
	// the paths.
	paths  []int32
	stride int
	rounds []roundInfo
	origin string
}

// roundInfo has the phase of a round and the largest number of hops of its paths.
type roundInfo struct{ phase, hops int32 }

// isCirculant reports whether all topologies are circulants.
func (s *roundSchedule) isCirculant() bool { return s.offsets != nil }

func (s *roundSchedule) numPhases() int { return max(len(s.offsets), len(s.edges)) }

// clone returns a copy whose rounds and paths can be changed.
func (s *roundSchedule) clone() *roundSchedule {
	c := *s
	c.offsets = slices.Clone(s.offsets)
	c.edges = slices.Clone(s.edges)
	c.round = slices.Clone(s.round)
	c.hops = slices.Clone(s.hops)
	c.paths = slices.Clone(s.paths)
	c.rounds = slices.Clone(s.rounds)
	return &c
}

// path returns the links of unit u.
func (s *roundSchedule) path(u int) []int32 {
	if s.paths == nil {
		return make([]int32, s.hops[u])
	}
	return s.paths[u*s.stride : u*s.stride+int(s.hops[u])]
}

// slots returns the slots of one chunk per flow: the sum of the hops of the rounds.
func (s *roundSchedule) slots() int64 {
	var sum int64
	for _, r := range s.rounds {
		sum += int64(r.hops)
	}
	return sum
}

// normaliseRounds computes the hops of each round, removes empty rounds, and sorts rounds
// by phase and then by hops.
func (s *roundSchedule) normaliseRounds() {
	for i := range s.rounds {
		s.rounds[i].hops = 0
	}
	for u, r := range s.round {
		s.rounds[r].hops = max(s.rounds[r].hops, s.hops[u])
	}

	order := make([]int32, 0, len(s.rounds))
	for i, r := range s.rounds {
		if r.hops > 0 {
			order = append(order, int32(i))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.rounds[a].phase, s.rounds[b].phase),
			cmp.Compare(s.rounds[a].hops, s.rounds[b].hops))
	})
	newIndex := make([]int32, len(s.rounds))
	reordered := make([]roundInfo, len(order))
	for i, r := range order {
		newIndex[r], reordered[i] = int32(i), s.rounds[r]
	}
	for u, r := range s.round {
		s.round[u] = newIndex[r]
	}
	s.rounds = reordered
}

// topology returns the topology of a phase, in the node numbers of the schedule.
func (s *roundSchedule) topology(phase int) scaleup.Topology {
	if !s.isCirculant() {
		return s.edges[phase]
	}
	o := make([]int, len(s.offsets[phase]))
	for i, x := range s.offsets[phase] {
		o[i] = int(x)
	}
	return scaleup.Circulant(s.n, o...)
}

// links returns the number of edges in the topology of a phase.
func (s *roundSchedule) links(phase int) int {
	if s.isCirculant() {
		return s.n * len(s.offsets[phase])
	}
	return len(s.edges[phase])
}

// appendLinks appends the path of unit u for the given source, as edges of the phase's
// topology.
func (s *roundSchedule) appendLinks(links []int32, u int, src int32) []int32 {
	phase := s.rounds[s.round[u]].phase
	if !s.isCirculant() {
		return append(links, s.path(u)...)
	}
	off := s.offsets[phase]
	node := src
	n := int32(s.n)

	deg := int32(len(off))
	for i := range int(s.hops[u]) {
		o := int32(0)
		if s.paths != nil {
			o = s.paths[u*s.stride+i]
		}
		links = append(links, node*deg+o)
		if node += off[o]; node >= n {
			node -= n
		}
	}

	return links
}
