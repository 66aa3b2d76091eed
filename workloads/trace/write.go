package trace

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"sim/engine"
)

// limitedWriter limits the number of bytes that are written to w.
type limitedWriter struct {
	w         io.Writer
	remaining int
}

// LimitWriter returns a writer that fails with an UnwritableError after MaxBytes, the
// maximum that readers accept for all files together.
func LimitWriter(w io.Writer) io.Writer { return &limitedWriter{w, MaxBytes} }

// Write writes p unless the limit would be exceeded.
func (b *limitedWriter) Write(p []byte) (int, error) {
	if b.remaining -= len(p); b.remaining < 0 {
		return 0, unwritable("it would be larger than %d MiB; want a smaller job", MaxBytes>>20)
	}
	return b.w.Write(p)
}

// newLimitWriter returns a buffered LimitWriter. Flush returns the first error.
func newLimitWriter(w io.Writer) *bufio.Writer {
	return bufio.NewWriterSize(LimitWriter(w), 1<<16)
}

// goalPicosecondsPeer is the peer of a calc in a binary file that is longer than its
// nanoseconds. Its tag is the number of additional picoseconds. LogGOPSim ignores both.
const goalPicosecondsPeer = 0xffff7073

// Comments at the end of a line of a GOAL text: additional picoseconds and number of a
// calc, and send order of a send. In binary files, the last two are stored in the index
// of the first operation that waits for the start of this one. The index is unused, as no
// operation does.
const (
	goalPicosecondsComment = " // + %d ps"
	goalTaskComment        = " // task %d"
	goalSendOrderComment   = " // turn %d"
)

// maxGOALStreams is the maximum number of cpus of a rank in GOAL, which stores them in a
// byte.
const maxGOALStreams = 256

// goalStreams is assignStreams, limited to maxGOALStreams.
func goalStreams(rank int, ops []Op) ([]int32, int32, error) {
	cpus, n := assignStreams(ops)
	if n > maxGOALStreams {
		return nil, 0, unwritable("rank %d computes up to %d things at once, and GOAL has %d cpus; want Chakra",
			rank, n, maxGOALStreams)
	}
	return cpus, n, nil
}

// goalMessageBytes returns the size of a message in GOAL, which has no empty messages.
func goalMessageBytes(o *Op) int64 { return max(1, o.Bytes) }

// WriteGOAL writes a job without calls as a text for LogGOPSim. Comments contain the
// properties that GOAL lacks, so that a file that is read back is the same job. WriteGOAL
// fails if w does, and with an UnwritableError if GOAL cannot represent the job.
func (j *Job) WriteGOAL(w io.Writer) error {
	b := newLimitWriter(w)
	fmt.Fprintf(b, "num_ranks %d\n", j.Ranks) // b stores the error for Flush

	for rank, ops := range j.Ops {
		cpus, _, err := goalStreams(rank, ops)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "\nrank %d {\n", rank)
		for i := range ops {
			o := &ops[i]

			// Operation i has the label l<i>.
			fmt.Fprintf(b, "l%d: ", i)
			switch o.Kind {
			case Send:
				fmt.Fprintf(b, "send %db to %d tag %d", goalMessageBytes(o), rank+int(o.Peer), o.Tag)
				if o.SendOrder > 0 {
					fmt.Fprintf(b, goalSendOrderComment, o.SendOrder)
				}
			case Recv:
				fmt.Fprintf(b, "recv %db from %d tag %d", goalMessageBytes(o), rank+int(o.Peer), o.Tag)
			default:
				fmt.Fprintf(b, "calc %d", o.Duration/engine.Nanosecond)
				if cpus[i] > 0 {
					fmt.Fprintf(b, " cpu %d", cpus[i])
				}
				if part := o.Duration % engine.Nanosecond; part > 0 {
					fmt.Fprintf(b, goalPicosecondsComment, part)
				}
				if o.Tag > 0 {
					fmt.Fprintf(b, goalTaskComment, o.Tag)
				}
			}

			fmt.Fprintln(b)
			for _, a := range o.After {
				fmt.Fprintf(b, "l%d requires l%d\n", i, a)
			}
		}

		if _, err := fmt.Fprintln(b, "}"); err != nil {
			return err
		}
	}

	return b.Flush()
}

