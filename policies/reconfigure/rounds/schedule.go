package rounds

import (
	"cmp"
	"slices"

	"sim/fabric/scaleup"
)

// scheme is a schedule of one chunk for every flow: each unit has a round, and a path through the topology of the
// round's phase. A unit is a flow, or, where all topologies are circulant, a destination offset: the flows of all
// sources to that offset, which take the same path rotated (Sec. 4.2).
type scheme struct {
	n, k int
	// offsets holds those of every phase where all are circulant; else edges holds the topologies.
	offsets [][]int32
	edges   []scaleup.Topology
	// src and dst are the units' ends, as GPUs; with offsets src is 0 throughout.
	src, dst []int32
	round    []int32
	hops     []int32
	// way[u*stride:] are the links of unit u, hops[u] of them: indices into the phase's offsets or edges. nil where a
	// phase has one offset and nothing is left to say.
	way    []int32
	stride int
	rounds []span
	origin string
}

// span is a round: its phase and the most hops of its paths.
type span struct{ phase, hops int32 }

func (s *scheme) circulant() bool { return s.offsets != nil }

func (s *scheme) phases() int { return max(len(s.offsets), len(s.edges)) }

func (s *scheme) clone() *scheme {
	c := *s
	c.offsets, c.edges = slices.Clone(s.offsets), slices.Clone(s.edges)
	c.round, c.hops, c.way = slices.Clone(s.round), slices.Clone(s.hops), slices.Clone(s.way)
	c.rounds = slices.Clone(s.rounds)
	return &c
}

// path returns the links of unit u.
func (s *scheme) path(u int) []int32 {
	if s.way == nil {
		return make([]int32, s.hops[u])
	}
	return s.way[u*s.stride : u*s.stride+int(s.hops[u])]
}

// slots is the sum over rounds of their hops: the cost of one chunk for every flow.
func (s *scheme) slots() int64 {
	var sum int64
	for _, r := range s.rounds {
		sum += int64(r.hops)
	}
	return sum
}

// measure recomputes every round's hops, drops the rounds without a path and puts the rest in the order of their
// phases, short ones first.
func (s *scheme) measure() {
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
		return cmp.Or(cmp.Compare(s.rounds[a].phase, s.rounds[b].phase), cmp.Compare(s.rounds[a].hops, s.rounds[b].hops))
	})
	place, kept := make([]int32, len(s.rounds)), make([]span, len(order))
	for i, r := range order {
		place[r], kept[i] = int32(i), s.rounds[r]
	}
	for u, r := range s.round {
		s.round[u] = place[r]
	}
	s.rounds = kept
}

// topology returns that of a phase, on the scheme's own labels.
func (s *scheme) topology(phase int) scaleup.Topology {
	if !s.circulant() {
		return s.edges[phase]
	}
	o := make([]int, len(s.offsets[phase]))
	for i, x := range s.offsets[phase] {
		o[i] = int(x)
	}
	return scaleup.Circulant(s.n, o...)
}

// links is the number of edges of a phase's topology.
func (s *scheme) links(phase int) int {
	if s.circulant() {
		return s.n * len(s.offsets[phase])
	}
	return len(s.edges[phase])
}

// walk appends to links those, as edges of the phase's topology, of unit u's path for source src.
func (s *scheme) walk(links []int32, u int, src int32) []int32 {
	phase := s.rounds[s.round[u]].phase
	if !s.circulant() {
		return append(links, s.path(u)...)
	}
	off := s.offsets[phase]
	at, n, deg := src, int32(s.n), int32(len(off))
	for i := range int(s.hops[u]) {
		o := int32(0)
		if s.way != nil {
			o = s.way[u*s.stride+i]
		}
		links = append(links, at*deg+o)
		if at += off[o]; at >= n {
			at -= n
		}
	}
	return links
}
