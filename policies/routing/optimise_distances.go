package routing

import (
	"sim/internal/numbers"
	"sim/policies/graph"
)

// nodeDistances are those between nodes by lengths of links. Where many lengths are 0, nodes that such links join both ways
// are as one: what is left of lengths that stand for a few cuts is small.
type nodeDistances struct {
	tree      *graph.Tree
	length    []float64
	component []int32     // by node: its node of t
	cached    [][]float64 // by node of t: what Dist was from there; nil where all nodes have a part of their own
}

// minNodesPerComponent is the nodes to a part, at least, where parts are worth while.
const minNodesPerComponent = 8

// newNodeDistances prepares those on the graph of t.
func (in *routeInstance) newNodeDistances(t *stateTree, length []float64) *nodeDistances {
	d := &nodeDistances{tree: t.Tree, length: length}
	component, n := t.Components(func(o int32) bool { return length[o] == 0 })
	if n > in.nodes/minNodesPerComponent {
		d.component = numbers.Below(int32(in.nodes))
		return d
	}
	var arcs []graph.Arc
	for k, o := range t.Class {
		if a, b := component[t.From[k]], component[t.To[k]]; a != b {
			arcs = append(arcs, graph.Arc{From: a, To: b, Class: o})
		}
	}
	return &nodeDistances{graph.NewTree(graph.NewDigraph(n, arcs)), length, component, make([][]float64, n)}
}

// from returns the distances from a node to all parts, negative where no path leads there. They hold until the next call.
func (d *nodeDistances) from(node int32) []float64 {
	component := d.component[node]
	if d.cached == nil {
		d.tree.Grow(component, d.length)
		return d.tree.Dist
	}
	if d.cached[component] == nil {
		d.tree.Grow(component, d.length)
		d.cached[component] = append(d.cached[component], d.tree.Dist...)
	}
	return d.cached[component]
}

// isContracted reports whether there are fewer parts than nodes, so that distances cost little.
func (d *nodeDistances) isContracted() bool { return d.cached != nil }
