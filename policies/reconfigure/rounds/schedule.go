package rounds

import (
	"cmp"
	"slices"

	"sim/fabric/scaleup"
)

// roundSchedule is a schedule of one chunk per flow, from each node to each other node. Each flow
// has a round, and a path through the topology of the round's phase.
//
// Flows are handled in classes. If all topologies are circulants, a class has the flows of all
// sources to the same destination offset, which take the same path rotated (Sec. 4.2 of "To
// Reconfigure or Not to Reconfigure"). It is represented by the flow from node 0. Otherwise each
// flow is a class.
type roundSchedule struct {
	n, k int // number of nodes, and links from each node
	// offsets has the offsets of each phase if all topologies are circulants. Otherwise
	// edges has the topologies.
	offsets [][]int32
	edges   []scaleup.Topology

	// Indexed by class of flows.
	src, dst []int32 // ends of the flow; with offsets, src is 0
	round    []int32 // index into rounds
	hops     []int32 // hops of the path
	// paths[u*stride:] are the links of class u, hops[u] of them, as indices into the
	// phase's offsets or edges. paths is nil if each phase has one offset, which determines
	// the paths.
	paths  []int32
	stride int

	rounds []roundInfo
	origin string // name of the construction in results
}

// roundInfo describes a round.
type roundInfo struct {
	phase int32 // index of the topology
	hops  int32 // maximum over the paths of the round
}

// isCirculant reports whether all topologies are circulants.
func (s *roundSchedule) isCirculant() bool { return s.offsets != nil }

// numPhases returns the number of topologies.
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

// path returns the links of class u, as indices into the offsets or edges of its phase.
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
	s.updateRoundHops()
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

// appendLinks appends the path of class u for the given source. Links are numbered as the edges of the
// phase's topology. In a circulant, link i*d+j goes from node i over the j-th of d offsets.
func (s *roundSchedule) appendLinks(links []int32, u int, src int32) []int32 {
	phase := s.rounds[s.round[u]].phase
	if !s.isCirculant() {
		return append(links, s.path(u)...)
	}
	offsets := s.offsets[phase]
	node := src
	n := int32(s.n)

	degree := int32(len(offsets))
	for i := range int(s.hops[u]) {
		index := int32(0)
		if s.paths != nil {
			index = s.paths[u*s.stride+i]
		}
		links = append(links, node*degree+index)
		if node += offsets[index]; node >= n {
			node -= n
		}
	}

	return links
}
