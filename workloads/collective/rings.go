package collective

import (
	"fmt"
	"slices"
	"strings"

	"sim/fabric/torus"
)

// The forms of rings: how a ring along a dimension is embedded in its links.
const (
	// LinkRing follows the links along the dimension, so that each hop is one link. A
	// twist joins several lines of the dimension to one longer ring, whose nodes then
	// form one group.
	LinkRing = "links"
	// LineRing takes the nodes of a line in order. If the dimension is open or twisted,
	// no link joins the two ends of a line. Traffic between them is routed like any
	// other.
	LineRing = "line"
	// FoldedRing takes the even nodes of a line upwards and the odd ones downwards. No
	// hop is longer than two links of the line, and the ring uses each of these links
	// once per direction. It needs no wrap-around link, which makes it the ring of a
	// single line in a twisted or open dimension.
	//
	// In a wrapped, untwisted dimension, LinkRing has twice its bandwidth in both
	// directions. In a dimension of size 4, a hop of two links may be routed outside the
	// line.
	FoldedRing = "folded"
)

// RingsAlong returns rings of a torus along the given dimensions.
//
// Along one dimension, there is one ring of the given form per line; with LinkRing in a
// twisted dimension, one ring may contain several lines. Along several dimensions, there
// is a Hamiltonian ring through each slice that they span. Its hops are links if
// Torus.Hamiltonian finds such a ring.
//
// Nodes that are down are left out, and rings with fewer than 2 nodes are dropped.
// RingsAlong fails on invalid dimensions and if no ring remains.
func RingsAlong(o *torus.Torus, dims []int, form string, down []bool) ([][]int32, error) {
	if err := checkDims(o, dims); err != nil {
		return nil, err
	}
	if down != nil && len(down) != o.Nodes() {
		return nil, fmt.Errorf("%w: rings among %d nodes, but down has %d entries", ErrTraffic,
			o.Nodes(), len(down))
	}
	var rings [][]int32
	var err error
	switch {
	case len(dims) > 1:
		rings, err = sliceRings(o, dims)
	case form == LinkRing:
		rings, err = o.Rings(dims[0])
	case form == LineRing:
		rings = o.Lines(dims[0])
	case form == FoldedRing:
		rings = o.Lines(dims[0])
		for i, line := range rings {
			rings[i] = Fold(line)
		}
	default:
		return nil, fmt.Errorf("%w: rings of form %q; want links, line or folded", ErrTraffic, form)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTraffic, err)
	}

	var result [][]int32
	for _, ring := range rings {
		ring = slices.DeleteFunc(ring, func(n int32) bool { return down != nil && down[n] })
		if len(ring) > 1 {
			result = append(result, ring)
		}
	}
	if len(result) == 0 {
		return nil, fmt.Errorf("%w: no ring of at least 2 nodes along %s of %s", ErrTraffic,
			dimNames(dims), o)
	}
	return result, nil
}

// Fold returns the elements of a line at even positions upwards, then the others
// downwards.
func Fold(line []int32) []int32 {
	ring := make([]int32, 0, len(line))
	for k := 0; k < len(line); k += 2 {
		ring = append(ring, line[k])
	}
	lastOdd := len(line)&^1 - 1 // -1 for a line of one element
	for k := lastOdd; k > 0; k -= 2 {
		ring = append(ring, line[k])
	}
	return ring
}

// Slices returns the nodes of each slice of a torus along the given dimensions. The nodes
// of a slice agree in all other coordinates. It fails on invalid dimensions.
func Slices(o *torus.Torus, dims []int) ([][]int32, error) {
	if err := checkDims(o, dims); err != nil {
		return nil, err
	}
	groupOf := make([]int32, o.Nodes()) // index of a group, by the lowest node of the slice
	var groups [][]int32
	for n := range int32(o.Nodes()) {
		coordinates := o.At(n)
		for _, d := range dims {
			coordinates[d] = 0
		}
		first := o.Node(coordinates...)
		if first == n {
			groupOf[n] = int32(len(groups))
			groups = append(groups, nil)
		}
		groups[groupOf[first]] = append(groups[groupOf[first]], n)
	}
	return groups, nil
}

// sliceRings maps the Hamiltonian ring of a torus of the given dimensions to each of the
// slices that they span.
func sliceRings(o *torus.Torus, dims []int) ([][]int32, error) {
	slicesOf, err := Slices(o, dims)
	if err != nil {
		return nil, err
	}
	dims = slices.Sorted(slices.Values(dims)) // the nodes of a slice are numbered in the order of o
	sizes, open := make([]int, len(dims)), []int(nil)
	for k, d := range dims {
		if sizes[k] = o.Dims[d]; o.Open[d] ||
			o.Shift != nil && slices.ContainsFunc(o.Shift[d], func(by int) bool { return by != 0 }) {
			open = append(open, k) // its wrap-around links may leave the slice or do not exist
		}
	}
	slice, err := torus.New(sizes...)
	if err != nil {
		return nil, err
	}
	if err := slice.Mesh(open...); err != nil {
		return nil, err
	}

	ring, err := slice.Hamiltonian()
	if err != nil { // no Hamiltonian ring exists: one hop is not a link
		ring = slice.Snake()
	}
	rings := make([][]int32, len(slicesOf))
	for i, nodes := range slicesOf {
		rings[i] = make([]int32, len(ring))
		for k, n := range ring {
			rings[i][k] = nodes[n]
		}
	}
	return rings, nil
}

// checkDims fails unless dims are distinct dimensions of the torus, at least one.
func checkDims(o *torus.Torus, dims []int) error {
	if len(dims) == 0 {
		return fmt.Errorf("%w: no dimension of %s is named", ErrTraffic, o)
	}
	for i, d := range dims {
		if d < 0 || d >= len(o.Dims) || slices.Contains(dims[:i], d) {
			return fmt.Errorf("%w: dimensions %s of %s; want each at most once, of %d", ErrTraffic,
				dimNames(dims), o, len(o.Dims))
		}
	}
	return nil
}

// dimNames formats dimensions for messages.
func dimNames(dims []int) string {
	names := make([]string, len(dims))
	for i, d := range dims {
		names[i] = torus.DimName(d)
	}
	return strings.Join(names, ",")
}
