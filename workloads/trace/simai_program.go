// This file turns the rows of a SimAI workload (simai.go) into programs of ranks. The rows
// describe one stage; all stages execute the same rows, and exchange messages for each
// micro-batch.

package trace

import (
	"fmt"
	"strings"

	"sim/engine"
	"sim/workloads/training"
)

// simStepRows holds the rows of a training step of one stage, divided into micro-batches.
type simStepRows struct {
	before       []simRow   // rows before the first micro-batch
	microbatches [][]simRow // rows of each micro-batch; one element if the file does not separate them
	after        []simRow   // rows after the last micro-batch
}

// isStepRow reports whether a step executes a row once, after the micro-batches. Such rows
// are recognised by the beginning of their names.
func isStepRow(row *simRow) bool {
	for _, prefix := range []string{"cross_entropy", "optimizer", "embedding_norm"} {
		if strings.HasPrefix(row.name, prefix) {
			return true
		}
	}
	return false
}

// divideRows divides the rows into micro-batches. A single stage executes its rows in
// order, so they need not be divided. With several stages, each micro-batch starts with a
// row embedding_layer. If there are not ga such rows, the rows are divided into ga
// micro-batches of equal numbers of rows.
//
// Micro-batches may differ in times, collectives and bytes. divideRows fails if they
// cannot be separated.
func (s *simAIReader) divideRows() (simStepRows, error) {
	if s.policy == "MICRO" && s.pp > 1 && s.ga > 1 {
		return simStepRows{}, locate(
			invalid("ga: 1, or another policy",
				"the rows of the policy MICRO are one micro-batch, and ga is %d", s.ga), s.file, firstRecord, firstByte)
	}
	if s.pp == 1 || s.policy == "MICRO" {
		return simStepRows{microbatches: [][]simRow{s.rows}}, nil
	}

	// Find the first row of each micro-batch, and the end of the last micro-batch.
	var starts []int
	end := len(s.rows)
	for i := range s.rows {
		row := &s.rows[i]
		if strings.HasPrefix(row.name, "embedding_layer") {
			starts = append(starts, i)
		} else if len(starts) > 0 && isStepRow(row) {
			end = i
			break
		}
	}

	if len(starts) == 0 {
		return simStepRows{}, locate(invalid(`a row "embedding_layer" at the beginning of each`,
			"the micro-batches of the stage cannot be told apart"), s.file, s.rows[0].line, s.rows[0].offset)
	}

	// Divide the rows into micro-batches of equal numbers of rows if their first rows do not
	// show the division.
	begin := starts[0]
	if len(starts) != s.ga {
		numRows := end - begin
		if numRows%s.ga != 0 {
			r := s.rows[begin]
			return simStepRows{}, locate(
				invalid(fmt.Sprintf("ga = %d of them, or a multiple of %d rows", s.ga, s.ga),
					"%d rows and %d micro-batches that begin with embedding_layer stand from here on, before what the step has once",
					numRows, len(starts)),
				s.file, r.line, r.offset)
		}
		starts = starts[:0]
		for i := range s.ga {
			starts = append(starts, begin+i*numRows/s.ga)
		}
	}

	step := simStepRows{before: s.rows[:begin], after: s.rows[end:]}
	for i, from := range starts {
		// A micro-batch extends to the start of the next one.
		to := end
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		step.microbatches = append(step.microbatches, s.rows[from:to])
	}

	return step, nil
}

// simProgramBuilder builds the program of a rank, or only counts its operations.
type simProgramBuilder struct {
	ops       []Op // nil if countOnly is set
	numOps    int  // operations so far
	numRows   int  // forward passes through rows so far, including rows without operations
	countOnly bool // count operations without storing them
	// last is the operation for which the next one waits, as an index into ops; -1 if the
	// next one can start at once.
	last int32
}