// WriteBinaryGOAL writes the binary form of WriteGOAL's text, as produced by txt2bin.
func (j *Job) WriteBinaryGOAL(w io.Writer) error {
	b, le := newLimitWriter(w), binary.LittleEndian
	head := le.AppendUint32(le.AppendUint64(nil, goalMagic), uint32(j.Ranks))
	maxStreams := int32(1)

	// The header has the start and end of the block of each rank, counted from the field
	// ranks. A block has its two counts, the roots, the nodes and the successors.
	var ends []byte
	offset := uint64(goalTableOffset - goalRanksOffset + goalEntryBytes*j.Ranks)
	for rank, ops := range j.Ops {
		_, n, err := goalStreams(rank, ops)
		if err != nil {
			return err
		}
		maxStreams = max(maxStreams, n)
		ends = le.AppendUint64(ends, offset)

		// An empty rank has an empty block.
		const countsBytes, indexBytes = 8, 4
		if len(ops) > 0 {
			offset += countsBytes
		}
		for i := range ops {
			offset += goalNodeBytes + indexBytes*uint64(len(ops[i].After))
			if len(ops[i].After) == 0 { // a root
				offset += indexBytes
			}
		}
		ends = le.AppendUint64(ends, offset)
	}

	if _, err := b.Write(append(append(head, uint8(maxStreams-1), 0), ends...)); err != nil {
		return err
	}
	for rank, ops := range j.Ops {
		if len(ops) == 0 {
			continue
		}
		cpus, _, err := goalStreams(rank, ops)
		if err != nil {
			return err
		}
		if _, err := b.Write(goalBlock(rank, ops, cpus)); err != nil {
			return err
		}
	}

	return b.Flush()
}

// goalBlock returns the block of a rank in a binary file.
func goalBlock(rank int, ops []Op, cpus []int32) []byte {
	le := binary.LittleEndian
	const indexBytes = 4 // of a root or successor
	var roots, nodes, successors []byte
	next := make([][]uint32, len(ops))

	// Successors and roots.
	for i := range ops {
		for _, a := range ops[i].After {
			next[a] = append(next[a], uint32(i))
		}
		if len(ops[i].After) == 0 {
			roots = le.AppendUint32(roots, uint32(i))
		}
	}

	for i := range ops {
		// A node: predecessors, type, peer, size, tag, cpu, nic and two lists of
		// successors.
		o := &ops[i]

		// The last field is the send order of a message or the number of another
		// operation.
		kind, peer, tag := byte(goalCalc), uint32(0), uint32(0)
		size := uint64(o.Duration / engine.Nanosecond)
		last := o.Tag
		if o.Kind == Send || o.Kind == Recv {
			if kind = goalSend; o.Kind == Recv {
				kind = goalRecv
			}
			peer, tag = uint32(rank)+uint32(o.Peer), o.Tag
			size, last = uint64(goalMessageBytes(o)), uint32(o.SendOrder)
		} else if part := o.Duration % engine.Nanosecond; part > 0 {
			peer, tag = goalPicosecondsPeer, uint32(part)
		}

		nodes = le.AppendUint32(nodes, uint32(len(o.After)))
		nodes = append(nodes, kind)
		nodes = le.AppendUint32(nodes, peer)
		nodes = le.AppendUint64(nodes, size)
		nodes = le.AppendUint32(nodes, tag)
		const nic = 0
		nodes = append(nodes, byte(max(0, cpus[i])), nic)

		// The number and the first index of its successors. No operation waits for its start, so
		// the first index of the second list is free for last.
		const numAfterStart = 0
		nodes = le.AppendUint32(nodes, uint32(len(next[i])))
		nodes = le.AppendUint32(nodes, uint32(len(successors)/indexBytes))
		nodes = le.AppendUint32(nodes, numAfterStart)
		nodes = le.AppendUint32(nodes, last)
		for _, n := range next[i] {
			successors = le.AppendUint32(successors, n)
		}
	}

	var block []byte
	block = le.AppendUint32(block, uint32(len(ops)))
	block = le.AppendUint32(block, uint32(len(roots)/indexBytes))
	return slices.Concat(block, roots, nodes, successors)
}

