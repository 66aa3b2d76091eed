// This file adds the passes of a pipeline to the task graph. A pass is the computation of
// one micro-batch by one virtual stage: forward, backward, or a part of the backward pass.
// Each stage executes the passes of its program (Spec.Program, schedule.go) one after
// another. Transfers between stages carry activations forward and gradients backward.

package training

import (
	"fmt"
	"slices"

	"sim/engine"
)

// passTasks lists the tasks of a pass.
type passTasks struct {
	first, last int32       // first and last task
	pieceEnds   []int32     // task that completes each piece, indexed by piece
	computes    []int32     // compute tasks in order
	shards      []passTasks // parts that gather parameters or scatter gradients (Spec.Shards)
	next        []int32     // first task of the next pass of the stage; empty after the last pass
}

// addPass adds a pass of virtual stage v with the given compute time. A pass is a chain of tasks:
// one per part that gathers parameters or scatters gradients. If completesGradients is set, it is
// the last pass that computes gradients of v. It then has at least one task per piece in which
// the gradients are synchronised.
func (b *builder) addPass(v int, duration engine.Time, m TaskMeta, completesGradients bool) (passTasks, error) {
	if b.options.Expand != nil {
		if b.Spec.passParts() > 1 && len(b.Spec.Calls(v, m.Phase)) > 0 {
			return b.addHalves(v, duration, m)
		}
		return b.addPassWithCalls(v, duration, m)
	}
	parts := max(1, b.Spec.Shards(v))
	if completesGradients {
		parts = max(parts, b.Spec.SyncPieces(v))
	}

	p := passTasks{first: int32(len(b.Meta))}
	for i := range parts {
		if parts > 1 {
			m.Part, m.Parts = int32(i), int32(parts)
		}
		id := b.addTask(engine.Task{Duration: part(duration, i, parts)}, m)
		if i > 0 {
			b.Graph.AddDependency(p.last, id)
		}
		p.last, p.pieceEnds = id, append(p.pieceEnds, id)
		p.computes = append(p.computes, id)
		p.shards = append(p.shards, passTasks{first: id, last: id})
	}
	if b.Spec.OverlapPasses == OverlapHalves {
		b.hideCalls(p.computes, p.computes)
	}
	return p, nil
}

// part returns the i-th of n nearly equal parts of x. The parts add up to x. Dividing the remainder
// separately avoids the overflow of x*(i+1).
func part[T ~int64](x T, i, n int) T {
	quotient, remainder := x/T(n), x%T(n)
	return quotient + remainder*T(i+1)/T(n) - remainder*T(i)/T(n)
}

// syncPieceEnds returns the task that completes each piece of the gradients of virtual
// stage v in the last pass p that computes them. If the pass has more pieces than the
// gradients, it is the task of the last piece of the pass within each piece of the
// gradients.
func (b *builder) syncPieceEnds(v int, p passTasks) []int32 {
	n := b.Spec.SyncPieces(v)
	if n == 1 {
		return []int32{p.last}
	}
	ends := make([]int32, n)
	for i := range ends {
		ends[i] = p.pieceEnds[(i+1)*len(p.pieceEnds)/n-1]
	}
	return ends
}

