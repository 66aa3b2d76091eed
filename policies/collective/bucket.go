package collective

import (
	"slices"
)

// bucket scatters along the rings of one axis of a torus after the other and gathers backwards. Parts of the data begin
// with each axis and go each way round, so that at any time all links are in use where the axes are equal (Sack and
// Gropp, "Collective algorithms for multiported torus networks", 2015; Jain and Sabharwal, 2010).
func bucket(b *builder, j *job) error {
	if b.p.Torus == nil {
		return unserved(j, "nodes of a torus")
	}
	if b.o.RingOrder == HamiltonianOrder {
		return unserved(j, "an order of rings along an axis: auto, ranks or folded")
	}
	g, err := b.grid(j)
	if err != nil {
		return err
	}
	scatter, gather, block, err := j.scatters()
	if err != nil {
		return err
	}
	axes, ways := len(g.sizes), 2
	if b.o.OneWay {
		ways = 1
	}
	streams := make([]*stream, ways*axes)
	for k := range streams {
		var order []int
		for i := range axes {
			order = append(order, (k/ways+i)%axes)
		}
		own := func(place int) data { return block[place].cut(k, len(streams)) }
		if j.kind == AllReduce { // any block may be summed anywhere: what is sent at once is then in one span
			rank, part := g.byAxes(order), j.data.cut(k, len(streams))
			own = func(place int) data { return part.cut(rank[place], len(j.ranks)) }
		}
		z := &stream{b: b, j: j, g: g, order: order, back: k%ways == 1, held: map[int]data{}}
		z.lay(own)
		streams[k] = z
	}
	b.phases(len(streams), scatter, gather, func(k int) {
		for s := range axes {
			streams[k].stage(s, true)
		}
	}, func(k int) {
		for s := axes - 1; s >= 0; s-- {
			streams[k].stage(s, false)
		}
	})
	return nil
}

// byAxes numbers the places, the last of some axes fastest.
func (g *grid) byAxes(order []int) []int {
	rank := make([]int, len(g.at))
	for i, at := range g.at {
		for _, a := range order {
			rank[i] = rank[i]*g.sizes[a] + at[a]
		}
	}
	return rank
}

// stream is a part of the data, and the order of the axes in which it is scattered.
type stream struct {
	b     *builder
	j     *job
	g     *grid
	order []int
	back  bool
	rings [][][]int32  // by axis
	held  map[int]data // by key
}

// key names the places that agree with one in the axes up to stage s, and have coordinate c along its axis.
func (z *stream) key(s int, place int32, c int) int {
	k := 0
	for _, a := range z.order[:s] {
		k = k*z.g.sizes[a] + z.g.at[place][a]
	}
	return (k*z.g.sizes[z.order[s]]+c)*len(z.order) + s
}

// lay finds the rings, and what the places of each key answer for.
func (z *stream) lay(own func(place int) data) {
	parts := map[int][]data{}
	for i, at := range z.g.at {
		d := own(i)
		for s, a := range z.order {
			k := z.key(s, int32(i), at[a])
			parts[k] = append(parts[k], d)
		}
	}
	for k, p := range parts {
		z.held[k] = join(p...)
	}
	for axis := range z.g.sizes {
		z.rings = append(z.rings, z.b.lines(z.j, z.g, axis, z.back))
	}
}

// stage scatters or gathers along the rings of the axis of a stage.
func (z *stream) stage(s int, scatter bool) {
	axis := z.order[s]
	for _, ring := range z.rings[axis] {
		part := func(place int32) data { return z.held[z.key(s, ring[0], z.g.at[place][axis])] }
		if scatter {
			z.b.scatterRing(z.j.ranks, ring, part)
		} else {
			z.b.gatherRing(z.j.ranks, ring, part)
		}
	}
}

// lines returns a ring of each line of a box along an axis, one way round or the other. In automatic order, if no link
// joins its ends but links join all others, the even places go up and the odd ones down, so that no hop is of more than
// two links.
func (b *builder) lines(j *job, g *grid, axis int, back bool) [][]int32 {
	var rings [][]int32
	for i, at := range g.at {
		if at[axis] > 0 {
			continue
		}
		ring, to, linked := []int32{int32(i)}, slices.Clone(at), true
		for c := 1; c < g.sizes[axis]; c++ {
			to[axis] = c
			ring = append(ring, g.place(to))
			linked = linked && b.net.link(j.ranks[ring[c-1]], j.ranks[ring[c]]) >= 0
		}
		open := linked && b.net.link(j.ranks[ring[len(ring)-1]], j.ranks[ring[0]]) < 0
		if b.o.RingOrder == FoldedOrder || open && b.o.RingOrder != RankOrder {
			ring = fold(ring)
		}
		if back {
			ring = reversed(ring)
		}
		rings = append(rings, ring)
	}
	return rings
}

// fold returns the even places of a line upwards and then the odd ones downwards.
func fold(line []int32) []int32 {
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
