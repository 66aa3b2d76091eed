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
	*Job
	rank int32   // rank whose operations are read
	ops  []Op    // its operations
	cpus []int16 // cpu of each operation; -1 if it needs none
	// Values in the comments of the current line, written by WriteGOAL: the
	// sub-nanosecond part of a calc, its number, and the send order of a send.
	picoseconds engine.Time
	taskNumber  uint32
	sendOrder   int32
}

// add appends an operation of the rank.
func (g *goalReader) add(o Op, cpu int64) int32 {
	if o.Kind != Compute || o.Duration == 0 { // an operation without duration needs no cpu
		cpu = -1
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
	startJoin := map[int32]int32{} // joins the predecessors of an operation for whose start others wait

	for _, s := range starts {
		if _, ok := startJoin[s[1]]; !ok {
			startJoin[s[1]] = g.add(Op{Name: "start of " + g.ops[s[1]].Name, After: g.ops[s[1]].After}, -1)
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

	// Operations without a cpu have stream 0, which means none.
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
			g.note("messages of a byte with a tag of 2^31 or more say that something is done, and carry nothing", 0)
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

// readText reads a text schedule, one statement per line.
func (g *goalReader) readText(l *lineReader) error {
	last := int32(-1)
	inside := false // last rank, and whether its brace is open
	labels := map[string]int32{}
	var starts [][2]int32
	comment := false
	for l.scan() {
		g.readComments(l.Text, comment)

		f := l.fields(goalUncommented(l.Text, &comment))
		if len(f) == 0 {
			continue
		}

		// The first statement is num_ranks.
		if g.Ranks == 0 {
			if f[0] != "num_ranks" || len(f) != 2 {
				return invalid("num_ranks N", "begins with %.40q", l.Text)
			}
			n, err := parseInteger("num_ranks", f[1], 1, MaxRanks)
			if err != nil {
				return err
			}
			g.Ranks = int(n)
			g.Ops = make([][]Op, n)
			continue
		}

		for len(f) > 0 { // a closing brace may follow a statement

			switch {
			case !inside && f[0] == "rank" && len(f) >= 2:
				// A rank starts with its number and a brace, in one or two words.
				name, open := strings.CutSuffix(f[1], "{")
				if rest := f[2:]; !open && len(rest) > 0 && rest[0] == "{" {
					open, f = true, f[1:]
				}
				n, err := parseInteger("rank", name, int64(last+1), int64(g.Ranks-1))
				if err != nil {
					return err
				}
				if !open {
					return invalid("rank N {", "%.40q", l.Text)
				}
				last = int32(n)
				inside = true
				f = f[2:]

				// Allocate memory for the operations of the rank.
				body, _, _ := bytes.Cut(l.file.Data[l.offset:], []byte{'}'})
				g.beginRank(last, countLines(body, "calc", "send", "recv"))
				clear(labels)
				starts = starts[:0]

			case inside && f[0] == "}":
				if err := g.endRank(starts); err != nil {
					return err
				}
				inside, f = false, f[1:]
			case !inside:
				return invalid("rank N {", "%.40q outside of a rank", f[0])
			default:
				// A statement, perhaps followed by a closing brace.
				closed := f[len(f)-1] == "}"
				if closed {
					f = f[:len(f)-1]
				}
				if err := g.readStatement(f, labels, &starts); err != nil {
					return err
				}
				if f = nil; closed {
					f = []string{"}"}
				}
			}
		}
	}

	switch {
	case g.Ranks == 0:
		return invalid("num_ranks N", "is empty")
	case inside:
		return invalid("}", "ends within rank %d", last)
	}

	return nil
}

// readComments reads the values that WriteGOAL stores in comments. Other comments are
// ignored. comment states that the line starts within a block comment.
func (g *goalReader) readComments(text string, comment bool) {
	if g.picoseconds, g.taskNumber, g.sendOrder = 0, 0, 0; comment {
		return
	}
	for _, words := range strings.Split(text, " //")[1:] {
		words = " //" + words
		_, _ = fmt.Sscanf(words, goalPicosecondsComment, &g.picoseconds)
		_, _ = fmt.Sscanf(words, goalTaskComment, &g.taskNumber)
		_, _ = fmt.Sscanf(words, goalSendOrderComment, &g.sendOrder)
	}

	if g.taskNumber >= completionTag {
		g.taskNumber = 0
	}
	g.sendOrder = max(0, g.sendOrder)
}

// goalUncommented returns a line without comments. comment is the state of a block
// comment at the start of the line, and is updated.
func goalUncommented(text string, comment *bool) string {
	var out strings.Builder
	for text != "" {
		// Skip the rest of a block comment.
		if *comment {
			_, rest, ended := strings.Cut(text, "*/")
			text, *comment = rest, !ended
			continue
		}

		a := strings.Index(text, "/*")
		b := strings.Index(text, "//")
		switch {
		case b >= 0 && (a < 0 || b < a):
			return out.String() + text[:b]
		case a < 0:
			return out.String() + text
		}

		out.WriteString(text[:a] + " ")
		text, *comment = text[a+2:], true
	}

	return out.String()
}

// readStatement reads an operation or a dependency.
func (g *goalReader) readStatement(f []string, labels map[string]int32, starts *[][2]int32) error {
	// A dependency between two labelled operations.
	if len(f) == 3 && (f[1] == "requires" || f[1] == "irequires") {
		a, known := labels[f[0]]
		b, ok := labels[f[2]]
		switch {
		case !known || !ok:
			return invalid("labels of the rank, above",
				"%.60q names an operation that is not there", strings.Join(f, " "))
		case f[1] == "requires":
			g.ops[a].After = append(g.ops[a].After, b)
		default:
			*starts = append(*starts, [2]int32{a, b})
		}

		return nil
	}

	// An operation with an optional label.
	label := ""
	if name, ok := strings.CutSuffix(f[0], ":"); ok {
		if label, f = name, f[1:]; len(f) == 0 {
			return invalid("calc, send or recv", "label %.40q has no operation", label)
		}
	}

	var tag, cpu, nic int64

	// readKeys reads optional keys in the given order.
	readKeys := func(rest []string, names ...string) error {
		next := 0
		for i := 0; i < len(rest); i += 2 {
			k := slices.Index(names[next:], rest[i])
			if k < 0 || i+1 == len(rest) {
				return invalid(strings.Join(names, ", ")+", in this order", "%.40q",
					strings.Join(rest[i:], " "))
			}
			next += k + 1
			minValue := int64(0)
			maxValue := int64(255)
			if rest[i] == "tag" {
				minValue = -1
				maxValue = math.MaxUint32
			}
			n, err := parseInteger(rest[i], rest[i+1], minValue, maxValue)
			if err != nil {
				return err
			}

			switch rest[i] {
			case "tag":
				tag = n
			case "cpu":
				cpu = n
			default:
				nic = n
			}
		}

		return nil
	}

	var o Op
	switch {
	case f[0] == "calc" && len(f) >= 2:
		ns, err := parseInteger("a time in ns", f[1], 0, int64(maxComputeTime/engine.Nanosecond))
		if err != nil {
			return err
		}
		if err := readKeys(f[2:], "cpu"); err != nil {
			return err
		}

		// The comment of WriteGOAL may add a part of a nanosecond.
		o = Op{Name: "calc", Kind: Compute, Tag: g.taskNumber,
			Duration: engine.Time(ns)*engine.Nanosecond + min(max(0, g.picoseconds), engine.Nanosecond-1)}

	case (f[0] == "send" || f[0] == "recv") && len(f) >= 4:
		kind, word := Send, "to"
		if f[0] == "recv" {
			kind, word = Recv, "from"
		}

		// A message: size, peer and optional keys.
		size, ok := strings.CutSuffix(f[1], "b")
		if !ok || f[2] != word {
			return invalid(f[0]+" BYTESb "+word+" RANK", "%.60q", strings.Join(f, " "))
		}
		bytes, err := parseInteger("a size", size, 0, MaxMessageBytes)
		if err != nil {
			return err
		}
		peer, err := parseInteger("a rank", f[3], -1, int64(g.Ranks-1))
		if err != nil {
			return err
		}
		if err := readKeys(f[4:], "tag", "cpu", "nic"); err != nil {
			return err
		}

		// Only receives may have a wildcard as peer.
		if peer < 0 && kind == Send {
			return invalid("a rank", "a message is sent to any rank")
		}
		if o, err = g.message(kind, uint64(bytes), uint32(peer), uint32(tag), nic); err != nil {
			return err
		}
		if kind == Send {
			o.SendOrder = g.sendOrder
		}

	default:
		return invalid("calc, send, recv, or A requires B", "%.60q", strings.Join(f, " "))
	}

	if label != "" {
		o.Name = label + ": " + o.Name
		if _, twice := labels[label]; twice {
			return invalid("labels that are used once", "label %.40q occurs twice", label)
		}
	}

	id := g.add(o, cpu)
	if label != "" {
		labels[label] = id
	}
	return nil
}

// readBinary reads the output of txt2bin.
func (g *goalReader) readBinary(f File) error {
	const base = 8
	le := binary.LittleEndian
	fail := func(record, offset int, want, format string, args ...any) error {
		return locate(invalid(want, format, args...), f.Name, record, offset)
	}

	if le.Uint64(f.Data) == goalSaveMemMagic {
		return fail(1, 0, "a file that txt2bin wrote without --save-mem",
			"was written with --save-mem, which loses data")
	}
	if le.Uint64(f.Data) != goalMagic || len(f.Data) < base+6 {
		return fail(1, 0, fmt.Sprint(goalMagic), "begins with the number %d", le.Uint64(f.Data))
	}

	ranks := uint64(le.Uint32(f.Data[base:]))
	if ranks == 0 || ranks > MaxRanks || uint64(len(f.Data)) < base+6+16*ranks {
		return fail(1, base, "a complete file", "%d ranks in %d bytes", ranks, len(f.Data))
	}
	g.Ranks = int(ranks)
	g.Ops = make([][]Op, ranks)
	if err := countOperations(f.Name, len(f.Data)/goalNodeBytes); err != nil {
		return err
	}

	remaining := uint64(len(f.Data)-base-6) - 16*ranks // total bytes of the blocks, which must not overlap

	// Read the block of each rank.
	for rank := range int32(ranks) {
		// The start and end of the block, relative to the field ranks.
		head := base + 6 + 16*int(rank)
		start := le.Uint64(f.Data[head:])
		end := le.Uint64(f.Data[head+8:])
		if end < start || end > uint64(len(f.Data)-base) || end-start < 8 && end != start {
			return fail(int(rank)+1, head, "a complete file",
				"rank %d stands from byte %d to %d of %d", rank, start, end, len(f.Data)-base)
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
		block := f.Data[base+start : base+end]
		if err := g.readBlock(rank, block); err != nil {
			return locate(err, f.Name, int(rank)+1, base+int(start))
		}
	}

	return nil
}

// readBlock reads the operations of a rank from its block. It verifies that every index
// is within the block and that successors and predecessors agree.
func (g *goalReader) readBlock(rank int32, b []byte) error {
	le := binary.LittleEndian
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

	// The nodes of the operations. after and started are their successor lists: count and
	// first index.
	predecessors := make([]uint32, n)
	type successors struct{ after, started [2]uint32 }
	next := make([]successors, n)

	for i := range n {
		r := b[nodes+goalNodeBytes*i:]
		predecessors[i] = le.Uint32(r)
		kind := r[4]
		peer := le.Uint32(r[5:])
		size := le.Uint64(r[9:])
		tag := le.Uint32(r[17:])
		cpu, nic := int64(r[21]), int64(r[22])
		next[i] = successors{[2]uint32{le.Uint32(r[23:]), le.Uint32(r[27:])},
			[2]uint32{le.Uint32(r[31:]), le.Uint32(r[35:])}}

		var o Op
		var err error
		switch kind {
		case 1:
			// The unused successor index holds the send order; see goalSendOrderComment.
			if o, err = g.message(Send, size, peer, tag, nic); next[i].started[0] == 0 {
				o.SendOrder = max(0, int32(next[i].started[1]))
			}
		case 2:
			o, err = g.message(Recv, size, peer, tag, nic)
		case 3:
			if o = (Op{Name: "calc", Kind: Compute,
				Duration: engine.Time(size) * engine.Nanosecond}); size > uint64(maxComputeTime/engine.Nanosecond) {
				err = invalid("a shorter time", "a calc of %d ns", size)
			} else if peer == goalPicosecondsPeer && tag < uint32(engine.Nanosecond) {
				o.Duration += engine.Time(tag)
			}

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

	for i := range numNamed {
		if numNamed[i] != predecessors[i] {
			return invalid("equal numbers",
				"operation %d of rank %d waits for %d others, and %d name it", i, rank,
				predecessors[i], numNamed[i])
		}
	}

	return g.endRank(starts)
}
