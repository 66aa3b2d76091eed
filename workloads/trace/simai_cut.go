package trace

import (
	"fmt"
	"slices"
	"strings"

	"sim/engine"
	"sim/workloads/training"
)

// simBlocks are the rows of a stage: what comes before the first micro-batch, the rows of each, and what comes after the
// last. Without micro-batches of its own a file is one block.
type simBlocks struct {
	before, after []simRow
	blocks        [][]simRow
}

// stepRowPrefixes begin the names of rows that a step has once, behind the micro-batches.
var stepRowPrefixes = []string{"cross_entropy", "optimizer", "embedding_norm"}

// divideRows divides the rows. A stage alone does them in their order, whatever micro-batches they are of. Of several stages,
// each micro-batch begins with an embedding_layer; if there are not ga of these, micro-batches have equal numbers of rows.
// Micro-batches may differ in times, collectives and bytes. cut fails if it cannot tell them apart.
func (s *simAIReader) divideRows() (simBlocks, error) {
	if s.policy == "MICRO" && s.pp > 1 && s.ga > 1 {
		return simBlocks{}, locate(invalid("ga: 1, or another policy", "the rows of the policy MICRO are one micro-batch, and ga is %d", s.ga), s.file, 1, 0)
	}
	if s.pp == 1 || s.policy == "MICRO" {
		return simBlocks{blocks: [][]simRow{s.rows}}, nil
	}
	var starts []int
	end := len(s.rows)
	for i, r := range s.rows {
		if strings.HasPrefix(r.name, "embedding_layer") {
			starts = append(starts, i)
		} else if len(starts) > 0 && slices.ContainsFunc(stepRowPrefixes, func(name string) bool { return strings.HasPrefix(r.name, name) }) {
			end = i
			break
		}
	}
	if len(starts) == 0 {
		return simBlocks{}, locate(invalid(`a row "embedding_layer" at the beginning of each`, "the micro-batches of the stage cannot be told apart"), s.file, s.rows[0].line, s.rows[0].offset)
	}
	begin := starts[0]
	if rows := end - begin; len(starts) != s.ga && rows%s.ga != 0 {
		r := s.rows[begin]
		return simBlocks{}, locate(invalid(fmt.Sprintf("ga = %d of them, or a multiple of %d rows", s.ga, s.ga), "%d rows and %d micro-batches that begin with embedding_layer stand from here on, before what the step has once", rows, len(starts)), s.file, r.line, r.offset)
	} else if len(starts) != s.ga {
		starts = starts[:0]
		for i := range s.ga {
			starts = append(starts, begin+i*rows/s.ga)
		}
	}
	c := simBlocks{before: s.rows[:begin], after: s.rows[end:]}
	for i, from := range starts {
		to := end
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		c.blocks = append(c.blocks, s.rows[from:to])
	}
	return c, nil
}

// simProgramBuilder appends the operations of a rank, or only counts them.
type simProgramBuilder struct {
	ops       []Op
	numOps    int // operations so far
	numRows   int // forward passes of rows so far, which may do nothing
	countOnly bool
	last      int32
}

func (b *simProgramBuilder) add(o Op) int32 {
	if b.last >= 0 {
		o.After = append(o.After, b.last)
	}
	return b.addDetached(o)
}

// addDetached is add of an operation that waits for what it says alone.
func (b *simProgramBuilder) addDetached(o Op) int32 {
	if b.numOps++; !b.countOnly {
		b.ops = append(b.ops, o)
	}
	return int32(b.numOps - 1)
}

// isFull reports whether a program has more operations, or passes of rows, than are read.
func (b *simProgramBuilder) isFull() bool { return max(b.numOps, b.numRows) > MaxOperations }

// addPart appends the computing and the collective of a part of a row, which go on alone where they do not block.
func (b *simProgramBuilder) addPart(name string, t *simPart, blocks bool) {
	if t.duration > 0 {
		b.last = b.add(Op{Name: name, Kind: Compute, Duration: t.duration})
	}
	if t.hasCall {
		id := b.add(Op{Name: name + " " + t.coll.String(), Kind: Call, Collective: t.coll, Bytes: t.bytes, Group: t.group})
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
		b.addPart(rows[i].name+" forward", &rows[i].part[0], true)
	}
}

