// This file lists the collective calls of passes and of synchronisation.
//
// Sources:
//
//   - tensor parallelism: Shoeybi et al., "Megatron-LM: Training Multi-Billion Parameter
//     Language Models Using Model Parallelism", 2019; with sequence parallelism: Korthikanti
//     et al., "Reducing Activation Recomputation in Large Transformer Models", 2022
//   - parallel layers: Chowdhery et al., "PaLM: Scaling Language Modeling with Pathways", 2022
//   - context parallelism: "The Llama 3 Herd of Models", 2024; Liu et al., "Ring Attention with
//     Blockwise Transformers for Near-Infinite Context", 2023
//   - expert parallelism: Lepikhin et al., "GShard: Scaling Giant Models with Conditional
//     Computation and Automatic Sharding", 2020
//   - sharding: Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion
//     Parameter Models", 2020

package training

import (
	"cmp"
	"fmt"
	"math"

	"sim/engine"
	"sim/workloads/collective"
)

// CallKind is the kind of a collective operation.
type CallKind uint8

// The kinds of collective calls of a training step. Their names equal the names in
// policies/collective.
const (
	AllReduce CallKind = iota
	ReduceScatter
	AllGather
	AllToAll
)

var callNames = [...]string{"all-reduce", "reduce-scatter", "all-gather", "all-to-all"}

// String returns the name used in scenarios and results.
func (k CallKind) String() string { return callNames[k] }

// Position is the point of a layer at which a pass makes a call.
//
// A forward pass computes attention between LayerStart and LayerMiddle, and the
// feed-forward network between LayerMiddle and LayerEnd. A backward pass computes them in
// the opposite order.
type Position uint8

// The positions of calls in a layer.
const (
	LayerStart Position = iota
	LayerMiddle
	LayerEnd
)

// Call is a collective call. All groups of one dimension of parallelism in a stage make
// it at the same time. A pass makes it once per piece (see Spec.Pieces).
type Call struct {
	Dim      Phase // Tensor, Context, Expert or Sync
	Kind     CallKind
	Position Position // Position is the point of a layer at which a pass makes the call.
	// Bytes is the size of the vector of a group. For an all-to-all, it is the message
	// from one GPU to each other GPU, or only to each GPU of its node if NodeGPUs is set.
	Bytes int64
	// NodeGPUs is set for all-to-alls that send a copy of a token to a node once: the GPUs of
	// a node. BetweenBytes is the message from a GPU to the GPU with the same place in each
	// other node, which passes the copies on.
	NodeGPUs     int
	BetweenBytes int64
	// ForExpertWeights marks Sync calls for the parameters of experts. A stage holds one
	// copy of these, so a group has one GPU per stage: the GPUs with the same number in
	// the stages of all replicas. Other parameters also have copies within a stage.
	ForExpertWeights bool
	// Span selects the replicas of Sync calls.
	Span ReplicaSpan
	// WithinStage marks Sync calls among the copies of a parameter in one stage
	// (StageCopyScatter, StageCopyGather).
	WithinStage bool
	// Transposed marks all-to-alls that return tokens from their experts. The sizes are
	// the transpose of the dispatch: each GPU sends back the bytes that it received.
	Transposed bool
	// Draw identifies the random sizes of an all-to-all. It is derived from the
	// micro-batch, the stage and the piece. Dispatch, combine and the corresponding
	// gradients share one draw. 0 means that all messages have the same size.
	Draw uint64
}

// ReplicaSpan is the set of replicas that make a Sync call together.
type ReplicaSpan uint8

// The spans of Sync calls.
const (
	AllReplicas ReplicaSpan = iota
	ShardGroups             // the replicas of each Spec.ShardGroup
	ShardCopies             // the replicas that hold the same shard, one per group; each GPU calls alone
)

// replicaSets returns the sets of replicas that make a call together.
func (s *Spec) replicaSets(span ReplicaSpan) (sets [][]int) {
	size, step, n := s.Replicas(), 1, s.Replicas() // replicas per set, and the distance between them
	switch span {
	case ShardGroups:
		size = s.ShardGroup
	case ShardCopies:
		size, step = n/s.ShardGroup, s.ShardGroup
	}
	for first := range n {
		if first/step%size != 0 {
			continue // already in the set of a previous replica
		}
		var set []int
		for k := range size {
			set = append(set, first+k*step)
		}
		sets = append(sets, set)
	}
	return sets
}

// Size returns the mean bytes from one rank of an all-to-all to another.
func (c Call) Size(from, to int) int64 {
	return collective.Exchange{Inside: c.Bytes, Between: c.BetweenBytes, NodeGPUs: c.NodeGPUs}.Size(from, to)
}

