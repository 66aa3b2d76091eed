// Package torus describes tori of any number of dimensions: their nodes and links, open or wrapped round in each
// dimension, with wrap-around links that may land shifted (twisted tori), and the distances in them.
//
// It knows geometry alone. Which path packets take is decided in policies/routing, how long they take in engine.
package torus

import (
	"errors"
	"fmt"
	"slices"
)

// ErrShape is wrapped by every error about a torus that cannot be.
var ErrShape = errors.New("torus: no such shape")

// MaxNodes is the most nodes of a torus: sums of distances over all pairs then fit an int64.
const MaxNodes = 1 << 20

// Torus is a graph of nodes at the integer points of a box, each linked in both directions to its neighbours along
// every dimension. Nodes are numbered with the last dimension fastest: (x*Y + y)*Z + z in three.
type Torus struct {
	Dims []int  // size of each dimension
	Open []bool // dimensions without wrap-around links
	// Shift[i] is the vector that a wrap-around link of dimension i, taken upwards, adds to the other coordinates,
	// modulo their sizes; taken downwards it subtracts it. nil is no twist.
	Shift [][]int

	nodes  int
	stride []int
}

// New returns the torus of these sizes, wrapped round in every dimension. It fails where a size is below 1 or there are
// more than MaxNodes nodes.
func New(dims ...int) (*Torus, error) {
	t := &Torus{Dims: slices.Clone(dims), Open: make([]bool, len(dims)), nodes: 1, stride: make([]int, len(dims))}
	if len(dims) == 0 {
		return nil, fmt.Errorf("%w: it has no dimension", ErrShape)
	}
	for i := len(dims) - 1; i >= 0; i-- {
		if dims[i] < 1 || dims[i] > MaxNodes/t.nodes {
			return nil, fmt.Errorf("%w: size %d of dimension %s; sizes are at least 1 and nodes at most %d", ErrShape, dims[i], DimName(i), MaxNodes)
		}
		t.stride[i] = t.nodes
		t.nodes *= dims[i]
	}
	return t, nil
}

// Mesh opens dimensions: they lose their wrap-around links. It fails on a dimension that there is not.
func (t *Torus) Mesh(dims ...int) error {
	for _, i := range dims {
		if i < 0 || i >= len(t.Dims) {
			return fmt.Errorf("%w: no dimension %s to open in %v", ErrShape, DimName(i), t.Dims)
		}
		t.Open[i] = true
	}
	return nil
}

// Nodes returns the number of nodes.
func (t *Torus) Nodes() int { return t.nodes }

// Node returns the number of the node at the coordinates.
func (t *Torus) Node(coords ...int) int32 {
	n := 0
	for i, c := range coords {
		n += c * t.stride[i]
	}
	return int32(n)
}

// Coord returns coordinate dim of a node.
func (t *Torus) Coord(node int32, dim int) int { return int(node) / t.stride[dim] % t.Dims[dim] }

// At returns the coordinates of a node.
func (t *Torus) At(node int32) []int {
	coords := make([]int, len(t.Dims))
	for i := range coords {
		coords[i] = t.Coord(node, i)
	}
	return coords
}

// Wraps reports whether the link of a node along dim, up or down, is a wrap-around link or would be one.
func (t *Torus) Wraps(node int32, dim int, up bool) bool {
	if up {
		return t.Coord(node, dim) == t.Dims[dim]-1
	}
	return t.Coord(node, dim) == 0
}

// Next returns the neighbour of a node along dim, up or down; false at the border of an open dimension.
func (t *Torus) Next(node int32, dim int, up bool) (int32, bool) {
	step, sign := t.stride[dim], 1
	if !up {
		sign = -1
	}
	if !t.Wraps(node, dim, up) {
		return node + int32(sign*step), true
	}
	if t.Open[dim] {
		return 0, false
	}
	to := int(node) - sign*step*(t.Dims[dim]-1)
	if t.Shift != nil {
		for j, by := range t.Shift[dim] {
			if by != 0 {
				c := t.Coord(node, j)
				to += (mod(c+sign*by, t.Dims[j]) - c) * t.stride[j]
			}
		}
	}
	return int32(to), true
}

// Link is a directed link of a torus.
type Link struct {
	From, To int32
	Dim      int8
	Up, Wrap bool
}

// Links returns all links in the order in which they are numbered: by node and dimension, the link up from the node and
// then its opposite. A wrapped dimension of size 2 has two links in each direction between the same nodes, and one of
// size 1 links nodes to themselves, unless they are twisted.
func (t *Torus) Links() []Link {
	links := make([]Link, 0, 2*len(t.Dims)*t.nodes)
	for n := range int32(t.nodes) {
		for d := range t.Dims {
			if to, ok := t.Next(n, d, true); ok {
				wrap := t.Wraps(n, d, true)
				links = append(links, Link{n, to, int8(d), true, wrap}, Link{to, n, int8(d), false, wrap})
			}
		}
	}
	return links
}

// DimName is the name of a dimension: x, y, z, and then d3, d4 ...
func DimName(i int) string {
	if i >= 0 && i < 3 {
		return "xyz"[i : i+1]
	}
	return fmt.Sprintf("d%d", i)
}

func mod(a, m int) int {
	if a %= m; a < 0 {
		a += m
	}
	return a
}
