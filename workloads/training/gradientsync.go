package training

import (
	"cmp"
	"math"
	"slices"

	"sim/engine"
)

// This file adds the synchronisation of gradients and parameters to the task graph of an
// iteration, as transfers between the nodes of stages. (With collective calls in the graph,
// callgraph.go does it instead.) All GPUs that hold the same parameters sum their gradients
// and hold equal parameters afterwards. There are three reasons for which several GPUs hold the
// same parameters:
//
//   - Replicas (data parallelism): each replica holds the whole model. The GPUs with the same
//     position in all replicas form a ring.
//   - Model copies: with the schedule DualPipe, a replica holds each layer twice, in virtual
//     stages v and otherModelCopy(v).
//   - Stage copies: the GPUs of a stage divide each layer among TP tensor-parallel ranks. If
//     the stage has more GPUs, several hold the same part (Spec.StageCopies). Experts are
//     divided among all GPUs of the stage and have no stage copies.
//
// Virtual stage v is chunk v/PP of stage v mod PP, where PP is the number of stages.

// addSync adds the synchronisation of all virtual stages, followed by the optimizer steps.
//
// For each piece of a virtual stage's gradients (Spec.SyncPieces), the order is:
//
//  1. Stage copies reduce-scatter gradients, so that each GPU synchronises its own share.
//  2. The two model copies exchange halves of their gradients.
//  3. The replicas reduce-scatter gradients and all-gather parameters on their ring.
//  4. The two model copies exchange halves of their parameters.
//  5. Stage copies all-gather parameters.
//
// Each piece starts after the previous piece of the virtual stage. The ring starts when the
// last replica is ready: all hops of a ring carry data at the same time.
func (b *builder) addSync() {
	s := &b.Spec
	done := make([][]int32, b.replicas*s.PP) // predecessors of the optimizer step, indexed by replica and stage
	for stage := range s.PP {
		for chunk := range s.Chunks / s.ModelCopies() {
			v := chunk*s.PP + stage
			modelCopies := []int{v}
			if w := s.otherModelCopy(v); w != v {
				modelCopies = append(modelCopies, w)
			}

			// With sharded gradients, backward passes have scattered them (sharding.go). The
			// parameters are gathered after the last scatter of the stage.
			var scattered []int32
			for r := range b.replicas {
				if id := b.lastScatter(r, stage); id >= 0 {
					scattered = append(scattered, id)
				}
			}

			// With sharded parameters, the forward passes gather them, so nothing remains.
			needsSync := s.Replicas()*len(modelCopies)*s.StageCopies() > 1 && !s.gathersParameters()

			var ends []int32
			for _, g := range s.gradientGroups(v) {
				before := scattered
				if needsSync {
					for piece := range s.SyncPieces(v) {
						before = b.addSyncPiece(modelCopies, piece, g, before)
					}
				}
				ends = append(ends, before...)
			}

			for r := range b.replicas {
				for _, w := range modelCopies {
					k := r*s.PP + w%s.PP
					done[k] = append(done[k], b.GradientsReady[r][w]...)
					done[k] = append(done[k], ends...)
				}
			}
		}
	}
	b.addOptimizers(done)
}

// addOptimizers adds the optimizer step of each stage, unless it takes no time. done lists its
// predecessors, indexed by replica x PP + stage.
func (b *builder) addOptimizers(done [][]int32) {
	s := &b.Spec
	for i, ends := range done {
		duration := s.optimizerTime(i % s.PP)
		if duration == 0 {
			continue
		}
		m := TaskMeta{Phase: Optimizer, Replica: int32(i / s.PP), Stage: int32(i % s.PP), GPU: -1}
		id := b.addTask(engine.Task{Duration: duration}, m)
		for _, end := range ends {
			b.Graph.AddDependency(end, id)
		}
	}
}

// optimizerTime returns the time of the optimizer of a stage.
func (s *Spec) optimizerTime(stage int) engine.Time {
	t := cmp.Or(s.OptimizerTime, s.Operators.Optimizer)
	if t == 0 && s.Compute == Profile && s.Measured == nil {
		t, _ = engine.FromSeconds(s.optimizerSeconds(stage)) // shorter than any pass
	}
	return t
}

