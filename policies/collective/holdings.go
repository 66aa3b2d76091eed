package collective

import (
	"math/bits"
	"slices"
)

// Holdings track which contributions each rank holds in each cell, a part of a call's data.
// Verifiers of schedules and plans apply the transfers to Holdings, and compare the result with
// the effect that the calls must have.
type Holdings struct {
	// cells is the number of cells, words the number of 64-bit words for the contributions of a
	// rank in a cell.
	cells, words int
	sets         []uint64 // contributions as bits, for each rank and cell

	promises []promise // of the calls that have begun
}

// promise is the effect of a call on a cell, among the ranks first <= rank < limit. The result is
// the sum of the contributions of all of them, or the contribution of rank from. It must be at
// all of them, or at rank to. -1 stands for all.
type promise struct{ first, limit, cell, from, to int }

// Contributions is the set of ranks whose data is included in a sum, as bits.
type Contributions []uint64

// NewHoldings returns empty holdings for a number of ranks and cells.
func NewHoldings(ranks, cells int) *Holdings {
	h := &Holdings{cells: cells, words: (ranks + 63) / 64}
	h.sets = make([]uint64, ranks*cells*h.words)
	return h
}

// Contributions returns the contributions that a rank holds in a cell. The caller may change
// them.
func (h *Holdings) Contributions(rank, cell int) Contributions {
	offset := (rank*h.cells + cell) * h.words
	return h.sets[offset : offset+h.words]
}

// Clear empties the holdings of all ranks and keeps the calls.
func (h *Holdings) Clear() { clear(h.sets) }

// Reset empties the holdings and removes all calls.
func (h *Holdings) Reset() {
	h.Clear()
	h.promises = h.promises[:0]
}

// Begin starts a call on a cell among the ranks first <= rank < limit: every rank receives its
// own contribution. The cell belongs to the block from one of the ranks to another. In calls with
// one block per rank, both are that rank.
func (h *Holdings) Begin(kind Kind, first, limit, cell, from, to int) {
	// Sums have contributions of all ranks, and some results are at all ranks.
	switch kind {
	case AllReduce, ReduceScatter, Reduce:
		from = -1
	}
	switch kind {
	case AllReduce, AllGather, Broadcast:
		to = -1
	}
	p := promise{first, limit, cell, from, to}
	h.promises = append(h.promises, p)

	for r := first; r < limit; r++ {
		if from < 0 || r == from {
			h.Contributions(r, cell).Insert(r)
		}
	}
}

// Expected returns the contributions that the last call on a cell must have in its result.
func (h *Holdings) Expected(cell int) Contributions {
	i := len(h.promises) - 1
	for h.promises[i].cell != cell {
		i--
	}
	return h.resultOf(h.promises[i])
}

// resultOf returns the contributions in the result of a promise.
func (h *Holdings) resultOf(p promise) Contributions {
	all := make(Contributions, h.words)
	for r := p.first; r < p.limit; r++ {
		if p.from < 0 || r == p.from {
			all.Insert(r)
		}
	}
	return all
}

// Violation returns a rank and a cell whose content differs from the promise of a call, and how
// many contributions it has and should have. The rank is -1 if all promises are kept.
func (h *Holdings) Violation() (rank, cell, has, want int) {
	for _, p := range h.promises {
		all := h.resultOf(p)
		for r := p.first; r < p.limit; r++ {
			if got := h.Contributions(r, p.cell); (p.to < 0 || r == p.to) && !slices.Equal(got, all) {
				return r, p.cell, got.Count(), all.Count()
			}
		}
	}

	return -1, 0, 0, 0
}

// Insert adds the contribution of a rank to c, and reports whether it was missing.
func (c Contributions) Insert(rank int) bool {
	had := c.Has(rank)
	c[rank/64] |= 1 << (rank % 64)
	return !had
}

// Has reports whether c includes the contribution of a rank.
func (c Contributions) Has(rank int) bool { return c[rank/64]>>(rank%64)&1 > 0 }

// Count returns the number of contributions in c.
func (c Contributions) Count() int {
	n := 0
	for _, w := range c {
		n += bits.OnesCount64(w)
	}
	return n
}

// Add adds other contributions to c. It returns the first rank whose contribution would count
// twice, or -1.
func (c Contributions) Add(other Contributions) int {
	for i, w := range other {
		if both := c[i] & w; both != 0 {
			return i*64 + bits.TrailingZeros64(both)
		}
		c[i] |= w
	}
	return -1
}
