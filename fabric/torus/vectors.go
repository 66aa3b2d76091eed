package torus

import (
	"fmt"
	"slices"
)

// Vectors returns the hop vectors of all shortest paths from a node to the one that is dst steps away from it, where
// from node 0 it is node dst: how far they go along each dimension, downwards if negative, in lexicographic order. Ways
// of one vector differ in the order of their hops. It fails where nodes are not identical (Symmetric).
func (t *Torus) Vectors() ([][][]int, error) {
	if !t.Symmetric() {
		return nil, fmt.Errorf("%w: in %s with its twists or borders hop vectors depend on where they begin", ErrShape, t)
	}
	hops := make([]int32, t.nodes)
	reached := t.reach(t.neighbours(), 0, hops, nil)
	all := make([][][]int, t.nodes)
	v := make([]int, len(t.Dims))
	var visit func(dim, left int)
	visit = func(dim, left int) {
		if dim == len(v)-1 {
			for _, c := range []int{-left, left} {
				v[dim] = c
				if n, h := t.Land(v), int32(norm(v)); hops[n] == h && (c != 0 || left == 0) {
					all[n] = append(all[n], slices.Clone(v))
				}
				if left == 0 {
					break
				}
			}
			return
		}
		for c := -left; c <= left; c++ {
			v[dim] = c
			visit(dim+1, left-max(c, -c))
		}
	}
	for h := range int(hops[reached[len(reached)-1]]) + 1 {
		visit(0, h)
	}
	return all, nil
}

// Land returns the node in which a hop vector from node 0 ends. All nodes must be identical (Symmetric).
func (t *Torus) Land(v []int) int32 { return t.land(slices.Clone(v)) }

// land is Land, and changes at. Dimensions along which links are shifted are not twisted themselves (Symmetric), so the
// order of dimensions does not matter.
func (t *Torus) land(at []int) int32 {
	for i, shift := range t.Shift {
		turns := (at[i] - mod(at[i], t.Dims[i])) / t.Dims[i]
		for j, by := range shift {
			at[j] += turns * by
		}
	}
	n := 0
	for d, c := range at {
		n += mod(c, t.Dims[d]) * t.stride[d]
	}
	return int32(n)
}

func norm(v []int) int {
	sum := 0
	for _, c := range v {
		sum += max(c, -c)
	}
	return sum
}
