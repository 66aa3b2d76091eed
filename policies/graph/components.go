package graph

import "sim/internal/csr"

// Components returns the strongly connected component of each node, over the arcs of the classes
// that keep accepts, and the number of components. If an arc joins two components, the component
// of its end has the lower number.
func (g *Digraph) Components(keep func(class int32) bool) (of []int32, n int) {
	return csr.Components(g.Start, g.To, func(arc int32) bool { return keep(g.Class[arc]) })
}
