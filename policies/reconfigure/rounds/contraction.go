package rounds

import (
	"cmp"
	"slices"
	"strings"

	"sim/fabric/scaleup"
	"sim/internal/csr"
	"sim/internal/numbers"
	"sim/policies/reconfigure/cancellation"
)

// This file implements two steps of the construction of "To Reconfigure or Not to Reconfigure",
// called the paper below. A schedule is a sequence of rounds. A round is a set of flows that start
// together on one topology and use no link in the same step, so it takes as many slots as its
// longest path has hops. Contraction replaces the paths of one round by direct links of an
// additional topology (Sec. 4.3 of the paper). Merging unites rounds that do not conflict
// (Sec. 4.2 of the paper).
//
// Flows are handled in classes. In a circulant, all flows with the same destination offset are a
// class, represented by the flow from node 0. Otherwise every flow is a class.

// contractLongestRound returns the schedule with an additional topology that connects the ends
// of the flows of a longest round directly. The result is nil if there is no such round with more
// than one hop.
//
// tie selects one of several longest rounds: 0 the round with the most paths, 1 the next. Links
// of the new topology that its flows leave unused connect flows of the next longest rounds,
// flows with more hops first. A flow keeps its path if k links already start at its source, or
// if k links already end at its destination.
func (s *roundSchedule) contractLongestRound(tie int) *roundSchedule {
	ranked := s.rankRounds(tie)
	if ranked == nil {
		return nil
	}

	// Add an empty topology with one round of one hop.
	c := s.clone()
	c.origin = s.baseName() + ", contraction"
	newRound := int32(len(c.rounds))
	c.rounds = append(c.rounds, roundInfo{phase: int32(s.numPhases()), hops: 1})

	// Connect the flows directly in order while their ports are free.
	usedOut := make([]int32, s.n) // ports used, indexed by node
	usedIn := make([]int32, s.n)
	var offsets []int32
	var edges scaleup.Topology
	for _, u := range s.contractionOrder(ranked) {
		src, dst := s.src[u], s.dst[u]
		if usedOut[src] == int32(s.k) || usedIn[dst] == int32(s.k) {
			continue
		}
		usedOut[src]++
		usedIn[dst]++

		var link int32
		if s.isCirculant() {
			// The class is represented by its flow from node 0, so dst is its offset.
			link = int32(len(offsets))
			offsets = append(offsets, dst)
		} else {
			link = int32(len(edges))
			edges = append(edges, scaleup.Edge{From: src, To: dst})
		}

		// The path of class u, stored from u*stride on, becomes this link.
		c.round[u], c.hops[u], c.paths[int(u)*c.stride] = newRound, 1, link
	}

	if s.isCirculant() {
		c.offsets = append(c.offsets, offsets)
	} else {
		c.edges = append(c.edges, edges)
	}
	return c
}

// rankRounds returns the rounds in the order in which they are contracted: by decreasing hops and
// then by decreasing number of paths, except that the round selected by tie comes first. The
// result is nil if the selected round is not a longest one, or if it has only one hop.
func (s *roundSchedule) rankRounds(tie int) []int32 {
	numPaths := make([]int32, len(s.rounds))
	for _, r := range s.round {
		numPaths[r]++
	}
	ranked := numbers.Below(int32(len(s.rounds)))
	slices.SortStableFunc(ranked, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.rounds[b].hops, s.rounds[a].hops),
			cmp.Compare(numPaths[b], numPaths[a]))
	})

	if tie >= len(ranked) {
		return nil
	}
	selected, maxHops := ranked[tie], s.rounds[ranked[0]].hops
	if s.rounds[selected].hops < maxHops || maxHops < 2 {
		return nil
	}
	copy(ranked[1:tie+1], ranked[:tie])
	ranked[0] = selected
	return ranked
}

