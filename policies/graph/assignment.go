package graph

import "math"

// Assignment finds a maximum-weight matching of all rows of a matrix with columns, by shortest
// augmenting paths under potentials (Kuhn and Munkres; Jonker and Volgenant, 1987). Its memory is
// reused.
type Assignment struct {
	rowPotential, columnPotential []int64 // potentials (dual variables)
	matchedRow                    []int32 // row matched with a column, indexed by column; -1 if the column is free

	// State of the search from a row, indexed by column. dist is the distance; MaxInt64 once the
	// column is reached. price is the column's potential; -unreachable once it is reached, so
	// that no row is near the column.
	dist, price []int64
	previous    []int32       // column from which dist was set; -1 for the row itself
	reached     []columnVisit // columns in the order in which they were reached
	parent      []int32       // previous at the time when the column was reached
}

// columnVisit is a column that was reached, and its distance.
type columnVisit struct {
	column int32
	dist   int64
}

// unreachable exceeds every distance. Weights are less than a quarter of it, so that sums do not
// overflow.
const unreachable = 1 << 61

// Solve sets to[i] to the column of row i in a maximum-weight matching of the rows x columns
// matrix weight. There must be at least as many columns as rows. It takes O(rows^2 columns). If
// check is not nil, it is called before each row and may panic to end the caller's search.
func (a *Assignment) Solve(rows, columns int, weight []int64, to []int32, check func()) {
	a.rowPotential = append(a.rowPotential[:0], make([]int64, rows)...)
	a.columnPotential = append(a.columnPotential[:0], make([]int64, columns)...)
	a.dist = append(a.dist[:0], make([]int64, columns)...)
	a.price = append(a.price[:0], make([]int64, columns)...)
	a.matchedRow = append(a.matchedRow[:0], make([]int32, columns)...)
	a.previous = append(a.previous[:0], make([]int32, columns)...)
	a.parent = append(a.parent[:0], make([]int32, columns)...)
	for j := range a.matchedRow {
		a.matchedRow[j] = -1
	}

	for i := range rows {
		if check != nil {
			check()
		}
		a.augment(int32(i), columns, weight)
	}

	for j, i := range a.matchedRow {
		if i >= 0 {
			to[i] = int32(j)
		}
	}
}

// augment matches one more row: it searches a shortest path to a free column and shifts the pairs
// along it.
func (a *Assignment) augment(row int32, columns int, weight []int64) {
	// No column is reached yet.
	dist := a.dist[:columns]
	price := a.price[:columns]
	previous := a.previous[:columns]
	copy(price, a.columnPotential)
	for j := range dist {
		dist[j] = unreachable
	}
	a.reached = a.reached[:0]
	minDist := int64(0)

	// Extend the search until it reaches a free column. column is the last column that it reached,
	// at distance minDist.
	column := int32(-1)
	for r := row; r >= 0; r = a.matchedRow[column] {
		// Relax the columns from row r, and find the nearest column that is not reached. The
		// reslice lets the compiler omit bounds checks.
		w := weight[int(r)*columns : int(r+1)*columns]
		w, offset := w[:len(dist)], minDist-a.rowPotential[r]
		nearest := int64(math.MaxInt64)
		next := int32(0)
		for j, l := range dist {
			if c := offset - w[j] - price[j]; c < l {
				dist[j], previous[j] = c, column
				l = c
			}
			if l < nearest {
				nearest, next = l, int32(j)
			}
		}

		// Reach that column.
		minDist, column = nearest, next
		a.reached = append(a.reached, columnVisit{column: column, dist: minDist})
		a.parent[column] = previous[column]
		dist[column], price[column] = math.MaxInt64, -unreachable
	}

	// Update the potentials of the rows and columns on the search tree.
	a.rowPotential[row] += minDist
	for _, x := range a.reached {
		if r := a.matchedRow[x.column]; r >= 0 {
			a.rowPotential[r] += minDist - x.dist
			a.columnPotential[x.column] -= minDist - x.dist
		}
	}

	// Shift the pairs: each column on the path takes the row of the column before, and the first
	// one takes the new row.
	for column >= 0 {
		parent := a.parent[column]
		if parent < 0 {
			a.matchedRow[column] = row
		} else {
			a.matchedRow[column] = a.matchedRow[parent]
		}
		column = parent
	}
}
