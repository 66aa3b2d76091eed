package torus

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// linked returns the pairs of nodes that a link joins.
func linked(o *Torus) map[[2]int32]bool {
	pairs := map[[2]int32]bool{}
	for _, l := range o.Links() {
		pairs[[2]int32{l.From, l.To}] = true
	}
	return pairs
}

// ringError returns the error of a ring of all nodes, or of n of them, and "" if it is correct.
func ringError(o *Torus, ring []int32, n int) string {
	pairs := linked(o)
	for i, a := range ring {
		if b := ring[(i+1)%len(ring)]; !pairs[[2]int32{a, b}] {
			return "no link joins what follow each other"
		}
	}
	if sorted := slices.Sorted(slices.Values(ring)); len(sorted) != n || len(slices.Compact(sorted)) != n {
		return "it misses nodes, or has them twice"
	}
	return ""
}

// TestHamiltonian: the ring is a cycle along links through every node. If Hamiltonian returns an
// error for a torus without twists, an exhaustive search finds no ring either.
func TestHamiltonian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := anyTorus(t, 5)
		ring, err := o.Hamiltonian()
		if err == nil {
			if w := ringError(o, ring, o.Nodes()); w != "" || ring[0] != 0 {
				t.Fatalf("%s open %v shift %v: %v: %s", o, o.Open, o.Shift, ring, w)
			}
			return
		}
		if !errors.Is(err, ErrShape) {
			t.Fatal(err)
		}
		if o.Shift == nil && o.Nodes() > 1 && o.Nodes() <= 15 {
			if ring := searchRing(o); ring != nil {
				t.Fatalf("%s open %v: refused, but there is %v", o, o.Open, ring)
			}
		}
	})
	for _, dims := range [][]int{{4, 4, 4}, {16, 16, 16}, {2, 2, 1}, {1, 1, 7}, {3, 3, 3}, {1, 1, 2}} {
		o := must(t, "", dims...)
		ring, err := o.Hamiltonian()
		if err != nil {
			t.Errorf("%s: %v", o, err)
		} else if w := ringError(o, ring, o.Nodes()); w != "" {
			t.Errorf("%s: %s", o, w)
		}
	}
}

// searchRing searches for a ring of all nodes by backtracking.
func searchRing(o *Torus) []int32 {
	pairs := linked(o)
	path, seen := []int32{0}, make([]bool, o.Nodes())
	seen[0] = true
	var on func() bool
	on = func() bool {
		last := path[len(path)-1]
		if len(path) == o.Nodes() {
			return pairs[[2]int32{last, 0}]
		}
		for n := range int32(o.Nodes()) {
			if !seen[n] && pairs[[2]int32{last, n}] {
				seen[n] = true
				path = append(path, n)
				if on() {
					return true
				}
				path, seen[n] = path[:len(path)-1], false
			}
		}
		return false
	}
	if on() {
		return path
	}
	return nil
}

// TestRings: rings are cycles along upward links of the dimension that contain every node once.
// Lines are the nodes that differ only in the dimension, in order.
func TestRings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := anyTorus(t, 5)
		d := rapid.IntRange(0, len(o.Dims)-1).Draw(t, "dim")
		lines := o.Lines(d)
		if all := slices.Sorted(slices.Values(slices.Concat(lines...))); len(all) != o.Nodes() || len(slices.Compact(all)) != o.Nodes() {
			t.Fatalf("%s: lines %v", o, lines)
		}
		for _, line := range lines {
			for k, n := range line {
				at := o.At(line[0])
				at[d] = k
				if n != o.Node(at...) {
					t.Fatalf("%s: node %d of line %v along %d", o, k, line, d)
				}
			}
		}
		rings, err := o.Rings(d)
		if o.Open[d] {
			if !errors.Is(err, ErrShape) {
				t.Fatalf("rings of an open dimension: %v", err)
			}
			return
		}
		if all := slices.Sorted(slices.Values(slices.Concat(rings...))); len(all) != o.Nodes() || len(slices.Compact(all)) != o.Nodes() {
			t.Fatalf("%s: rings %v", o, rings)
		}
		for i, ring := range rings {
			if ring[0] != slices.Min(ring) || i > 0 && ring[0] <= rings[i-1][0] {
				t.Fatalf("%s: ring %d is %v, out of order", o, i, ring)
			}
			for k, n := range ring {
				if to, _ := o.Next(n, d, true); to != ring[(k+1)%len(ring)] {
					t.Fatalf("%s: ring %v leaves the links up %d after %d", o, ring, d, n)
				}
			}
		}
	})
}

// TestTwistedRings: a twist by half of another dimension joins pairs of lines.
func TestTwistedRings(t *testing.T) {
	for _, c := range []struct {
		twist        string
		dims         []int
		dim          int
		rings, nodes int
	}{
		{"", []int{8, 4, 4}, 2, 32, 4}, {"000010", []int{8, 4, 4}, 2, 16, 8}, {"000011", []int{8, 4, 4}, 2, 16, 8},
		{"000010", []int{8, 4, 4}, 0, 16, 8}, {TPUv4, []int{4, 4, 8}, 0, 16, 8}, {"", []int{1, 1, 2}, 0, 2, 1},
	} {
		rings, err := must(t, c.twist, c.dims...).Rings(c.dim)
		if err != nil || len(rings) != c.rings || len(rings[0]) != c.nodes || len(rings[len(rings)-1]) != c.nodes {
			t.Errorf("%v %s along %s: %d rings, the first %v; want %d of %d (%v)", c.dims, c.twist, DimName(c.dim), len(rings), rings[0], c.rings, c.nodes, err)
		}
	}
	for _, d := range []int{-1, 3} {
		if _, err := must(t, "", 2, 2, 2).Rings(d); !errors.Is(err, ErrShape) {
			t.Errorf("rings of dimension %d: %v", d, err)
		}
	}
}

// TestSnake: consecutive nodes are neighbours inside the box.
func TestSnake(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, err := New(rapid.SliceOfN(rapid.IntRange(1, 5), 1, 4).Draw(t, "dims")...)
		if err != nil {
			t.Fatal(err)
		}
		path, seen := o.Snake(), map[int32]bool{}
		for i, n := range path {
			seen[n] = true
			if i == 0 {
				continue
			}
			distance := 0
			for d := range o.Dims {
				c := o.Coord(n, d) - o.Coord(path[i-1], d)
				distance += c * c
			}
			if distance != 1 {
				t.Fatalf("%s: %d follows %d", o, n, path[i-1])
			}
		}
		if len(path) != o.Nodes() || len(seen) != o.Nodes() {
			t.Fatalf("%s: %v", o, path)
		}
	})
}
