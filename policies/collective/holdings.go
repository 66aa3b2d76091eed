package collective

import (
	"math/bits"
	"slices"
)

// Holdings tells which contributions the ranks of a call hold in every cell of its data. Checkers of schedules and of
// plans in steps replay them on holdings, and compare the result with the promise of the call.
type Holdings struct {
	cells, words int
	has          []uint64 // contributions, words per rank and cell
	promises     []promise
}

// promise is the effect of a call on a cell, among the ranks from first up to limit. The call sums up the contributions
// of all of them, or takes the contribution of rank from. It leaves the result with all of them, or with rank to. -1
// stands for all.
type promise struct{ first, limit, cell, from, to int }

// Contributions is a set of ranks whose data a sum has, as bits.
type Contributions []uint64

// NewHoldings returns empty holdings of a number of ranks and cells.
func NewHoldings(ranks, cells int) *Holdings {
	h := &Holdings{cells: cells, words: (ranks + 63) / 64}
	h.has = make([]uint64, ranks*cells*h.words)
	return h
}

// Contributions returns the contributions that a rank holds of a cell, which the caller may change.
func (h *Holdings) Contributions(rank, cell int) Contributions {
	at := (rank*h.cells + cell) * h.words
	return h.has[at : at+h.words]
}

// Clear empties the holdings of all ranks.
func (h *Holdings) Clear() { clear(h.has) }

// Reset empties the holdings and ends all calls.
func (h *Holdings) Reset() {
	h.Clear()
	h.promises = h.promises[:0]
}

// Begin begins a call among the ranks from first up to limit: every rank gets what it contributes to a cell. The cell
// belongs to the block that goes from one of the ranks to another. In calls with one block per rank, both are that rank.
func (h *Holdings) Begin(kind Kind, first, limit, cell, from, to int) {
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

// Expected returns the contributions in the result of a cell, for the last call that began with it.
func (h *Holdings) Expected(cell int) Contributions {
	i := len(h.promises) - 1
	for h.promises[i].cell != cell {
		i--
	}
	return h.complete(h.promises[i])
}

func (h *Holdings) complete(p promise) Contributions {
	all := make(Contributions, h.words)
	for r := p.first; r < p.limit; r++ {
		if p.from < 0 || r == p.from {
			all.Insert(r)
		}
	}
	return all
}

// Violation returns a rank that does not hold what a call promises, the cell, and the numbers of contributions that it
// holds and that it should hold. The rank is -1 if all promises are kept.
func (h *Holdings) Violation() (rank, cell, has, want int) {
	for _, p := range h.promises {
		all := h.complete(p)
		for r := p.first; r < p.limit; r++ {
			if got := h.Contributions(r, p.cell); (p.to < 0 || r == p.to) && !slices.Equal(got, all) {
				return r, p.cell, got.Count(), all.Count()
			}
		}
	}
	return -1, 0, 0, 0
}

// Insert adds the contribution of a rank to c, and reports whether c did not have it.
func (c Contributions) Insert(rank int) bool {
	had := c.Has(rank)
	c[rank/64] |= 1 << (rank % 64)
	return !had
}

// Has reports whether the contribution of a rank is in c.
func (c Contributions) Has(rank int) bool { return c[rank/64]>>(rank%64)&1 > 0 }

// Count returns how many contributions c has.
func (c Contributions) Count() int {
	n := 0
	for _, w := range c {
		n += bits.OnesCount64(w)
	}
	return n
}

// Add adds other contributions to c. It returns the first rank whose contribution is then counted twice, else -1.
func (c Contributions) Add(other Contributions) int {
	for i, w := range other {
		if both := c[i] & w; both != 0 {
			return i*64 + bits.TrailingZeros64(both)
		}
		c[i] |= w
	}
	return -1
}
