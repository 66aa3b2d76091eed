package mapping

import (
	"slices"

	"sim/internal/numbers"
)

// maxExactSlots is the maximum number of slots for which the search attempts a proof of
// optimality. The number of placements grows with the factorial of the slots.
const maxExactSlots = 24

// proveOptimal searches for better placements by branch and bound with Gilmore-Lawler bounds. It
// reports whether it has excluded all other placements within the budget.
func (s *localSearch) proveOptimal() bool {
	b := &partialPlacement{
		localSearch:   s,
		gilmoreLawler: newGilmoreLawler(s.Cost),
		order:         s.placementOrder(),
		slotByRank:    slices.Repeat([]int32{-1}, len(s.peers)),
		isUsed:        make([]bool, s.numSlots),
	}

	// No rank is placed yet, so the cost is 0.
	return b.extend(0, 0)
}

// partialPlacement is a node of the branch and bound: some ranks have slots.
type partialPlacement struct {
	*localSearch
	*gilmoreLawler
	order      []int32 // order in which ranks are placed
	slotByRank []int32 // -1 if the rank is not placed
	isUsed     []bool  // indexed by slot
}

// placementOrder returns the ranks in an order in which each one exchanges the most bytes with
// earlier ones.
func (s *localSearch) placementOrder() []int32 {
	// Bytes exchanged with earlier ranks, and with all.
	withEarlier, total := make([]int64, len(s.peers)), make([]int64, len(s.peers))
	for r := range s.peers {
		for _, e := range s.peers[r] {
			total[r] += e.total
		}
	}

	// Append the rank with the most bytes to earlier ones. Of several, it is the one with the most
	// bytes in all.
	var order []int32
	for len(order) < len(s.peers) {
		next := int32(-1)
		for r := range int32(len(s.peers)) {
			if !slices.Contains(order, r) && (next < 0 || withEarlier[r] > withEarlier[next] ||
				withEarlier[r] == withEarlier[next] && total[r] > total[next]) {
				next = r
			}
		}
		order = append(order, next)
		for _, e := range s.peers[next] {
			withEarlier[e.rank] += e.total
		}
	}

	return order
}

// extend places the ranks from order[k] on, if the earlier ones cost cost. It returns false if
// the budget is spent.
func (b *partialPlacement) extend(k int, cost int64) bool {
	// A complete placement.
	if k == len(b.order) {
		if cost < b.bestCost {
			b.bestCost, b.bestSlots = cost, append(b.bestSlots[:0], b.slotByRank...)
		}
		return true
	}

	// Bound the cost of the remaining ranks on the free slots.
	var free []int32
	for slot := range int32(b.numSlots) {
		if !b.isUsed[slot] {
			free = append(free, slot)
		}
	}

	rest := b.order[k:]
	if b.evaluations += len(rest) * len(free); b.evaluations > b.budget || b.ctx.Err() != nil {
		return false
	}

	// The assignment has twice the costs, so half of it, rounded up, is the bound.
	b.setMinCosts(rest, free, b.slotByRank)
	if bound := (b.solveAssignment(len(rest), len(free)) + 1) / 2; cost+bound >= b.bestCost {
		return true
	}

	// Branch over the slots of the next rank, in order of its minimum cost.
	row := slices.Clone(b.minCost[:len(free)])
	index := numbers.Below(len(free))
	slices.SortStableFunc(index, func(i, j int) int { return int(max(-1, min(1, row[i]-row[j]))) })
	r := rest[0]
	for _, i := range index {
		// The cost of the rank on the slot is its traffic with placed peers.
		slot, added := free[i], int64(0)
		for j := range b.peers[r] {
			if e := &b.peers[r][j]; b.slotByRank[e.rank] >= 0 {
				added += b.pairCost(e, slot, b.slotByRank[e.rank])
			}
		}

		// Place the rank, extend the placement, and remove the rank again.
		b.slotByRank[r], b.isUsed[slot] = slot, true
		done := b.extend(k+1, cost+added)
		b.slotByRank[r], b.isUsed[slot] = -1, false
		if !done {
			return false
		}
		if k == 0 && b.problem.VertexTransitive { // other slots of the first rank are equivalent
			break
		}
	}

	return true
}
