package csr

// Components returns the strongly connected components of a directed graph. The successors of
// node r are to[start[r]:start[r+1]]; only the arcs for which keep is true count.
//
// component is indexed by node and holds component numbers 0..n-1. An arc between two
// components leads to the lower number, so increasing numbers are a reverse topological order.
//
// The algorithm is Tarjan's, without recursion (Depth-First Search and Linear Graph
// Algorithms, SIAM J. Computing 1, 1972). Until a component is closed, component holds the
// visit number of a node and low its low link.
func Components(start, to []int32, keep func(arc int32) bool) (of []int32, n int) {
	const closed = 1 << 30
	rows := int32(len(start) - 1)
	of = make([]int32, rows)
	low, next := make([]int32, rows), make([]int32, rows) // low is 0 for unvisited nodes; next is the next arc to examine
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
			if next[at] = k; k < start[at+1] { // descend; arc k is examined again afterwards
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
