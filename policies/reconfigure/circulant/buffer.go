package circulant

import (
	"slices"

	"sim/policies/reconfigure/plan"
)

// fitBuffers returns what fit makes of a list.
func (l *allToAllPlanner) fitBuffers(list []*sourceSchedule) (fitting []*sourceSchedule) {
	for _, s := range list {
		if s = l.fitBuffer(s); s != nil {
			fitting = append(fitting, s)
		}
	}
	return fitting
}

// fitBuffer returns the scheme, or where the most chunks in transit exceed the limit of the buffer, one like it in which
// destinations give up ways that keep chunks in transit: first relaying, those first that lose least by it, then,
// alike, ways of several offsets in a phase, since chunks that keep to one offset can follow each other without
// waiting. As few give up as fit (by bisection, so that fewer may do where the need is not monotone). nil if none fit.
func (l *allToAllPlanner) fitBuffer(s *sourceSchedule) *sourceSchedule {
	limit := l.options.BufferLimit
	if limit == 0 || s.timetable(l.options.Stop).buffer <= limit {
		return s
	}
	// Words by how much they give up: relaying or not, then one phase only, then one offset only.
	levels := make([][]offsetPath, 0, 3)
	if s.relay {
		levels = append(levels, relayPaths(l.n, s.phases))
	}
	levels = append(levels, phasePaths(l.n, s.phases, 0, false), phasePaths(l.n, s.phases, 0, true))
	steps := l.restrictionSteps(levels)
	attempt := func(count int) *sourceSchedule {
		level := make([]int, l.n)
		for _, o := range steps[:count] {
			level[o]++
		}
		var words []offsetPath
		for i, list := range levels {
			for _, w := range list {
				if level[w.to] == i {
					words = append(words, w)
				}
			}
		}
		t := l.balanceChunks(s.phases, words, s.relay, 0)
		if t.timetable(l.options.Stop).buffer > limit {
			return nil
		}
		return t
	}
	best := attempt(len(steps))
	if best == nil {
		return nil
	}
	for low, high := 0, len(steps); high-low > 1; {
		middle := (low + high) / 2
		if t := attempt(middle); t != nil {
			best, high = t, middle
		} else {
			low = middle
		}
	}
	return best
}

// restrictionSteps orders the steps in which offsets go from each level of words to the next: all to the second level before
// any to the third, those first whose ways grow least. Offsets without words of a level cannot go there.
func (l *allToAllPlanner) restrictionSteps(levels [][]offsetPath) (steps []int) {
	hops := make([][]int32, len(levels))
	for i, list := range levels {
		hops[i] = slices.Repeat([]int32{plan.Far}, l.n)
		for _, w := range list {
			hops[i][w.to] = min(hops[i][w.to], w.hops)
		}
	}
	for i := range len(levels) - 1 {
		var offsets []int
		for o := 1; o < l.n; o++ {
			if hops[i+1][o] < plan.Far {
				offsets = append(offsets, o)
			}
		}
		slices.SortStableFunc(offsets, func(a, b int) int {
			return int(hops[i+1][a] - hops[i][a] - hops[i+1][b] + hops[i][b])
		})
		steps = append(steps, offsets...)
	}
	return steps
}
