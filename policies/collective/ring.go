package collective

import (
	"fmt"
	"slices"

	"sim/internal/numbers"
)

// unserved returns an error that wraps ErrUnserved, with the calls that the algorithm serves.
func unserved(j *subCall, want string, a ...any) error {
	return fmt.Errorf("%w: %s among %d ranks; want %s", ErrUnserved, j.kind, len(j.ranks),
		fmt.Sprintf(want, a...))
}

// scatterGather splits all-reduce, reduce-scatter and all-gather into the two halves of an
// all-reduce. It returns whether partial sums are scattered, whether blocks are gathered, and the
// block of each member. It fails for other calls.
func (j *subCall) scatterGather() (scatter, gather bool, block []data, err error) {
	switch j.kind {
	case AllReduce:
		return true, true, j.data.pieces(len(j.ranks)), nil
	case ReduceScatter, AllGather:
		return j.kind == ReduceScatter, j.kind == AllGather, j.blocks, nil
	}
	return false, false, nil, unserved(j, "%s, %s or %s", AllReduce, ReduceScatter, AllGather)
}

// expandRing sends blocks around one ring of the ranks.
func expandRing(b *builder, j *subCall) error {
	ring, err := b.ringMembers(j)
	if err != nil {
		return err
	}
	return b.sendRings(j, [][]int32{ring})
}

// expandBidirectionalRing sends half of each block around a ring in each direction.
func expandBidirectionalRing(b *builder, j *subCall) error {
	up, err := b.ringMembers(j)
	if err != nil {
		return err
	}
	return b.sendRings(j, [][]int32{up, reversed(up)})
}

// ringMembers returns the members of a call in the order of Options.RingOrder.
func (b *builder) ringMembers(j *subCall) ([]int32, error) {
	ring := numbers.Below(int32(len(j.ranks)))
	switch b.options.RingOrder {
	case FoldedOrder:
		return foldLine(ring), nil
	case HamiltonianOrder:
		if b.problem.Torus == nil {
			return nil, unserved(j, "nodes of a torus for a Hamiltonian ring")
		}
		nodes, err := b.problem.Torus.Hamiltonian()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnserved, err)
		}

		// Sort the members by the position of their node on the Hamiltonian ring.
		position := slices.Repeat([]int{len(nodes)}, len(nodes))
		for k, node := range nodes {
			position[node] = k
		}
		slices.SortFunc(ring, func(a, c int32) int {
			return position[b.Group[j.ranks[a]]] - position[b.Group[j.ranks[c]]]
		})
	}

	return ring, nil
}

// reversed returns a ring in the other direction.
func reversed(ring []int32) []int32 {
	ring = slices.Clone(ring)
	slices.Reverse(ring)
	return ring
}

// sendRings sends an equal part of the data around each of some rings of all members (Patarasuk
// and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009). A
// broadcast goes along the ring from the root in chunks, and a reduce to the root.
func (b *builder) sendRings(j *subCall, rings [][]int32) error {
	// A chain starts at the root. Each ring is a stream of its own.
	if j.kind == Broadcast || j.kind == Reduce {
		for k, ring := range rings {
			start := slices.Index(ring, int32(j.root))
			ring = slices.Concat(ring[start:], ring[:start])
			b.sendChain(j, ring, j.data.piece(k, len(rings)))
			b.stream++
		}
		return nil
	}

	scatter, gather, block, err := j.scatterGather()
	if err != nil {
		return err
	}

	// part returns the function from a member to its part on ring k.
	part := func(k int) func(member int32) data {
		return func(member int32) data { return block[member].piece(k, len(rings)) }
	}
	if b.visit == nil {
		b.splitHistories(j.ranks, len(rings), part)
	}
	b.sendPhases(len(rings), scatter, gather, func(k int) {
		b.scatterRing(j.ranks, rings[k], part(k))
	}, func(k int) {
		b.gatherRing(j.ranks, rings[k], part(k))
	})
	return nil
}

// scatterRing leaves every member of a ring with its part of the sum: in step s, the member at
// index i forwards the part of the member at index i-1-s. The receiver adds it to its own.
func (b *builder) scatterRing(ranks, ring []int32, part func(member int32) data) {
	n := len(ring)
	for s := range n - 1 {
		for i, a := range ring {
			b.send(ranks[a], ranks[ring[(i+1)%n]], part(ring[(i-1-s+2*n)%n]), true)
		}
	}
}

// gatherRing leaves every member of a ring with the parts of all: in step s, the member at index i
// forwards the part of the member at index i-s. The receiver copies it.
func (b *builder) gatherRing(ranks, ring []int32, part func(member int32) data) {
	n := len(ring)
	for s := range n - 1 {
		for i, a := range ring {
			b.send(ranks[a], ranks[ring[(i+1)%n]], part(ring[(i-s+n)%n]), false)
		}
	}
}

// sendChain sends data of a broadcast along a path of members in chunks, or data of a reduce back
// along it.
func (b *builder) sendChain(j *subCall, path []int32, d data) {
	n := len(path)
	pieces := b.chunkCount(d.bytes(), worstLink(b.problem.Network), n-1, fillShare)

	// Billions of chunks are possible; stop after MaxTransfers. A reduce goes from the end of the
	// path to its start, and its receivers add.
	for k := 0; k < pieces && b.err == nil; k++ {
		piece := d.piece(k, pieces)
		for i := range n - 1 {
			if from, to := j.ranks[path[i]], j.ranks[path[i+1]]; j.kind == Broadcast {
				b.send(from, to, piece, false)
			} else {
				from = j.ranks[path[n-1-i]]
				to = j.ranks[path[n-2-i]]
				b.send(from, to, piece, true)
			}
		}
	}
}
