package torus

import (
	"fmt"
	"slices"
)

// Vectors returns the hop vectors of all shortest paths from node 0, indexed by destination. A
// hop vector holds the number of hops along each dimension, negative for downward hops. The
// vectors of a destination are in lexicographic order. Paths with the same vector differ in
// the order of their hops. By symmetry the vectors also hold for other sources: from a to b
// they are the vectors of b minus a. It returns an error if nodes are not identical
// (Symmetric).
func (t *Torus) Vectors() ([][][]int, error) {
	if !t.Symmetric() {
		return nil, fmt.Errorf("%w: in %s with its twists or borders hop vectors depend on where they begin",
			ErrShape, t)
	}
	const source, firstDim = 0, 0
	hops := make([]int32, t.nodes)
	reached := t.search(t.neighbours(), source, hops, nil)
	all := make([][][]int, t.nodes)
	v := make([]int, len(t.Dims))

	// enumerate visits the vectors that begin with v[:dim] and have remaining hops along the
	// dimensions from dim on. It adds each vector whose end is not nearer to node 0.
	var enumerate func(dim, remaining int)
	enumerate = func(dim, remaining int) {
		if dim == len(v)-1 {
			for _, c := range []int{-remaining, remaining} {
				v[dim] = c
				if n, h := t.VectorEnd(v), int32(l1Norm(v)); hops[n] == h && (c != 0 || remaining == 0) {
					all[n] = append(all[n], slices.Clone(v))
				}
				if remaining == 0 {
					break
				}
			}
			return
		}
		for c := -remaining; c <= remaining; c++ {
			v[dim] = c
			enumerate(dim+1, remaining-max(c, -c))
		}
	}

	diameter := int(hops[reached[len(reached)-1]])
	for h := range diameter + 1 {
		enumerate(firstDim, h)
	}
	return all, nil
}

// VectorEnd returns the node at which a hop vector from node 0 ends. All nodes must be identical
// (Symmetric).
func (t *Torus) VectorEnd(v []int) int32 { return t.wrappedNode(slices.Clone(v)) }

// wrappedNode is VectorEnd without the copy: it modifies coords. Dimensions along which links
// are shifted are not twisted themselves, so the order of dimensions does not matter.
func (t *Torus) wrappedNode(coords []int) int32 {
	for i, shift := range t.Shift {
		turns := (coords[i] - mod(coords[i], t.Dims[i])) / t.Dims[i]
		for j, delta := range shift {
			coords[j] += turns * delta
		}
	}
	n := 0
	for d, c := range coords {
		n += mod(c, t.Dims[d]) * t.stride[d]
	}
	return int32(n)
}

// l1Norm returns the sum of the absolute values of v.
func l1Norm(v []int) int {
	sum := 0
	for _, c := range v {
		sum += max(c, -c)
	}
	return sum
}