// addPipeline adds the passes and the pipeline transfers of replica r.
func (b *builder) addPipeline(r int) error {
	s := &b.Spec
	virtual := s.VirtualStages()
	scale := 1.0
	if b.options.ComputeScale != nil {
		scale = b.options.ComputeScale[r]
	}

	// The passes, indexed by virtual stage and micro-batch.
	forward := make([][]passTasks, virtual)
	backward := make([][]passTasks, virtual)
	for v := range virtual {
		forward[v] = make([]passTasks, s.Microbatches)
		backward[v] = make([]passTasks, s.Microbatches)
	}

	// Prepare the stages, with the pass that completes the gradients of each chunk.
	b.GradientsReady = append(b.GradientsReady, make([][]int32, virtual))
	stages := make([]stageBuilder, s.PP)
	b.numScatters = make([]int, s.PP)
	maxPasses := 0
	for i := range stages {
		stages[i] = stageBuilder{number: i, program: s.Program(i), last: -1, startAfter: -1,
			lastGradient: make([]int, s.Chunks)}
		for k, o := range stages[i].program {
			if o.Kind == BackwardPass || o.Kind == WeightGradientPass {
				stages[i].lastGradient[o.Chunk] = k
			}
		}
		maxPasses = max(maxPasses, len(stages[i].program))
	}

	// Add the passes column by column over all stages. This approximates the order of
	// time, so that tasks that are simulated together are adjacent in memory.
	for step := range maxPasses {
		for i := range stages {
			z := &stages[i]
			if step >= len(z.program) {
				continue
			}
			o := z.program[step]
			p, err := b.addProgramPass(r, z, step, scale)
			if err != nil {
				return err
			}

			v := o.Chunk*s.PP + i
			passOf := func(o Pass) *passTasks {
				if o.Kind == ForwardPass {
					return &forward[o.Chunk*s.PP+i][o.Microbatch]
				}
				return &backward[o.Chunk*s.PP+i][o.Microbatch]
			}
			if o.Kind != WeightGradientPass {
				*passOf(o) = p
			}
			if step > 0 && z.program[step-1].Kind != WeightGradientPass {
				passOf(z.program[step-1]).next = []int32{p.first}
			}

			// A forward pass that overlaps the backward pass starts and ends together
			// with it.
			if step > 0 && z.program[step-1].OverlapsNext {
				forwardPass := passOf(z.program[step-1])
				forwardPass.last = p.last
				backward[v][o.Microbatch].first = forwardPass.first
			}

			if step == z.lastGradient[o.Chunk] && (o.Kind == BackwardPass || o.Kind == WeightGradientPass) {
				b.GradientsReady[r][v] = b.syncPieceEnds(v, p)
			}
		}
	}
	for i := range stages {
		b.numScatters[i] = stages[i].numScatters
		for v := i; s.SyncAtEnd && v < virtual; v += s.PP {
			b.GradientsReady[r][v] = slices.Repeat([]int32{stages[i].last}, s.SyncPieces(v))
		}
	}

	// Connect the passes of each micro-batch along its path through the stages.
	for i := range s.Microbatches {
		path := s.stagePath(i)
		for k, v := range path {
			if k+1 == len(path) {
				b.Graph.AddDependency(forward[v][i].last, backward[v][i].first)
				continue
			}
			w := path[k+1]
			from, to := v%s.PP, w%s.PP
			m := TaskMeta{Phase: PipelineForward, Replica: int32(r), Stage: int32(from),
				ToStage: int32(to), Chunk: int32(v / s.PP), Microbatch: int32(i)}
			b.addHop(r, m, &forward[v][i], &forward[w][i])
			m = TaskMeta{Phase: PipelineBackward, Replica: int32(r), Stage: int32(to),
				ToStage: int32(from), Chunk: int32(w / s.PP), Microbatch: int32(i)}
			b.addHop(r, m, &backward[w][i], &backward[v][i])
		}
	}
	return nil
}

// stageBuilder is the state of a pipeline stage while its passes are added.
type stageBuilder struct {
	number       int    // of the stage
	program      []Pass // passes in the order of execution
	last         int32  // last task of the previous pass; -1 before the first pass
	lastGradient []int  // index of the pass that completes the gradients, indexed by chunk
	// Passes that gather parameters or scatter gradients: numbers of gathers and scatters
	// so far.
	numGathers, numScatters int
	gatherEnds              []int32 // last task of each part that gathered parameters

	paired     *passTasks // forward pass that overlaps with the next pass; nil without such a pass
	startAfter int32      // task after which the next pass starts instead of last; -1 means last
}

