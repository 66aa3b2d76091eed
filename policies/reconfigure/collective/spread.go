package collective

import "slices"

// course is one phase of a stage on Z_q: link i leads from x to x+offsets[i]; it lasts so many steps and reaches
// residues below window alone.
type course struct {
	offsets []int32
	steps   int
	window  int
}

// carry is a stretch of a message: parts from..to-1 of residues first..first+count-1, seen from the sender.
type carry struct{ first, count, from, to int32 }

// spreader spreads the shard of residue 0 over Z_q, breadth first: in each step every residue one hop from those that
// have it gets it, its parts divided among the links that can bring it so that the fullest link carries least. (On one
// topology this is the breadth-first broadcast of Zhao et al., "Efficient direct-connect topologies for collective
// communications".)
type spreader struct {
	q     int
	parts int32
	have  []bool
	held  []int32 // residues that have it, in the order of getting it

	// Of the step: the residues that get it, whose parts are divided among the links.
	fresh []int32
	division
}

// spread runs through courses and returns the load of the fullest link in parts, by step; emit, if not nil, is given
// the messages: of course c, step s of it and link i. A course ends early when nothing is left to reach.
func spread(q int, parts int32, courses []course, emit func(c, s, i int, m []carry)) (loads [][]int32, full bool) {
	z := spreader{q: q, parts: parts, have: make([]bool, q), held: []int32{0}, division: newDivision(len(courses[0].offsets))}
	z.have[0] = true
	var message []carry
	for c, phase := range courses {
		source := z.held
		var load []int32
		for s := 0; s < phase.steps && len(z.held) < min(q, phase.window); s++ {
			z.meet(source, &phase)
			if len(z.fresh) == 0 {
				break
			}
			z.divide()
			load = append(load, int32(slices.Max(z.load)))
			for i := range phase.offsets {
				if emit == nil {
					break
				}
				message = z.message(message[:0], i, &phase)
				emit(c, s, i, message)
			}
			for _, x := range z.fresh {
				z.have[x] = true
			}
			at := len(z.held)
			z.held = append(z.held, z.fresh...)
			source = z.held[at:]
		}
		loads = append(loads, load)
	}
	return loads, len(z.held) == q
}

// meet finds the residues one hop from source that lack the shard, in order, and who can send it to them.
func (z *spreader) meet(source []int32, phase *course) {
	z.fresh = z.fresh[:0]
	for _, y := range source {
		for _, a := range phase.offsets {
			if x := (y + a) % int32(z.q); !z.have[x] && int(x) < phase.window {
				z.have[x] = true // until below
				z.fresh = append(z.fresh, x)
			}
		}
	}
	for _, x := range z.fresh {
		z.have[x] = false
	}
	slices.Sort(z.fresh)
	z.share, z.division.parts = z.share[:0], z.division.parts[:0]
	for _, x := range z.fresh {
		z.division.parts = append(z.division.parts, int64(z.parts))
		for _, a := range phase.offsets {
			can := int64(-1)
			if z.have[(x+int32(z.q)-a)%int32(z.q)] {
				can = 0
			}
			z.share = append(z.share, can)
		}
	}
	z.rank()
}

// message lists what link i carries: of each residue, its links bring the parts one after the other.
func (z *spreader) message(m []carry, i int, phase *course) []carry {
	for e, x := range z.fresh {
		row := z.row(int32(e))
		if row[i] <= 0 {
			continue
		}
		from := int32(0)
		for _, c := range row[:i] {
			from += int32(max(0, c))
		}
		to := from + int32(row[i])
		y := (x + int32(z.q) - phase.offsets[i]) % int32(z.q)
		if n := len(m); n > 0 && m[n-1].first+m[n-1].count == y && m[n-1].from == from && m[n-1].to == to {
			m[n-1].count++
			continue
		}
		m = append(m, carry{y, 1, from, to})
	}
	return m
}
