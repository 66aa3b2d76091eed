package collective

import (
	"math/bits"
	"slices"
)

// halvingDoubling halves the data with partners at half the ranks' distance, then a quarter and so on, and gathers
// backwards (Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", 2005).
func halvingDoubling(b *builder, j *job) error {
	n := len(j.ranks)
	if bits.OnesCount(uint(n)) != 1 {
		return unserved(j, "a power of two")
	}
	var partner [][]int32
	for d := n / 2; d > 0; d /= 2 {
		step := make([]int32, n)
		for i := range step {
			step[i] = int32(i ^ d)
		}
		partner = append(partner, step)
	}
	return b.exchange(j, [][][]int32{partner})
}

// swing halves the data with partners at distances 1, 1, 3, 5, 11 ... to one side and the other in turn, on a torus
// along each axis in turn; parts of the data begin with each axis and to each side (De Sensi et al., "Swing:
// short-cutting rings for higher bandwidth allreduce", NSDI 2024).
func swing(b *builder, j *job) error {
	g, err := b.grid(j)
	if err != nil {
		return err
	}
	var left []int // steps along each axis
	for _, size := range g.sizes {
		if bits.OnesCount(uint(size)) != 1 {
			return unserved(j, "a power of two along each axis, not %v", g.sizes)
		}
		left = append(left, bits.TrailingZeros(uint(size)))
	}
	var parts [][][]int32
	for first := range left {
		for _, sign := range []int{1, -1} {
			parts = append(parts, swingSteps(g, slices.Clone(left), first, sign))
		}
	}
	return b.exchange(j, parts)
}

// swingSteps returns the partners of each step that begins with an axis and to a side.
func swingSteps(g *grid, left []int, first, sign int) (partner [][]int32) {
	n, axes := len(g.at), len(left)
	distance := slices.Repeat([]int{1}, axes) // along each axis: the sum of (-2)^i so far
	power := slices.Repeat([]int{-2}, axes)
	for axis := first; slices.Max(left) > 0; axis = (axis + 1) % axes {
		if left[axis] == 0 {
			continue
		}
		left[axis]--
		step := make([]int32, n)
		for i, at := range g.at {
			by := sign * distance[axis]
			if at[axis]%2 == 1 {
				by = -by
			}
			to, size := slices.Clone(at), g.sizes[axis]
			to[axis] = ((at[axis]+by)%size + size) % size
			step[i] = g.place(to)
		}
		partner = append(partner, step)
		distance[axis] += power[axis]
		power[axis] *= -2
	}
	return partner
}

// exchange has each place halve what it holds with a partner in each step, and gather it backwards. Equal parts of the
// data take the steps of each of parts, by step and place.
func (b *builder) exchange(j *job, parts [][][]int32) error {
	scatter, gather, block, err := j.scatters()
	if err != nil {
		return err
	}
	n := len(j.ranks)
	own := make([][][]data, len(parts)) // by part and step, what a place answers for: its own block after the last step
	for k, partner := range parts {
		steps := len(partner)
		own[k] = make([][]data, steps+1)
		own[k][steps] = make([]data, n)
		for i := range n {
			own[k][steps][i] = block[i].cut(k, len(parts))
		}
		for s := steps - 1; s >= 0; s-- {
			own[k][s] = make([]data, n)
			for i, to := range partner[s] {
				own[k][s][i] = join(own[k][s+1][i], own[k][s+1][to])
			}
		}
	}
	b.phases(len(parts), scatter, gather, func(k int) {
		for s, partner := range parts[k] {
			for i, to := range partner {
				b.send(j.ranks[i], j.ranks[to], own[k][s+1][to], true)
			}
		}
	}, func(k int) {
		for s, partner := range slices.Backward(parts[k]) {
			for i, to := range partner {
				b.send(j.ranks[i], j.ranks[to], own[k][s+1][i], false)
			}
		}
	})
	return nil
}
