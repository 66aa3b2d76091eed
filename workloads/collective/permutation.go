package collective

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"sim/fabric/torus"
)

// Permutations are the names of the permutations, as in Dally and Towles, "Principles and
// Practices of Interconnection Networks", Table 3.1.
var Permutations = []string{"random", "transpose", "bit-complement", "bit-reverse", "shuffle", "tornado"}

// Permutation sends a message from every node to its partner under a permutation:
//
//	random          a random permutation without fixed points
//	transpose       the coordinates in reverse order: (x, y) to (y, x)
//	bit-complement  every coordinate c to size-1-c
//	bit-reverse     the bits of the node's number in reverse order
//	shuffle         the bits of the node's number rotated up by one
//	tornado         every coordinate c to c + ceil(size/2)-1 modulo size
//
// Nodes whose partner is down or the node itself send nothing. Permutation fails if the
// permutation is not defined on the torus.
func Permutation(o *torus.Torus, kind string, message int64, seed uint64, down []bool) (*Traffic, error) {
	// Check the nodes before permute, which requires two nodes that are up.
	if err := checkNodes(kind+" permutation", o.Nodes(), message, down); err != nil {
		return nil, err
	}
	partner, err := permute(o, kind, seed, down)
	if err != nil {
		return nil, err
	}
	return pairTraffic(kind+" permutation", o.Nodes(), int64(o.Nodes()), message, down, func(yield func(s, d int32) bool) {
		for s, d := range partner {
			if !yield(int32(s), d) {
				return
			}
		}
	})
}

// permute returns the partner of each node.
func permute(o *torus.Torus, kind string, seed uint64, down []bool) ([]int32, error) {
	n := o.Nodes()
	partner := make([]int32, n)
	width := bits.Len(uint(n)) - 1 // bits of a node's number, if n is a power of 2
	switch kind {
	case "random":
		return derange(n, seed, down), nil
	case "bit-complement":
		for s := range partner { // complements all coordinates
			partner[s] = int32(n - 1 - s)
		}
	case "transpose":
		reversed := slices.Clone(o.Dims)
		slices.Reverse(reversed)
		if !slices.Equal(reversed, o.Dims) {
			return nil, fmt.Errorf("%w: transpose of %s; want sizes that are the same backwards, such as 4x8x4", ErrTraffic, o)
		}
		for s := range partner {
			coordinates := o.At(int32(s))
			slices.Reverse(coordinates)
			partner[s] = o.Node(coordinates...)
		}
	case "tornado":
		for s := range partner {
			coordinates := o.At(int32(s))
			for d, size := range o.Dims {
				coordinates[d] = (coordinates[d] + (size+1)/2 - 1) % size
			}
			partner[s] = o.Node(coordinates...)
		}
	case "bit-reverse", "shuffle":
		if n != 1<<width {
			return nil, fmt.Errorf("%w: %s of %d nodes; want a power of 2", ErrTraffic, kind, n)
		}
		for s := range partner {
			if kind == "shuffle" { // the highest bit becomes the lowest
				partner[s] = int32(s<<1&(n-1) | s>>(width-1))
			} else {
				partner[s] = int32(bits.Reverse32(uint32(s)) >> (32 - width))
			}
		}
	default:
		return nil, fmt.Errorf("%w: no permutation %q; there are %s", ErrTraffic, kind, strings.Join(Permutations, ", "))
	}
	return partner, nil
}

// derange draws a derangement of the nodes that are up, a permutation without fixed
// points, with uniform probability. It shuffles until there is no fixed point, on average
// e times.
func derange(n int, seed uint64, down []bool) []int32 {
	rng := randomStream(seed, "permutation")
	up := liveNodes(n, down)
	permuted := slices.Clone(up)
	hasFixedPoint := true
	for hasFixedPoint {
		rng.Shuffle(len(permuted), func(i, j int) { permuted[i], permuted[j] = permuted[j], permuted[i] })
		hasFixedPoint = false
		for i := range permuted {
			hasFixedPoint = hasFixedPoint || permuted[i] == up[i]
		}
	}
	partner := make([]int32, n)
	for s := range partner {
		partner[s] = int32(s)
	}
	for i, s := range up {
		partner[s] = permuted[i]
	}
	return partner
}
