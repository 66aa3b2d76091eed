package graph

import "math"

// Assignment finds matchings of all rows of largest weight, by shortest augmenting paths under potentials (Kuhn and
// Munkres; Jonker and Volgenant, 1987). Its memory is reused.
type Assignment struct {
	u, v []int64 // potentials of rows and columns
	row  []int32 // by column: the row that it is matched with, -1 for none

	// Of the search from a row: by column how far it is, and from which column, -1 for the row itself; price is v, and
	// for columns that were reached what keeps others from leading there.
	low, price []int64
	by         []int32
	reached    []visit // columns, in the order in which they were reached
	from       []int32 // by column that was reached: by then
}

// visit is a column that was reached, and how far it was.
type visit struct {
	column int32
	far    int64
}

// beyond is farther than any column is. Weights are less than a quarter of it.
const beyond = 1 << 61

// Solve sets to[i] to the column of row i of the rows x columns matrix weight such that the sum of the weights is
// largest. Rows are no more than columns; it takes O(rows^2 columns). It calls check, if not nil, before each row, which
// may panic to end a search that is many calls deep.
func (a *Assignment) Solve(rows, columns int, weight []int64, to []int32, check func()) {
	a.u, a.v = append(a.u[:0], make([]int64, rows)...), append(a.v[:0], make([]int64, columns)...)
	a.low, a.price = append(a.low[:0], make([]int64, columns)...), append(a.price[:0], make([]int64, columns)...)
	a.row, a.by = append(a.row[:0], make([]int32, columns)...), append(a.by[:0], make([]int32, columns)...)
	a.from = append(a.from[:0], make([]int32, columns)...)
	for j := range a.row {
		a.row[j] = -1
	}
	for i := range rows {
		if check != nil {
			check()
		}
		a.augment(int32(i), columns, weight)
	}
	for j, i := range a.row {
		if i >= 0 {
			to[i] = int32(j)
		}
	}
}

// augment matches one row more.
func (a *Assignment) augment(row int32, columns int, weight []int64) {
	low, price, by := a.low[:columns], a.price[:columns], a.by[:columns]
	copy(price, a.v)
	for j := range low {
		low[j] = beyond
	}
	a.reached = a.reached[:0]
	far, at := int64(0), int32(-1) // the last column reached
	for r := row; r >= 0; r = a.row[at] {
		w := weight[int(r)*columns : int(r+1)*columns]
		w, so := w[:len(low)], far-a.u[r]
		least, next := int64(math.MaxInt64), int32(0)
		for j, l := range low {
			if c := so - w[j] - price[j]; c < l {
				low[j], by[j] = c, at
				l = c
			}
			if l < least {
				least, next = l, int32(j)
			}
		}
		far, at = least, next
		a.reached, a.from[at] = append(a.reached, visit{at, far}), by[at]
		low[at], price[at] = math.MaxInt64, -beyond
	}
	a.u[row] += far
	for _, x := range a.reached {
		if r := a.row[x.column]; r >= 0 {
			a.u[r] += far - x.far
			a.v[x.column] -= far - x.far
		}
	}
	for at >= 0 {
		from := a.from[at]
		if from < 0 {
			a.row[at] = row
		} else {
			a.row[at] = a.row[from]
		}
		at = from
	}
}
