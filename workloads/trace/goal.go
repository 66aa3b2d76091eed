package trace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/engine"
)

// Constants of GOAL files.
const (
	// goalMagic starts binary files of LogGOPSim's txt2bin; goalSaveMemMagic starts files
	// that txt2bin wrote with --save-mem, which are not usable.
	goalMagic        = 4223
	goalSaveMemMagic = 2342
	goalNodeBytes    = 39    // bytes per node of a binary file
	goalEagerBytes   = 65535 // LogGOPSim's limit for eager messages

	// Offsets in a binary file; see goalReader. The table has the start and end of the block
	// of each rank.
	goalRanksOffset = 8
	goalTableOffset = goalRanksOffset + 6
	goalEntryBytes  = 16 // bytes per rank in the table

	// Types of operations in a binary file.
	goalSend = 1
	goalRecv = 2
	goalCalc = 3

	// noCPU is the cpu of an operation that needs none.
	noCPU = -1
)

// isGOAL reports whether a file starts like a binary or text GOAL schedule.
func isGOAL(begin []byte) bool {
	if len(begin) >= 8 {
		if magic := binary.LittleEndian.Uint64(begin); magic == goalMagic || magic == goalSaveMemMagic {
			return true
		}
	}
	for line := range strings.Lines(string(begin)) {
		line, _, _ = strings.Cut(line, "//")
		if f := strings.Fields(line); len(f) > 0 && !strings.HasPrefix(f[0], "/*") {
			return f[0] == "num_ranks"
		}
	}

	return false
}

// readGOAL reads a schedule of LogGOPSim, ATLAHS or SPCL's htsim, as text or as output of
// txt2bin. Messages up to LogGOPSim's eager limit do not wait for their receives and end
// for their sender when they start.
func readGOAL(files []File, h *ReadOptions) (*Job, error) {
	j := &Job{EagerBytes: goalEagerBytes, Buffered: true}
	g := &goalReader{Job: j}

	// A binary file begins with a small number. A text read as a number is larger.
	if f := files[0]; len(f.Data) >= 8 && binary.LittleEndian.Uint64(f.Data) <= goalMagic &&
		!bytes.HasPrefix(f.Data, []byte("num")) {
		return j, g.readBinary(f)
	}
	if err := countOperations(files[0].Name,
		countLines(files[0].Data, "calc", "send", "recv")); err != nil {
		return nil, err
	}
	l := &lineReader{file: files[0]}
	return j, l.locate(g.readText(l))
}

// goalReader reads a GOAL schedule (Hoefler et al., LogGOPSim). A text has one statement
// per line:
//
//	num_ranks 2
//	rank 0 {
//	a: calc 1000 cpu 0              compute for 1000 ns
//	b: send 4096b to 1 tag 7        send 4096 bytes
//	b requires a                    b starts after the end of a
//	}
//	rank 1 {
//	c: recv 4096b from 0 tag 7      peer -1 accepts any rank, tag -1 any tag
//	d: calc 10
//	d irequires c                   d starts after the start of c
//	}
//
// The binary form of txt2bin is little-endian, with sizes in bytes:
//
//	magic (8), ranks (4), cpus - 1 (1), not used (1)
//	per rank: start and end of its block (8 each), counted from the field ranks
//	per block:
//		number of operations and of roots (4 each)
//		index of each root (4)
//		per operation, goalNodeBytes: number of predecessors (4), type (1), peer (4), size or
//			nanoseconds (8), tag (4), cpu (1), nic (1), successors after its end: number and
//			first index (4 each), successors after its start: the same
//		index of each successor (4)
//
// A root is an operation without predecessors.
type goalReader struct {
	*Job         // the result
	rank int32   // rank whose operations are read
	ops  []Op    // its operations
	cpus []int16 // cpu of each operation, or noCPU
	// Values in the comments of the current line, written by WriteGOAL: the
	// sub-nanosecond part of a calc, its number, and the send order of a send.
	picoseconds engine.Time
	taskNumber  uint32
	sendOrder   int32
}

// add appends an operation of the rank.
func (g *goalReader) add(o Op, cpu int64) int32 {
	if o.Kind != Compute || o.Duration == 0 { // an operation without duration needs no cpu
		cpu = noCPU
	}
	g.ops, g.cpus = append(g.ops, o), append(g.cpus, int16(cpu))
	return int32(len(g.ops) - 1)
}

// beginRank starts a rank with n operations.
func (g *goalReader) beginRank(rank int32, n int) {
	g.rank = rank
	g.ops = make([]Op, 0, n)
	g.cpus = make([]int16, 0, n)
}

// endRank sorts the operations of the rank and puts the computations of each cpu on a
// stream. starts lists pairs (a, b): operation a waits for the start of b (irequires).
// Such an operation waits for a join that has the predecessors of b.
func (g *goalReader) endRank(starts [][2]int32) error {
	// Joins the predecessors of an operation for whose start others wait.
	startJoin := map[int32]int32{}

	for _, s := range starts {
		if _, ok := startJoin[s[1]]; !ok {
			startJoin[s[1]] = g.add(Op{Name: "start of " + g.ops[s[1]].Name, After: g.ops[s[1]].After}, noCPU)
			g.ops[s[1]].After = []int32{startJoin[s[1]]}
		}
	}

	for _, s := range starts {
		g.ops[s[0]].After = append(g.ops[s[0]].After, startJoin[s[1]])
	}

	for i := range g.ops {
		o := &g.ops[i]
		slices.Sort(o.After)
		o.After = slices.Compact(o.After)
	}

	out, position, err := topologicalOrder(g.ops)
	if err != nil {
		return err
	}

	// Operations without a cpu (noCPU) have stream 0, which means that they have no stream.
	for i, k := range position {
		out[k].Stream = int32(g.cpus[i]) + 1
	}
	g.Ops[g.rank] = out
	return nil
}

// message returns a message after checking its size, peer, tag and nic.
func (g *goalReader) message(kind OpKind, size uint64, peer, tag uint32, nic int64) (Op, error) {
	o := Op{Name: kind.String(), Kind: kind, Bytes: int64(size), Tag: tag, Peer: int32(peer) - g.rank}

	// WriteGOAL writes a message of 0 bytes as one byte with completionTag.
	if size == 1 && tag&completionTag != 0 && tag != AnyTag {
		if o.Bytes = 0; kind == Send {
			g.note("messages of a byte with a tag of 2^31 or more say that something is done, and carry nothing")
		}
	}

	// Reject messages that LogGOPSim accepts but a Job cannot represent.
	switch {
	case size > MaxMessageBytes:
		return o, invalid(fmt.Sprintf("at most %d", int64(MaxMessageBytes)), "a message of %d bytes", size)
	case nic > 0:
		return o, invalid("a schedule whose ranks are GPUs of one interface each",
			"a message on nic %d, of ranks that are nodes of several", nic)
	case kind == Recv && peer == math.MaxUint32:
		o.Peer = AnySource
	case peer >= uint32(g.Ranks):
		return o, invalid(fmt.Sprintf("a rank from 0 to %d", g.Ranks-1), "the peer is rank %d", peer)
	case kind == Send && tag == AnyTag:
		return o, invalid("a tag", "a message of any tag is sent")
	}

	return o, nil
}
