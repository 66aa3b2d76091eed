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

// cut divides the rows. A stage alone does them in their order, whatever micro-batches they are of; of several stages
// each micro-batch is to be told apart. It fails where it cannot be.
func (s *simAI) cut() (simCut, error) {
	begin := slices.IndexFunc(s.rows, func(r simRow) bool { return strings.HasPrefix(r.name, "embedding_layer") })
	if s.pp == 1 || s.policy == "MICRO" {
		return simCut{blocks: [][]simRow{s.rows}}, nil
	}
	if begin < 0 {
		return simCut{}, wrong(`a row "embedding_layer" at the beginning of each`, "the micro-batches of the stage cannot be told apart")
	}
	end := len(s.rows)
	for i := begin; i < len(s.rows); i++ {
		if slices.ContainsFunc(once, func(name string) bool { return strings.HasPrefix(s.rows[i].name, name) }) {
			end = i
			break
		}
	}
	middle := s.rows[begin:end]
	if len(middle) == 0 || len(middle)%s.ga != 0 {
		return simCut{}, wrong(fmt.Sprintf("a multiple of ga = %d", s.ga), "%d rows from the first embedding_layer on, before what the step has once, are not of so many micro-batches", len(middle))
	}
	c, each := simCut{before: s.rows[:begin], after: s.rows[end:]}, len(middle)/s.ga
	for i := range s.ga {
		c.blocks = append(c.blocks, middle[i*each:(i+1)*each])
		for k, r := range c.blocks[i] {
			if first := c.blocks[0][k]; r.part != first.part || r.name != first.name {
				return simCut{}, wrong("micro-batches that are all the same", "line %d is %.40q of micro-batch %d, and differs from line %d of the first", r.line, r.name, i+1, first.line)
			}
		}
	}
	return c, nil
}

// simProgram appends the operations of a rank.
type simProgram struct {
	ops  []Op
	last int32
}

func (b *simProgram) add(o Op) int32 {
	if b.last >= 0 {
		o.After = append(o.After, b.last)
	}
	b.ops = append(b.ops, o)
	return int32(len(b.ops) - 1)
}

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
		b.run(rows[i].name+" forward", &rows[i].part[0], true)
	}
}

// backward appends the backward pass: of the last row first, the gradient of its input and then of its weights, whose
// collective blocks nothing but their update (SimAI's order). Rows whose gradients need a checkpoint go forward again
// from there. A schedule may put off the gradients of weights: work says which part of the pass this is.
func (b *simProgram) backward(rows []simRow, work training.Work) {
	for i := len(rows) - 1; i >= 0; i-- {
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
		before := len(b.ops)
		b.run(r.name+" weight gradient", &r.part[2], false)
		if r.update > 0 {
			o := Op{Name: r.name + " update", Kind: Compute, Dur: r.update}
			if len(b.ops) > before {
				o.After = []int32{int32(len(b.ops) - 1)}
			} else if b.last >= 0 {
				o.After = []int32{b.last}
			}
			b.ops = append(b.ops, o)
		}
	}
}

// program is what a rank of a stage does.
func (s *simAI) program(c simCut, stage int, schedule string) []Op {
	b := &simProgram{last: -1}
	b.forward(c.before)
	if len(c.blocks) == 1 && s.pp == 1 {
		b.forward(c.blocks[0])
		b.forward(c.after)
		b.backward(c.after, training.Backwards)
		b.backward(c.blocks[0], training.Backwards)
		b.backward(c.before, training.Backwards)
		return b.ops
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
	return b.ops
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
	m.Forward, m.Backward, m.Weights = sum(c.blocks[0])
	for _, rows := range c.blocks[1:] {
		sum(rows)
	}
	first, last, _ := sum(c.before)
	tailed, ended, _ := sum(c.after)
	m.First, m.Last = first, tailed+ended+last
	return m
}
