package training

import (
	"cmp"
	"math"
	"slices"

	"sim/engine"
)

// addSync adds the synchronisation of gradients and parameters on a ring of the replicas: a transfer from each replica to
// the next a stage and chunk, and where the ring is split one to the previous as well. Every hop of a ring carries the
// data at the same time, so it starts when the last replica is ready, and all of it must have arrived before the
// iteration ends. Where a replica holds two copies these exchange halves of their gradients before, and of their
// parameters after that. Parts of a stage's gradients follow each other.
func (b *builder) addSync() {
	s := &b.Spec
	done := make([][]int32, b.replicas*s.PP) // what the optimizer waits for, by replica and stage
	for stage := range s.PP {
		for chunk := range s.Chunks / s.Copies() {
			v := chunk*s.PP + stage
			copies := []int{v}
			if w := s.otherCopy(v); w != v {
				copies = append(copies, w)
			}
			var scattered []int32
			for r := range b.replicas {
				if id := b.lastScatter(r, stage); id >= 0 {
					scattered = append(scattered, id)
				}
			}
			var ends []int32
			for _, g := range s.gradientGroups(v) {
				before := scattered
				for part := range s.SyncPieces(v) {
					if s.Replicas()*len(copies)*s.StageCopies() > 1 && !s.gathersParameters() {
						before = b.addSyncPiece(copies, part, g, before)
					}
				}
				ends = append(ends, before...)
			}
			for r := range b.replicas {
				for _, w := range copies {
					at := &done[r*s.PP+w%s.PP]
					*at = append(append(*at, b.GradientsReady[r][w]...), ends...)
				}
			}
		}
	}
	b.addOptimizers(done)
}

// addOptimizers adds the optimizer's step of each stage, after the tasks in done, by replica and stage.
func (b *builder) addOptimizers(done [][]int32) {
	s := &b.Spec
	d := cmp.Or(s.OptimizerTime, s.Operators.Optimizer)
	if d == 0 {
		return
	}
	for i, ends := range done {
		m := TaskMeta{Phase: Optimizer, Replica: int32(i / s.PP), Stage: int32(i % s.PP), GPU: -1}
		id := b.addTask(engine.Task{Duration: d}, m)
		for _, e := range ends {
			b.Graph.AddEdge(e, id, 0)
		}
	}
}

// gradientGroup is a group of parameters whose gradients are synchronised by themselves.
type gradientGroup struct {
	share     float64 // of all parameters of a GPU's virtual stage
	hasCopies bool    // a stage holds several copies, which synchronise before and after replicas do
}

// portion returns the group's part of the bytes of all parameters.
func (g gradientGroup) portion(bytes int64) int64 {
	if g.share == 1 {
		return bytes
	}
	return int64(math.Round(float64(bytes) * g.share))
}

// gradientGroups returns the groups of parameters of virtual stage v: all parameters together or, if a
// stage holds several copies of those that are not of experts, these and experts by themselves.
func (s *Spec) gradientGroups(v int) []gradientGroup {
	if s.StageCopies() == 1 {
		return []gradientGroup{{share: 1}}
	}
	experts := s.expertParameters(v) / s.Parameters(v)
	if experts == 0 {
		return []gradientGroup{{1, true}}
	}
	return []gradientGroup{{1 - experts, true}, {experts, false}}
}

// addCopySync adds the synchronisation among the copies of a parameter in the stage of virtual stage
// v of replica r, after the tasks in after. Lengthen gives it a duration.
func (b *builder) addCopySync(pass Phase, r, v int, after []int32) int32 {
	stage := int32(v % b.Spec.PP)
	id := b.addTask(engine.Task{}, TaskMeta{Phase: pass, Replica: int32(r), Stage: stage, ToStage: stage, Chunk: int32(v / b.Spec.PP), GPU: -1})
	for _, a := range after {
		b.Graph.AddEdge(a, id, 0)
	}
	return id
}