// Dims are the dimensions of parallelism whose groups make collective calls.
var Dims = []Phase{Tensor, Context, Expert, Sync}

// Pieces returns the number of pieces into which a pass of virtual stage v is divided.
// Each piece makes all calls of a layer, for an equal share of the layers and their
// bytes. The default is one piece per layer; Spec.PassPieces overrides it.
func (s *Spec) Pieces(v int) int {
	if s.PassPieces > 0 {
		return s.PassPieces
	}
	_, layers := s.layers(v)
	return int(math.Ceil(layers))
}

// PieceLayers returns the number of layers per piece of a pass of virtual stage v. With
// the default number of pieces it may be a fraction.
func (s *Spec) PieceLayers(v int) float64 {
	_, layers := s.layers(v)
	return layers / float64(s.Pieces(v))
}

// Repeats returns how often a virtual stage of one replica makes the calls of a pass per
// step. Passes make them once per piece. Sync, StageCopyScatter and StageCopyGather make them once
// per piece of the gradients or parameters.
func (s *Spec) Repeats(v int, pass Phase) int {
	n := s.Pieces(v) * s.passParts() * (s.Microbatches / s.ModelCopies())
	switch {
	case pass == StageCopyScatter && s.scattersGradients():
		_, n = s.ShardCalls(v, ReduceScatter)
		return n
	case pass == StageCopyGather && s.gathersParameters():
		_, n = s.ShardCalls(v, AllGather)
		return n
	case pass == StageCopyScatter || pass == StageCopyGather:
		return s.SyncPieces(v)
	case pass == Sync:
		return s.SyncPieces(v)
	case pass == Forward && s.Recompute == "full":
		return 2 * n
	}
	return n
}

// StepCall is a call of a training step, with its number of repetitions.
type StepCall struct {
	Call
	VirtualStage int // virtual stage that makes the call
	Replicas     int // number of replicas that make it separately; 1 for Sync calls, which span all
	Count        int // calls per step and replica
}

// StepCalls returns all calls of a training step.
func (s *Spec) StepCalls() (all []StepCall) {
	for v := range s.VirtualStages() {
		const allReplicas = 1 // the replicas make the call together
		add := func(calls []Call, replicas, times int) {
			for _, c := range calls {
				all = append(all, StepCall{Call: c, VirtualStage: v, Replicas: replicas, Count: times})
			}
		}
		for _, pass := range []Phase{Forward, Backward} {
			add(s.Calls(v, pass), s.Replicas(), s.Repeats(v, pass))
		}
		for _, kind := range []CallKind{AllGather, ReduceScatter} {
			calls, times := s.ShardCalls(v, kind)
			add(calls, allReplicas, times)
		}
		add(s.copyCalls(v), allReplicas, s.Shards(v))
		add(s.Calls(v, Sync), allReplicas, s.Repeats(v, Sync))
	}
	return all
}

