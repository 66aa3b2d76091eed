package graph

// Components returns, by node, the number of its strongly connected component over the arcs of the classes to keep, and
// how many components there are; those that arcs lead to have lower numbers (Tarjan, Depth-First Search and Linear Graph
// Algorithms, SIAM J. Computing 1, 1972).
func (g *Digraph) Components(keep func(class int32) bool) (of []int32, n int) {
	const closed = 1 << 30
	nodes := int32(g.Nodes())
	of = make([]int32, nodes)
	low, next := make([]int32, nodes), make([]int32, nodes) // low is 0 of nodes that are yet to be found
	var open, path []int32
	found := int32(0)
	for root := range nodes {
		if low[root] != 0 {
			continue
		}
		for path = append(path, root); len(path) > 0; {
			at := path[len(path)-1]
			if low[at] == 0 {
				found++
				low[at], of[at], next[at] = found, found, g.Start[at]
				open = append(open, at)
			}
			k := next[at]
			for ; k < g.Start[at+1]; k++ {
				if to := g.To[k]; keep(g.Class[k]) {
					if low[to] == 0 {
						break
					}
					low[at] = min(low[at], low[to])
				}
			}
			if next[at] = k; k < g.Start[at+1] { // to be looked at again when where it leads to is done
				path = append(path, g.To[k])
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
