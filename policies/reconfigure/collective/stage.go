package collective

import (
	"fmt"
	"slices"
	"strings"

	"sim/policies/reconfigure/cancellation"
)

// stage is an all-gather on Z_q, the residues modulo q, in one or more phases. A chain (chain.go)
// applies stages to the cosets of one subgroup of the GPUs in another.
type stage struct {
	q      int
	name   string
	phases []broadcastPhase
	loads  [][]int32 // parts on the most loaded link, indexed by phase and step
	steps  int       // of all phases
	parts  int64     // sum of loads
}

// newStage returns the stage of some phases, or nil if they do not reach all of Z_q or a phase
// sends nothing.
func newStage(q int, parts int32, name string, phases ...broadcastPhase) *stage {
	var noMessages func(c, s, i int, m []residueRange) // only loads are needed
	loads, full := runBroadcast(q, parts, phases, noMessages)
	if !full {
		return nil
	}
	s := &stage{q: q, name: name, phases: phases, loads: loads}
	for _, stepLoads := range loads {
		if len(stepLoads) == 0 {
			return nil // this topology carries nothing
		}
		s.steps += len(stepLoads)
		for _, l := range stepLoads {
			s.parts += int64(l)
		}
	}

	return s
}

// unlimitedPhase returns a phase that lasts until it reaches all residues modulo q.
func unlimitedPhase(offsets []int32, q int) broadcastPhase {
	return broadcastPhase{offsets: offsets, steps: q, window: q}
}

// newStages returns the frontier of all-gathers on Z_q with k links. bases[s-1] is the postage basis
// for s steps, which windowStage uses.
func newStages(q, k int, parts int32, bases []stampBasis, stop cancellation.Condition) []*stage {
	var all []*stage
	add := func(s *stage) {
		if s != nil {
			all = append(all, s)
		}
	}
	for _, r := range ringSets(q, k) {
		stop.Check()
		add(newStage(q, parts, r.name, unlimitedPhase(r.offsets, q)))
	}
	if offsets := searchCirculant(q, k, stop); offsets != nil {
		add(newStage(q, parts, fmt.Sprintf("circulant %d", q), unlimitedPhase(offsets, q)))
	}

	// Windows with more phases are useful only if they take fewer steps.
	minimum := q
	for _, s := range all {
		minimum = min(minimum, s.steps)
	}
	for e := 2; e < minimum; e++ { // one phase per step is left to chains
		stop.Check()
		if s := windowStage(q, k, e, parts, bases); s != nil {
			add(s)
			minimum = min(minimum, s.steps)
		}
	}

	return frontier(all, func(s *stage) planCriteria {
		return planCriteria{phases: len(s.phases), steps: s.steps, parts: s.parts}
	})
}

// ringSet is a set of static rings.
type ringSet struct {
	name    string
	offsets []int32
}

// ringSets returns the static rings on Z_q: one ring, in which k links share the data; half of
// the links in each direction; and rings of k strides, whose links bring k shards per step. If
// fewer than k residues remain at the end, links share their parts.
func ringSets(q, k int) []ringSet {
	one := make([]int32, k)
	bidirectional := make([]int32, k)
	strides := make([]int32, k)
	for i := range k {
		one[i], bidirectional[i], strides[i] = 1, 1, int32(i%(q-1))+1
		if i%2 == 1 {
			bidirectional[i] = int32(q - 1)
		}
	}

	list := []ringSet{{name: fmt.Sprintf("ring %d", q), offsets: one}}
	if k > 1 && q > 2 {
		list = append(list, ringSet{name: fmt.Sprintf("ring %d both ways", q), offsets: bidirectional},
			ringSet{name: fmt.Sprintf("%d strides %d", min(k, q-1), q), offsets: strides})
	}
	return list
}

// power returns b^e, at most 2^31.
func power(b, e int) int {
	p := 1
	for range e {
		if p *= b; p > 1<<31 {
			return 1 << 31
		}
	}
	return p
}

// windowStage returns the all-gather on Z_q in e phases that reach a growing window 0..w-1. A
// phase of s steps multiplies the window by the reach of k stamps with s terms. For s = 1 this is
// k+1, as in the algorithm of Bruck et al., "Efficient algorithms for all-to-all communications
// in multiport message-passing systems", 1997. The last phase ends at q. The number of steps is
// the minimum that windows allow. The result is nil if some phase would be useless.
func windowStage(q, k, e int, parts int32, bases []stampBasis) *stage {
	stepCounts := splitSteps(bases, q, e)
	if stepCounts == nil {
		return nil
	}

	// Single steps last, because their links can be balanced.
	slices.SortFunc(stepCounts, func(a, b int) int { return b - a })
	var phases []broadcastPhase

	window := 1
	for i, s := range stepCounts {
		b := bases[s-1]
		next := min(q, window*b.reach)
		if i == e-1 {
			next = q
		}
		if next == window {
			return nil
		}
		offsets := offsetMultiples(b.numbers, window, q)
		if s == 1 {
			offsets = evenOffsets(window, next, k)
		}
		phases = append(phases, broadcastPhase{offsets: offsets, steps: s, window: next})
		window = next
	}

	return newStage(q, parts, fmt.Sprintf("windows %d", q), phases...)
}

// offsetMultiples returns window times each number, mod q; multiples of q are replaced by window.
func offsetMultiples(numbers []int32, window, q int) []int32 {
	offsets := make([]int32, len(numbers))
	for i, c := range numbers {
		if offsets[i] = int32(int(c) * window % q); offsets[i] == 0 {
			offsets[i] = int32(window)
		}
	}
	return offsets
}

// evenOffsets returns k offsets that map 0..window-1 to equally spaced ranges in window..next-1.
// They repeat if fewer than k residues remain.
func evenOffsets(window, next, k int) []int32 {
	offsets := make([]int32, k)
	for i := range offsets {
		offsets[i] = int32(window + i*(next-window)/k)
	}
	return offsets
}

// joinNames joins the names of stages.
func joinNames(list []*stage) string {
	text := make([]string, len(list))
	for i, s := range list {
		text[i] = s.name
	}
	return strings.Join(text, ", ")
}
