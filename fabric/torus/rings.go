package torus

import (
	"fmt"
	"slices"
)

// Rings returns the rings that the links up a dimension close into, each from its lowest node on: every node is in one
// of them, and each is a cycle over links. In a dimension that is not twisted they are its lines; a twist joins several
// lines into a longer ring (bit z|x on 8x4x4 joins z lines of 4 two by two into rings of 8). It fails on an open
// dimension.
func (t *Torus) Rings(dim int) ([][]int32, error) {
	if dim < 0 || dim >= len(t.Dims) {
		return nil, fmt.Errorf("%w: no dimension %s in %s", ErrShape, DimName(dim), t)
	}
	if t.Open[dim] {
		return nil, fmt.Errorf("%w: dimension %s of %s is open, so its links close into no rings", ErrShape, DimName(dim), t)
	}
	visited := make([]bool, t.nodes)
	var rings [][]int32
	for n := range int32(t.nodes) {
		var ring []int32
		for at := n; !visited[at]; at, _ = t.Next(at, dim, true) {
			visited[at] = true
			ring = append(ring, at)
		}
		if ring != nil {
			rings = append(rings, ring)
		}
	}
	return rings, nil
}

// Lines returns the nodes that differ in coordinate dim alone, in its order, from the lowest node of each line on.
// Neighbours on a line have a link between them; its ends have one only where the dimension is wrapped and not twisted.
func (t *Torus) Lines(dim int) [][]int32 {
	lines := make([][]int32, 0, t.nodes/t.Dims[dim])
	for n := range int32(t.nodes) {
		if t.Coord(n, dim) > 0 {
			continue
		}
		line := make([]int32, t.Dims[dim])
		for k := range line {
			line[k] = n + int32(k*t.stride[dim])
		}
		lines = append(lines, line)
	}
	return lines
}

// Snake returns all nodes in an order in which neighbours are linked inside the box: boustrophedon, the last dimension
// fastest.
func (t *Torus) Snake() []int32 { return t.snake(t.allDims()) }

func (t *Torus) allDims() []int {
	dims := make([]int, len(t.Dims))
	for d := range dims {
		dims[d] = d
	}
	return dims
}

// snake runs through the nodes that have coordinate 0 in all but some dimensions.
func (t *Torus) snake(dims []int) []int32 {
	path := []int32{0}
	for k := len(dims) - 1; k >= 0; k-- {
		d := dims[k]
		layer := slices.Clone(path)
		for c := 1; c < t.Dims[d]; c++ {
			slices.Reverse(layer)
			for _, n := range layer {
				path = append(path, n+int32(c*t.stride[d]))
			}
		}
	}
	return path
}

// Hamiltonian returns a ring of all nodes over links, from node 0 on. It takes links inside the box alone where a size
// is even and another above 1 (so there is one in every twisted torus and mesh of that kind), and else the wrap-around
// link of one dimension, which must not be twisted. It fails where there is neither: meshes of an odd number of nodes
// have no such ring.
func (t *Torus) Hamiltonian() ([]int32, error) {
	if t.nodes < 2 {
		return nil, fmt.Errorf("%w: a ring needs at least 2 nodes, %s has %d", ErrShape, t, t.nodes)
	}
	for d, size := range t.Dims {
		if size%2 == 0 && (size == 2 || t.nodes > size) {
			return t.combRing(d), nil
		}
	}
	for d, size := range t.Dims {
		if size > 1 && !t.Open[d] && (t.Shift == nil || !slices.ContainsFunc(t.Shift[d], func(by int) bool { return by != 0 })) {
			return t.wrapRing(d), nil
		}
	}
	return nil, fmt.Errorf("%w: no ring through all nodes of %s is known: it takes an even size and another above 1, or a dimension that is wrapped and not twisted", ErrShape, t)
}

// combRing goes up dimension d, of even size, along the first column and comes back in teeth through all the others; a
// column is a place on the snake through the other dimensions.
func (t *Torus) combRing(d int) []int32 {
	cross := t.snake(slices.DeleteFunc(t.allDims(), func(i int) bool { return i == d }))
	ring := make([]int32, 0, t.nodes)
	for c := range t.Dims[d] {
		ring = append(ring, int32(c*t.stride[d]))
	}
	for c, tooth := t.Dims[d]-1, cross[1:]; c >= 0; c-- {
		for _, n := range tooth {
			ring = append(ring, n+int32(c*t.stride[d]))
		}
		tooth = slices.Clone(tooth)
		slices.Reverse(tooth)
	}
	return ring
}

// wrapRing goes through all columns of dimension d but their top, up one and down the next, comes back along the tops,
// and closes through the wrap-around link. There are an odd number of columns, since sizes are odd or d is all there
// is.
func (t *Torus) wrapRing(d int) []int32 {
	cross := t.snake(slices.DeleteFunc(t.allDims(), func(i int) bool { return i == d }))
	top := t.Dims[d] - 1
	ring := make([]int32, 0, t.nodes)
	for k, n := range cross {
		for c := range top {
			if k%2 == 1 {
				c = top - 1 - c
			}
			ring = append(ring, n+int32(c*t.stride[d]))
		}
	}
	for _, n := range slices.Backward(cross) {
		ring = append(ring, n+int32(top*t.stride[d]))
	}
	return ring
}
