package collective

import (
	"fmt"
	"slices"

	"sim/internal/numbers"
)

// unserved says that an algorithm does not serve a job.
func unserved(j *subCall, want string, a ...any) error {
	return fmt.Errorf("%w: %s among %d ranks; want %s", ErrUnserved, j.kind, len(j.ranks), fmt.Sprintf(want, a...))
}

// scatterGather splits the calls that leave or begin with blocks into the two halves of an all-reduce: whether partial sums
// are scattered, whether blocks are gathered, and the block of each place. It fails on other calls.
func (j *subCall) scatterGather() (scatter, gather bool, block []data, err error) {
	switch j.kind {
	case AllReduce:
		return true, true, j.data.pieces(len(j.ranks)), nil
	case ReduceScatter, AllGather:
		return j.kind == ReduceScatter, j.kind == AllGather, j.blocks, nil
	}
	return false, false, nil, unserved(j, "%s, %s or %s", AllReduce, ReduceScatter, AllGather)
}

func expandRing(b *builder, j *subCall) error {
	ring, err := b.ringMembers(j)
	if err != nil {
		return err
	}
	return b.sendRings(j, [][]int32{ring})
}

func expandBidirectionalRing(b *builder, j *subCall) error {
	up, err := b.ringMembers(j)
	if err != nil {
		return err
	}
	return b.sendRings(j, [][]int32{up, reversed(up)})
}

// ringMembers returns the places of a job in the order in which a ring passes them.
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
		position := slices.Repeat([]int{len(nodes)}, len(nodes)) // by node: where it is on the ring
		for k, node := range nodes {
			position[node] = k
		}
		slices.SortFunc(ring, func(a, c int32) int { return position[b.Group[j.ranks[a]]] - position[b.Group[j.ranks[c]]] })
	}
	return ring, nil
}

func reversed(ring []int32) []int32 {
	ring = slices.Clone(ring)
	slices.Reverse(ring)
	return ring
}

// sendRings has an equal part of the data go round each of some rings of all places of a job (Patarasuk and Yuan, "Bandwidth
// optimal all-reduce algorithms for clusters of workstations", 2009). A broadcast and a reduce go along the ring from
// the root, or to it, in chunks.
func (b *builder) sendRings(j *subCall, rings [][]int32) error {
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
	part := func(k int) func(member int32) data {
		return func(member int32) data { return block[member].piece(k, len(rings)) }
	}
	b.sendPhases(len(rings), scatter, gather, func(k int) {
		b.scatterRing(j.ranks, rings[k], part(k))
	}, func(k int) {
		b.gatherRing(j.ranks, rings[k], part(k))
	})
	return nil
}

// scatterRing leaves every place of a ring with its part of the sum: in step s the place at i sends the part of the
// one at i-1-s on.
func (b *builder) scatterRing(ranks, ring []int32, part func(member int32) data) {
	n := len(ring)
	for s := range n - 1 {
		for i, a := range ring {
			b.send(ranks[a], ranks[ring[(i+1)%n]], part(ring[(i-1-s+2*n)%n]), true)
		}
	}
}

// gatherRing leaves every place of a ring with the parts of all.
func (b *builder) gatherRing(ranks, ring []int32, part func(member int32) data) {
	n := len(ring)
	for s := range n - 1 {
		for i, a := range ring {
			b.send(ranks[a], ranks[ring[(i+1)%n]], part(ring[(i-s+n)%n]), false)
		}
	}
}

// sendChain passes some data of a broadcast along a path of places, or that of a reduce back along it.
func (b *builder) sendChain(j *subCall, path []int32, d data) {
	n := len(path)
	pieces := b.chunkCount(d.bytes(), worstLink(b.problem.Network), n-1, fillShare)
	for k := 0; k < pieces && b.err == nil; k++ { // there may be billions, of which the first few are too many
		piece := d.piece(k, pieces)
		for i := range n - 1 {
			if from, to := j.ranks[path[i]], j.ranks[path[i+1]]; j.kind == Broadcast {
				b.send(from, to, piece, false)
			} else {
				from, to = j.ranks[path[n-1-i]], j.ranks[path[n-2-i]]
				b.send(from, to, piece, true)
			}
		}
	}
}
