package collective

// expandDirect sends every block directly from its source to its destination. In step s, member i
// sends to member i+s, so that no two members send to the same one at a time.
func expandDirect(b *builder, j *subCall) error {
	// each visits all ordered pairs of members, step by step.
	n := len(j.ranks)
	each := func(do func(from, to int)) {
		for s := 1; s < n; s++ {
			for i := range n {
				do(i, (i+s)%n)
			}
		}
	}

	// The last argument of sendOnAnyPath is true if the receiver adds the block to its own.
	switch j.kind {
	case AllToAll:
		each(func(i, k int) { b.sendOnAnyPath(j.ranks[i], j.ranks[k], j.pairBlock(i, k), false) })
	case Broadcast:
		for s := 1; s < n; s++ {
			b.sendOnAnyPath(j.ranks[j.root], j.ranks[(j.root+s)%n], j.data, false)
		}
	case Reduce:
		for s := 1; s < n; s++ {
			b.sendOnAnyPath(j.ranks[(j.root+s)%n], j.ranks[j.root], j.data, true)
		}
	case SendReceive:
		b.sendOnAnyPath(j.ranks[j.root], j.ranks[j.peer], j.data, false)
	default:
		// Calls with one block per member: reduce by sending each block to its member, gather by
		// sending each block from its member.
		scatter, gather, block, err := j.scatterGather()
		if err != nil {
			return err
		}
		if scatter {
			each(func(i, k int) { b.sendOnAnyPath(j.ranks[i], j.ranks[k], block[k], true) })
		}
		if gather {
			each(func(i, k int) { b.sendOnAnyPath(j.ranks[i], j.ranks[k], block[i], false) })
		}
	}

	return nil
}