// add appends an operation that also waits for operation last, and returns its index.
func (b *simProgramBuilder) add(o Op) int32 {
	if b.last >= 0 {
		o.After = append(o.After, b.last)
	}
	return b.addDetached(o)
}

// addDetached appends an operation that waits only for the operations in its field After,
// and returns its index.
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

// addPart appends the computation and the collective of a part of a row. The program
// waits for both.
func (b *simProgramBuilder) addPart(name string, t *simPart) {
	if b.addDetachedPart(name, t); t.hasCall {
		b.last = int32(b.numOps - 1)
	}
}

// addDetachedPart is like addPart, but the program continues without waiting for the
// collective.
func (b *simProgramBuilder) addDetachedPart(name string, t *simPart) {
	if t.duration > 0 {
		b.last = b.add(Op{Name: name, Kind: Compute, Duration: t.duration})
	}
	if t.hasCall {
		b.add(Op{Name: name + " " + t.coll.String(), Kind: Call, Collective: t.coll,
			Bytes: t.bytes, Group: t.group})
	}
}

// addForward appends the forward pass of some rows.
func (b *simProgramBuilder) addForward(rows []simRow) {
	for i := range rows {
		if b.isFull() {
			return
		}
		b.numRows++
		b.addPart(rows[i].name+" forward", &rows[i].parts[forwardPart])
	}
}

// addBackward appends the backward pass of some rows, the last row first. For each row,
// the input gradient precedes the weight gradient, whose collective delays only the
// weight update (SimAI's order). Rows that need a checkpoint first repeat the forward
// pass from it. A schedule may postpone weight gradients, so kind selects the part of the
// pass: the input gradients, the weight gradients, or both.
func (b *simProgramBuilder) addBackward(rows []simRow, kind training.PassKind) {
	for i := len(rows) - 1; i >= 0 && !b.isFull(); i-- {
		r := &rows[i]
		if r.isRecomputed && kind != training.WeightGradientPass {
			// Recompute the rows from the last checkpoint.
			first := i
			for first > 0 && !rows[first].isCheckpoint {
				first--
			}
			b.addForward(rows[first:i])
		}

		if kind != training.WeightGradientPass {
			b.addPart(r.name+" input gradient", &r.parts[inputGradientPart])
		}
		if kind == training.InputGradientPass {
			continue
		}

		// The weight update waits for the weight gradient and its collective.
		before := b.numOps
		b.addDetachedPart(r.name+" weight gradient", &r.parts[weightGradientPart])
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

// appendProgram appends the operations of a rank of a stage. All ranks of a stage share the
// program, so peers of messages are given as distances in rank numbers.
func (s *simAIReader) appendProgram(b *simProgramBuilder, step simStepRows, stage int, schedule string) {
	b.last = -1
	b.addForward(step.before)

	// A single stage executes its rows in order, without messages.
	if s.pp == 1 {
		b.addForward(step.microbatches[0])
		b.addForward(step.after)
		b.addBackward(step.after, training.BackwardPass)
		b.addBackward(step.microbatches[0], training.BackwardPass)
		b.addBackward(step.before, training.BackwardPass)
		return
	}

	// Stages exchange s.stageBytes per micro-batch with their neighbours. Each TP rank sends
	// an equal part. Tag 2k is the forward message of micro-batch k, 2k+1 the backward
	// message.
	toNextStage := s.rank(simCoordinates{stage: 1}) - s.rank(simCoordinates{})

	// addMessage appends a message. Only receives delay the next operation.
	addMessage := func(kind OpKind, peer int32, tag int) {
		id := b.add(Op{Name: fmt.Sprintf("micro-batch %d %s", tag/2+1, kind), Kind: kind,
			Bytes: s.rankStageBytes(), Peer: peer, Tag: uint32(tag)})
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
				addMessage(Recv, -toNextStage, tag)
			}
			b.addForward(step.microbatches[p.Microbatch])
			if stage < s.pp-1 {
				addMessage(Send, toNextStage, tag)
			}
		default:
			// A backward pass receives from the next stage and sends to the previous one.
			if stage < s.pp-1 {
				addMessage(Recv, toNextStage, tag+1)
			}
			b.addBackward(step.microbatches[p.Microbatch], p.Kind)
			if stage > 0 {
				addMessage(Send, -toNextStage, tag+1)
			}
		}
	}

	b.addForward(step.after)
	b.addBackward(step.after, training.BackwardPass)
	b.addBackward(step.before, training.BackwardPass)
}

