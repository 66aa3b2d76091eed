package collective

import (
	"fmt"
	"slices"
	"strings"

	"sim/fabric/torus"
)

// Forms of rings: how a ring along a dimension is laid over its links.
const (
	// LinkRing follows the links up the dimension, whatever its twist, so that every hop of the ring is one link. A twist
	// joins several lines of the dimension into a longer ring, whose ranks are then one group.
	LinkRing = "links"
	// LineRing takes the nodes of a line in order. Where the dimension is open or twisted no link joins the ends, and
	// traffic between them goes as it is routed.
	LineRing = "line"
	// FoldedRing takes the even nodes of a line upwards and the odd ones downwards: no hop is more than two links, all
	// inside the line, and the whole ring takes every link of the line once in each direction. It needs no wrap-around
	// link, so it is the ring of one line in a dimension that is twisted or open. (Wrapped plainly, Links has twice its
	// bandwidth in both directions, and in size 4 a hop of two may be routed outside the line.)
	FoldedRing = "folded"
)

// RingsAlong returns the rings of a torus along dimensions: along one, in the form given, a ring for each of its lines
// (or for several, with Links in a twisted dimension); along more of them, a Hamiltonian ring through each of the
// slices that they span, in which hops are links where Torus.Hamiltonian of the slice has them. Nodes that are down are
// left out, and rings of less than 2 nodes dropped. It fails on dimensions that there are not, and where no ring is
// left.
func RingsAlong(o *torus.Torus, dims []int, form string, down []bool) ([][]int32, error) {
	if err := checkDims(o, dims); err != nil {
		return nil, err
	}
	if down != nil && len(down) != o.Nodes() {
		return nil, fmt.Errorf("%w: rings among %d nodes, with the state of %d", ErrTraffic,
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

// Fold returns the even places of a line upwards and then the odd ones downwards.
func Fold(line []int32) []int32 {
	ring := make([]int32, 0, len(line))
	for k := 0; k < len(line); k += 2 {
		ring = append(ring, line[k])
	}
	for k := len(line)&^1 - 1; k > 0; k -= 2 {
		ring = append(ring, line[k])
	}
	return ring
}

// Slices returns the nodes of each slice of a torus along dimensions, which agree in all other coordinates, in order.
// It fails on dimensions that there are not.
func Slices(o *torus.Torus, dims []int) ([][]int32, error) {
	if err := checkDims(o, dims); err != nil {
		return nil, err
	}
	groupOf := make([]int32, o.Nodes()) // the lowest node of a node's slice, then its place
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

// sliceRings lays the Hamiltonian ring of the torus of some dimensions over each of the slices that they span.
func sliceRings(o *torus.Torus, dims []int) ([][]int32, error) {
	slicesOf, err := Slices(o, dims)
	if err != nil {
		return nil, err
	}
	dims = slices.Sorted(slices.Values(dims)) // nodes of a slice are numbered like those of o
	sizes, open := make([]int, len(dims)), []int(nil)
	for k, d := range dims {
		if sizes[k] = o.Dims[d]; o.Open[d] ||
			o.Shift != nil && slices.ContainsFunc(o.Shift[d], func(by int) bool { return by != 0 }) {
			open = append(open, k) // its wrap-around links may leave the slice, or there are none
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
	if err != nil { // a ring with a hop that is no link
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

// checkDims fails on dimensions that there are not, or twice.
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

func dimNames(dims []int) string {
	names := make([]string, len(dims))
	for i, d := range dims {
		names[i] = torus.DimName(d)
	}
	return strings.Join(names, ",")
}
