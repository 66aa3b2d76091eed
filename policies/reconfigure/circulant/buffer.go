package circulant

import (
	"slices"

	"sim/policies/reconfigure/plan"
)

// fitBuffers returns the results of fitBuffer that exist.
func (l *allToAllPlanner) fitBuffers(list []*sourceSchedule) (fitting []*sourceSchedule) {
	for _, s := range list {
		if s = l.fitBuffer(s); s != nil {
			fitting = append(fitting, s)
		}
	}
	return fitting
}

// fitBuffer returns the schedule if it respects the buffer limit, else a similar one in
// which some destinations give up paths that keep chunks in transit, or nil if none fits.
//
// Destinations first give up relaying, in increasing order of their loss. In the same order
// they then give up paths over several offsets of a phase, because chunks that use one
// offset can follow each other without waiting. The number of such steps is minimised by
// bisection. It may not be the minimum if the buffer is not monotone in the steps.
func (l *allToAllPlanner) fitBuffer(s *sourceSchedule) *sourceSchedule {
	limit := l.options.BufferLimit
	if limit == 0 || s.timetable(l.options.Stop).buffer <= limit {
		return s
	}

	// Paths by level of restriction: with relaying, within one phase, over one offset.
	levels := make([][]offsetPath, 0, 3)
	if s.relay {
		levels = append(levels, relayPaths(l.n, s.phases))
	}
	levels = append(levels, phasePaths(l.n, s.phases, 0, false),
		phasePaths(l.n, s.phases, 0, true))
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

// restrictionSteps returns the order in which offsets advance to the next level of paths:
// all to the second level before any to the third, in increasing order of their additional
// hops. An offset without paths of a level does not advance to it.
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
