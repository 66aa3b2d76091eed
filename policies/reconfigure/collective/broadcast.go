package collective

import "slices"

// broadcastPhase is a phase of a stage on Z_q, the residues modulo q. Link i leads from x to
// x+offsets[i]. The phase takes the given number of steps and reaches only residues below window.
type broadcastPhase struct {
	offsets []int32
	steps   int
	window  int
}

// residueRange is a range of a message: parts from..to-1 of residues first..first+count-1,
// relative to the sender.
type residueRange struct{ first, count, from, to int32 }

// broadcaster sends the shard of residue 0 to all of Z_q, breadth first. In each step, it reaches
// every residue at one hop from residues with the shard. The parts are divided among the possible
// links so that the maximum load of a link is minimal. On one topology, this is the breadth-first
// broadcast of Zhao et al., "Efficient direct-connect topologies for collective communications".
type broadcaster struct {
	q        int
	parts    int32   // per shard
	hasShard []bool  // indexed by residue
	holders  []int32 // residues with the shard, in the order in which they received it

	// receivers are the residues that receive the shard in the current step. semiMatching divides
	// their parts among the links. Its rows (fields parts and share) are the receivers; solve
	// computes share and the load of each link.
	receivers []int32
	semiMatching
}

// runBroadcast returns, by phase and step, the maximum load of a link in parts, and whether all
// residues have the shard. If emit is not nil, it is called with the message of each phase c,
// step s and link i. A phase ends early if no residue remains.
func runBroadcast(
	q int,
	parts int32,
	phases []broadcastPhase,
	emit func(c, s, i int, m []residueRange),
) (loads [][]int32, full bool) {
	z := broadcaster{
		q:            q,
		parts:        parts,
		hasShard:     make([]bool, q),
		holders:      []int32{0},
		semiMatching: newSemiMatching(len(phases[0].offsets)),
	}

	z.hasShard[0] = true
	var message []residueRange
	for c, phase := range phases {
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

// findReceivers finds the residues one hop from source without the shard, in order, and the links
// that can bring it.
func (z *broadcaster) findReceivers(source []int32, phase *broadcastPhase) {
	z.receivers = z.receivers[:0]
	for _, y := range source {
		for _, a := range phase.offsets {
			if x := (y + a) % int32(z.q); !z.hasShard[x] && int(x) < phase.window {
				z.hasShard[x] = true // avoids duplicates; reset below
				z.receivers = append(z.receivers, x)
			}
		}
	}

	for _, x := range z.receivers {
		z.hasShard[x] = false
	}

	// A row per receiver with the links that can bring its parts.
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

// message appends to m the ranges that link i carries. The links of a residue carry its parts in
// order.
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
		if n := len(m); n > 0 && m[n-1].first+m[n-1].count == y && m[n-1].from == from &&
			m[n-1].to == to {
			m[n-1].count++
			continue
		}
		m = append(m, residueRange{first: y, count: 1, from: from, to: to})
	}

	return m
}
