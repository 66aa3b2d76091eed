package graph

import "sim/internal/csr"

// Components returns, by node, the number of its strongly connected component over the arcs of the classes to keep, and
// how many components there are; those that arcs lead to have lower numbers.
func (g *Digraph) Components(keep func(class int32) bool) (of []int32, n int) {
	return csr.Components(g.Start, g.To, func(arc int32) bool { return keep(g.Class[arc]) })
}
