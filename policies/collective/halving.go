package collective

import (
	"math/bits"
	"slices"
)

// expandHalvingDoubling exchanges halves of the data with partners at distance n/2, then quarters
// at distance n/4 and so on, and gathers in reverse order (Thakur, Rabenseifner and Gropp,
// "Optimization of collective communication operations in MPICH", 2005).
func expandHalvingDoubling(b *builder, j *subCall) error {
	n := len(j.ranks)
	if bits.OnesCount(uint(n)) != 1 {
		return unserved(j, "a power of two")
	}

	// At distance d, the numbers of partners differ only in the bit of d.
	var partner [][]int32
	for d := n / 2; d > 0; d /= 2 {
		step := make([]int32, n)
		for i := range step {
			step[i] = int32(i ^ d)
		}
		partner = append(partner, step)
	}

	return b.exchangeHalves(j, [][][]int32{partner})
}

// expandSwing exchanges halves with partners at distances 1, 1, 3, 5, 11 ..., alternately to
// either side, and on a torus along each axis in turn. An equal part of the data starts with each
// axis and each side (De Sensi et al., "Swing: short-cutting rings for higher bandwidth
// allreduce", NSDI 2024).
func expandSwing(b *builder, j *subCall) error {
	g, err := b.newGrid(j)
	if err != nil {
		return err
	}
	var steps []int // number of steps along each axis
	for _, size := range g.sizes {
		if bits.OnesCount(uint(size)) != 1 {
			return unserved(j, "a power of two along each axis, not %v", g.sizes)
		}
		steps = append(steps, bits.TrailingZeros(uint(size)))
	}

	// One part of the data per first axis and side: up or down.
	var parts [][][]int32
	for first := range steps {
		for _, sign := range []int{1, -1} {
			parts = append(parts, swingPartners(g, slices.Clone(steps), first, sign))
		}
	}
	return b.exchangeHalves(j, parts)
}

// swingPartners returns the partner of each member in each step, for the part of the data that
// starts with axis first and the side given by sign. remaining is the number of steps along each
// axis; it is consumed.
func swingPartners(g *grid, remaining []int, first, sign int) (partner [][]int32) {
	n, axes := len(g.coordinates), len(remaining)
	// The distance of step s is the sum of (-2)^i for i = 0..s: 1, -1, 3, -5 and so on. distance and
	// power, the next term of the sum, are indexed by axis.
	distance := slices.Repeat([]int{1}, axes)
	power := slices.Repeat([]int{-2}, axes)
	for axis := first; slices.Max(remaining) > 0; axis = (axis + 1) % axes {
		if remaining[axis] == 0 {
			continue
		}
		remaining[axis]--

		// Members at odd coordinates go to the other side, so that partners agree.
		step := make([]int32, n)
		for i, coordinates := range g.coordinates {
			offset := sign * distance[axis]
			if coordinates[axis]%2 == 1 {
				offset = -offset
			}
			to := slices.Clone(coordinates)
			size := g.sizes[axis]
			to[axis] = ((coordinates[axis]+offset)%size + size) % size
			step[i] = g.memberAt(to)
		}

		partner = append(partner, step)
		distance[axis] += power[axis]
		power[axis] *= -2
	}

	return partner
}

// exchangeHalves lets each member exchange half of its data with a partner in each step, and
// gather it in reverse order. The data is divided equally among parts; parts[k][s][i] is the
// partner of member i in step s of part k.
func (b *builder) exchangeHalves(j *subCall, parts [][][]int32) error {
	scatter, gather, block, err := j.scatterGather()
	if err != nil {
		return err
	}
	n := len(j.ranks)

	// assigned is the data that a member sums, indexed by part, step and member. After the last
	// step it is the block of the member. Before a step, two partners sum the same data: what both
	// of them sum after it.
	assigned := make([][][]data, len(parts))
	for k, partner := range parts {
		steps := len(partner)
		assigned[k] = make([][]data, steps+1)
		assigned[k][steps] = make([]data, n)
		for i := range n {
			assigned[k][steps][i] = block[i].piece(k, len(parts))
		}
		for s := steps - 1; s >= 0; s-- {
			assigned[k][s] = make([]data, n)
			for i, to := range partner[s] {
				assigned[k][s][i] = join(assigned[k][s+1][i], assigned[k][s+1][to])
			}
		}
	}

	// In each step a member sends the part of the data that its partner sums. The last argument of
	// send is true if the receiver adds the data to its own.
	b.sendPhases(len(parts), scatter, gather, func(k int) {
		for s, partner := range parts[k] {
			for i, to := range partner {
				b.send(j.ranks[i], j.ranks[to], assigned[k][s+1][to], true)
			}
		}
	}, func(k int) {
		for s, partner := range slices.Backward(parts[k]) {
			for i, to := range partner {
				b.send(j.ranks[i], j.ranks[to], assigned[k][s+1][i], false)
			}
		}
	})

	return nil
}