// addBackward appends the backward pass: of the last row first, the gradient of its input and then of its weights, whose
// collective blocks nothing but their update (SimAI's order). Rows whose gradients need a checkpoint go forward again
// from there. A schedule may put off the gradients of weights: work says which part of the pass this is.
func (b *simProgramBuilder) addBackward(rows []simRow, work training.PassKind) {
	for i := len(rows) - 1; i >= 0 && !b.isFull(); i-- {
		r := &rows[i]
		if r.isRecomputed && work != training.WeightGradientPass {
			first := i
			for first > 0 && !rows[first].isCheckpoint {
				first--
			}
			b.addForward(rows[first:i])
		}
		if work != training.WeightGradientPass {
			b.addPart(r.name+" input gradient", &r.part[1], true)
		}
		if work == training.InputGradientPass {
			continue
		}
		before := b.numOps
		b.addPart(r.name+" weight gradient", &r.part[2], false)
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

// program appends what a rank of a stage does.
func (s *simAIReader) program(b *simProgramBuilder, c simBlocks, stage int, schedule string) {
	b.last = -1
	b.addForward(c.before)
	if len(c.blocks) == 1 && s.pp == 1 {
		b.addForward(c.blocks[0])
		b.addForward(c.after)
		b.addBackward(c.after, training.BackwardPass)
		b.addBackward(c.blocks[0], training.BackwardPass)
		b.addBackward(c.before, training.BackwardPass)
		return
	}
	next := s.rank(0, 0, 1) - s.rank(0, 0, 0)
	bytes := (s.stageBytes + int64(s.tp) - 1) / int64(s.tp)
	addMessage := func(kind OpKind, peer int32, tag int) {
		id := b.add(Op{Name: fmt.Sprintf("micro-batch %d %s", tag/2+1, kind), Kind: kind, Bytes: bytes, Peer: peer, Tag: uint32(tag)})
		if kind == Recv {
			b.last = id
		}
	}
	pipeline := training.Spec{Schedule: schedule, PP: s.pp, Chunks: 1, Microbatches: s.ga}
	for _, p := range pipeline.Program(stage) {
		tag := 2 * p.Microbatch
		switch p.Kind {
		case training.WeightGradientPass:
			b.addBackward(c.blocks[p.Microbatch], p.Kind)
		case training.ForwardPass:
			if stage > 0 {
				addMessage(Recv, -next, tag)
			}
			b.addForward(c.blocks[p.Microbatch])
			if stage < s.pp-1 {
				addMessage(Send, next, tag)
			}
		default:
			if stage < s.pp-1 {
				addMessage(Recv, next, tag+1)
			}
			b.addBackward(c.blocks[p.Microbatch], p.Kind)
			if stage > 0 {
				addMessage(Send, -next, tag+1)
			}
		}
	}
	b.addForward(c.after)
	b.addBackward(c.after, training.BackwardPass)
	b.addBackward(c.before, training.BackwardPass)
}

// stage sums up what a stage does, of pods that hold whole stages: its GPUs compute in lockstep, what they exchange with
// each other lengthens passes, and what goes to other stages and replicas is transfers. The stage of a file without
// micro-batches of its own is one micro-batch.
func (s *simAIReader) stage(c simBlocks, h *ReadOptions) *training.MeasuredStage {
	m := &training.MeasuredStage{GPUs: s.tp * s.ep, Microbatches: len(c.blocks), PipelineBytes: (s.stageBytes + int64(s.tp) - 1) / int64(s.tp)}
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
	// what goes round the ring of replicas leaves a stage once for each of its TP ranks, and all of its GPUs send a part
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
	sum := func(rows []simRow) (forward, backward, weights engine.Time) {
		for i := range rows {
			r := &rows[i]
			for p := range r.part {
				across(&r.part[p])
			}
			forward += inside(&r.part[0])
			w := inside(&r.part[2]) + r.update
			backward, weights = backward+inside(&r.part[1])+w, weights+w
		}
		return forward, backward, weights
	}
	var whole training.MeasuredPass
	passesDiffer := false
	for _, rows := range c.blocks {
		var p training.MeasuredPass
		p.Forward, p.Backward, p.Weights = sum(rows)
		m.Passes = append(m.Passes, p)
		whole.Forward, whole.Backward, whole.Weights = whole.Forward+p.Forward, whole.Backward+p.Backward, whole.Weights+p.Weights
		passesDiffer = passesDiffer || p != m.Passes[0]
	}
	n := engine.Time(len(c.blocks))
	if m.Forward, m.Backward, m.Weights = whole.Forward/n, whole.Backward/n, whole.Weights/n; !passesDiffer {
		m.Passes = nil
	}
	first, last, _ := sum(c.before)
	tailed, ended, _ := sum(c.after)
	m.Prologue, m.Epilogue = first, tailed+ended+last
	return m
}
