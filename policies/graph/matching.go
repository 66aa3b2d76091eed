package graph

import "math/bits"

// Matching pairs rows with columns of an n x n matrix along admitted cells. It is kept while cells come and go, so that
// a new perfect matching costs only the search for the pairs that were lost (augmenting paths, breadth first).
type Matching struct {
	To, From []int32 // column of a row, row of a column; -1 for none. Read only
	Pairs    int

	wordsPerRow int
	admitted    []uint64 // a row's columns are the bits of words words
	queue       []int32
	parentRow   []int32 // by[column]: the row from which the search came
	unvisited   []uint64
}

// NewMatching returns a matching of n rows and columns without cells.
func NewMatching(n int) *Matching {
	m := &Matching{wordsPerRow: (n + 63) / 64, To: make([]int32, n), From: make([]int32, n), parentRow: make([]int32, n)}
	m.admitted, m.unvisited = make([]uint64, n*m.wordsPerRow), make([]uint64, m.wordsPerRow)
	for i := range n {
		m.To[i], m.From[i] = -1, -1
	}
	return m
}

// AddCell adds a cell.
func (m *Matching) AddCell(row, column int) {
	m.admitted[row*m.wordsPerRow+column>>6] |= 1 << (column & 63)
}

// RemoveCell takes a cell away, and the pair if it was one.
func (m *Matching) RemoveCell(row, column int) {
	m.admitted[row*m.wordsPerRow+column>>6] &^= 1 << (column & 63)
	if m.To[row] == int32(column) {
		m.To[row], m.From[column] = -1, -1
		m.Pairs--
	}
}

// Grow makes the matching as large as it gets and says whether it is perfect. It calls check, if not nil, before each
// row, which may panic to end a search that is many calls deep.
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

// augment looks breadth first for a free column and shifts the pairs on the path to it.
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

// shift pairs a free column with the row that the search came from, that row's column with the one before, and so on.
func (m *Matching) shift(column int32) {
	for column >= 0 {
		row := m.parentRow[column]
		m.From[column] = row
		m.To[row], column = column, m.To[row]
	}
}
