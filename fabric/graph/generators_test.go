package graph

import (
	"slices"
	"testing"
)

// TestGenerators: every node of a mesh and of a ring has as many links as it should, each way, none of them to itself
// or twice, and what cannot be fails.
func TestGenerators(t *testing.T) {
	for _, c := range []struct {
		of     Generator
		nodes  int
		degree int
	}{{FullMesh{}, 2, 1}, {FullMesh{}, 9, 8}, {Ring{}, 2, 1}, {Ring{}, 3, 2}, {Ring{}, 17, 2}} {
		links, err := c.of.Links(c.nodes)
		if err != nil {
			t.Fatal(err)
		}
		out, in := make([]int, c.nodes), make([]int, c.nodes)
		for i, l := range links {
			out[l[0]]++
			in[l[1]]++
			if l[0] == l[1] || slices.Contains(links[:i], l) {
				t.Errorf("%T of %d nodes: link %v", c.of, c.nodes, l)
			}
		}
		for a := range c.nodes {
			if out[a] != c.degree || in[a] != c.degree {
				t.Errorf("%T of %d nodes: node %d has %d links out and %d in, want %d", c.of, c.nodes, a, out[a], in[a], c.degree)
			}
		}
	}
	for _, g := range Generators {
		if _, err := g.New().Links(1); err == nil {
			t.Errorf("%s of one node", g.Name)
		}
	}
}
