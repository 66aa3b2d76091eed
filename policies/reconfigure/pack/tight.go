package pack

import (
	"slices"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/halt"
)

// tight schedules every chunk without waiting within a phase: one after another, the longest first, each as early as
// the links and r.limit chunks in transit at each GPU allow. There is always such a time if at most (limit-1)/2 chunks
// rest at a GPU at either end of a phase: after all others at the latest.
func (r *Schedule) tight(list []segments, stop halt.When) (at [][]int32, slots []int32) {
	n := r.problem.GPUs
	at, slots = make([][]int32, len(list)), make([]int32, len(list))
	through := make([]int32, n) // chunks at rest at a GPU now
	for i := range list {
		t := tightPhase{topology: r.Topologies[i], limit: r.limit, hold: make([][]int32, n), rest: through, stop: stop,
			busy: make([][]bool, len(r.Topologies[i])), first: make([]int32, len(r.Topologies[i]))}
		at[i] = make([]int32, len(list[i].Link))
		slots[i] = t.schedule(&list[i], at[i])
	}
	return at, slots
}

// tightPhase is the timetable of a phase.
type tightPhase struct {
	topology scaleup.Topology
	limit    int32
	// hold[u][t] is the chunks in transit at u after slot t; rest[u] that after all slots in hold[u].
	hold [][]int32
	rest []int32
	// busy[e][t] says that link e carries a chunk in slot t; before first[e] it always does.
	busy  [][]bool
	first []int32
	stop  halt.When
}

func (t *tightPhase) schedule(s *segments, at []int32) (slots int32) {
	order := make([]int32, s.Len())
	for j := range order {
		order[j] = int32(j)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		return int(s.Start[b+1] - s.Start[b] - s.Start[a+1] + s.Start[a])
	})
	for _, j := range order {
		way := s.Link[s.Start[j]:s.Start[j+1]]
		t.stop.Check()
		begin := t.first[way[0]]
		for !t.fits(way, s.rests[j], begin) {
			begin++
		}
		t.book(way, s.rests[j], begin)
		for h := range way {
			at[int(s.Start[j])+h] = begin + int32(h)
		}
		slots = max(slots, begin+int32(len(way)))
	}
	return slots
}

func (t *tightPhase) held(u, slot int32) int32 {
	if int(slot) < len(t.hold[u]) {
		return t.hold[u][slot]
	}
	return t.rest[u]
}

// fits says whether a chunk can set out in slot begin.
func (t *tightPhase) fits(way []int32, ends rest, begin int32) bool {
	for h, e := range way {
		slot := begin + int32(h)
		if slot < t.first[e] || int(slot) < len(t.busy[e]) && t.busy[e][slot] {
			return false
		}
		u := t.topology[e].To
		if h < len(way)-1 && t.held(u, slot) >= t.limit {
			return false
		}
		if h == len(way)-1 && ends&after != 0 {
			if t.rest[u] >= t.limit {
				return false
			}
			for x := int(slot); x < len(t.hold[u]); x++ {
				if t.hold[u][x] >= t.limit {
					return false
				}
			}
		}
	}
	return true
}

func (t *tightPhase) book(way []int32, ends rest, begin int32) {
	for h, e := range way {
		slot := begin + int32(h)
		for int(slot) >= len(t.busy[e]) {
			t.busy[e] = append(t.busy[e], false)
		}
		t.busy[e][slot] = true
		for int(t.first[e]) < len(t.busy[e]) && t.busy[e][t.first[e]] {
			t.first[e]++
		}
		u := t.topology[e].To
		if h < len(way)-1 {
			t.reach(u, slot+1)
			t.hold[u][slot]++
		} else if ends&after != 0 {
			t.from(u, slot, 1)
		}
	}
	if ends&before != 0 {
		t.from(t.topology[way[0]].From, begin, -1)
	}
}

// reach makes hold[u] have so many slots.
func (t *tightPhase) reach(u, slots int32) {
	for int32(len(t.hold[u])) < slots {
		t.hold[u] = append(t.hold[u], t.rest[u])
	}
}

// from adds x chunks at rest at u from after a slot on.
func (t *tightPhase) from(u, slot, x int32) {
	t.reach(u, slot)
	for i := int(slot); i < len(t.hold[u]); i++ {
		t.hold[u][i] += x
	}
	t.rest[u] += x
}
