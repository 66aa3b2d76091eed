package trace

import (
	"fmt"
	"slices"
	"strings"

	"sim/engine"
	"sim/workloads/training"
)

// simStepRows divides the rows of a stage: those before the first micro-batch, one block
// per micro-batch, and those after the last. A file without separate micro-batches is one
// block.
type simStepRows struct {
	before, after []simRow
	microbatches  [][]simRow
}

// stepRowPrefixes start the names of rows that a step executes once, after the
// micro-batches.
var stepRowPrefixes = []string{"cross_entropy", "optimizer", "embedding_norm"}

// divideRows divides the rows into micro-batches. A single stage executes its rows in
// order, so they form one block. With several stages, each micro-batch starts with a row
// embedding_layer. If there are not ga such rows, micro-batches have equal numbers of
// rows.
//
// Micro-batches may differ in times, collectives and bytes. divideRows fails if they
// cannot be separated.
func (s *simAIReader) divideRows() (simStepRows, error) {
	if s.policy == "MICRO" && s.pp > 1 && s.ga > 1 {
		return simStepRows{}, locate(
			invalid("ga: 1, or another policy",
				"the rows of the policy MICRO are one micro-batch, and ga is %d", s.ga), s.file, 1, 0)
	}
	if s.pp == 1 || s.policy == "MICRO" {
		return simStepRows{microbatches: [][]simRow{s.rows}}, nil
	}

	var starts []int
	end := len(s.rows)

	// Find the first rows of micro-batches and the rows after them.
	for i, r := range s.rows {
		if strings.HasPrefix(r.name, "embedding_layer") {
			starts = append(starts, i)
		} else if len(starts) > 0 &&
			slices.ContainsFunc(stepRowPrefixes,
				func(name string) bool { return strings.HasPrefix(r.name, name) }) {
			end = i
			break
		}
	}

	if len(starts) == 0 {
		return simStepRows{}, locate(invalid(`a row "embedding_layer" at the beginning of each`,
			"the micro-batches of the stage cannot be told apart"), s.file, s.rows[0].line, s.rows[0].offset)
	}

	begin := starts[0]
	if rows := end - begin; len(starts) != s.ga && rows%s.ga != 0 {
		r := s.rows[begin]
		return simStepRows{}, locate(
			invalid(fmt.Sprintf("ga = %d of them, or a multiple of %d rows", s.ga, s.ga),
				"%d rows and %d micro-batches that begin with embedding_layer stand from here on, before what the step has once",
				rows, len(starts)),
			s.file, r.line, r.offset)
	} else if len(starts) != s.ga {
		// Micro-batches of equal numbers of rows.
		starts = starts[:0]
		for i := range s.ga {
			starts = append(starts, begin+i*rows/s.ga)
		}
	}

	step := simStepRows{before: s.rows[:begin], after: s.rows[end:]}
	for i, from := range starts {
		// A block extends to the start of the next one.
		to := end
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		step.microbatches = append(step.microbatches, s.rows[from:to])
	}

	return step, nil
}

// simProgramBuilder appends the operations of a rank, or only counts them.
type simProgramBuilder struct {
	ops    []Op
	numOps int // operations so far
	// Forward passes of rows so far, including empty ones.
	numRows   int
	countOnly bool // do not store operations
	// Operation for which the next one waits; -1 if none.
	last int32
}

// add appends an operation that also waits for the last one.
func (b *simProgramBuilder) add(o Op) int32 {
	if b.last >= 0 {
		o.After = append(o.After, b.last)
	}
	return b.addDetached(o)
}

// addDetached appends an operation that waits only for its After.
func (b *simProgramBuilder) addDetached(o Op) int32 {
	if b.numOps++; !b.countOnly {
		b.ops = append(b.ops, o)
	}
	return int32(b.numOps - 1)
}

// isFull reports whether the program has more operations or row passes than
// MaxOperations.
func (b *simProgramBuilder) isFull() bool {
	return max(b.numOps, b.numRows) > MaxOperations
}

