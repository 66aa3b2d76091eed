// This file adds the transfers of sharded training state to passes (ZeRO; Rajbhandari et al.,
// "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", 2020).

package training

import (
	"fmt"
	"math"

	"sim/engine"
)

// The values of Spec.Sharding: the state that replicas divide among themselves
// (Rajbhandari et al. 2020, Sec. 5).
const (
	ShardNothing    = "none"       // gradients are all-reduced
	ShardOptimizer  = "optimizer"  // ZeRO-1: reduce-scatter gradients and all-gather parameters once per step
	ShardGradients  = "gradients"  // ZeRO-2: every backward pass reduce-scatters gradients
	ShardParameters = "parameters" // ZeRO-3, FSDP: in addition, every pass all-gathers parameters
)

// scattersGradients reports whether every backward pass reduce-scatters gradients.
func (s *Spec) scattersGradients() bool { return s.Sharding == ShardGradients || s.gathersParameters() }

// gathersParameters reports whether every pass all-gathers its parameters.
func (s *Spec) gathersParameters() bool { return s.Sharding == ShardParameters }

// Shards returns the number of parts of a pass of virtual stage v that gather parameters
// or scatter gradients separately: one per bucket or, without buckets, one per layer. If
// calls are in the graph, it is one per piece of the pass. It is 0 if passes do neither.
func (s *Spec) Shards(v int) int {
	switch {
	case !s.scattersGradients() || s.Replicas()*s.StageCopies() == 1 && !s.CallsInGraph():
		return 0
	case s.Buckets > 0 && !s.CallsInGraph():
		return s.bucketCount(v)
	}
	return s.Pieces(v)
}

// MaxBuckets is the maximum number of buckets of a stage's gradients. It bounds the size
// of the task graph.
const MaxBuckets = 1024

// bucketCount returns the number of buckets of the gradients of virtual stage v, or
// MaxBuckets+1 if there are more than MaxBuckets.
func (s *Spec) bucketCount(v int) int {
	return int(min(max(1, math.Ceil(s.stageGradientBytes(v)/float64(s.Buckets))), MaxBuckets+1))
}

// stageGradientBytes returns the bytes of the gradients of one GPU of virtual stage v.
func (s *Spec) stageGradientBytes(v int) float64 {
	return float64(s.Choices.GradientBytes) * s.Parameters(v)
}

// MinBucketBytes returns the minimum value of Buckets, for which no stage exceeds
// MaxBuckets.
func (s *Spec) MinBucketBytes() float64 {
	maxBytes := 0.0
	for v := range s.VirtualStages() {
		maxBytes = max(maxBytes, s.stageGradientBytes(v))
	}
	return math.Ceil(maxBytes / MaxBuckets)
}

// SyncTaskCount estimates the number of tasks of a replica's synchronisation and of the
// gathers and scatters in its passes, with tasksPerPiece tasks per piece.
func (s *Spec) SyncTaskCount(tasksPerPiece float64) (n float64) {
	for v := range s.VirtualStages() {
		_, gathers := s.ShardCalls(v, AllGather)
		_, scatters := s.ShardCalls(v, ReduceScatter)
		n += tasksPerPiece * float64(gathers+scatters+s.SyncPieces(v))
	}
	return n
}

// ShardBytes returns the bytes that one GPU of virtual stage v sends to its neighbour on
// the ring of replicas to gather the parameters (AllGather), or to scatter the gradients
// (ReduceScatter), of one part of a pass.
func (s *Spec) ShardBytes(v int, kind CallKind) int64 {
	bytesPerParameter := s.Choices.GradientBytes
	if kind == AllGather {
		bytesPerParameter = s.Choices.ParameterBytes
	}
	d := float64(s.Replicas())
	return int64(math.Round(float64(bytesPerParameter) * (d - 1) / d * s.Parameters(v) / float64(max(1, s.Shards(v)))))
}

// checkSharding fails if the job does not support gradients or parameters that are
// sharded in passes.
func (s *Spec) checkSharding() error {
	if s.scattersGradients() && (s.ModelCopies() > 1 || s.Measured != nil) {
		return fmt.Errorf("training: sharding %q needs one copy of the model per replica and no measured times; the schedule is %q",
			s.Sharding, s.Schedule)
	}
	return nil
}

// shardCalls is Spec.ShardCalls without the number of repetitions.
func (b *builder) shardCalls(v int, kind CallKind) []Call {
	calls, _ := b.Spec.ShardCalls(v, kind)
	return calls
}