// Calls returns the calls of one piece of a pass of virtual stage v, in order. For Sync,
// StageCopyScatter and StageCopyGather it returns the calls of one piece of the gradients or
// parameters. Groups of one GPU make no calls.
//
// Tensor parallelism with sequence parallelism: a layer all-gathers the inputs of
// attention and of the feed-forward network over the tensor-parallel group and
// reduce-scatters their outputs. The backward pass makes as many calls. Gathering inputs
// again for the weight gradients is hidden behind computation
// (Korthikanti et al. 2022, Sec. 4.2.2).
//
// Without sequence parallelism, a layer all-reduces both outputs and, in the backward
// pass, the gradients of both inputs (Shoeybi et al. 2019, Sec. 3).
//
// In layers with experts, the calls for the feed-forward network exist only if there are
// shared experts. If attention and network read the same input, one call serves both
// (Chowdhery et al. 2022, Sec. 2).
//
// Context parallelism: ranks that share a sequence all-gather keys and values. The
// backward pass gathers them again and reduce-scatters their gradients (Llama 3, Sec.
// 3.3.2). Ring attention sends the same number of bytes (Liu et al. 2023).
//
// Expert parallelism: all-to-alls send tokens to their experts and back, and likewise
// gradients (Lepikhin et al. 2020).
//
// Synchronisation: gradients are reduce-scattered over all copies of a parameter, and
// parameters are all-gathered (Rajbhandari et al. 2020, Sec. 5).
func (s *Spec) Calls(v int, pass Phase) []Call {
	switch pass = pass.callPass(); pass {
	case Sync:
		if _, part := s.modelParts(v); part != v {
			return nil // the other copy of these layers makes the same calls
		}
		return s.syncCalls(v)
	case StageCopyScatter, StageCopyGather:
		return s.stageCopyCalls(v, pass)
	case WeightGradients:
		return nil
	}

	// Numbers of layers, which may be fractions: all, with experts, and with a
	// tensor-parallel feed-forward network.
	_, layers := s.layers(v)
	pieces := float64(s.Pieces(v) * s.passParts())
	experts := s.ExpertLayers(v)
	network := layers
	if s.Arch.SharedExperts == 0 {
		network -= experts
	}

	// add appends a call with a piece's share of the bytes of the given number of layers.
	var calls []Call
	add := func(dim Phase, kind CallKind, p Position, bytes, layers float64) {
		if b := int64(math.Ceil(bytes * layers / pieces)); b > 0 {
			calls = append(calls, Call{Dim: dim, Kind: kind, Position: p, Bytes: b})
		}
	}

	// Bytes per layer; groups of one GPU exchange nothing.
	activation, kv := s.activationBytes(), s.keyValueBytes()
	if s.TP == 1 {
		activation = 0
	}
	if s.ContextRanks() == 1 {
		kv = 0
	}

	firstLayers, secondLayers := layers, network // layers that compute the first and the second half
	if pass == Backward {
		firstLayers, secondLayers = network, layers
	}

	// With parallel layers, attention and network share the calls at both ends of the
	// layer.
	isShared := func(p Position) bool { return p == LayerMiddle && s.Arch.ParallelLayers }
	gather := func(p Position, layers float64) {
		if s.Choices.SequenceParallel && !isShared(p) {
			add(Tensor, AllGather, p, activation, layers)
		}
	}
	reduce := func(p Position, layers float64) {
		kind := AllReduce
		if s.Choices.SequenceParallel {
			kind = ReduceScatter
		}
		if !isShared(p) {
			add(Tensor, kind, p, activation, layers)
		}
	}

	// Tokens are sent to their experts (dispatch) and back (combine), and likewise their
	// gradients.
	exchange := func(p Position, bytesPerNumber float64) {
		if s.StageGPUs() == 1 {
			return
		}
		n, x := len(calls), s.exchange(cmp.Or(bytesPerNumber, float64(s.Choices.ActivationBytes)))
		if add(Expert, AllToAll, p, float64(x.Inside), experts); len(calls) > n {
			calls[n].NodeGPUs = x.NodeGPUs
			calls[n].BetweenBytes = int64(math.Ceil(float64(x.Between) * experts / pieces))
		}
	}
	dispatch := func(p Position) { exchange(p, s.DispatchBytes) }
	combine := func(p Position) {
		n := len(calls)
		if exchange(p, s.CombineBytes); len(calls) > n {
			calls[n].Transposed = true
		}
	}

	gather(LayerStart, firstLayers)
	if pass == Forward {
		add(Context, AllGather, LayerStart, kv, layers)
		reduce(LayerMiddle, firstLayers)
		gather(LayerMiddle, secondLayers)
		dispatch(LayerMiddle)
		combine(LayerEnd)
	} else {
		dispatch(LayerStart)
		combine(LayerMiddle)
		reduce(LayerMiddle, firstLayers)
		gather(LayerMiddle, secondLayers)
		add(Context, AllGather, LayerMiddle, kv, layers)
		if s.ContextForm == "ring" { // gradients travel around the ring together with their blocks
			add(Context, ReduceScatter, LayerMiddle, kv, layers)
		} else {
			add(Context, ReduceScatter, LayerEnd, kv, layers)
		}
	}
	reduce(LayerEnd, secondLayers)
	return calls
}

// activationBytes returns the bytes of the activations between two layers for one
// micro-batch, for the tokens of one context-parallel rank.
func (s *Spec) activationBytes() float64 {
	return s.microbatchTokens() / float64(s.ContextRanks()) * float64(s.Arch.Hidden*s.Choices.ActivationBytes)
}

// keyValueBytes returns the bytes of the keys and values of a whole micro-batch for the
// heads of one tensor-parallel rank. If there are fewer heads than ranks, heads are
// replicated.
func (s *Spec) keyValueBytes() float64 {
	a, tp := &s.Arch, float64(s.TP)
	width := 2 * max(1, float64(a.KVHeads)/tp) * float64(a.HeadDim)
	if a.Attention == "mla" {
		width = max(1, float64(a.Heads)/tp) * float64(a.NopeDim+a.RopeDim+a.ValueDim)
	}
	return s.microbatchTokens() * width * float64(s.Choices.ActivationBytes)
}

// microbatchTokens returns the number of tokens per micro-batch.
func (s *Spec) microbatchTokens() float64 { return float64(s.Sequence) * float64(s.Microbatch) }

