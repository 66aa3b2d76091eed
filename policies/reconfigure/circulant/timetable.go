package circulant

import (
	"slices"

	"sim/policies/reconfigure/halt"
)

// move is one hop of the source's chunks: job takes generator gen in a slot of its phase.
type move struct{ slot, job, gen int32 }

// timetable is a scheme with every hop in its slot.
type timetable struct {
	*scheme
	jobs  []job
	order []int    // phases of the scheme, in the order in which they are set up; none without slots
	moves [][]move // by place in order; in the order of slots
	// buffer is the most chunks in transit after a slot. GPUs are identical: at any time each holds one of every chunk
	// that the source has in transit.
	buffer int32
}

// timetable schedules all phases.
func (s *scheme) timetable(stop halt.When) *timetable {
	t := &timetable{scheme: s, jobs: s.jobs()}
	t.order = t.arrange(stop)
	left := make([]int32, len(t.jobs)) // hops from this phase on
	for i, j := range t.jobs {
		left[i] = s.ways.hops[j.way]
	}
	started := make([]bool, len(t.jobs))
	transit := int32(0)
	for _, p := range t.order {
		// Only the chunks with hops in this phase take part.
		var in, after, need, way []int32
		var begun []bool
		stop.Check()
		for i, j := range t.jobs {
			hops := int32(0)
			for w := s.ways.first[j.way]; w < s.ways.first[j.way+1]; w++ {
				if g := int(s.ways.gen[w]); g/s.k == p {
					if hops == 0 {
						need = append(need, make([]int32, s.k)...)
					}
					need[len(need)-s.k+g%s.k] = s.ways.count[w]
					hops += s.ways.count[w]
				}
			}
			if hops > 0 {
				left[i] -= hops
				in, after = append(in, int32(i)), append(after, left[i])
				way, begun = append(way, j.way), append(begun, started[i])
				started[i] = true
			}
		}
		shop := newShop(s.k, need, after, way, begun)
		moves := make([]move, 0, len(in))
		for slot := range int32(s.slots[p]) {
			stop.Check()
			shop.slot(int32(s.slots[p]) - slot)
			for j, i := range shop.mate {
				if i >= 0 {
					moves = append(moves, move{slot, in[i], int32(p*s.k + j)})
				}
			}
			transit += shop.take()
			t.buffer = max(t.buffer, transit)
		}
		t.moves = append(t.moves, moves)
	}
	return t
}

// arrange orders the phases that carry anything such that few chunks are in transit at a reconfiguration: always going
// on with the one after which fewest are.
func (t *timetable) arrange(stop halt.When) []int {
	var rest []int
	for p, x := range t.slots {
		if x > 0 {
			rest = append(rest, p)
		}
	}
	if !t.relay {
		return rest
	}
	// visits are the phases that a chunk passes through, for chunks of more than one, and how many of them are to come.
	type visit struct {
		phases []int
		left   int
	}
	var visits []visit
	for _, j := range t.jobs {
		var phases []int
		for _, g := range t.ways.gen[t.ways.first[j.way]:t.ways.first[j.way+1]] {
			if p := int(g) / t.k; !slices.Contains(phases, p) {
				phases = append(phases, p)
			}
		}
		if len(phases) > 1 {
			visits = append(visits, visit{phases, len(phases)})
		}
	}
	var order []int
	for len(rest) > 0 {
		stop.Check()
		best, fewest := -1, 0
		for i, p := range rest {
			transit := 0
			for _, v := range visits {
				if slices.Contains(v.phases, p) {
					v.left--
				}
				if v.left > 0 && v.left < len(v.phases) {
					transit++
				}
			}
			if best < 0 || transit < fewest {
				best, fewest = i, transit
			}
		}
		for i := range visits {
			if slices.Contains(visits[i].phases, rest[best]) {
				visits[i].left--
			}
		}
		order = append(order, rest[best])
		rest = slices.Delete(rest, best, best+1)
	}
	return order
}
