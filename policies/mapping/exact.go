package mapping

import (
	"slices"

	"sim/internal/numbers"
)

// mostExact is the most slots of problems of which the search tries to prove that nothing is better.
const mostExact = 24

// prove looks for placements that are better than the best by branch and bound, on the bounds of Gilmore and Lawler, and
// reports whether it has excluded all others within the budget.
func (s *search) prove() bool {
	b := &branch{search: s, bounder: newBounder(s.Cost), order: s.sequence(), place: slices.Repeat([]int32{-1}, len(s.near)), used: make([]bool, s.slots)}
	return b.extend(0, 0)
}

// branch is a placement of some ranks.
type branch struct {
	*search
	*bounder
	order []int32 // in which ranks are placed
	place []int32 // slot by rank, -1 of none
	used  []bool
}

// sequence is the ranks, each the one that exchanges most with those before it.
func (s *search) sequence() []int32 {
	with, total := make([]int64, len(s.near)), make([]int64, len(s.near))
	for r := range s.near {
		for _, e := range s.near[r] {
			total[r] += e.together
		}
	}
	var order []int32
	for len(order) < len(s.near) {
		next := int32(-1)
		for r := range int32(len(s.near)) {
			if !slices.Contains(order, r) && (next < 0 || with[r] > with[next] || with[r] == with[next] && total[r] > total[next]) {
				next = r
			}
		}
		order = append(order, next)
		for _, e := range s.near[next] {
			with[e.rank] += e.together
		}
	}
	return order
}

// extend places the ranks from a place in the order on, where those before it cost so much. It returns false where the
// budget is spent.
func (b *branch) extend(k int, cost int64) bool {
	if k == len(b.order) {
		if cost < b.best {
			b.best, b.found = cost, append(b.found[:0], b.place...)
		}
		return true
	}
	var free []int32
	for slot := range int32(b.slots) {
		if !b.used[slot] {
			free = append(free, slot)
		}
	}
	rest := b.order[k:]
	if b.evaluations += len(rest) * len(free); b.evaluations > b.allowed || b.ctx.Err() != nil {
		return false
	}
	b.fill(rest, free, b.place)
	if least := (b.assign(len(rest), len(free)) + 1) / 2; cost+least >= b.best {
		return true
	}
	// the slots on which the first of the rest may yet be, the most promising first
	row := slices.Clone(b.least[:len(free)])
	index := numbers.Below(len(free))
	slices.SortStableFunc(index, func(i, j int) int { return int(max(-1, min(1, row[i]-row[j]))) })
	r := rest[0]
	for _, i := range index {
		slot, more := free[i], int64(0)
		for j := range b.near[r] {
			if e := &b.near[r][j]; b.place[e.rank] >= 0 {
				more += b.between(e, slot, b.place[e.rank])
			}
		}
		b.place[r], b.used[slot] = slot, true
		done := b.extend(k+1, cost+more)
		b.place[r], b.used[slot] = -1, false
		if !done {
			return false
		}
		if k == 0 && b.p.Alike { // all others are images of it
			break
		}
	}
	return true
}