// Rank returns the rank of a GPU. Ranks are ordered by replica, then by stage, then by
// GPU.
func (s *Spec) Rank(replica, stage, gpu int) int32 {
	return int32((replica*s.PP+stage)*s.StageGPUs() + gpu)
}

// anyReplica is an argument of Groups for calls that span all replicas.
const anyReplica = 0

// Groups returns the ranks of each group that makes a call of a stage. The groups lie in
// one replica, except that Sync groups span the replicas of Call.Span unless the call is WithinStage.
// Within a stage, the tensor-parallel rank varies fastest, followed by the
// context-parallel rank.
func (s *Spec) Groups(c Call, replica, stage int) [][]int32 {
	gpus := s.StageGPUs()
	size, step := gpus, 1 // ranks per group, and the distance between them
	switch {
	case c.Dim == Tensor:
		size = s.TP
	case c.Dim == Context:
		size, step = s.ContextRanks(), s.TP
	case c.Dim == Sync && (c.ForExpertWeights || c.Span == ShardCopies):
		size = 1
	case c.Dim == Sync:
		size, step = gpus/s.TP, s.TP
	}

	// A synchronisation spans all replicas, and under DualPipe the two stages with the
	// same layers.
	sets, stages := [][]int{{replica}}, []int{stage}
	if c.Dim == Sync && !c.WithinStage {
		sets = s.replicaSets(c.Span)
		if w := s.otherModelCopy(stage); w != stage {
			stages = append(stages, w%s.PP)
		}
	}

	var groups [][]int32
	for _, replicas := range sets {
		for first := range gpus {
			if first/step%size != 0 {
				continue // already in the group of a previous GPU
			}
			var ranks []int32
			for _, r := range replicas {
				for _, z := range stages {
					for k := range size {
						ranks = append(ranks, s.Rank(r, z, first+k*step))
					}
				}
			}
			groups = append(groups, ranks)
		}
	}
	return groups
}

// CallTime returns the total time of the calls of a pass of virtual stage v, made one
// after another. The function timeOf returns the time of one call. A pass makes its calls
// once per piece; StageCopyScatter and StageCopyGather make them once.
func (s *Spec) CallTime(v int, pass Phase, timeOf func(Call) (engine.Time, error)) (engine.Time, error) {
	var sum engine.Time
	pieces := engine.Time(s.Pieces(v) * s.passParts())
	if pass == StageCopyScatter || pass == StageCopyGather {
		pieces = 1
	}

	for _, c := range s.Calls(v, pass) {
		t, err := timeOf(c)
		if err != nil {
			return 0, err
		}
		if t < 0 || t > (engine.Never-sum)/pieces {
			return 0, fmt.Errorf("training: %d calls of %v each exceed the range of simulated time", pieces, t)
		}
		sum += t * pieces
	}
	return sum, nil
}

// Lengthen adds the time returned by longer to every forward and backward pass of a
// virtual stage, and to every synchronisation among the copies in one stage. This models
// collective calls that share no links with other traffic, such as calls within a
// switched domain (CallTime).
//
// Compute that overlaps with the calls (Spec.OverlapPasses) hides them.
//
// Lengthen is called before the graph is simulated, once for all dimensions. It returns the error of longer, or an error if a time exceeds the range of
// simulated time.
func (it *Iteration) Lengthen(longer func(v int, pass Phase) (engine.Time, error)) error {
	s := &it.Spec
	lengthening := map[Phase][]engine.Time{} // by phase and virtual stage
	for _, pass := range s.ContractedPasses() {
		for v := range s.VirtualStages() {
			t, err := longer(v, pass)
			if err != nil {
				return fmt.Errorf("training: collective calls of virtual stage %d: %w", v, err)
			}
			lengthening[pass] = append(lengthening[pass], t)
		}
	}

	for i := range it.Graph.Tasks {
		m, d := it.Meta[i], &it.Graph.Tasks[i].Duration
		times := lengthening[m.Phase.callPass()]
		if times == nil {
			continue
		}
		t := times[int(m.Chunk)*s.PP+int(m.Stage)]
		if m.Parts > 0 {
			t = part(t, int(m.Part), int(m.Parts))
		}
		if t > 0 {
			t = max(0, t-it.hidden[int32(i)])
		}
		if t < 0 || *d > engine.Never-t {
			return fmt.Errorf("training: passes of virtual stage %d exceed the range of simulated time",
				int(m.Chunk)*s.PP+int(m.Stage))
		}
		*d += t
	}
	return nil
}

// ContractedPasses returns the phases whose tasks Lengthen lengthens.
func (s *Spec) ContractedPasses() []Phase {
	if s.StageCopies() > 1 {
		return []Phase{Forward, Backward, StageCopyScatter, StageCopyGather}
	}
	return []Phase{Forward, Backward}
}