// addProgramPass adds pass number step of a stage's program in replica r. If activations are
// recomputed by a pass of their own, this pass comes first. scale multiplies compute times.
func (b *builder) addProgramPass(r int, z *stageBuilder, step int, scale float64) (passTasks, error) {
	s, o := &b.Spec, z.program[step]
	v := o.Chunk*s.PP + z.number
	if b.isOverlapped(z, step) {
		scale /= 1 - s.CallShare
	}
	t, err := b.passTimes(v, o.Microbatch, scale)
	if err != nil {
		return passTasks{}, fmt.Errorf("training: compute of stage %d: %w", z.number+1, err)
	}

	m := TaskMeta{Replica: int32(r), Stage: int32(z.number), Chunk: int32(o.Chunk),
		Microbatch: int32(o.Microbatch), GPU: -1}
	var d engine.Time
	switch o.Kind {
	case ForwardPass:
		m.Phase, d = Forward, t.forward
	case BackwardPass:
		m.Phase, d = Backward, t.backward
	case InputGradientPass:
		m.Phase, d = Backward, t.backward-t.weights
	case WeightGradientPass:
		m.Phase, d = WeightGradients, t.weights
	}

	// The first and last passes of a measured stage include its prologue and epilogue.
	if a := s.Measured; a != nil && step == 0 {
		d += engine.Time(float64(a.Prologue) * scale)
	} else if a != nil && step == len(z.program)-1 {
		d += engine.Time(float64(a.Epilogue) * scale)
	}

	// Partial recomputation lengthens the backward pass. Full recomputation is a pass of its
	// own, with which the backward pass then begins.
	first := int32(-1) // first task of a recomputation pass; -1 without such a pass
	var computes []int32
	if m.Phase == Backward && s.Recompute != "" && s.Recompute != "none" {
		if s.Recompute != "full" {
			d += t.recompute
		} else {
			const completesGradients = false
			recompute := m
			recompute.Phase = Recompute
			p, err := b.appendPass(z, o, t.recompute, recompute, completesGradients)
			if err != nil {
				return passTasks{}, err
			}
			first, computes = p.first, p.computes
		}
	}

	completesGradients := step == z.lastGradient[o.Chunk]
	p, err := b.appendPass(z, o, d, m, completesGradients)
	if err != nil {
		return p, err
	}
	if first >= 0 {
		p.first, p.computes = first, append(computes, p.computes...)
	}
	if s.OverlapPasses == OverlapPairs {
		b.overlapPair(z, o, &p, m)
	}
	return p, nil
}

// passTimes is Spec.passTimes. Without measured times, all micro-batches of a virtual stage take the
// same times, which are computed once per replica.
func (b *builder) passTimes(v, microbatch int, scale float64) (passTimes, error) {
	if b.Spec.Measured != nil {
		return b.Spec.passTimes(v, microbatch, scale)
	}
	t, ok := b.times[v]
	if ok && b.timesScale == scale {
		return t, nil
	}
	t, err := b.Spec.passTimes(v, microbatch, scale)
	if b.timesScale != scale || b.times == nil {
		b.times, b.timesScale = map[int]passTimes{}, scale
	}
	b.times[v] = t
	return t, err
}

// appendPass adds the tasks of pass o after the previous pass of the stage. m describes them; its
// phase is Recompute for the recomputation before a backward pass. If passes gather parameters or
// scatter gradients, it also adds these collectives.
func (b *builder) appendPass(z *stageBuilder, o Pass, duration engine.Time, m TaskMeta, completesGradients bool) (passTasks, error) {
	s := &b.Spec
	v := o.Chunk*s.PP + z.number
	p, err := b.addPass(v, duration, m, completesGradients)
	if err != nil {
		return p, err
	}
	after := z.last
	if z.startAfter >= 0 {
		after, z.startAfter = z.startAfter, -1
	}
	if after >= 0 {
		b.Graph.AddDependency(after, p.first)
	}
	z.last = p.last
	if s.Shards(v) == 0 {
		return p, nil
	}

	// After a full recomputation, the backward pass has its parameters already.
	gathers := s.gathersParameters() && m.Phase != WeightGradients &&
		(m.Phase != Backward || s.Recompute != "full")
	scatters := o.Kind == WeightGradientPass || o.Kind == BackwardPass && m.Phase == Backward
	return p, b.addShards(z, v, m, p.shards, gathers, scatters, completesGradients)
}

// addHop connects two passes by a pipeline transfer. If both are in the same stage, as
// between the chunks of a single-stage pipeline, no data moves. With blocking sends, the next pass
// of the sending stage waits for the transfer.
func (b *builder) addHop(r int, m TaskMeta, from, to *passTasks) {
	if m.Stage == m.ToStage {
		b.Graph.AddDependency(from.last, to.first)
		return
	}
	waiting := []int32{to.first}
	if b.Spec.BlockingSends {
		waiting = append(waiting, from.next...)
	}
	b.addTransfer(b.stageNodes[r][m.Stage], b.stageNodes[r][m.ToStage], b.Spec.StageGPUs(),
		b.Spec.PipelineBytes(), m, []int32{from.last}, waiting...)
}
