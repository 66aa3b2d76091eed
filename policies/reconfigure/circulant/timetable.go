package circulant

import (
	"slices"

	"sim/policies/reconfigure/halt"
)

// scheduledHop is one hop of the source's chunks: job takes generator gen in a slot of its phase.
type scheduledHop struct{ slot, chunk, gen int32 }

// timetable is a scheme with every hop in its slot.
type timetable struct {
	*sourceSchedule
	chunks []sourceChunk
	order  []int            // phases of the scheme, in the order in which they are set up; none without slots
	hops   [][]scheduledHop // by place in order; in the order of slots
	// buffer is the most chunks in transit after a slot. GPUs are identical: at any time each holds one of every chunk
	// that the source has in transit.
	buffer int32
}

// timetable schedules all phases.
func (s *sourceSchedule) timetable(stop halt.When) *timetable {
	t := &timetable{sourceSchedule: s, chunks: s.sourceChunks()}
	t.order = t.orderPhases(stop)
	remaining := make([]int32, len(t.chunks)) // hops from this phase on
	for i, j := range t.chunks {
		remaining[i] = s.paths.hops[j.path]
	}
	started := make([]bool, len(t.chunks))
	transit := int32(0)
	for _, p := range t.order {
		// Only the chunks with hops in this phase take part.
		var in, after, need, way []int32
		var inTransit []bool
		stop.Check()
		for i, j := range t.chunks {
			hops := int32(0)
			for w := s.paths.pathStart[j.path]; w < s.paths.pathStart[j.path+1]; w++ {
				if g := int(s.paths.gen[w]); g/s.k == p {
					if hops == 0 {
						need = append(need, make([]int32, s.k)...)
					}
					need[len(need)-s.k+g%s.k] = s.paths.count[w]
					hops += s.paths.count[w]
				}
			}
			if hops > 0 {
				remaining[i] -= hops
				in, after = append(in, int32(i)), append(after, remaining[i])
				way, inTransit = append(way, j.path), append(inTransit, started[i])
				started[i] = true
			}
		}
		shop := newOpenShop(s.k, need, after, way, inTransit)
		moves := make([]scheduledHop, 0, len(in))
		for slot := range int32(s.slots[p]) {
			stop.Check()
			shop.matchSlot(int32(s.slots[p]) - slot)
			for j, i := range shop.matched {
				if i >= 0 {
					moves = append(moves, scheduledHop{slot, in[i], int32(p*s.k + j)})
				}
			}
			transit += shop.commitSlot()
			t.buffer = max(t.buffer, transit)
		}
		t.hops = append(t.hops, moves)
	}
	return t
}

// orderPhases orders the phases that carry anything such that few chunks are in transit at a reconfiguration: always going
// on with the one after which fewest are.
func (t *timetable) orderPhases(stop halt.When) []int {
	var remaining []int
	for p, x := range t.slots {
		if x > 0 {
			remaining = append(remaining, p)
		}
	}
	if !t.relay {
		return remaining
	}
	// visits are the phases that a chunk passes through, for chunks of more than one, and how many of them are to come.
	type visit struct {
		phases []int
		left   int
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
			visits = append(visits, visit{phases, len(phases)})
		}
	}
	var order []int
	for len(remaining) > 0 {
		stop.Check()
		best, minTransit := -1, 0
		for i, p := range remaining {
			transit := 0
			for _, v := range visits {
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
