package graph

import "fmt"

// Generator makes the links of a graph of a known shape. Its fields are its options, and their tags the keys that a
// scenario gives them by (scenarios/schema).
type Generator interface {
	// Shape returns the graph. Endpoints is how many were asked for, 0 where that was left open. It fails where there
	// is no such graph; the error says what there is ("; want ...").
	Shape(endpoints int) (*Shape, error)
}

// Shape is the nodes and links of a graph.
type Shape struct {
	// Nodes that send and receive come first; those behind them are switches, which only forward.
	Endpoints, Nodes int
	Links            []Edge
}

// Edge is a directed link.
type Edge struct {
	From, To int
	Times    float64 // its rate, over that of links in general
}

// addPair adds links in both directions between two nodes.
func (s *Shape) addPair(a, b int, times float64) {
	s.Links = append(s.Links, Edge{a, b, times}, Edge{b, a, times})
	s.Nodes = max(s.Nodes, a+1, b+1)
}

// MaxShapeLinks bounds the links of a shape.
const MaxShapeLinks = 1 << 20

// newShape returns a shape of endpoints alone, with room for links in both directions. It fails where others were asked
// for, where there are fewer than 2, and where links are too many.
func newShape(name string, endpoints, wanted, pairs int) (*Shape, error) {
	switch {
	case wanted != 0 && wanted != endpoints:
		return nil, fmt.Errorf("%s of %d endpoints, where %d were asked for; want %d, or none", name, endpoints, wanted, endpoints)
	case endpoints < 2 || pairs < 1 || pairs > MaxShapeLinks/2:
		return nil, fmt.Errorf("%s of %d endpoints and %d links; want at least 2, and at most %d links", name, endpoints, 2*pairs, MaxShapeLinks)
	}
	return &Shape{Endpoints: endpoints, Nodes: endpoints, Links: make([]Edge, 0, 2*pairs)}, nil
}

// NamedGenerator is a named generator.
type NamedGenerator struct {
	Name string
	New  func() Generator // points to its options
}

// Generators are those that scenarios may name. A new one is a row here.
var Generators = []NamedGenerator{
	{"dragonfly", func() Generator { return &Dragonfly{} }},
	{"dual-plane", func() Generator { return &DualPlane{} }},
	{"fat-tree", func() Generator { return &FatTree{} }},
	{"full-mesh", func() Generator { return &FullMesh{} }},
	{"rail-optimised", func() Generator { return &RailTopology{} }},
	{"ring", func() Generator { return &Ring{} }},
}

// GeneratorNames returns the names of the generators.
func GeneratorNames() []string {
	names := make([]string, len(Generators))
	for i, g := range Generators {
		names[i] = g.Name
	}
	return names
}

// FullMesh joins all nodes to each other.
type FullMesh struct{}

// Shape returns a link from every node to every other, in the order of nodes.
func (FullMesh) Shape(nodes int) (*Shape, error) {
	const maxNodes = 1 << 10
	if nodes < 2 || nodes > maxNodes {
		return nil, fmt.Errorf("a full mesh of %d nodes; want 2 to %d", nodes, maxNodes)
	}
	s := &Shape{Endpoints: nodes, Nodes: nodes}
	for a := range nodes {
		for b := range nodes {
			if a != b {
				s.Links = append(s.Links, Edge{a, b, 1})
			}
		}
	}
	return s, nil
}

// Ring joins each node to the next.
type Ring struct{}

// Shape returns the links in both directions between neighbours, in the order of nodes. Two nodes have one link in each
// direction.
func (Ring) Shape(nodes int) (*Shape, error) {
	const maxNodes = 1 << 16
	if nodes < 2 || nodes > maxNodes {
		return nil, fmt.Errorf("a ring of %d nodes; want 2 to %d", nodes, maxNodes)
	}
	s := &Shape{Endpoints: nodes, Nodes: nodes}
	for a := range nodes {
		s.Links = append(s.Links, Edge{a, (a + 1) % nodes, 1})
		if nodes > 2 {
			s.Links = append(s.Links, Edge{a, (a + nodes - 1) % nodes, 1})
		}
	}
	return s, nil
}