// addPart appends the computation and the collective of a part of a row. If blocks is
// false, the program continues without waiting for the collective.
func (b *simProgramBuilder) addPart(name string, t *simPart, blocks bool) {
	if t.duration > 0 {
		b.last = b.add(Op{Name: name, Kind: Compute, Duration: t.duration})
	}
	if t.hasCall {
		id := b.add(Op{Name: name + " " + t.coll.String(), Kind: Call, Collective: t.coll,
			Bytes: t.bytes, Group: t.group})
		if blocks {
			b.last = id
		}
	}
}

// addForward appends the forward pass of some rows.
func (b *simProgramBuilder) addForward(rows []simRow) {
	for i := range rows {
		if b.isFull() {
			return
		}
		b.numRows++
		b.addPart(rows[i].name+" forward", &rows[i].parts[0], true)
	}
}

// addBackward appends the backward pass of some rows, the last row first. For each row,
// the input gradient precedes the weight gradient, whose collective delays only the
// weight update (SimAI's order). Rows that need a checkpoint first repeat the forward
// pass from it. A schedule may postpone weight gradients: work is the part of the pass to
// append.
func (b *simProgramBuilder) addBackward(rows []simRow, work training.PassKind) {
	for i := len(rows) - 1; i >= 0 && !b.isFull(); i-- {
		r := &rows[i]
		if r.isRecomputed && work != training.WeightGradientPass {
			// Recompute the rows from the last checkpoint.
			first := i
			for first > 0 && !rows[first].isCheckpoint {
				first--
			}
			b.addForward(rows[first:i])
		}

		if work != training.WeightGradientPass {
			b.addPart(r.name+" input gradient", &r.parts[1], true)
		}
		if work == training.InputGradientPass {
			continue
		}

		// The weight update waits for the weight gradient and its collective.
		before := b.numOps
		b.addPart(r.name+" weight gradient", &r.parts[2], false)
		if r.update > 0 {
			o := Op{Name: r.name + " update", Kind: Compute, Duration: r.update}
			if b.numOps > before {
				o.After = []int32{int32(b.numOps - 1)}
			} else if b.last >= 0 {
				o.After = []int32{b.last}
			}
			b.addDetached(o)
		}
	}
}

// appendProgram appends the operations of a rank of a stage.
func (s *simAIReader) appendProgram(b *simProgramBuilder, step simStepRows, stage int, schedule string) {
	b.last = -1
	b.addForward(step.before)

	// A single stage has no messages.
	if len(step.microbatches) == 1 && s.pp == 1 {
		b.addForward(step.microbatches[0])

		b.addForward(step.after)
		b.addBackward(step.after, training.BackwardPass)
		b.addBackward(step.microbatches[0], training.BackwardPass)
		b.addBackward(step.before, training.BackwardPass)
		return
	}

	// Several stages exchange pp_comm with their neighbours, in equal parts by the TP
	// ranks. Tag 2k is the forward message of micro-batch k, 2k+1 the backward message.
	next := s.rank(0, 0, 1) - s.rank(0, 0, 0)
	bytes := (s.stageBytes + int64(s.tp) - 1) / int64(s.tp)

	// addMessage appends a message. Only receives delay the next operation.
	addMessage := func(kind OpKind, peer int32, tag int) {
		id := b.add(Op{Name: fmt.Sprintf("micro-batch %d %s", tag/2+1, kind), Kind: kind,
			Bytes: bytes, Peer: peer, Tag: uint32(tag)})
		if kind == Recv {
			b.last = id
		}
	}

	pipeline := training.Spec{Schedule: schedule, PP: s.pp, Chunks: 1, Microbatches: s.ga}
	for _, p := range pipeline.Program(stage) {
		tag := 2 * p.Microbatch
		switch p.Kind {
		case training.WeightGradientPass:
			b.addBackward(step.microbatches[p.Microbatch], p.Kind)
		case training.ForwardPass:
			// A forward pass receives from the previous stage and sends to the next.
			if stage > 0 {
				addMessage(Recv, -next, tag)
			}
			b.addForward(step.microbatches[p.Microbatch])
			if stage < s.pp-1 {
				addMessage(Send, next, tag)
			}

		default:
			if stage < s.pp-1 {
				addMessage(Recv, next, tag+1)
			}
			b.addBackward(step.microbatches[p.Microbatch], p.Kind)
			if stage > 0 {
				addMessage(Send, -next, tag+1)
			}
		}
	}

	b.addForward(step.after)
	b.addBackward(step.after, training.BackwardPass)
	b.addBackward(step.before, training.BackwardPass)
}