// contractionOrder returns the classes of flows with several hops: by the position of their round
// in ranked, then by decreasing hops.
func (s *roundSchedule) contractionOrder(ranked []int32) []int32 {
	position := make([]int32, len(ranked)) // in ranked, indexed by round
	for i, r := range ranked {
		position[r] = int32(i)
	}

	var order []int32
	for u, h := range s.hops {
		if h > 1 {
			order = append(order, int32(u))
		}
	}
	// Both sorts are stable, so the second one keeps the order of hops within a round.
	maxHops := slices.Max(s.hops)
	_, order = csr.Sort(order, int(maxHops)+1, func(u int32) int32 { return maxHops - s.hops[u] })
	_, order = csr.Sort(order, len(position), func(u int32) int32 { return position[s.round[u]] })
	return order
}

// baseName returns the part of origin before the first comma: the name of the base topology.
func (s *roundSchedule) baseName() string {
	name, _, _ := strings.Cut(s.origin, ",")
	return name
}

// mergeRounds merges rounds of a phase that use no link (in a circulant, no generator) in the same
// step. First fit: from the longest round to the shortest, each round is merged into the first
// round before it that does not conflict with it. A merged round takes as many slots as the longest
// round in it.
//
// The rounds that were merged into others are left without flows, and the order of rounds is left
// as it was. The caller calls normaliseRounds next, which removes empty rounds and sorts the rest.
func (s *roundSchedule) mergeRounds(stop cancellation.Condition) {
	s.updateRoundHops()
	used := s.newUsedLinks()

	// Sort the rounds by phase and then by decreasing hops.
	order := numbers.Below(int32(len(s.rounds)))
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.rounds[a].phase, s.rounds[b].phase),
			cmp.Compare(s.rounds[b].hops, s.rounds[a].hops))
	})

	mergedInto := numbers.Below(int32(len(s.rounds))) // indexed by round; the round itself if it is not merged
	phaseStart := 0                                   // position in order
	for i, b := range order {
		stop.Check()
		if s.rounds[order[phaseStart]].phase != s.rounds[b].phase {
			phaseStart = i
		}
		for _, a := range order[phaseStart:i] {
			if mergedInto[a] == a && areDisjoint(used.round(a), used.round(b)) {
				mergedInto[b] = a
				used.add(a, b)
				break
			}
		}
	}

	for u, r := range s.round {
		s.round[u] = mergedInto[r]
	}
}

// updateRoundHops computes the hops of each round: the maximum over its flows.
func (s *roundSchedule) updateRoundHops() {
	for i := range s.rounds {
		s.rounds[i].hops = 0
	}
	for u, r := range s.round {
		s.rounds[r].hops = max(s.rounds[r].hops, s.hops[u])
	}
}

// usedLinks holds, for each round, the set of pairs (step, link) that its paths use, as a bit set.
// In a circulant, links are identified by generator, since the flows of a class use all links of
// a generator in the same step.
type usedLinks struct {
	words int      // words per round
	bits  []uint64 // words of all rounds; bit number within a round: step x number of links + link
}

// newUsedLinks returns the links that the paths of each round use.
func (s *roundSchedule) newUsedLinks() *usedLinks {
	numLinks := 0 // maximum over the phases
	for i := range s.numPhases() {
		if s.isCirculant() {
			numLinks = max(numLinks, len(s.offsets[i]))
		} else {
			numLinks = max(numLinks, len(s.edges[i]))
		}
	}
	steps := 0
	for _, h := range s.hops {
		steps = max(steps, int(h))
	}

	w := &usedLinks{words: (numLinks*steps + 63) / 64}
	w.bits = make([]uint64, w.words*len(s.rounds))
	for u, r := range s.round {
		set := w.round(r)
		for step, link := range s.path(u) {
			bit := step*numLinks + int(link)
			set[bit/64] |= 1 << (bit % 64)
		}
	}
	return w
}

// round returns the set of round r.
func (w *usedLinks) round(r int32) []uint64 {
	return w.bits[int(r)*w.words : (int(r)+1)*w.words]
}

// add adds the set of round b to the set of round a.
func (w *usedLinks) add(a, b int32) {
	set := w.round(a)
	for i, x := range w.round(b) {
		set[i] |= x
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
