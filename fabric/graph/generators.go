package graph

import "fmt"

// Generator generates a graph of a known shape. Its fields are its options; the tags of the
// fields are their keys in scenarios (scenarios/schema).
type Generator interface {
	// Shape returns the graph with the given number of endpoints. 0 stands for any number. It
	// returns an error if there is no such graph; the error states the accepted values ("; want
	// ...").
	Shape(endpoints int) (*Shape, error)
}

// Shape holds the nodes and links of a graph.
type Shape struct {
	// The first Endpoints of the Nodes nodes send and receive. The others are switches, which only
	// forward.
	Endpoints, Nodes int
	Links            []Edge
}

// Edge is a directed link.
type Edge struct {
	From, To int
	Times    float64 // rate relative to the default rate
}

// defaultRate is Edge.Times of a link with the default rate.
const defaultRate = 1

// addPair adds links in both directions between two nodes. times is Edge.Times of both.
func (s *Shape) addPair(a, b int, times float64) {
	s.Links = append(s.Links, Edge{From: a, To: b, Times: times}, Edge{From: b, To: a, Times: times})
	s.Nodes = max(s.Nodes, a+1, b+1)
}

// MaxShapeLinks is the maximum number of links of a shape: enough for a fat tree of 65,536 hosts
// on three levels, and for a full mesh of 1,024 nodes.
const MaxShapeLinks = 1 << 20

// newShape returns a shape without links, with capacity for the given number of link pairs. It
// returns an error if wanted, the number of endpoints that a scenario requires, is neither 0 nor
// endpoints. Fewer than 2 endpoints and too many links are also errors.
func newShape(name string, endpoints, wanted, pairs int) (*Shape, error) {
	switch {
	case wanted != 0 && wanted != endpoints:
		return nil, fmt.Errorf("%s of %d endpoints, where %d were asked for; want %d, or none",
			name, endpoints, wanted, endpoints)
	case endpoints < 2 || pairs < 1 || pairs > MaxShapeLinks/2:
		return nil, fmt.Errorf("%s of %d endpoints and %d links; want at least 2, and at most %d links",
			name, endpoints, 2*pairs, MaxShapeLinks)
	}
	return &Shape{Endpoints: endpoints, Nodes: endpoints, Links: make([]Edge, 0, 2*pairs)}, nil
}

// NamedGenerator is a row of Generators.
type NamedGenerator struct {
	Name string
	New  func() Generator // returns a pointer to options
}

// Generators lists the generators that scenarios can use. A new generator is a row of this table.
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

// FullMesh connects all nodes to each other.
type FullMesh struct{}

// Shape returns a link from every node to every other node, in order of nodes.
func (FullMesh) Shape(nodes int) (*Shape, error) {
	const maxNodes = 1 << 10 // they have almost MaxShapeLinks links
	if nodes < 2 || nodes > maxNodes {
		return nil, fmt.Errorf("a full mesh of %d nodes; want 2 to %d", nodes, maxNodes)
	}
	s := &Shape{Endpoints: nodes, Nodes: nodes}
	for a := range nodes {
		for b := range nodes {
			if a != b {
				s.Links = append(s.Links, Edge{From: a, To: b, Times: defaultRate})
			}
		}
	}
	return s, nil
}

// Ring connects each node to the next.
type Ring struct{}

// Shape returns the links in both directions between neighbours, in order of nodes. Two nodes
// have one link in each direction.
func (Ring) Shape(nodes int) (*Shape, error) {
	const maxNodes = 1 << 16 // paths have up to half as many links
	if nodes < 2 || nodes > maxNodes {
		return nil, fmt.Errorf("a ring of %d nodes; want 2 to %d", nodes, maxNodes)
	}
	s := &Shape{Endpoints: nodes, Nodes: nodes}
	for a := range nodes {
		s.Links = append(s.Links, Edge{From: a, To: (a + 1) % nodes, Times: defaultRate})
		if nodes > 2 {
			s.Links = append(s.Links, Edge{From: a, To: (a + nodes - 1) % nodes, Times: defaultRate})
		}
	}
	return s, nil
}