// measuredStage summarises a stage, for pods that hold whole stages. The GPUs of a stage compute
// in lockstep. Communication within the stage lengthens passes; communication with other
// stages and replicas is transfers. A file without separate micro-batches is one
// micro-batch.
func (s *simAIReader) measuredStage(step simStepRows, h *ReadOptions) *training.MeasuredStage {
	m := &training.MeasuredStage{GPUs: s.tp * s.ep, Microbatches: len(step.microbatches),
		PipelineBytes: (s.stageBytes + int64(s.tp) - 1) / int64(s.tp)}

	// inside returns the time of a part, including communication within the stage.
	inside := func(t *simPart) (d engine.Time) {
		n := 0
		switch t.group {
		case simTP:
			n = s.tp
		case simEP:
			n = s.ep
		}

		if d = t.duration; t.hasCall && n > 1 {
			wire := t.coll.Wire(t.bytes, n)
			m.IntraStageBytes += wire
			if h.IntraStageRate > 0 {
				d += engine.Time(8 * float64(wire) / float64(h.IntraStageRate) * float64(engine.Second))
			}
		}

		return d
	}

	// across adds the bytes of a collective among replicas. It leaves a stage once per TP
	// rank, and all of its GPUs send a part.
	across := func(t *simPart) {
		if !t.hasCall {
			return
		}
		switch t.group {
		case simDP:
			m.SyncBytes += t.coll.Wire(t.bytes, s.dp) / int64(s.ep)
		case simDPEP:
			m.SyncBytes += t.coll.Wire(t.bytes, s.dp/s.ep)
		}
	}

	// sum returns the times of rows and adds the bytes that they synchronise.
	sum := func(rows []simRow) (forward, backward, weights engine.Time) {
		for i := range rows {
			r := &rows[i]
			for p := range r.parts {
				across(&r.parts[p])
			}
			forward += inside(&r.parts[0])
			w := inside(&r.parts[2]) + r.update
			backward = backward + inside(&r.parts[1]) + w
			weights = weights + w
		}

		return forward, backward, weights
	}

	var whole training.MeasuredPass
	passesDiffer := false

	// Pass times per micro-batch and their average.
	for _, rows := range step.microbatches {
		var p training.MeasuredPass
		p.Forward, p.Backward, p.Weights = sum(rows)
		m.Passes = append(m.Passes, p)
		whole.Forward = whole.Forward + p.Forward
		whole.Backward = whole.Backward + p.Backward
		whole.Weights = whole.Weights + p.Weights
		passesDiffer = passesDiffer || p != m.Passes[0]
	}

	n := engine.Time(len(step.microbatches))
	if m.Forward, m.Backward, m.Weights = whole.Forward/n, whole.Backward/n, whole.Weights/n; !passesDiffer {
		m.Passes = nil
	}

	first, last, _ := sum(step.before)
	tailed, ended, _ := sum(step.after)

	// The prologue is the forward pass of the rows before the micro-batches. The epilogue
	// has both passes of the rows after them and the backward pass of the rows before.
	m.Prologue = first
	m.Epilogue = tailed + ended + last
	return m
}
