package torus

import (
	"fmt"
	"slices"
)

// Rings returns the cycles that the upward links of a dimension form. Every node is in one of
// them, and each starts at its lowest node. In a dimension without twist they are its lines. A
// twist joins several lines into a longer ring; for example, bit z|x on 8x4x4 joins pairs of z
// lines of 4 nodes into rings of 8. It returns an error for an open dimension.
func (t *Torus) Rings(dim int) ([][]int32, error) {
	if dim < 0 || dim >= len(t.Dims) {
		return nil, fmt.Errorf("%w: no dimension %s in %s", ErrShape, DimName(dim), t)
	}
	if t.Open[dim] {
		return nil, fmt.Errorf("%w: dimension %s of %s is open, so its links close into no rings",
			ErrShape, DimName(dim), t)
	}

	const up = true
	visited := make([]bool, t.nodes)
	var rings [][]int32
	for n := range int32(t.nodes) {
		var ring []int32
		for node := n; !visited[node]; node, _ = t.Next(node, dim, up) {
			visited[node] = true
			ring = append(ring, node)
		}
		if ring != nil {
			rings = append(rings, ring)
		}
	}
	return rings, nil
}

// Lines returns the lines along dimension dim: nodes that differ only in this coordinate, in
// increasing order. Neighbours on a line have a link between them. Its two ends have one only if
// the dimension is wrapped and not twisted.
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

// Snake returns all nodes in boustrophedon order, the last dimension fastest. Consecutive nodes
// are linked inside the box.
func (t *Torus) Snake() []int32 { return t.snake(t.allDims()) }

// allDims returns the numbers of all dimensions.
func (t *Torus) allDims() []int {
	dims := make([]int, len(t.Dims))
	for d := range dims {
		dims[d] = d
	}
	return dims
}

// snake returns the nodes with coordinate 0 in all dimensions except dims, in boustrophedon order.
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

// Hamiltonian returns a ring of all nodes along links, starting at node 0. If one size is even
// and another one above 1, it uses only links inside the box, so it exists in every such twisted
// torus and mesh. Otherwise it uses the wrap-around links of one dimension, which must not be
// twisted. It returns an error if neither is possible; a mesh with an odd number of nodes has no
// such ring.
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
		if size > 1 && !t.Open[d] &&
			(t.Shift == nil || !slices.ContainsFunc(t.Shift[d], func(by int) bool { return by != 0 })) {
			return t.wrapRing(d), nil
		}
	}
	return nil, fmt.Errorf("%w: no ring through all nodes of %s is known: it takes an even size and another above 1, or a dimension that is wrapped and not twisted",
		ErrShape, t)
}

// combRing returns a comb: it goes up dimension d, which has even size, along the first column
// and returns in teeth through all other columns. A column is a position on the snake through
// the other dimensions.
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

// wrapRing goes through all columns of dimension d except their tops, up one and down the next.
// It returns along the tops and closes over the wrap-around link. The number of columns is odd,
// because all sizes are odd or d is the only dimension.
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
