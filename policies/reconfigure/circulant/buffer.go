package circulant

import (
	"slices"

	"sim/policies/reconfigure/plan"
)

// This file changes schedules so that they respect a limit of the buffers: the number of chunks in
// transit that a GPU holds between two slots.

// fitBuffers applies fitBuffer to each schedule, and leaves out schedules for which nothing fits.
func (l *allToAllPlanner) fitBuffers(list []*sourceSchedule) (fitting []*sourceSchedule) {
	for _, s := range list {
		if s = l.fitBuffer(s); s != nil {
			fitting = append(fitting, s)
		}
	}
	return fitting
}

// fitBuffer returns the schedule if it respects the buffer limit. Otherwise it returns a schedule on
// the same phases in which the paths to some offsets are restricted, or nil if none fits.
//
// There are three levels of restriction: paths may use all phases (only if the schedule relays
// chunks), one phase, or one generator. Chunks that use one generator can follow each other without
// waiting. A step moves one offset to the next level; restrictionSteps orders the steps. Bisection
// finds a small number of steps that suffices. It is the minimum if further steps never increase
// the buffer.
func (l *allToAllPlanner) fitBuffer(s *sourceSchedule) *sourceSchedule {
	limit := l.options.BufferLimit
	if limit == 0 || s.timetable(l.options.Stop).buffer <= limit {
		return s
	}

	levels := make([][]offsetPath, 0, 3) // paths to all offsets, indexed by level of restriction
	if s.relay {
		levels = append(levels, relayPaths(l.n, s.phases))
	}
	levels = append(levels, phasePaths(l.n, s.phases, noSlack),
		singleGeneratorPaths(l.n, s.phases, noSlack))
	steps := l.restrictionSteps(levels)

	// attempt returns a schedule after the given number of steps, or nil if it exceeds the limit.
	attempt := func(numSteps int) *sourceSchedule {
		levelOf := make([]int, l.n) // indexed by offset
		for _, offset := range steps[:numSteps] {
			levelOf[offset]++
		}
		var paths []offsetPath
		for level, list := range levels {
			for _, path := range list {
				if levelOf[path.to] == level {
					paths = append(paths, path)
				}
			}
		}

		t := l.balanceChunks(s.phases, paths, s.relay, noPerturbations)
		if t.timetable(l.options.Stop).buffer > limit {
			return nil
		}
		return t
	}

	// Bisection: low steps exceed the limit, and high steps respect it.
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
	hops := make([][]int32, len(levels)) // minimum hops, indexed by level and offset
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