// gradientGroup is a group of parameters whose gradients are synchronised separately.
type gradientGroup struct {
	share          float64 // fraction of the parameters of a GPU's virtual stage
	hasStageCopies bool    // several GPUs of a stage hold these parameters
}

// portion returns the group's share of bytes, rounded to whole bytes.
func (g gradientGroup) portion(bytes int64) int64 {
	if g.share == 1 {
		return bytes
	}
	return int64(math.Round(float64(bytes) * g.share))
}

// gradientGroups returns the groups of parameters of virtual stage v. Without stage copies,
// all parameters are one group. Otherwise the parameters of experts are a separate group,
// because a stage holds them once.
func (s *Spec) gradientGroups(v int) []gradientGroup {
	if s.StageCopies() == 1 {
		return []gradientGroup{{share: 1}}
	}
	experts := s.expertParameters(v) / s.Parameters(v)
	if experts == 0 {
		return []gradientGroup{{share: 1, hasStageCopies: true}}
	}
	return []gradientGroup{
		{share: 1 - experts, hasStageCopies: true},
		{share: experts},
	}
}

// addStageCopySync adds a task for the synchronisation among the stage copies of virtual stage
// v in replica r, which starts after the tasks in after. pass is StageCopyScatter or
// StageCopyGather. The task has no duration yet: Iteration.Lengthen adds it, because it depends
// on the network within the stage.
func (b *builder) addStageCopySync(pass Phase, r, v int, after []int32) int32 {
	stage := int32(v % b.Spec.PP)
	id := b.addTask(engine.Task{}, TaskMeta{
		Phase:   pass,
		Replica: int32(r),
		Stage:   stage,
		ToStage: stage,
		Chunk:   int32(v / b.Spec.PP),
		GPU:     -1,
	})
	for _, a := range after {
		b.Graph.AddDependency(a, id)
	}
	return id
}

// addSyncPiece adds the synchronisation of one piece of the gradients of group g, after the
// tasks in before; addSync lists its steps. modelCopies lists the virtual stages that hold
// these parameters. It returns the last tasks.
func (b *builder) addSyncPiece(modelCopies []int, piece int, g gradientGroup, before []int32) []int32 {
	s := &b.Spec
	v := modelCopies[0]
	barrier := TaskMeta{Phase: Barrier, Stage: int32(v % s.PP), Chunk: int32(v / s.PP), GPU: -1}

	// The number of bytes of a whole virtual stage is divided among its pieces and groups.
	numPieces := s.SyncPieces(v)
	pieceBytes := func(stageBytes int64) int64 {
		return part(g.portion(stageBytes), piece, numPieces)
	}

	start := b.addSyncStart(modelCopies, piece, g, before, barrier)
	if len(modelCopies) > 1 {
		bytes := pieceBytes(s.ModelCopyBytes(v, s.Choices.GradientBytes))
		start = b.join(b.addModelCopyExchange(modelCopies, bytes, start), barrier)
	}

	if s.Replicas() > 1 {
		var ring []int32
		for r := range b.replicas {
			for _, w := range modelCopies {
				ring = append(ring, b.addRing(r, w, pieceBytes(s.SyncBytes(v)), start)...)
			}
		}
		start = ring
	}

	if len(modelCopies) > 1 {
		bytes := pieceBytes(s.ModelCopyBytes(v, s.Choices.ParameterBytes))
		start = b.addModelCopyExchange(modelCopies, bytes, b.join(start, barrier))
	}
	if !g.hasStageCopies {
		return start
	}

	var gathers []int32
	for r := range b.replicas {
		for _, w := range modelCopies {
			gathers = append(gathers, b.addStageCopySync(StageCopyGather, r, w, start))
		}
	}
	return gathers
}

