package graph

import "math"

// Assignment finds matchings of all rows of largest weight, by shortest augmenting paths under potentials (Kuhn and
// Munkres; Jonker and Volgenant, 1987). Its memory is reused.
type Assignment struct {
	u, v, low []int64
	row, by   []int32 // row[j] is matched with column j; 0 is none, both count from 1
	used      []bool
}

// Solve sets to[i] to the column of row i of the rows x columns matrix weight such that the sum of the weights is
// largest. Rows are no more than columns; it takes O(rows^2 columns). It calls check, if not nil, before each row, which
// may panic to end a search that is many calls deep.
func (a *Assignment) Solve(rows, columns int, weight []int64, to []int32, check func()) {
	a.u, a.v = append(a.u[:0], make([]int64, rows+1)...), append(a.v[:0], make([]int64, columns+1)...)
	a.low, a.used = append(a.low[:0], make([]int64, columns+1)...), append(a.used[:0], make([]bool, columns+1)...)
	a.row, a.by = append(a.row[:0], make([]int32, columns+1)...), append(a.by[:0], make([]int32, columns+1)...)
	for i := 1; i <= rows; i++ {
		if check != nil {
			check()
		}
		a.row[0] = int32(i)
		at := int32(0)
		for j := range columns + 1 {
			a.low[j], a.used[j] = math.MaxInt64, false
		}
		for {
			a.used[at] = true
			r := a.row[at]
			w := weight[int(r-1)*columns : int(r)*columns]
			delta, next := int64(math.MaxInt64), int32(0)
			for j := 1; j <= columns; j++ {
				if a.used[j] {
					continue
				}
				if c := -w[j-1] - a.u[r] - a.v[j]; c < a.low[j] {
					a.low[j], a.by[j] = c, at
				}
				if a.low[j] < delta {
					delta, next = a.low[j], int32(j)
				}
			}
			for j := range columns + 1 {
				if a.used[j] {
					a.u[a.row[j]] += delta
					a.v[j] -= delta
				} else if a.low[j] != math.MaxInt64 {
					a.low[j] -= delta
				}
			}
			at = next
			if a.row[at] == 0 {
				break
			}
		}
		for at != 0 {
			before := a.by[at]
			a.row[at] = a.row[before]
			at = before
		}
	}
	for j := 1; j <= columns; j++ {
		if a.row[j] > 0 {
			to[a.row[j]-1] = int32(j - 1)
		}
	}
}
