package graph

import "fmt"

// Generator makes the links of a graph of a known shape. Its fields are its options, and their tags the keys that a
// scenario gives them by (scenarios/schema).
type Generator interface {
	// Links returns the directed links, from and to. Nodes is how many nodes were asked for, 0 where that was left
	// open. It fails where there is no such graph; the error says what there is ("; want ...").
	Links(nodes int) ([][2]int, error)
}

// Row is a named generator.
type Row struct {
	Name string
	New  func() Generator // points to its options
}

// Generators are those that scenarios may name. A new one is a row here.
var Generators = []Row{
	{"full-mesh", func() Generator { return &FullMesh{} }},
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

// mostMeshed bounds a full mesh, which has the square of that many links.
const mostMeshed = 1 << 10

// FullMesh joins all nodes to each other.
type FullMesh struct{}

// Links returns a link from every node to every other, in the order of nodes.
func (FullMesh) Links(nodes int) ([][2]int, error) {
	if nodes < 2 || nodes > mostMeshed {
		return nil, fmt.Errorf("a full mesh of %d nodes; want 2 to %d", nodes, mostMeshed)
	}
	links := make([][2]int, 0, nodes*(nodes-1))
	for a := range nodes {
		for b := range nodes {
			if a != b {
				links = append(links, [2]int{a, b})
			}
		}
	}
	return links, nil
}

// mostOnRing bounds a ring.
const mostOnRing = 1 << 16

// Ring joins each node to the next.
type Ring struct{}

// Links returns the links in both directions between neighbours, in the order of nodes. Two nodes have one link in each
// direction.
func (Ring) Links(nodes int) ([][2]int, error) {
	if nodes < 2 || nodes > mostOnRing {
		return nil, fmt.Errorf("a ring of %d nodes; want 2 to %d", nodes, mostOnRing)
	}
	if nodes == 2 {
		return [][2]int{{0, 1}, {1, 0}}, nil
	}
	links := make([][2]int, 0, 2*nodes)
	for a := range nodes {
		links = append(links, [2]int{a, (a + 1) % nodes}, [2]int{a, (a + nodes - 1) % nodes})
	}
	return links, nil
}
