package collective

import (
	"slices"
)

// expandBucket scatters along the rings of one axis of a torus after another, and gathers in
// reverse order. An equal part of the data starts with each axis and goes in each direction. If
// all axes have the same size, all links are always in use (Sack and Gropp, "Collective
// algorithms for multiported torus networks", 2015; Jain and Sabharwal, 2010).
func expandBucket(b *builder, j *subCall) error {
	if b.problem.Torus == nil {
		return unserved(j, "nodes of a torus")
	}
	if b.options.RingOrder == HamiltonianOrder {
		return unserved(j, "an order of rings along an axis: auto, ranks or folded")
	}
	g, err := b.newGrid(j)
	if err != nil {
		return err
	}
	scatter, gather, block, err := j.scatterGather()
	if err != nil {
		return err
	}

	// One stream per first axis and direction. assigned returns the data that a member sums in the
	// stream.
	axes, directions := len(g.sizes), 2
	if b.options.OneWay {
		directions = 1
	}
	streams := make([]*bucketStream, directions*axes)
	for k := range streams {
		var order []int
		for i := range axes {
			order = append(order, (k/directions+i)%axes)
		}
		assigned := func(member int) data { return block[member].piece(k, len(streams)) }

		// Blocks may be summed anywhere: choose them so that each message is a single span.
		if j.kind == AllReduce {
			rank := g.numberByAxes(order)
			part := j.data.piece(k, len(streams))
			assigned = func(member int) data { return part.piece(rank[member], len(j.ranks)) }
		}
		z := &bucketStream{
			builder:    b,
			call:       j,
			grid:       g,
			order:      order,
			isReversed: k%directions == 1,
			groupData:  map[int]data{},
		}

		z.prepare(assigned)
		streams[k] = z
	}

	// Scatter in all stages of a stream, and gather in reverse order. true is for scattering.
	b.sendPhases(len(streams), scatter, gather, func(k int) {
		for s := range axes {
			streams[k].sendStage(s, true)
		}
	}, func(k int) {
		for s := axes - 1; s >= 0; s-- {
			streams[k].sendStage(s, false)
		}
	})

	return nil
}

// numberByAxes returns the index of each member in lexicographical order of its coordinates, the
// last axis of order fastest.
func (g *grid) numberByAxes(order []int) []int {
	rank := make([]int, len(g.coordinates))
	for i, coordinates := range g.coordinates {
		for _, a := range order {
			rank[i] = rank[i]*g.sizes[a] + coordinates[a]
		}
	}
	return rank
}

// bucketStream is a part of the data with the order of axes in which it is scattered. In stage s
// it uses the rings of axis order[s].
type bucketStream struct {
	builder    *builder
	call       *subCall
	grid       *grid
	order      []int        // axes, in the order of stages
	isReversed bool         // whether rings go downwards
	rings      [][][]int32  // rings of members, indexed by axis
	groupData  map[int]data // data that a group of members sums, indexed by groupKey
}

// groupKey numbers the members that agree with one member in the axes of the stages before s, and
// have coordinate c along the axis of stage s.
func (z *bucketStream) groupKey(s int, member int32, c int) int {
	k := 0
	for _, a := range z.order[:s] {
		k = k*z.grid.sizes[a] + z.grid.coordinates[member][a]
	}
	return (k*z.grid.sizes[z.order[s]]+c)*len(z.order) + s
}

// prepare computes the rings, and the data that each group sums; assigned returns the block of a
// member.
func (z *bucketStream) prepare(assigned func(member int) data) {
	// The data of a group are the blocks of its members.
	parts := map[int][]data{}
	for i, coordinates := range z.grid.coordinates {
		d := assigned(i)
		for s, a := range z.order {
			k := z.groupKey(s, int32(i), coordinates[a])
			parts[k] = append(parts[k], d)
		}
	}

	for k, p := range parts {
		z.groupData[k] = join(p...)
	}

	// The rings of each axis.
	for axis := range z.grid.sizes {
		z.rings = append(z.rings, z.builder.axisRings(z.call, z.grid, axis, z.isReversed))
	}
}

// sendStage scatters or gathers along the rings of a stage.
func (z *bucketStream) sendStage(s int, scatter bool) {
	axis := z.order[s]
	for _, ring := range z.rings[axis] {
		// All members of a ring agree in the axes of earlier stages, so ring[0] stands for them.
		part := func(member int32) data {
			return z.groupData[z.groupKey(s, ring[0], z.grid.coordinates[member][axis])]
		}
		if scatter {
			z.builder.scatterRing(z.call.ranks, ring, part)
		} else {
			z.builder.gatherRing(z.call.ranks, ring, part)
		}
	}
}

// axisRings returns a ring for each line of a box along an axis. In automatic order, a line whose
// ends no link joins is folded if links join all its neighbours, so that no hop spans more than
// two links.
func (b *builder) axisRings(j *subCall, g *grid, axis int, reverse bool) [][]int32 {
	var rings [][]int32
	for i, coordinates := range g.coordinates {
		if coordinates[axis] > 0 {
			continue
		}

		// The line starts at coordinate 0. linked reports whether links join all neighbours.
		ring := []int32{int32(i)}
		to := slices.Clone(coordinates)
		linked := true
		for c := 1; c < g.sizes[axis]; c++ {
			to[axis] = c
			ring = append(ring, g.memberAt(to))
			linked = linked && b.rankLinks.link(j.ranks[ring[c-1]], j.ranks[ring[c]]) >= 0
		}

		// An open line has no link that joins its ends.
		open := linked && b.rankLinks.link(j.ranks[ring[len(ring)-1]], j.ranks[ring[0]]) < 0
		if b.options.RingOrder == FoldedOrder || open && b.options.RingOrder != RankOrder {
			ring = foldLine(ring)
		}
		if reverse {
			ring = reversed(ring)
		}
		rings = append(rings, ring)
	}

	return rings
}

// foldLine returns the members at even indices of a line upwards, followed by those at odd
// indices downwards.
func foldLine(line []int32) []int32 {
	var up, down []int32
	for k, a := range line {
		if k%2 == 0 {
			up = append(up, a)
		} else {
			down = append(down, a)
		}
	}

	return append(up, reversed(down)...)
}
