package collective

import (
	"fmt"
	"slices"
	"strings"

	"sim/policies/reconfigure/halt"
)

// stage is an all-gather on Z_q in one or more phases.
type stage struct {
	q      int
	name   string
	phases []broadcastPhase
	loads  [][]int32 // by course and step: parts on the fullest link
	steps  int
	parts  int64 // sum of loads
}

func newStage(q int, parts int32, name string, courses ...broadcastPhase) *stage {
	loads, full := runBroadcast(q, parts, courses, nil)
	if !full {
		return nil
	}
	s := &stage{q: q, name: name, phases: courses, loads: loads}
	for _, of := range loads {
		if len(of) == 0 {
			return nil // a topology that nothing is sent on
		}
		s.steps += len(of)
		for _, l := range of {
			s.parts += int64(l)
		}
	}
	return s
}

// newStages returns the all-gathers on Z_q with k links that none other found beats in phases, steps and parts alike.
// bases are the stamps for windows.
func newStages(q, k int, parts int32, bases []stampBasis, stop halt.When) []*stage {
	var all []*stage
	add := func(s *stage) {
		if s != nil {
			all = append(all, s)
		}
	}
	for _, r := range ringSets(q, k) {
		stop.Check()
		add(newStage(q, parts, r.name, broadcastPhase{r.offsets, q, q}))
	}
	if offsets := searchCirculant(q, k, stop); offsets != nil {
		add(newStage(q, parts, fmt.Sprintf("circulant %d", q), broadcastPhase{offsets, q, q}))
	}
	minimum := q
	for _, s := range all {
		minimum = min(minimum, s.steps)
	}
	for e := 2; e < minimum; e++ { // as many phases as steps are of no use
		stop.Check()
		if s := windowStage(q, k, e, parts, bases); s != nil {
			add(s)
			minimum = min(minimum, s.steps)
		}
	}
	return frontier(all, func(s *stage) cost { return cost{len(s.phases), s.steps, s.parts} })
}

// ringSet is a static set of rings.
type ringSet struct {
	name    string
	offsets []int32
}

// ringSets returns the static rings on Z_q: one, k side by side with a share of the data each; half of them the other way
// round; and rings of k strides, whose links bring k shards a step (of each element the parts that are left at the end
// are shared).
func ringSets(q, k int) []ringSet {
	one, ways, strides := make([]int32, k), make([]int32, k), make([]int32, k)
	for i := range k {
		one[i], ways[i], strides[i] = 1, 1, int32(i%(q-1))+1
		if i%2 == 1 {
			ways[i] = int32(q - 1)
		}
	}
	list := []ringSet{{fmt.Sprintf("ring %d", q), one}}
	if k > 1 && q > 2 {
		list = append(list, ringSet{fmt.Sprintf("ring %d both ways", q), ways}, ringSet{fmt.Sprintf("%d strides %d", min(k, q-1), q), strides})
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

// windowStage returns the all-gather on Z_q in e phases that reach a growing window 0..w-1: a phase of s steps multiplies
// the window by what the sums of up to s of k numbers can be (for s = 1 by k+1, as the algorithm of Bruck et al.,
// "Efficient algorithms for all-to-all communications in multiport message-passing systems", 1997), the last one ends
// it. Total steps are the fewest that the windows allow. nil if every phase would not have its use.
func windowStage(q, k, e int, parts int32, bases []stampBasis) *stage {
	lasts := splitSteps(bases, q, e)
	if lasts == nil {
		return nil
	}
	slices.SortFunc(lasts, func(a, b int) int { return b - a }) // single steps last: those can be balanced to the end
	var courses []broadcastPhase
	window := 1
	for i, s := range lasts {
		b := bases[s-1]
		next := min(q, window*b.reach)
		if i == e-1 {
			next = q
		}
		if next == window {
			return nil
		}
		offsets := scaledOffsets(b.numbers, window, q)
		if s == 1 {
			offsets = evenOffsets(window, next, k)
		}
		courses = append(courses, broadcastPhase{offsets, s, next})
		window = next
	}
	return newStage(q, parts, fmt.Sprintf("windows %d", q), courses...)
}

// scaledOffsets returns window times each number, mod q; multiples of q are the window itself instead.
func scaledOffsets(numbers []int32, window, q int) []int32 {
	offsets := make([]int32, len(numbers))
	for i, c := range numbers {
		if offsets[i] = int32(int(c) * window % q); offsets[i] == 0 {
			offsets[i] = int32(window)
		}
	}
	return offsets
}

// evenOffsets returns k offsets that take 0..window-1 to equal stretches of window..next-1; with fewer to reach than links,
// some twice.
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
