package circulant

import (
	"slices"

	"sim/policies/reconfigure/cancellation"
)

// This file assigns the hops of the chunks of one source to slots. The chunks of the other sources
// follow by rotation. In a slot, each generator takes at most one hop of the source's chunks, and
// each chunk makes at most one hop: an open shop of unit tasks (openshop.go).

// scheduledHop is one hop of a chunk of the source.
type scheduledHop struct {
	slot  int32 // within its phase
	chunk int32 // index in timetable.chunks
	gen   int32 // generator
}

// timetable is a schedule with a slot for each hop.
type timetable struct {
	*sourceSchedule
	chunks []sourceChunk
	// order lists the phases of the schedule in the order in which they are set up, without
	// phases that carry no chunk.
	order []int
	hops  [][]scheduledHop // indexed as order; sorted by slot
	// buffer is the maximum number of chunks in transit after a slot. Each GPU holds one of
	// every chunk that the source has in transit, because all GPUs are equivalent.
	buffer int32
}

// timetable assigns the hops of all phases to slots.
func (s *sourceSchedule) timetable(stop cancellation.Condition) *timetable {
	t := &timetable{sourceSchedule: s, chunks: s.sourceChunks()}
	t.order = t.orderPhases(stop)
	remaining := make([]int32, len(t.chunks)) // hops in this phase and later ones, indexed by chunk
	for i, j := range t.chunks {
		remaining[i] = s.paths.hops[j.path]
	}
	started := make([]bool, len(t.chunks)) // whether an earlier phase has hops of the chunk

	transit := int32(0) // chunks in transit after the last slot
	for _, p := range t.order {
		// The jobs of the open shop are the chunks with hops in this phase.
		var chunks, laterHops, pathOf []int32 // indexed by job
		var currentHops []int32               // indexed by job*k + generator of the phase
		var inTransit []bool                  // indexed by job
		stop.Check()
		for i, j := range t.chunks {
			hops := int32(0)
			for w := s.paths.pathStart[j.path]; w < s.paths.pathStart[j.path+1]; w++ {
				if g := int(s.paths.gen[w]); g/s.k == p {
					if hops == 0 {
						currentHops = append(currentHops, make([]int32, s.k)...)
					}
					currentHops[len(currentHops)-s.k+g%s.k] = s.paths.count[w]
					hops += s.paths.count[w]
				}
			}

			if hops > 0 {
				remaining[i] -= hops
				chunks = append(chunks, int32(i))
				laterHops = append(laterHops, remaining[i])
				pathOf = append(pathOf, j.path)
				inTransit = append(inTransit, started[i])
				started[i] = true
			}
		}

		// Each slot matches jobs with generators. The phase has as many slots as its open shop
		// needs (setSlots), so no hop remains after the last slot.
		jobs := newOpenShop(s.k, currentHops, laterHops, pathOf, inTransit)
		moves := make([]scheduledHop, 0, len(chunks))
		for slot := range int32(s.slots[p]) {
			stop.Check()
			jobs.matchSlot(int32(s.slots[p]) - slot)
			for j, job := range jobs.matched { // the job matched with generator j, or -1
				if job >= 0 {
					moves = append(moves, scheduledHop{slot: slot, chunk: chunks[job], gen: int32(p*s.k + j)})
				}
			}

			transit += jobs.commitSlot()
			t.buffer = max(t.buffer, transit)
		}

		t.hops = append(t.hops, moves)
	}

	return t
}

// orderPhases orders the phases that carry chunks so that few chunks are in transit at a
// reconfiguration. Greedily, the next phase is the one with the minimum number of chunks in
// transit after it.
func (t *timetable) orderPhases(stop cancellation.Condition) []int {
	var remaining []int
	for p, x := range t.slots {
		if x > 0 {
			remaining = append(remaining, p)
		}
	}
	if !t.relay {
		return remaining
	}

	// A visit has the phases of a chunk that uses several phases.
	type visit struct {
		phases []int
		left   int // number of these phases that are not in order yet
	}

	var visits []visit
	for _, j := range t.chunks {
		var phases []int
		for _, g := range t.paths.gen[t.paths.pathStart[j.path]:t.paths.pathStart[j.path+1]] {
			if p := int(g) / t.k; !slices.Contains(phases, p) {
				phases = append(phases, p)
			}
		}
		if len(phases) > 1 {
			visits = append(visits, visit{phases: phases, left: len(phases)})
		}
	}

	var order []int
	for len(remaining) > 0 {
		stop.Check()

		// Count the chunks that have begun, but not ended, if phase p comes next.
		best, minTransit := -1, 0
		for i, p := range remaining {
			transit := 0
			for _, v := range visits { // v is a copy, so visits stays as it is
				if slices.Contains(v.phases, p) {
					v.left--
				}
				if v.left > 0 && v.left < len(v.phases) {
					transit++
				}
			}

			if best < 0 || transit < minTransit {
				best, minTransit = i, transit
			}
		}

		// The selected phase is over for the chunks that use it.
		for i := range visits {
			if slices.Contains(visits[i].phases, remaining[best]) {
				visits[i].left--
			}
		}
		order = append(order, remaining[best])
		remaining = slices.Delete(remaining, best, best+1)
	}

	return order
}
