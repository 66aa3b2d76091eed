package pack

import (
	"math"

	"sim/policies/reconfigure/halt"
)

// assignment finds perfect matchings of largest weight, by shortest augmenting paths under potentials (Kuhn and
// Munkres; Jonker and Volgenant, 1987): O(n^3). Its memory is reused.
type assignment struct {
	u, v, low []int64
	row, way  []int32 // row[j] is matched with column j; 0 is none, both count from 1
	used      []bool
	stop      halt.When
}

// solve sets to[i] to the column of row i of the n x n matrix weight, such that the sum of the weights is largest.
func (a *assignment) solve(n int, weight []int64, to []int32) {
	a.u, a.v, a.low = zeroed(a.u, n+1), zeroed(a.v, n+1), sized(a.low, n+1)
	a.row, a.way, a.used = zeroed(a.row, n+1), sized(a.way, n+1), sized(a.used, n+1)
	for i := 1; i <= n; i++ {
		a.stop.Check()
		a.row[0] = int32(i)
		at := int32(0)
		for j := range n + 1 {
			a.low[j], a.used[j] = math.MaxInt64, false
		}
		for {
			a.used[at] = true
			r := a.row[at]
			w := weight[int(r-1)*n : int(r)*n]
			delta, next := int64(math.MaxInt64), int32(0)
			for j := 1; j <= n; j++ {
				if a.used[j] {
					continue
				}
				if c := -w[j-1] - a.u[r] - a.v[j]; c < a.low[j] {
					a.low[j], a.way[j] = c, at
				}
				if a.low[j] < delta {
					delta, next = a.low[j], int32(j)
				}
			}
			for j := range n + 1 {
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
			before := a.way[at]
			a.row[at] = a.row[before]
			at = before
		}
	}
	for j := 1; j <= n; j++ {
		to[a.row[j]-1] = int32(j - 1)
	}
}