// rankStageBytes returns the bytes that one rank sends to the next stage per micro-batch.
func (s *simAIReader) rankStageBytes() int64 {
	tp := int64(s.tp)
	return (s.stageBytes + tp - 1) / tp
}

// measuredStage summarises a stage, for simulations of pods that hold whole stages. The GPUs
// of a stage compute in lockstep. Communication within the stage lengthens its passes.
// Communication with other stages and replicas becomes transfers. A file without separate
// micro-batches is one micro-batch.
func (s *simAIReader) measuredStage(step simStepRows, options *ReadOptions) *training.MeasuredStage {
	m := &training.MeasuredStage{GPUs: s.tp * s.ep, Microbatches: len(step.microbatches),
		PipelineBytes: s.rankStageBytes()}

	// partTime returns the time of a part, including a collective within the stage, and adds
	// the bytes of the collective to m.
	partTime := func(t *simPart) engine.Time {
		ranks := 0 // that take part in the collective; 0 if it is among replicas
		switch t.group {
		case simTP:
			ranks = s.tp
		case simEP:
			ranks = s.ep
		}

		duration := t.duration
		if t.hasCall && ranks > 1 {
			sent := t.coll.Wire(t.bytes, ranks)
			m.IntraStageBytes += sent
			if options.IntraStageRate > 0 {
				seconds := 8 * float64(sent) / float64(options.IntraStageRate)
				duration += engine.Time(seconds * float64(engine.Second))
			}
		}
		return duration
	}

	// addSync adds the bytes of a collective among replicas to m. The collective leaves a
	// stage once per TP rank, and all GPUs of the stage send a part.
	addSync := func(t *simPart) {
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

	// sumRows returns the times of the passes through some rows and adds the bytes of their
	// collectives to m. weights is the part of backward that computes weight gradients and
	// updates.
	sumRows := func(rows []simRow) (forward, backward, weights engine.Time) {
		for i := range rows {
			r := &rows[i]
			for p := range r.parts {
				addSync(&r.parts[p])
			}
			forward += partTime(&r.parts[forwardPart])
			w := partTime(&r.parts[weightGradientPart]) + r.update
			backward += partTime(&r.parts[inputGradientPart]) + w
			weights += w
		}
		return forward, backward, weights
	}

	// The passes have the mean time of all micro-batches. m.Passes has the times of each
	// micro-batch, and is nil if they are equal.
	var total training.MeasuredPass
	passesDiffer := false
	for _, rows := range step.microbatches {
		var p training.MeasuredPass
		p.Forward, p.Backward, p.Weights = sumRows(rows)
		m.Passes = append(m.Passes, p)
		total.Forward += p.Forward
		total.Backward += p.Backward
		total.Weights += p.Weights
		passesDiffer = passesDiffer || p != m.Passes[0]
	}

	n := engine.Time(len(step.microbatches))
	m.Forward, m.Backward, m.Weights = total.Forward/n, total.Backward/n, total.Weights/n
	if !passesDiffer {
		m.Passes = nil
	}

	// The prologue is the forward pass through the rows before the micro-batches. The
	// epilogue has both passes through the rows after them, and the backward pass through
	// the rows before.
	beforeForward, beforeBackward, _ := sumRows(step.before)
	afterForward, afterBackward, _ := sumRows(step.after)
	m.Prologue = beforeForward
	m.Epilogue = afterForward + afterBackward + beforeBackward
	return m
}