// shardCollective is a gather or scatter of all replicas for one part of a pass. The
// replicas join it one by one as their passes are added.
type shardCollective struct {
	ready []int32 // task after which a replica participates, indexed by replica
	// done lists the last tasks, indexed by replica or, with calls in the graph, by rank. A
	// folded graph has one replica and one rank per stage.
	done     [][]int32
	endTasks map[int32]int32 // a task after all last tasks of a replica, by replica
}

// shardKey identifies a shardCollective. The gathers of a stage follow one another, and
// so do its scatters; index is the position in this sequence.
type shardKey struct {
	stage int
	kind  CallKind
	index int
}

// shardCollective returns the collective with key k. It adds its tasks when the first
// replica requires it.
//
// If reducesCopies is set, the gradients are then reduced over the copies of each shard.
func (b *builder) shardCollective(k shardKey, v int, m TaskMeta, reducesCopies bool) (*shardCollective, error) {
	if x, ok := b.shardCollectives[k]; ok {
		return x, nil
	}
	s := &b.Spec
	x := &shardCollective{endTasks: map[int32]int32{}}

	m.Phase, m.ToStage, m.GPU = Barrier, m.Stage, -1
	var before *shardCollective
	if k.index > 0 {
		before = b.shardCollectives[shardKey{stage: k.stage, kind: k.kind, index: k.index - 1}]
	}

	for r := range b.replicas {
		m.Replica = int32(r)
		x.ready = append(x.ready, b.addTask(engine.Task{}, m))
	}
	if b.shardCollectives == nil {
		b.shardCollectives = map[shardKey]*shardCollective{}
	}
	b.shardCollectives[k] = x

	// Without calls in the graph, the collective is a ring of transfers.
	if b.options.Expand == nil {
		m.Replica = 0
		x.done = make([][]int32, b.replicas)
		for _, g := range s.gradientGroups(v) {
			b.addShardGroup(k, v, g, m, x, before)
		}
		return x, nil
	}

	// With calls in the graph, each group makes a call after its previous one.
	// In a folded graph, all ranks of the group have the tasks of its first rank, in done[0].
	x.done = make([][]int32, s.GPUs)
	doneIndex := func(rank int32) int32 { return rank }
	if b.options.Folded {
		x.done = make([][]int32, 1)
		doneIndex = func(int32) int32 { return 0 }
	}
	for _, c := range b.shardCalls(v, k.kind) {
		for _, group := range b.groups(c, anyReplica, k.stage) {
			ready := make([]int32, len(group))
			for i, rank := range group {
				if b.options.Folded && i > 0 {
					ready[i] = ready[0]
					continue
				}
				ready[i] = x.ready[b.Nodes[rank].Replica]
				if before != nil && len(before.done[doneIndex(rank)]) > 0 {
					joined := b.addTask(engine.Task{}, m)
					b.Graph.AddDependency(ready[i], joined)
					for _, end := range before.done[doneIndex(rank)] {
						b.Graph.AddDependency(end, joined)
					}
					ready[i] = joined
				}
			}
			done, err := b.expandCall(c, group, ready, m)
			if err != nil {
				return nil, err
			}
			for i, rank := range group {
				if k := doneIndex(rank); !b.options.Folded || i == 0 {
					x.done[k] = append(x.done[k], done[i])
				}
			}
		}
	}
	if !reducesCopies {
		return x, nil
	}

	// The ranks of each group wait for their own scatters.
	for _, c := range s.copyCalls(v) {
		for _, group := range b.groups(c, anyReplica, k.stage) {
			ready := make([]int32, len(group))
			for i, rank := range group {
				if b.options.Folded && i > 0 {
					ready[i] = ready[0]
					continue
				}
				ready[i] = b.addTask(engine.Task{}, m)
				for _, end := range x.done[doneIndex(rank)] {
					b.Graph.AddDependency(end, ready[i])
				}
			}
			done, err := b.expandCall(c, group, ready, m)
			if err != nil {
				return nil, err
			}
			for i, rank := range group {
				x.done[doneIndex(rank)] = done[i : i+1]
			}
		}
	}
	return x, nil
}

