package collective

import "slices"

// broadcastPhase is one phase of a stage on Z_q: link i leads from x to x+offsets[i]; it lasts so many steps and reaches
// residues below window alone.
type broadcastPhase struct {
	offsets []int32
	steps   int
	window  int
}

// residueRange is a stretch of a message: parts from..to-1 of residues first..first+count-1, seen from the sender.
type residueRange struct{ first, count, from, to int32 }

// broadcaster spreads the shard of residue 0 over Z_q, breadth first: in each step every residue one hop from those that
// have it gets it, its parts divided among the links that can bring it so that the fullest link carries least. (On one
// topology this is the breadth-first broadcast of Zhao et al., "Efficient direct-connect topologies for collective
// communications".)
type broadcaster struct {
	q        int
	parts    int32
	hasShard []bool
	holders  []int32 // residues that have it, in the order of getting it

	// Of the step: the residues that get it, whose parts are divided among the links.
	receivers []int32
	semiMatching
}

// runBroadcast runs through courses and returns the load of the fullest link in parts, by step; emit, if not nil, is given
// the messages: of course c, step s of it and link i. A course ends early when nothing is left to reach.
func runBroadcast(q int, parts int32, courses []broadcastPhase, emit func(c, s, i int, m []residueRange)) (loads [][]int32, full bool) {
	z := broadcaster{q: q, parts: parts, hasShard: make([]bool, q), holders: []int32{0}, semiMatching: newSemiMatching(len(courses[0].offsets))}
	z.hasShard[0] = true
	var message []residueRange
	for c, phase := range courses {
		source := z.holders
		var load []int32
		for s := 0; s < phase.steps && len(z.holders) < min(q, phase.window); s++ {
			z.findReceivers(source, &phase)
			if len(z.receivers) == 0 {
				break
			}
			z.solve()
			load = append(load, int32(slices.Max(z.load)))
			for i := range phase.offsets {
				if emit == nil {
					break
				}
				message = z.message(message[:0], i, &phase)
				emit(c, s, i, message)
			}
			for _, x := range z.receivers {
				z.hasShard[x] = true
			}
			start := len(z.holders)
			z.holders = append(z.holders, z.receivers...)
			source = z.holders[start:]
		}
		loads = append(loads, load)
	}
	return loads, len(z.holders) == q
}

// findReceivers finds the residues one hop from source that lack the shard, in order, and who can send it to them.
func (z *broadcaster) findReceivers(source []int32, phase *broadcastPhase) {
	z.receivers = z.receivers[:0]
	for _, y := range source {
		for _, a := range phase.offsets {
			if x := (y + a) % int32(z.q); !z.hasShard[x] && int(x) < phase.window {
				z.hasShard[x] = true // until below
				z.receivers = append(z.receivers, x)
			}
		}
	}
	for _, x := range z.receivers {
		z.hasShard[x] = false
	}
	slices.Sort(z.receivers)
	z.share, z.semiMatching.parts = z.share[:0], z.semiMatching.parts[:0]
	for _, x := range z.receivers {
		z.semiMatching.parts = append(z.semiMatching.parts, int64(z.parts))
		for _, a := range phase.offsets {
			can := int64(-1)
			if z.hasShard[(x+int32(z.q)-a)%int32(z.q)] {
				can = 0
			}
			z.share = append(z.share, can)
		}
	}
	z.sortRows()
}

// message lists what link i carries: of each residue, its links bring the parts one after the other.
func (z *broadcaster) message(m []residueRange, i int, phase *broadcastPhase) []residueRange {
	for e, x := range z.receivers {
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
		m = append(m, residueRange{y, 1, from, to})
	}
	return m
}
