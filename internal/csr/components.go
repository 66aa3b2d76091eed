package csr

// Components returns the strongly connected components of a directed graph. The arcs from
// node v lead to the nodes to[start[v]:start[v+1]]. Only the arcs for which keep is true
// count; keep gets the index of an arc in to.
//
// The result component is indexed by node and holds component numbers 0..n-1. An arc between
// two components leads to the lower number. Increasing component numbers are therefore a
// reverse topological order.
//
// The algorithm is Tarjan's ("Depth-First Search and Linear Graph Algorithms", SIAM J.
// Computing 1, 1972), with an explicit stack instead of recursion.
func Components(start, to []int32, keep func(arc int32) bool) (component []int32, n int) {
	// closed is the low link of nodes whose component is complete. It is larger than every
	// visit number, so arcs to such nodes do not lower the low link of their source.
	const closed = 1 << 30

	numNodes := int32(len(start) - 1)
	component = make([]int32, numNodes) // visit number of an open node, until its component is closed
	low := make([]int32, numNodes)      // low link: the earliest visit number found so far; 0 if unvisited
	nextArc := make([]int32, numNodes)  // next arc to examine
	var open []int32                    // visited nodes whose component is not closed, in order of visit
	var path []int32                    // nodes from the root to the current node of the depth-first search
	visits := int32(0)                  // number of visited nodes

	for root := range numNodes {
		if low[root] != 0 {
			continue
		}
		for path = append(path, root); len(path) > 0; {
			node := path[len(path)-1]
			if low[node] == 0 {
				visits++
				component[node], low[node], nextArc[node] = visits, visits, start[node]
				open = append(open, node)
			}

			// Examine arcs until one leads to an unvisited node. Other arcs lower the low link.
			// Tarjan takes the visit number of the target if the target was reached before. Its
			// low link serves as well: it too is the visit number of a node of the same
			// component, and only low < visit number matters.
			arc := nextArc[node]
			for ; arc < start[node+1]; arc++ {
				if !keep(arc) {
					continue
				}
				if low[to[arc]] == 0 {
					break
				}
				low[node] = min(low[node], low[to[arc]])
			}
			nextArc[node] = arc

			// Descend. The arc is examined again afterwards, and then takes the low link of its
			// target, which has been visited.
			if arc < start[node+1] {
				path = append(path, to[arc])
				continue
			}

			// All arcs are examined. The node is the first visited one of its component if it
			// reaches no earlier open node. The component is then the end of the list open.
			path = path[:len(path)-1]
			if low[node] < component[node] {
				continue
			}
			for last := int32(-1); last != node; {
				last = open[len(open)-1]
				open = open[:len(open)-1]
				component[last], low[last] = int32(n), closed
			}
			n++
		}
	}
	return component, n
}
