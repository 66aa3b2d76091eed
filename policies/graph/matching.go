package graph

import "math/bits"

// Matching pairs rows with columns of an n x n matrix along admitted cells, by breadth-first
// augmenting paths. Cells can be added and removed. A perfect matching after a change costs only
// the search for the pairs that were lost.
type Matching struct {
	To, From []int32 // column of a row, and row of a column; -1 if not matched; read only
	Pairs    int     // number of pairs

	wordsPerRow int      // 64-bit words per row
	admitted    []uint64 // bit set of the admitted columns of each row, indexed by row*wordsPerRow
	queue       []int32  // rows of the search
	parentRow   []int32  // row from which the search reached a column, indexed by column
	unvisited   []uint64 // bit set of columns
}

// NewMatching returns an empty matching of n rows and columns without cells.
func NewMatching(n int) *Matching {
	m := &Matching{
		wordsPerRow: (n + 63) / 64,
		To:          make([]int32, n),
		From:        make([]int32, n),
		parentRow:   make([]int32, n),
	}

	m.admitted = make([]uint64, n*m.wordsPerRow)
	m.unvisited = make([]uint64, m.wordsPerRow)
	for i := range n {
		m.To[i], m.From[i] = -1, -1
	}
	return m
}

// AddCell admits a cell.
func (m *Matching) AddCell(row, column int) {
	m.admitted[row*m.wordsPerRow+column>>6] |= 1 << (column & 63)
}

// RemoveCell removes a cell, and the pair if it was one.
func (m *Matching) RemoveCell(row, column int) {
	m.admitted[row*m.wordsPerRow+column>>6] &^= 1 << (column & 63)
	if m.To[row] == int32(column) {
		m.To[row], m.From[column] = -1, -1
		m.Pairs--
	}
}

// Grow extends the matching to a maximum one and reports whether it is perfect. If check is not
// nil, it is called before each row and may panic to end the caller's search.
func (m *Matching) Grow(check func()) bool {
	n := len(m.To)
	for row := int32(0); int(row) < n && m.Pairs < n; row++ {
		if check != nil {
			check()
		}
		if m.To[row] < 0 && m.augment(row) {
			m.Pairs++
		}
	}

	return m.Pairs == n
}

// augment searches a free column and shifts the pairs on the path to it. It reports whether there
// is one.
func (m *Matching) augment(row int32) bool {
	for i := range m.unvisited {
		m.unvisited[i] = ^uint64(0)
	}
	m.queue = append(m.queue[:0], row)
	for i := 0; i < len(m.queue); i++ {
		r := m.queue[i]
		cells := m.admitted[int(r)*m.wordsPerRow : (int(r)+1)*m.wordsPerRow]
		for w, set := range cells {
			for set &= m.unvisited[w]; set != 0; set &= set - 1 {
				c := int32(w<<6 | bits.TrailingZeros64(set))
				m.unvisited[w] &^= 1 << (c & 63)
				m.parentRow[c] = r
				if m.From[c] < 0 {
					m.shift(c)
					return true
				}
				m.queue = append(m.queue, m.From[c])
			}
		}
	}

	return false
}

// shift pairs a free column with the row from which the search reached it, the former column of
// that row with the row before, and so on.
func (m *Matching) shift(column int32) {
	for column >= 0 {
		row := m.parentRow[column]
		m.From[column] = row
		m.To[row], column = column, m.To[row]
	}
}
