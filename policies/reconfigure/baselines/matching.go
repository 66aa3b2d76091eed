package baselines

import (
	"math/bits"

	"sim/policies/reconfigure/halt"
)

// matching pairs rows with columns of an n x n matrix along admitted cells. It is kept while cells come and go, so that
// a new perfect matching costs only the search for the pairs that were lost.
type matching struct {
	n, words int
	admitted []uint64 // a row's columns are the bits of words words
	to, from []int32  // column of a row, row of a column; -1 for none
	pairs    int
	queue    []int32
	by       []int32 // by[column]: the row from which the search came
	fresh    []uint64
	stop     halt.When
}

func newMatching(n int) *matching {
	m := &matching{n: n, words: (n + 63) / 64, to: make([]int32, n), from: make([]int32, n), by: make([]int32, n)}
	m.admitted, m.fresh = make([]uint64, n*m.words), make([]uint64, m.words)
	for i := range n {
		m.to[i], m.from[i] = -1, -1
	}
	return m
}

func (m *matching) admit(row, column int) {
	m.admitted[row*m.words+column>>6] |= 1 << (column & 63)
}

// refuse takes a cell away, and the pair if it was one.
func (m *matching) refuse(row, column int) {
	m.admitted[row*m.words+column>>6] &^= 1 << (column & 63)
	if m.to[row] == int32(column) {
		m.to[row], m.from[column] = -1, -1
		m.pairs--
	}
}

// grow makes the matching as large as it gets and says whether it is perfect.
func (m *matching) grow() bool {
	for row := int32(0); int(row) < m.n && m.pairs < m.n; row++ {
		m.stop.Check()
		if m.to[row] < 0 && m.augment(row) {
			m.pairs++
		}
	}
	return m.pairs == m.n
}

// augment looks breadth first for a free column and shifts the pairs on the way to it.
func (m *matching) augment(row int32) bool {
	for i := range m.fresh {
		m.fresh[i] = ^uint64(0)
	}
	m.queue = append(m.queue[:0], row)
	for i := 0; i < len(m.queue); i++ {
		r := m.queue[i]
		cells := m.admitted[int(r)*m.words : (int(r)+1)*m.words]
		for w, set := range cells {
			for set &= m.fresh[w]; set != 0; set &= set - 1 {
				c := int32(w<<6 | bits.TrailingZeros64(set))
				m.fresh[w] &^= 1 << (c & 63)
				m.by[c] = r
				if m.from[c] < 0 {
					for c >= 0 {
						r := m.by[c]
						m.from[c] = r
						m.to[r], c = c, m.to[r]
					}
					return true
				}
				m.queue = append(m.queue, m.from[c])
			}
		}
	}
	return false
}
