package routing

import (
	"sim/internal/numbers"
	"sim/policies/graph"
)

// nodeDistances computes distances between nodes for given lengths of link orbits. Nodes that
// links of length 0 join in both directions form a component. If there are few components, the
// tree spans components instead of nodes. Lengths that represent a few cuts are mostly 0, so that
// graph is small.
type nodeDistances struct {
	tree      *graph.Tree // over components
	length    []float64   // indexed by orbit
	component []int32     // component of each node
	// cached is indexed by component: the distances from it to all components, computed on demand.
	// It is nil if every node is a component.
	cached [][]float64
}

// minNodesPerComponent is the mean number of nodes per component from which on contraction saves
// time.
const minNodesPerComponent = 8

// newNodeDistances prepares distances on the graph of t.
func (in *routeInstance) newNodeDistances(t *stateTree, length []float64) *nodeDistances {
	d := &nodeDistances{tree: t.Tree, length: length}

	// Contract links of length 0, if that leaves a small number of components.
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

	return &nodeDistances{tree: graph.NewTree(graph.NewDigraph(n, arcs)), length: length, component: component, cached: make([][]float64, n)}
}

// from returns the distances from a node to all components; negative if unreachable. They are
// valid until the next call.
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

// isContracted reports whether components are fewer than nodes, so that distances are cheap.
func (d *nodeDistances) isContracted() bool { return d.cached != nil }
