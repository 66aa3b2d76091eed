package trace

import (
	"fmt"
	"slices"
	"strings"

	"sim/engine"
	"sim/workloads/training"
)

// simCut are the rows of a stage: what comes before the first micro-batch, the rows of each, and what comes after the
// last. Without micro-batches of its own a file is one block.
type simCut struct {
	before, after []simRow
	blocks        [][]simRow
}

// once begin the names of rows that a step has once, behind the micro-batches.
var once = []string{"cross_entropy", "optimizer", "embedding_norm"}

// cut divides the rows. A stage alone does them in their order, whatever micro-batches they are of. Of several stages,
// each micro-batch begins with an embedding_layer; if there are not ga of these, micro-batches have equal numbers of rows.
// Micro-batches may differ in times, collectives and bytes. cut fails if it cannot tell them apart.
func (s *simAI) cut() (simCut, error) {
	if s.policy == "MICRO" && s.pp > 1 && s.ga > 1 {
		return simCut{}, placed(wrong("ga: 1, or another policy", "the rows of the policy MICRO are one micro-batch, and ga is %d", s.ga), s.file, 1, 0)
	}
	if s.pp == 1 || s.policy == "MICRO" {
		return simCut{blocks: [][]simRow{s.rows}}, nil
	}
	var starts []int
	end := len(s.rows)
	for i, r := range s.rows {
		if strings.HasPrefix(r.name, "embedding_layer") {
			starts = append(starts, i)
		} else if len(starts) > 0 && slices.ContainsFunc(once, func(name string) bool { return strings.HasPrefix(r.name, name) }) {
			end = i
			break
		}
	}
	if len(starts) == 0 {
		return simCut{}, placed(wrong(`a row "embedding_layer" at the beginning of each`, "the micro-batches of the stage cannot be told apart"), s.file, s.rows[0].line, s.rows[0].at)
	}
	begin := starts[0]
	if rows := end - begin; len(starts) != s.ga && rows%s.ga != 0 {
		r := s.rows[begin]
		return simCut{}, placed(wrong(fmt.Sprintf("ga = %d of them, or a multiple of %d rows", s.ga, s.ga), "%d rows and %d micro-batches that begin with embedding_layer stand from here on, before what the step has once", rows, len(starts)), s.file, r.line, r.at)
	} else if len(starts) != s.ga {
		starts = starts[:0]
		for i := range s.ga {
			starts = append(starts, begin+i*rows/s.ga)
		}
	}
	c := simCut{before: s.rows[:begin], after: s.rows[end:]}
	for i, from := range starts {
		to := end
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		c.blocks = append(c.blocks, s.rows[from:to])
	}
	return c, nil
}

// simProgram appends the operations of a rank, or only counts them.
type simProgram struct {
	ops   []Op
	n     int // operations so far
	rows  int // forward passes of rows so far, which may do nothing
	count bool
	last  int32
}

func (b *simProgram) add(o Op) int32 {
	if b.last >= 0 {
		o.After = append(o.After, b.last)
	}
	return b.put(o)
}

// put is add of an operation that waits for what it says alone.
func (b *simProgram) put(o Op) int32 {
	if b.n++; !b.count {
		b.ops = append(b.ops, o)
	}
	return int32(b.n - 1)
}

// full reports whether a program has more operations, or passes of rows, than are read.
func (b *simProgram) full() bool { return max(b.n, b.rows) > MaxOperations }

// run appends the computing and the collective of a part of a row, which go on alone where they do not block.
func (b *simProgram) run(name string, t *simPart, blocks bool) {
	if t.dur > 0 {
		b.last = b.add(Op{Name: name, Kind: Compute, Dur: t.dur})
	}
	if t.call {
		id := b.add(Op{Name: name + " " + t.coll.String(), Kind: Call, Coll: t.coll, Bytes: t.bytes, Group: t.group})
		if blocks {
			b.last = id
		}
	}
}

// forward appends the forward pass of some rows.
func (b *simProgram) forward(rows []simRow) {
	for i := range rows {
		if b.full() {
			return
		}
		b.rows++
		b.run(rows[i].name+" forward", &rows[i].part[0], true)
	}
}