// Attributes that WriteChakra writes in addition to ASTRA-sim's.
const (
	chPicoseconds = "duration_ps" // duration of a node in picoseconds
	// Number among all tasks of a node that is no message.
	chTaskNumber = "task"
	chSendOrder  = "turn" // Op.SendOrder of a send
	// The message only reports the end of an operation, and its bytes do not count.
	chDependency = "is_dependency"
	chSchema     = "0.0.4" // schema version of written files
)

// WriteChakra writes the file of one rank of a job without calls. It fails if w does.
func (j *Job) WriteChakra(w io.Writer, rank int) error {
	b := newLimitWriter(w)

	// b stores the error for Flush.
	const versionField = 1 // of the metadata, the first message
	b.Write(protowire.AppendBytes(nil, chAppendText(nil, versionField, chSchema)))
	ops := j.Ops[rank]
	kernels, n := assignStreams(ops)
	for i := range ops {
		if _, err := b.Write(protowire.AppendBytes(nil,
			chEncodeNode(rank, i, &ops[i], kernels[i], n))); err != nil {
			return err
		}
	}

	return b.Flush()
}

// chAppendText appends a text field to a protobuf message.
func chAppendText(to []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(to, field, protowire.BytesType), text)
}

// chAppendNumber appends a numeric field to a protobuf message.
func chAppendNumber(to []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), n)
}

// chEncodeNode returns the message of a node. Joins are operations of the host,
// computations are on their stream, and every message has its own stream.
func chEncodeNode(rank, i int, o *Op, kernel, kernels int32) []byte {
	var b, deps []byte

	// The node.
	kind := map[OpKind]uint64{Join: chComp, Compute: chComp, Send: chSend, Recv: chRecv}[o.Kind]
	if i > 0 {
		b = chAppendNumber(b, chID, uint64(i))
	}
	b = chAppendNumber(chAppendText(b, chName, o.Name), chType, kind)

	for _, a := range o.After {
		deps = protowire.AppendVarint(deps, uint64(a))
	}
	if deps != nil {
		b = protowire.AppendBytes(protowire.AppendTag(b, chData, protowire.BytesType), deps)
	}

	// Its attributes. field is the field for the type of the value.
	attribute := func(name string, field protowire.Number, n uint64) {
		b = protowire.AppendBytes(protowire.AppendTag(b, chAttributes, protowire.BytesType),
			chAppendNumber(chAppendText(nil, chAttributeName, name), field, n))
	}

	// Joins belong to the host.
	host := uint64(0)
	if o.Kind == Join {
		host = 1
	}
	attribute("is_cpu_op", chBool, host)
	if o.Kind == Send || o.Kind == Recv {
		// Messages name both ranks. Their size is at least 1, as ASTRA-sim requires.
		src := uint64(rank)
		dst := uint64(rank + int(o.Peer))
		if o.Kind == Recv {
			src, dst = dst, src
		}
		attribute("comm_src", chInt32, src)
		attribute("comm_dst", chInt32, dst)
		attribute("comm_tag", chInt32, uint64(o.Tag&math.MaxInt32))
		attribute("comm_size", chInt64, uint64(max(1, o.Bytes)))
		attribute("stream", chInt64, uint64(int(kernels)+i))
		if o.Bytes == 0 {
			attribute(chDependency, chBool, 1)
		}
		if o.SendOrder > 0 {
			attribute(chSendOrder, chInt32, uint64(o.SendOrder))
		}
		return b
	}

	if o.Tag > 0 {
		attribute(chTaskNumber, chInt64, uint64(o.Tag))
	}

	// The duration in microseconds, and exact as an attribute.
	if o.Duration > 0 {
		b = chAppendNumber(b, chMicros, uint64((o.Duration+engine.Microsecond/2)/engine.Microsecond))
		attribute(chPicoseconds, chUint64, uint64(o.Duration))
		attribute("stream", chInt64, uint64(kernel))
	}
	return b
}