// addSyncStart returns the tasks after which model copies and replicas can synchronise the
// piece: the tasks in before, the computation of the gradients in all replicas, and the time
// BuildOptions.EarliestSync. If stage copies reduce-scatter first, their reduce-scatters wait
// for all of these, and addSyncStart returns the reduce-scatters. The description of barriers
// is barrier.
func (b *builder) addSyncStart(modelCopies []int, piece int, g gradientGroup, before []int32, barrier TaskMeta) []int32 {
	// earliest returns a task that ends at the time EarliestSync, or nothing.
	earliest := func() []int32 {
		f := b.options.EarliestSync
		if f == nil {
			return nil
		}
		return []int32{b.addTask(engine.Task{Duration: f[modelCopies[0]][piece]}, barrier)}
	}

	// Backward passes with sharded gradients have made the reduce-scatters already.
	if !g.hasStageCopies || b.Spec.scattersGradients() {
		ready := slices.Clone(before)
		for r := range b.replicas {
			for _, w := range modelCopies {
				ready = append(ready, b.GradientsReady[r][w][piece])
			}
		}
		start := b.join(ready, barrier)
		return append(start, earliest()...)
	}

	after := append(slices.Clone(before), earliest()...)
	var scatters []int32
	for r := range b.replicas {
		for _, w := range modelCopies {
			ready := append(slices.Clone(after), b.GradientsReady[r][w][piece])
			scatters = append(scatters, b.addStageCopySync(StageCopyScatter, r, w, ready))
		}
	}
	return b.join(scatters, barrier)
}

// join returns a barrier after several tasks, with the description m. A single task needs no
// barrier and is returned itself.
func (b *builder) join(tasks []int32, m TaskMeta) []int32 {
	if len(tasks) == 1 {
		return tasks
	}
	barrier := b.addTask(engine.Task{}, m)
	for _, id := range tasks {
		b.Graph.AddDependency(id, barrier)
	}
	return []int32{barrier}
}

// addModelCopyExchange adds the transfers in both directions between the two model copies of
// each replica, after the tasks in start. Each GPU sends the given bytes. It returns the
// transfers.
func (b *builder) addModelCopyExchange(modelCopies []int, bytesPerGPU int64, start []int32) (transfers []int32) {
	s := &b.Spec
	for r := range b.replicas {
		for i, w := range modelCopies {
			from, to := w%s.PP, modelCopies[1-i]%s.PP
			m := TaskMeta{Phase: Sync, Replica: int32(r), Stage: int32(from), ToStage: int32(to),
				Chunk: int32(w / s.PP)}
			transfers = append(transfers, b.addTransfer(b.stageNodes[r][from], b.stageNodes[r][to],
				s.StageGPUs(), bytesPerGPU, m, start)...)
		}
	}
	return transfers
}

// addRing adds the transfers of virtual stage v of replica r to its neighbours on the ring of
// replicas, after the tasks in start, and returns them. If the ring is split, half of the GPUs
// send to the next replica and the other half to the previous one.
//
// A graph with a single replica (BuildOptions.All is false) has this one represent all
// replicas, which are identical. Its transfers then lead to the replica itself. One direction
// is enough, because the other half would do the same on separate circuits. In a folded graph, the
// first GPU of the first replica sends to the next replica, and represents both directions.
func (b *builder) addRing(r, v int, bytesPerGPU int64, start []int32) []int32 {
	s := &b.Spec
	stage := v % s.PP
	numReplicas := s.Replicas()
	next, previous := (r+1)%numReplicas, (r+numReplicas-1)%numReplicas
	if !b.All {
		next, previous = r, r
	}

	m := TaskMeta{Phase: Sync, Replica: int32(r), Stage: int32(stage), ToStage: int32(stage),
		Chunk: int32(v / s.PP)}
	if b.options.Folded {
		first := b.stageNodes[r][stage] // with PerGPU a node is a rank
		replicaGPUs := s.Rank(1, 0, 0) - s.Rank(0, 0, 0)
		return b.addTransfer(first, first+int32(next)*replicaGPUs, s.StageGPUs(), bytesPerGPU, m, start)
	}
	if !s.SplitsRing() {
		return b.addTransfer(b.stageNodes[r][stage], b.stageNodes[next][stage], s.StageGPUs(),
			bytesPerGPU, m, start)
	}

	half := s.StageGPUs() / 2
	ends := b.addTransfer(b.nextHalf[r][stage], b.nextHalf[next][stage], half, bytesPerGPU, m, start)
	if b.All {
		m.ToPrevious = true
		ends = append(ends, b.addTransfer(b.previousHalf[r][stage],
			b.previousHalf[previous][stage], half, bytesPerGPU, m, start)...)
	}
	return ends
}
