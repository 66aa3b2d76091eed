package trace

import (
	"encoding/binary"
	"fmt"

	"sim/engine"
)

// readBinary reads the output of txt2bin.
func (g *goalReader) readBinary(f File) error {
	le := binary.LittleEndian
	fail := func(record, offset int, want, format string, args ...any) error {
		return locate(invalid(want, format, args...), f.Name, record, offset)
	}

	// Check the magic number, and that the header is complete.
	if le.Uint64(f.Data) == goalSaveMemMagic {
		return fail(firstRecord, firstByte, "a file that txt2bin wrote without --save-mem",
			"was written with --save-mem, which loses data")
	}
	if le.Uint64(f.Data) != goalMagic || len(f.Data) < goalTableOffset {
		return fail(firstRecord, firstByte, fmt.Sprint(goalMagic), "begins with the number %d", le.Uint64(f.Data))
	}

	// The file must contain the table of blocks.
	ranks := uint64(le.Uint32(f.Data[goalRanksOffset:]))
	if ranks == 0 || ranks > MaxRanks || uint64(len(f.Data)) < goalTableOffset+goalEntryBytes*ranks {
		return fail(firstRecord, goalRanksOffset, "a complete file", "%d ranks in %d bytes", ranks, len(f.Data))
	}
	g.Ranks = int(ranks)
	g.Ops = make([][]Op, ranks)
	if err := countOperations(f.Name, len(f.Data)/goalNodeBytes); err != nil {
		return err
	}

	// remaining is the total size of the blocks. They must not overlap, because a small file could
	// then expand to many operations.
	remaining := uint64(len(f.Data)-goalTableOffset) - goalEntryBytes*ranks

	// Read the block of each rank.
	for rank := range int32(ranks) {
		// The start and end of the block, counted from the field ranks. A block that is not
		// empty begins with two numbers of 4 bytes.
		head := goalTableOffset + goalEntryBytes*int(rank)
		start := le.Uint64(f.Data[head:])
		end := le.Uint64(f.Data[head+8:])
		size := len(f.Data) - goalRanksOffset // of the file, counted in the same manner
		if end < start || end > uint64(size) || end-start < 8 && end != start {
			return fail(int(rank)+1, head, "a complete file",
				"rank %d stands from byte %d to %d of %d", rank, start, end, size)
		}
		if end == start {
			continue
		}

		if end-start > remaining {
			return fail(int(rank)+1, head, "blocks that do not overlap",
				"rank %d stands from byte %d to %d, which overlaps other blocks", rank, start, end)
		}
		remaining -= end - start

		// Errors in a block have the position of its start.
		block := f.Data[goalRanksOffset+start : goalRanksOffset+end]
		if err := g.readBlock(rank, block); err != nil {
			return locate(err, f.Name, int(rank)+1, goalRanksOffset+int(start))
		}
	}

	return nil
}

// readBlock reads the operations of a rank from its block. It verifies that every index
// is within the block and that successors and predecessors agree.
func (g *goalReader) readBlock(rank int32, b []byte) error {
	le := binary.LittleEndian

	// The block has a header, the roots, the nodes, and the successor lists, here called
	// appendix.
	n := uint64(le.Uint32(b))
	roots := uint64(le.Uint32(b[4:]))
	nodes := 8 + 4*roots
	table := nodes + goalNodeBytes*n
	if roots > n || table > uint64(len(b)) {
		return invalid("a complete file", "rank %d has %d operations and %d roots in %d bytes", rank,
			n, roots, len(b))
	}

	appendix := b[table:]
	g.beginRank(rank, int(n))

	// Read the nodes. Their successor lists, each a count and a first index, have the
	// operations that wait for the end (after) and for the start (started) of an operation.
	predecessors := make([]uint32, n) // declared number of predecessors
	type successors struct{ after, started [2]uint32 }
	next := make([]successors, n)

	for i := range n {
		// The fields of a node have fixed positions; see goalReader.
		r := b[nodes+goalNodeBytes*i:]
		predecessors[i] = le.Uint32(r)
		kind := r[4]
		peer := le.Uint32(r[5:])
		size := le.Uint64(r[9:])
		tag := le.Uint32(r[17:])
		cpu, nic := int64(r[21]), int64(r[22])
		next[i] = successors{
			after:   [2]uint32{le.Uint32(r[23:]), le.Uint32(r[27:])},
			started: [2]uint32{le.Uint32(r[31:]), le.Uint32(r[35:])},
		}

		var o Op
		var err error
		switch kind {
		case goalSend:
			// The unused successor index holds the send order; see goalSendOrderComment.
			if o, err = g.message(Send, size, peer, tag, nic); next[i].started[0] == 0 {
				o.SendOrder = max(0, int32(next[i].started[1]))
			}
		case goalRecv:
			o, err = g.message(Recv, size, peer, tag, nic)
		case goalCalc:
			if o = (Op{Name: "calc", Kind: Compute,
				Duration: engine.Time(size) * engine.Nanosecond}); size > uint64(maxComputeTime/engine.Nanosecond) {
				err = invalid("a shorter time", "a calc of %d ns", size)
			} else if peer == goalPicosecondsPeer && tag < uint32(engine.Nanosecond) {
				o.Duration += engine.Time(tag)
			}

			// The unused successor index holds the number of the operation.
			if next[i].started[0] == 0 && next[i].started[1] < completionTag {
				o.Tag = next[i].started[1]
			}

		default:
			err = invalid("1, 2 or 3", "operation %d of rank %d is of type %d", i, rank, kind)
		}
		if err != nil {
			return err
		}
		g.add(o, cpu)
	}

	// Convert successors to predecessors, and compare their number with the declared one.
	var starts [][2]int32
	numNamed, total := make([]uint32, n), uint64(0)
	for i := range next {
		// List 0 has the successors after the end, list 1 after the start of the
		// operation.
		for k, list := range [2][2]uint32{next[i].after, next[i].started} {
			count := uint64(list[0])
			first := uint64(list[1])
			if total += count; total > uint64(len(appendix)/4) ||
				4*(first+count) > uint64(len(appendix)) && count > 0 {
				return invalid("a complete file",
					"operation %d of rank %d has successors %d to %d of %d", i, rank, first,
					first+count, len(appendix)/4)
			}

			// An operation must not have more predecessors than declared.
			for s := range count {
				to := le.Uint32(appendix[4*(first+s):])
				if uint64(to) >= n {
					return invalid(fmt.Sprintf("from 0 to %d", n-1),
						"operation %d of rank %d has the successor %d", i, rank, to)
				}
				if numNamed[to]++; numNamed[to] > predecessors[to] {
					return invalid("equal numbers",
						"operation %d of rank %d waits for %d others, and more name it", to, rank,
						predecessors[to])
				}

				if k == 0 {
					g.ops[to].After = append(g.ops[to].After, int32(i))
				} else {
					starts = append(starts, [2]int32{int32(to), int32(i)})
				}
			}
		}
	}

	// Roots have no predecessors. Every other operation must be named as often as it declares.
	for i := range numNamed {
		if numNamed[i] != predecessors[i] {
			return invalid("equal numbers",
				"operation %d of rank %d waits for %d others, and %d name it", i, rank,
				predecessors[i], numNamed[i])
		}
	}

	return g.endRank(starts)
}