// addShardGroup adds the transfers of collective x for one group of parameters. They
// follow the previous collective of the stage, before, which may be nil. The copies in a
// stage scatter gradients before the ring of replicas and gather parameters after it. The
// ring starts when its last replica is ready.
func (b *builder) addShardGroup(k shardKey, v int, g gradientGroup, m TaskMeta, x, before *shardCollective) {
	ready := x.ready
	if g.hasStageCopies && k.kind == ReduceScatter {
		ready = nil
		for r, id := range x.ready {
			after := []int32{id}
			if before != nil {
				after = append(after, before.done[r]...)
			}
			ready = append(ready, b.addStageCopySync(StageCopyScatter, r, v, after))
		}
	}

	all := b.addTask(engine.Task{}, m)
	for r, id := range ready {
		b.Graph.AddDependency(id, all)
		if before != nil {
			for _, end := range before.done[r] {
				b.Graph.AddDependency(end, all)
			}
		}
	}

	for r := range b.replicas {
		done := []int32{all}
		if b.Spec.Replicas() > 1 {
			done = b.addRing(r, v, g.portion(b.Spec.ShardBytes(v, k.kind)), done)
		}
		if g.hasStageCopies && k.kind == AllGather {
			done = []int32{b.addStageCopySync(StageCopyGather, r, v, done)}
		}
		x.done[r] = append(x.done[r], done...)
	}
}

// endTask returns a task after all last tasks of collective x in the stage of replica r,
// or -1 if it has none.
func (b *builder) endTask(x *shardCollective, r int, m TaskMeta) int32 {
	if id, ok := x.endTasks[int32(r)]; ok {
		return id
	}

	var all []int32
	if b.options.Expand == nil || b.options.Folded {
		all = x.done[r]
	} else {
		for g := range b.Spec.StageGPUs() {
			all = append(all, x.done[b.Spec.Rank(r, int(m.Stage), g)]...)
		}
	}
	id := int32(-1)
	if len(all) > 0 {
		m.Phase, m.Replica, m.GPU = Barrier, int32(r), -1
		id = b.addTask(engine.Task{}, m)
		for _, end := range all {
			b.Graph.AddDependency(end, id)
		}
	}
	x.endTasks[int32(r)] = id
	return id
}

// addShards connects the parts of a pass to their collectives. A part waits for its
// parameters, whose gathering starts when an earlier part ends (Spec.Prefetch). It
// scatters its gradients when it has computed them, and after the last pass reduces them over the
// copies of its shards.
func (b *builder) addShards(z *stageBuilder, v int, m TaskMeta, parts []passTasks, gathers, scatters, completesGradients bool) error {
	r := int(m.Replica)
	for _, p := range parts {
		if gathers {
			key := shardKey{stage: z.number, kind: AllGather, index: z.numGathers}
			const reducesCopies = false
			x, err := b.shardCollective(key, v, m, reducesCopies)
			if err != nil {
				return err
			}
			if earlier := z.numGathers - 1 - b.Spec.Prefetch; earlier >= 0 {
				b.Graph.AddDependency(z.gatherEnds[earlier], x.ready[r])
			}
			if end := b.endTask(x, r, m); end >= 0 {
				b.Graph.AddDependency(end, p.first)
			}
			z.numGathers++
			z.gatherEnds = append(z.gatherEnds, p.last)
		}

		if scatters {
			key := shardKey{stage: z.number, kind: ReduceScatter, index: z.numScatters}
			x, err := b.shardCollective(key, v, m, completesGradients && len(b.Spec.copyCalls(v)) > 0)
			if err != nil {
				return err
			}
			b.Graph.AddDependency(p.last, x.ready[r])
			z.numScatters++
		}
	}
	return nil
}

// lastScatter returns the task after the last scatter of the stage of replica r, or -1 if
// its passes scatter nothing.
func (b *builder) lastScatter(r, stage int) int32 {
	x, ok := b.shardCollectives[shardKey{stage: stage, kind: ReduceScatter, index: b.numScatters[stage] - 1}]
	if !ok {
		return -1
	}
	return b.endTask(x, r, TaskMeta{Stage: int32(stage)})
}

// StageMessages calls visit for each kind of message that a GPU of virtual stage v sends to other
// replicas and to the GPU with the other model copy. It is for graphs without collective calls. The
// arguments of visit are the bytes of a message, how often it is sent, and the number of its parts.
func (s *Spec) StageMessages(v int, visit func(bytes int64, times, parts int)) {
	const once, whole = 1, 1 // sent once; one part
	if s.Replicas() > 1 {
		visit(s.SyncBytes(v), once, s.SyncPieces(v))
	}
	for _, kind := range []CallKind{AllGather, ReduceScatter} {
		_, times := s.ShardCalls(v, kind)
		visit(s.ShardBytes(v, kind), times, whole)
	}
	if s.ModelCopies() > 1 {
		for _, bytesPerParameter := range []int{s.Choices.GradientBytes, s.Choices.ParameterBytes} {
			visit(s.ModelCopyBytes(v, bytesPerParameter), once, s.SyncPieces(v))
		}
	}
}