// backward appends the backward pass: of the last row first, the gradient of its input and then of its weights, whose
// collective blocks nothing but their update (SimAI's order). Rows whose gradients need a checkpoint go forward again
// from there. A schedule may put off the gradients of weights: work says which part of the pass this is.
func (b *simProgram) backward(rows []simRow, work training.Work) {
	for i := len(rows) - 1; i >= 0 && !b.full(); i-- {
		r := &rows[i]
		if r.recalc && work != training.Weights {
			from := i
			for from > 0 && !rows[from].saved {
				from--
			}
			b.forward(rows[from:i])
		}
		if work != training.Weights {
			b.run(r.name+" input gradient", &r.part[1], true)
		}
		if work == training.Inputs {
			continue
		}
		before := b.n
		b.run(r.name+" weight gradient", &r.part[2], false)
		if r.update > 0 {
			o := Op{Name: r.name + " update", Kind: Compute, Dur: r.update}
			if b.n > before {
				o.After = []int32{int32(b.n - 1)}
			} else if b.last >= 0 {
				o.After = []int32{b.last}
			}
			b.put(o)
		}
	}
}

// program appends what a rank of a stage does.
func (s *simAI) program(b *simProgram, c simCut, stage int, schedule string) {
	b.last = -1
	b.forward(c.before)
	if len(c.blocks) == 1 && s.pp == 1 {
		b.forward(c.blocks[0])
		b.forward(c.after)
		b.backward(c.after, training.Backwards)
		b.backward(c.blocks[0], training.Backwards)
		b.backward(c.before, training.Backwards)
		return
	}
	next := s.rank(0, 0, 1) - s.rank(0, 0, 0)
	bytes := (s.stageBytes + int64(s.tp) - 1) / int64(s.tp)
	talk := func(kind Kind, peer int32, tag int) {
		id := b.add(Op{Name: fmt.Sprintf("micro-batch %d %s", tag/2+1, kind), Kind: kind, Bytes: bytes, Peer: peer, Tag: uint32(tag)})
		if kind == Recv {
			b.last = id
		}
	}
	pipeline := training.Spec{Schedule: schedule, PP: s.pp, Chunks: 1, Microbatches: s.ga}
	for _, p := range pipeline.Program(stage) {
		tag := 2 * p.Microbatch
		switch p.Work {
		case training.Weights:
			b.backward(c.blocks[p.Microbatch], p.Work)
		case training.Forwards:
			if stage > 0 {
				talk(Recv, -next, tag)
			}
			b.forward(c.blocks[p.Microbatch])
			if stage < s.pp-1 {
				talk(Send, next, tag)
			}
		default:
			if stage < s.pp-1 {
				talk(Recv, next, tag+1)
			}
			b.backward(c.blocks[p.Microbatch], p.Work)
			if stage > 0 {
				talk(Send, -next, tag+1)
			}
		}
	}
	b.forward(c.after)
	b.backward(c.after, training.Backwards)
	b.backward(c.before, training.Backwards)
}

// stage sums up what a stage does, of pods that hold whole stages: its GPUs compute in lockstep, what they exchange with
// each other lengthens passes, and what goes to other stages and replicas is transfers. The stage of a file without
// micro-batches of its own is one micro-batch.
func (s *simAI) stage(c simCut, h *Hints) *training.Measured {
	m := &training.Measured{GPUs: s.tp * s.ep, Microbatches: len(c.blocks), PipelineBytes: (s.stageBytes + int64(s.tp) - 1) / int64(s.tp)}
	inside := func(t *simPart) (d engine.Time) {
		n := 0
		switch t.group {
		case simTP:
			n = s.tp
		case simEP:
			n = s.ep
		}
		if d = t.dur; t.call && n > 1 {
			wire := t.coll.Wire(t.bytes, n)
			m.InsideBytes += wire
			if h.Inside > 0 {
				d += engine.Time(8 * float64(wire) / float64(h.Inside) * float64(engine.Second))
			}
		}
		return d
	}
	// what goes round the ring of replicas leaves a stage once for each of its TP ranks, and all of its GPUs send a part
	across := func(t *simPart) {
		if !t.call {
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
	differ := false
	for _, rows := range c.blocks {
		var p training.MeasuredPass
		p.Forward, p.Backward, p.Weights = sum(rows)
		m.Passes = append(m.Passes, p)
		whole.Forward, whole.Backward, whole.Weights = whole.Forward+p.Forward, whole.Backward+p.Backward, whole.Weights+p.Weights
		differ = differ || p != m.Passes[0]
	}
	n := engine.Time(len(c.blocks))
	if m.Forward, m.Backward, m.Weights = whole.Forward/n, whole.Backward/n, whole.Weights/n; !differ {
		m.Passes = nil
	}
	first, last, _ := sum(c.before)
	tailed, ended, _ := sum(c.after)
	m.First, m.Last = first, tailed+ended+last
	return m
}
