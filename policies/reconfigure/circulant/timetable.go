package circulant

import (
	"math/bits"
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

// arrangeExactly is the most phases whose every order is weighed.
const arrangeExactly = 10

// arrange orders the phases that carry anything such that the most chunks in transit at a reconfiguration are few: up
// to arrangeExactly phases by dynamic programming over which of them are done, else always going on with the one after
// which fewest are.
func (t *timetable) arrange(stop halt.When) []int {
	var used []int
	place := make([]int, len(t.phases))
	for p, x := range t.slots {
		if x > 0 {
			place[p] = len(used)
			used = append(used, p)
		}
	}
	if !t.relay || len(used) < 3 {
		return used
	}
	// visits are the phases that a chunk passes through, for chunks of more than one.
	words := (len(used) + 63) / 64
	var visits [][]uint64
	for _, j := range t.jobs {
		set := make([]uint64, words)
		count := 0
		for w := t.ways.first[j.way]; w < t.ways.first[j.way+1]; w++ {
			p := place[int(t.ways.gen[w])/t.k]
			if set[p/64]>>(p%64)&1 == 0 {
				set[p/64] |= 1 << (p % 64)
				count++
			}
		}
		if count > 1 {
			visits = append(visits, set)
		}
	}
	order := make([]int, 0, len(used))
	if len(used) <= arrangeExactly {
		all := 1<<len(used) - 1
		most, last := make([]int, all+1), make([]int, all+1)
		for done := 1; done <= all; done++ {
			here := 0
			for _, v := range visits {
				if part := int(v[0]) & done; part != 0 && part != int(v[0]) {
					here++
				}
			}
			most[done], last[done] = len(t.jobs)+1, -1
			for rest := done; rest != 0; rest &= rest - 1 {
				p := bits.TrailingZeros(uint(rest))
				if m := max(here, most[done&^(1<<p)]); m < most[done] {
					most[done], last[done] = m, p
				}
			}
		}
		for done := all; done != 0; done &^= 1 << last[done] {
			order = append(order, used[last[done]])
		}
		slices.Reverse(order)
		return order
	}
	done := make([]uint64, words)
	for len(order) < len(used) {
		best, fewest := -1, 0
		stop.Check()
		for p := range used {
			if done[p/64]>>(p%64)&1 == 1 {
				continue
			}
			done[p/64] |= 1 << (p % 64)
			here := 0
			for _, v := range visits {
				begun, open := false, false
				for i, x := range v {
					begun = begun || x&done[i] != 0
					open = open || x&^done[i] != 0
				}
				if begun && open {
					here++
				}
			}
			done[p/64] &^= 1 << (p % 64)
			if best < 0 || here < fewest {
				best, fewest = p, here
			}
		}
		done[best/64] |= 1 << (best % 64)
		order = append(order, used[best])
	}
	return order
}
