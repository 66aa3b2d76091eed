package training

import (
	"cmp"
	"math"
	"slices"

	"sim/engine"
)

// addSync adds the synchronisation of gradients and parameters on a ring of the replicas.
//
// Each virtual stage has one transfer from each replica to the next and, if the ring is
// split, one to the previous replica. All hops of a ring carry data at the same time. The
// synchronisation therefore starts when the last replica is ready, and the iteration ends
// after all transfers have arrived.
//
// If a replica holds two copies of its layers (DualPipe), these exchange halves of their
// gradients before, and halves of their parameters after the ring. The pieces of a
// stage's gradients are synchronised one after another.
func (b *builder) addSync() {
	s := &b.Spec
	done := make([][]int32, b.replicas*s.PP) // Predecessors of the optimizer step, indexed by replica and stage.
	for stage := range s.PP {
		for chunk := range s.Chunks / s.ModelCopies() {
			v := chunk*s.PP + stage
			copies := []int{v}
			if w := s.otherModelCopy(v); w != v {
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

// addOptimizers adds the optimizer step of each stage. done lists its predecessors,
// indexed by replica and stage.
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

// gradientGroup is a group of parameters whose gradients are synchronised separately.
type gradientGroup struct {
	share          float64 // fraction of the parameters of a GPU's virtual stage
	hasStageCopies bool    // a stage has several copies, which synchronise before and after the replicas
}

// portion returns the group's share of bytes.
func (g gradientGroup) portion(bytes int64) int64 {
	if g.share == 1 {
		return bytes
	}
	return int64(math.Round(float64(bytes) * g.share))
}

// gradientGroups returns the groups of parameters of virtual stage v. It is one group of
// all parameters. If a stage has several copies of the non-expert parameters, the
// parameters of experts are a separate group.
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

// addStageCopySync adds the synchronisation among the copies of a parameter in the stage of
// virtual stage v of replica r, after the tasks in after. Lengthen sets its duration.
func (b *builder) addStageCopySync(pass Phase, r, v int, after []int32) int32 {
	stage := int32(v % b.Spec.PP)
	id := b.addTask(engine.Task{}, TaskMeta{Phase: pass, Replica: int32(r), Stage: stage,
		ToStage: stage, Chunk: int32(v / b.Spec.PP), GPU: -1})
	for _, a := range after {
		b.Graph.AddEdge(a, id, 0)
	}
	return id
}

// addSyncPiece adds the synchronisation of one piece of the gradients of group g, after
// the tasks in before. copies lists the virtual stages that hold copies of these
// parameters. It returns the last tasks.
//
// If a stage has several copies itself, they reduce-scatter first, so that each GPU
// synchronises its own share with other replicas. They all-gather at the end.
func (b *builder) addSyncPiece(copies []int, piece int, g gradientGroup, before []int32) (done []int32) {
	s := &b.Spec
	v := copies[0]
	stage, chunk := v%s.PP, v/s.PP
	m := TaskMeta{Phase: Barrier, Stage: int32(stage), Chunk: int32(chunk), GPU: -1}

	// join returns a barrier after several tasks.
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

	// notBefore returns a task that delays the start until EarliestSync, or nothing.
	notBefore := func() []int32 {
		if f := b.options.EarliestSync; f != nil {
			return []int32{b.addTask(engine.Task{Duration: f[v][piece]}, m)}
		}
		return nil
	}

	// Collect the tasks that compute the gradients, or the copies' reduce-scatters after
	// them.
	scatters := g.hasStageCopies && !s.scattersGradients()
	ready, from := slices.Clone(before), []int32(nil)
	if scatters {
		ready, from = nil, append(slices.Clone(before), notBefore()...)
	}
	for r := range b.replicas {
		for _, w := range copies {
			end := b.GradientsReady[r][w][piece]
			if scatters {
				end = b.addStageCopySync(StageCopyScatter, r, w, append(slices.Clone(from), end))
			}
			ready = append(ready, end)
		}
	}

	start := join(ready)
	if !scatters {
		start = append(start, notBefore()...)
	}

	// exchange adds the transfers between the two copies of a replica.
	parts := s.SyncPieces(v)
	share := func(bytes int64) int64 { return part(g.portion(bytes), piece, parts) }
	exchange := func(bytesPerParameter int, from []int32) (done []int32) {
		for r := range b.replicas {
			for i, w := range copies {
				here, there := w%s.PP, copies[1-i]%s.PP
				m := TaskMeta{Phase: Sync, Replica: int32(r), Stage: int32(here),
					ToStage: int32(there), Chunk: int32(w / s.PP)}
				done = append(done,
					b.addTransfer(b.stageNodes[r][here], b.stageNodes[r][there], s.StageGPUs(),
						share(s.ModelCopyBytes(v, bytesPerParameter)), m, from, nil)...)
			}
		}
		return done
	}

	// The two copies exchange gradients, then the ring synchronises replicas.
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
	if g.hasStageCopies {
		done = nil
		for r := range b.replicas {
			for _, w := range copies {
				done = append(done, b.addStageCopySync(StageCopyGather, r, w, start))
			}
		}
		start = done
	}
	return start
}

// addRing adds the transfers of virtual stage v of replica r to its neighbours on the
// ring, and returns them.
func (b *builder) addRing(r, v int, bytesPerGPU int64, start []int32) []int32 {
	s := &b.Spec
	stage := v % s.PP
	d := s.Replicas()
	next, previous := (r+1)%d, (r+d-1)%d
	if !b.All {
		next, previous = r, r
	}

	m := TaskMeta{Phase: Sync, Replica: int32(r), Stage: int32(stage), ToStage: int32(stage),
		Chunk: int32(v / s.PP)}
	if !b.splitsRing() {
		return b.addTransfer(b.stageNodes[r][stage], b.stageNodes[next][stage], s.StageGPUs(),
			bytesPerGPU, m, start, nil)
	}

	half := s.StageGPUs() / 2
	ends := b.addTransfer(b.nextHalf[r][stage], b.nextHalf[next][stage], half, bytesPerGPU, m, start, nil)
	if b.All {
		// Otherwise one replica stands for all: the other half mirrors this one on
		// separate circuits.
		m.ToPrevious = true
		ends = append(ends, b.addTransfer(b.previousHalf[r][stage],
			b.previousHalf[previous][stage], half, bytesPerGPU, m, start, nil)...)
	}
	return ends
}
