package rounds

import (
	"cmp"
	"slices"

	"sim/fabric/scaleup"
	"sim/internal/csr"
	"sim/internal/numbers"
	"sim/policies/reconfigure/halt"
)

// contract returns the schedule with one topology more, which joins the ends of the flows of the longest round directly
// (Sec. 4.3). Of several longest rounds, those with most paths first, it takes number tie. Links left free join the
// flows of the next longest rounds; flows of more hops go first, and one that would be more than k into its destination
// keeps its way. nil if there is no such round of more than one hop.
func (s *scheme) contract(tie int) *scheme {
	paths := make([]int32, len(s.rounds))
	for _, r := range s.round {
		paths[r]++
	}
	rank := numbers.Below(int32(len(s.rounds)))
	slices.SortStableFunc(rank, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.rounds[b].hops, s.rounds[a].hops), cmp.Compare(paths[b], paths[a]))
	})
	if tie >= len(rank) || s.rounds[rank[tie]].hops < s.rounds[rank[0]].hops || s.rounds[rank[0]].hops < 2 {
		return nil
	}
	first := rank[tie]
	copy(rank[1:tie+1], rank[:tie])
	rank[0] = first
	place := make([]int32, len(rank))
	for i, r := range rank {
		place[r] = int32(i)
	}
	var order []int32
	for u, h := range s.hops {
		if h > 1 {
			order = append(order, int32(u))
		}
	}
	most := slices.Max(s.hops)
	_, order = csr.Sort(order, int(most)+1, func(u int32) int32 { return most - s.hops[u] })
	_, order = csr.Sort(order, len(place), func(u int32) int32 { return place[s.round[u]] })
	c := s.clone()
	c.origin = s.base() + ", contraction"
	number := int32(len(c.rounds))
	c.rounds = append(c.rounds, span{phase: int32(s.phases()), hops: 1})
	out, in := make([]int32, s.n), make([]int32, s.n)
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
		if s.circulant() {
			link = int32(len(offsets))
			offsets = append(offsets, w)
		} else {
			edges = append(edges, scaleup.Edge{From: v, To: w})
		}
		c.round[u], c.hops[u], c.way[int(u)*c.stride] = number, 1, link
	}
	if s.circulant() {
		c.offsets = append(c.offsets, offsets)
	} else {
		c.edges = append(c.edges, edges)
	}
	return c
}

// base is the origin's first part.
func (s *scheme) base() string {
	for i := range s.origin {
		if s.origin[i] == ',' {
			return s.origin[:i]
		}
	}
	return s.origin
}

// combine merges rounds of a phase that use no link in the same step: long ones first, each into the first it can join
// (Sec. 4.2). The merged round costs what the longer one did. Rounds left empty are for measure to drop.
func (s *scheme) combine(stop halt.When) {
	names, steps := 0, 0
	for i := range s.phases() {
		if s.circulant() {
			names = max(names, len(s.offsets[i]))
		} else {
			names = max(names, len(s.edges[i]))
		}
	}
	for i := range s.rounds {
		s.rounds[i].hops = 0
	}
	for u, r := range s.round {
		s.rounds[r].hops = max(s.rounds[r].hops, s.hops[u])
		steps = max(steps, int(s.hops[u]))
	}
	// The set of (step, link) of a round, as words.
	words := (names*steps + 63) / 64
	set := make([]uint64, words*len(s.rounds))
	for u, r := range s.round {
		for step, name := range s.path(u) {
			bit := step*names + int(name)
			set[int(r)*words+bit/64] |= 1 << (bit % 64)
		}
	}
	order := make([]int32, len(s.rounds))
	into := make([]int32, len(s.rounds))
	for i := range order {
		order[i], into[i] = int32(i), int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.rounds[a].phase, s.rounds[b].phase), cmp.Compare(s.rounds[b].hops, s.rounds[a].hops))
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
			if into[a] == a && apart(set[int(a)*words:int(a+1)*words], set[int(b)*words:int(b+1)*words]) {
				into[b] = a
				for w := range words {
					set[int(a)*words+w] |= set[int(b)*words+w]
				}
				break
			}
		}
	}
	for u, r := range s.round {
		s.round[u] = into[r]
	}
}

func apart(a, b []uint64) bool {
	for i, x := range a {
		if x&b[i] != 0 {
			return false
		}
	}
	return true
}
