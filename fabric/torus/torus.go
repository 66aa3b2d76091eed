// Package torus describes tori of any number of dimensions: nodes, links, distances and rings.
// Each dimension is open or wrapped around. Wrap-around links can be shifted in other dimensions
// (twisted tori).
//
// New, Mesh and Twist build a Torus. Links numbers its links, and Network converts it to an
// engine.Network. Faults describes parts that are down, Distances and Vectors shortest paths,
// Rings and Hamiltonian rings, and CubeConnections and Reconnect the optical connections of tori
// made of cubes. Begin reading with Torus and Next.
//
// The package contains only geometry. policies/routing chooses paths, and engine simulates.
package torus

import (
	"errors"
	"fmt"
	"slices"
)

// ErrShape is wrapped by all errors about invalid tori.
var ErrShape = errors.New("torus: no such shape")

// MaxNodes is the maximum number of nodes of a torus. Sums of distances over all pairs then fit
// an int64.
const MaxNodes = 1 << 20

// Torus is a graph whose nodes are the integer points of a box. Each node has links in both
// directions to its neighbours along every dimension. Nodes are numbered with the last dimension
// fastest: (x*Y + y)*Z + z in three dimensions.
type Torus struct {
	Dims []int  // size of each dimension
	Open []bool // whether a dimension has no wrap-around links, indexed by dimension
	// Shift[i] is the vector that an upward wrap-around link of dimension i adds to the other
	// coordinates, modulo their sizes. A downward link subtracts it. nil means no twist.
	Shift [][]int
	// Cube is the shape of the cubes that can make a torus of three dimensions; see CheckCubic.
	Cube Box

	nodes  int   // number of nodes
	stride []int // distance of the numbers of neighbours, indexed by dimension
}

// New returns the torus with the given sizes, wrapped around in every dimension. Its cubes have
// 4x4x4 chips. It returns an
// error if a size is below 1 or the number of nodes exceeds MaxNodes.
func New(dims ...int) (*Torus, error) {
	t := &Torus{Dims: slices.Clone(dims), Open: make([]bool, len(dims)), Cube: TPUCube, nodes: 1, stride: make([]int, len(dims))}
	if len(dims) == 0 {
		return nil, fmt.Errorf("%w: it has no dimension", ErrShape)
	}
	for i := len(dims) - 1; i >= 0; i-- {
		if dims[i] < 1 || dims[i] > MaxNodes/t.nodes {
			return nil, fmt.Errorf("%w: size %d of dimension %s; sizes are at least 1 and nodes at most %d",
				ErrShape, dims[i], DimName(i), MaxNodes)
		}
		t.stride[i] = t.nodes
		t.nodes *= dims[i]
	}
	return t, nil
}

// Mesh removes the wrap-around links of the given dimensions. It returns an error if a dimension
// does not exist.
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

// Node returns the number of the node with the given coordinates.
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

// Wraps reports whether a node's link along dim is at the border of the box, where links wrap
// around.
func (t *Torus) Wraps(node int32, dim int, up bool) bool {
	if up {
		return t.Coord(node, dim) == t.Dims[dim]-1
	}
	return t.Coord(node, dim) == 0
}

// Next returns the neighbour of a node along dim. It returns false at the border of an open
// dimension.
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
		for j, delta := range t.Shift[dim] {
			if delta != 0 {
				c := t.Coord(node, j)
				to += (mod(c+sign*delta, t.Dims[j]) - c) * t.stride[j]
			}
		}
	}
	return int32(to), true
}

// Link is a directed link of a torus.
type Link struct {
	From, To int32 // nodes
	Dim      int8  // dimension
	Up, Wrap bool  // direction of increasing coordinates; wrap-around link
}

// Links returns all links in the order of their numbers: by node and dimension, first the link
// up from the node and then its reverse. A wrapped dimension of size 2 has two links in each
// direction between the same nodes. One of size 1 links nodes to themselves, unless it is
// twisted.
func (t *Torus) Links() []Link {
	const up = true
	links := make([]Link, 0, 2*len(t.Dims)*t.nodes)
	for n := range int32(t.nodes) {
		for d := range t.Dims {
			if to, ok := t.Next(n, d, up); ok {
				wrap := t.Wraps(n, d, up)
				links = append(links,
					Link{From: n, To: to, Dim: int8(d), Up: up, Wrap: wrap},
					Link{From: to, To: n, Dim: int8(d), Up: !up, Wrap: wrap})
			}
		}
	}
	return links
}

// DimName returns the name of a dimension: x, y, z, and then d3, d4 ...
func DimName(i int) string {
	if i >= 0 && i < 3 {
		return "xyz"[i : i+1]
	}
	return fmt.Sprintf("d%d", i)
}

// mod returns a modulo m, which is never negative.
func mod(a, m int) int {
	if a %= m; a < 0 {
		a += m
	}
	return a
}
