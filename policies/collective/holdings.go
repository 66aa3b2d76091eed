package collective

import (
	"math/bits"
	"slices"
)

// Holdings is what ranks hold of some cells of a call's data: in each a sum, with the contributions that it has. What
// checks a schedule of transfers, or a plan of circuits in steps, replays it on holdings and compares them with what the
// call promises.
type Holdings struct {
	cells, words int
	has          []uint64 // by rank and cell: the contributions, words each
	promises     []promise
}

// promise is what a call among ranks first to limit-1 does with a cell: it sums up the contributions of all of them, or
// takes that of one, from, and leaves it with all of them, or with one, to. -1 is all.
type promise struct{ first, limit, cell, from, to int }

// Contributions is a set of ranks whose data a sum has, as bits.
type Contributions []uint64

// NewHoldings returns holdings of so many ranks and cells, of which none has anything.
func NewHoldings(ranks, cells int) *Holdings {
	h := &Holdings{cells: cells, words: (ranks + 63) / 64}
	h.has = make([]uint64, ranks*cells*h.words)
	return h
}

// Of returns the contributions that a rank holds of a cell, which the caller may change.
func (h *Holdings) Of(rank, cell int) Contributions {
	at := (rank*h.cells + cell) * h.words
	return h.has[at : at+h.words]
}

// Forget leaves nothing with any rank, and Reset promises nothing besides.
func (h *Holdings) Forget() { clear(h.has) }
func (h *Holdings) Reset() {
	h.Forget()
	h.promises = h.promises[:0]
}

// Begin gives the ranks from first up to limit what they have of a cell when a call among them begins. The cell is of
// the block from one of them to another: of calls with a block for each rank, it is both.
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
			h.Of(r, cell).Insert(r)
		}
	}
}

// Complete returns the contributions that the sum of a cell has in the end, of the last call that began with it.
func (h *Holdings) Complete(cell int) Contributions {
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

// Broken returns a rank that does not hold what a call promises it, the cell, and how many contributions it holds and is
// promised; -1 if there is none.
func (h *Holdings) Broken() (rank, cell, has, want int) {
	for _, p := range h.promises {
		all := h.complete(p)
		for r := p.first; r < p.limit; r++ {
			if got := h.Of(r, p.cell); (p.to < 0 || r == p.to) && !slices.Equal(got, all) {
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