// addSyncPiece adds a piece of the synchronisation of a group of the parameters that the given virtual stages hold copies
// of, after the tasks in before. It returns its last tasks.
//
// If a stage holds several copies itself, these reduce-scatter first, which leaves each GPU with the share that it
// synchronises with other replicas, and all-gather last.
func (b *builder) addSyncPiece(copies []int, piece int, g gradientGroup, before []int32) (done []int32) {
	s := &b.Spec
	v := copies[0]
	stage, chunk := v%s.PP, v/s.PP
	m := TaskMeta{Phase: Barrier, Stage: int32(stage), Chunk: int32(chunk), GPU: -1}
	join := func(ready []int32) []int32 {
		if len(ready) == 1 {
			return ready
		}
		barrier := b.addTask(engine.Task{}, m)
		for _, id := range ready {
			b.Graph.AddEdge(id, barrier, 0)
		}
		return []int32{barrier}
	}
	notBefore := func() []int32 { // SyncFrom
		if f := b.options.EarliestSync; f != nil {
			return []int32{b.addTask(engine.Task{Duration: f[v][piece]}, m)}
		}
		return nil
	}
	scatters := g.hasCopies && !s.scattersGradients()
	ready, from := slices.Clone(before), []int32(nil)
	if scatters {
		ready, from = nil, append(slices.Clone(before), notBefore()...)
	}
	for r := range b.replicas {
		for _, w := range copies {
			end := b.GradientsReady[r][w][piece]
			if scatters {
				end = b.addCopySync(CopyScatter, r, w, append(slices.Clone(from), end))
			}
			ready = append(ready, end)
		}
	}
	start := join(ready)
	if !scatters {
		start = append(start, notBefore()...)
	}
	parts := s.SyncPieces(v)
	share := func(bytes int64) int64 { return part(g.portion(bytes), piece, parts) }
	exchange := func(each int, from []int32) (done []int32) {
		for r := range b.replicas {
			for i, w := range copies {
				here, there := w%s.PP, copies[1-i]%s.PP
				m := TaskMeta{Phase: Sync, Replica: int32(r), Stage: int32(here), ToStage: int32(there), Chunk: int32(w / s.PP)}
				done = append(done, b.addTransfer(b.stageNodes[r][here], b.stageNodes[r][there], s.StageGPUs(), share(s.CopyBytes(v, each)), m, from, nil)...)
			}
		}
		return done
	}
	if len(copies) > 1 {
		start = join(exchange(s.Choices.GradientBytes, start))
	}
	if s.Replicas() > 1 {
		done = nil
		for r := range b.replicas {
			for _, w := range copies {
				done = append(done, b.addRing(r, w, share(s.SyncBytes(v)), start)...)
			}
		}
		start = done
	}
	if len(copies) > 1 {
		start = exchange(s.Choices.ParameterBytes, join(start))
	}
	if g.hasCopies {
		done = nil
		for r := range b.replicas {
			for _, w := range copies {
				done = append(done, b.addCopySync(CopyGather, r, w, start))
			}
		}
		start = done
	}
	return start
}

// addRing adds the hops of one replica's virtual stage to its neighbours, of so many bytes a GPU, and returns them.
func (b *builder) addRing(r, v int, each int64, start []int32) []int32 {
	s := &b.Spec
	stage := v % s.PP
	d := s.Replicas()
	next, previous := (r+1)%d, (r+d-1)%d
	if !b.All {
		next, previous = r, r
	}
	m := TaskMeta{Phase: Sync, Replica: int32(r), Stage: int32(stage), ToStage: int32(stage), Chunk: int32(v / s.PP)}
	if !b.splitsRing() {
		return b.addTransfer(b.stageNodes[r][stage], b.stageNodes[next][stage], s.StageGPUs(), each, m, start, nil)
	}
	half := s.StageGPUs() / 2
	ends := b.addTransfer(b.nextHalf[r][stage], b.nextHalf[next][stage], half, each, m, start, nil)
	if b.All {
		// of one replica that stands for all this half is the mirror image of the other, on circuits of its own
		m.ToPrevious = true
		ends = append(ends, b.addTransfer(b.previousHalf[r][stage], b.previousHalf[previous][stage], half, each, m, start, nil)...)
	}
	return ends
}
