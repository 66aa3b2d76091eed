package csr

// Components returns, by row of a graph whose arcs out of row r lead to the rows to[start[r]:start[r+1]], the number of its
// strongly connected component over the arcs to keep, and how many components there are; those that arcs lead to have
// lower numbers (Tarjan, Depth-First Search and Linear Graph Algorithms, SIAM J. Computing 1, 1972).
func Components(start, to []int32, keep func(arc int32) bool) (of []int32, n int) {
	const closed = 1 << 30
	rows := int32(len(start) - 1)
	of = make([]int32, rows)
	low, next := make([]int32, rows), make([]int32, rows) // low is 0 of rows that are yet to be found
	var open, path []int32
	found := int32(0)
	for root := range rows {
		if low[root] != 0 {
			continue
		}
		for path = append(path, root); len(path) > 0; {
			at := path[len(path)-1]
			if low[at] == 0 {
				found++
				low[at], of[at], next[at] = found, found, start[at]
				open = append(open, at)
			}
			k := next[at]
			for ; k < start[at+1]; k++ {
				if keep(k) {
					if low[to[k]] == 0 {
						break
					}
					low[at] = min(low[at], low[to[k]])
				}
			}
			if next[at] = k; k < start[at+1] { // to be looked at again when where it leads to is done
				path = append(path, to[k])
				continue
			}
			path = path[:len(path)-1]
			if low[at] < of[at] {
				continue
			}
			for last := int32(-1); last != at; {
				last = open[len(open)-1]
				open = open[:len(open)-1]
				of[last], low[last] = int32(n), closed
			}
			n++
		}
	}
	return of, n
}
