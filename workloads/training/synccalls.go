package training

import "math"

// This file derives the collective calls that synchronise gradients and parameters: among the
// replicas of the model, and among the GPUs of a stage that hold the same parameters.

// SyncPieces returns the number of pieces in which the gradients of virtual stage v are
// synchronised. Each piece makes the same calls. A piece is a gradient bucket or, with
// OverlapSync, the gradients of one piece of the backward pass. With calls in the graph,
// the number of buckets cannot exceed the number of pieces of the pass.
func (s *Spec) SyncPieces(v int) int {
	switch {
	case s.scattersGradients():
		return 1 // the backward passes have scattered them
	case s.OverlapSync:
		return s.Pieces(v)
	case s.Buckets <= 0:
		return 1
	case s.CallsInGraph():
		return min(s.bucketCount(v), s.Pieces(v))
	}
	return s.bucketCount(v)
}

// syncCalls returns the calls that synchronise one piece of the gradients of virtual
// stage v.
func (s *Spec) syncCalls(v int) []Call {
	kinds := []CallKind{ReduceScatter, AllGather}
	switch s.Sharding {
	case ShardNothing:
		kinds = []CallKind{AllReduce}
	case ShardGradients:
		kinds = []CallKind{AllGather}
	case ShardParameters:
		return nil
	}

	var calls []Call
	for _, kind := range kinds {
		calls = append(calls, s.replicaCalls(v, kind, s.SyncPieces(v))...)
	}
	return calls
}

// ShardCalls returns the calls with which one part of a pass of virtual stage v gathers
// its parameters (AllGather) or scatters its gradients (ReduceScatter), and the number of
// times that the stage of one replica makes them per step. See Spec.Sharding.
func (s *Spec) ShardCalls(v int, kind CallKind) (calls []Call, times int) {
	parts := s.Shards(v)
	if parts == 0 || kind == AllGather && !s.gathersParameters() {
		return nil, 0
	}
	times = parts * s.Microbatches
	if kind == AllGather {
		times *= 2 // once forward, and once backward or before the recomputation
	}
	return s.replicaCalls(v, kind, parts), times
}

// replicaCalls returns the calls among all replicas that synchronise virtual stage v. Each handles
// one of the given number of parts of the gradients or parameters. One call is for the parameters
// of experts, which a stage holds once. The other is for all other parameters, which a stage may
// hold several times; its groups include the copies within a stage.
func (s *Spec) replicaCalls(v int, kind CallKind, parts int) (calls []Call) {
	if s.Frozen && !(kind == AllGather && s.gathersParameters()) {
		return nil // there are no gradients, and parameters do not change
	}
	bytesPerParameter := s.Choices.GradientBytes
	if kind == AllGather {
		bytesPerParameter = s.Choices.ParameterBytes
	}

	// add appends call c for the given number of parameters per GPU, which groupSize GPUs hold.
	add := func(c Call, parameters float64, groupSize int) {
		c.Bytes = int64(math.Round(float64(bytesPerParameter) * parameters / float64(parts)))
		if c.Bytes > 0 && groupSize > 1 {
			calls = append(calls, c)
		}
	}

	// Spec.Parameters divides the other parameters of a stage among all its GPUs, but each
	// tensor-parallel group of the stage holds all of them.
	experts := s.expertParameters(v)
	others := (s.Parameters(v) - experts) * float64(s.StageGPUs()) / float64(s.TP)
	numCopies := s.ModelCopies() * s.Replicas() // of the parameters of experts
	span := AllReplicas
	if s.shardsHybrid() {
		numCopies, span = s.ShardGroup, ShardGroups
	}
	add(Call{Dim: Sync, Kind: kind, Span: span}, others, numCopies*s.StageGPUs()/s.TP)
	add(Call{Dim: Sync, Kind: kind, Span: span, ForExpertWeights: true}, experts, numCopies)
	return calls
}

// shardsHybrid reports whether several groups of replicas hold copies of the sharded parameters.
func (s *Spec) shardsHybrid() bool {
	return s.gathersParameters() && s.ShardGroup > 0 && s.ShardGroup < s.Replicas()
}

// copyCalls returns the calls that reduce the gradients of one part of the last backward pass of
// virtual stage v over the copies of a shard (hybrid sharding). They follow the reduce-scatter in
// each group.
func (s *Spec) copyCalls(v int) (calls []Call) {
	if !s.shardsHybrid() || s.Frozen {
		return nil
	}
	bytes := float64(s.Choices.GradientBytes) * s.Parameters(v) / float64(s.ShardGroup*s.Shards(v))
	return []Call{{Dim: Sync, Kind: AllReduce, Span: ShardCopies, Bytes: int64(math.Round(bytes))}}
}

// StageCopies returns the number of copies of each non-expert parameter in a stage whose
// synchronisation takes time of its own: one per rank that shares a sequence and per
// tensor-parallel group. It is 1 if HasCopySync is false.
func (s *Spec) StageCopies() int {
	if !s.HasCopySync || s.Measured != nil {
		return 1
	}
	return s.StageGPUs() / s.TP
}

// stageCopyCalls returns the call among the copies of the non-expert parameters in a stage,
// for one piece of the gradients (StageCopyScatter) or parameters (StageCopyGather) of virtual
// stage v. Before replicas synchronise, the copies reduce-scatter gradients, so that each
// GPU holds the sum of its share (Parameters). Afterwards they all-gather.
func (s *Spec) stageCopyCalls(v int, pass Phase) []Call {
	copies := s.StageCopies()
	kind, bytesPerParameter, parts := ReduceScatter, s.Choices.GradientBytes, s.SyncPieces(v)
	if pass == StageCopyGather {
		kind = AllGather
		// Without sharding, the copies gather gradients, and each updates all its parameters.
		if s.Sharding != ShardNothing {
			bytesPerParameter = s.Choices.ParameterBytes
		}
	}

	// Sharded passes scatter or gather once per part of a pass instead of once per piece.
	if pass == StageCopyScatter && s.scattersGradients() || pass == StageCopyGather && s.gathersParameters() {
		parts = s.Shards(v)
	}

	bytes := int64(math.Round(float64(bytesPerParameter*copies) * (s.Parameters(v) - s.expertParameters(v)) / float64(parts)))
	if copies == 1 || bytes == 0 {
		return nil
	}
	return []Call{{Dim: Sync, Kind: kind, Bytes: bytes, WithinStage: true}}
}
