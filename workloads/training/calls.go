package training

import (
	"fmt"
	"math"

	"sim/engine"
)

// CallKind is what a collective call does with its data.
type CallKind uint8

// The kinds of calls that a training step makes. Their names are those of collective algorithms.
const (
	AllReduce CallKind = iota
	ReduceScatter
	AllGather
	AllToAll
)

var callNames = [...]string{"all-reduce", "reduce-scatter", "all-gather", "all-to-all"}

// String returns the name used in scenarios and results.
func (k CallKind) String() string { return callNames[k] }

// Position says when a pass makes a call. A layer is attention and a feed-forward network, in the backward pass the other
// way round: the first of the two is computed between Before and Between, the second between Between and After.
type Position uint8

// Places in a pass.
const (
	LayerStart Position = iota
	LayerMiddle
	LayerEnd
)

// Call is a collective call that all groups of a dimension of parallelism in a stage make at the same time, a piece of a
// pass (Spec.Pieces).
type Call struct {
	Dim      Phase // Tensor, Context, Expert or Sync
	Kind     CallKind
	Position Position // in a pass
	// Bytes is the size of the vector of a group, of an all-to-all of what a GPU sends to each other.
	Bytes int64
	// ForExpertWeights is of gradients and parameters of experts, of which a stage holds one copy: its groups are GPUs of one
	// number in the stages of all replicas. Others have copies in the stage, too.
	ForExpertWeights bool
	// WithinStage is of a Sync call among the copies of a parameter in one stage (CopyScatter,
	// CopyGather).
	WithinStage bool
	// Transposed is of tokens that come back from their experts: what one GPU has sent to another goes back.
	Transposed bool
	// Draw tells all-to-alls apart whose sizes are drawn, by the micro-batch, stage and piece that they are of; the
	// tokens that come back have that of those that went, and so have their gradients. 0 is of even sizes.
	Draw uint64
}

// Dims are the dimensions of parallelism whose groups make calls.
var Dims = []Phase{Tensor, Context, Expert, Sync}

// Pieces returns the parts that a pass of virtual stage v is divided into, each of which makes all calls of a layer: one
// a layer, unless Spec.PassPieces says otherwise. Each has the same part of the layers, and of their bytes.
func (s *Spec) Pieces(v int) int {
	if s.PassPieces > 0 {
		return s.PassPieces
	}
	_, layers := s.layers(v)
	return int(math.Ceil(layers))
}

// PieceLayers returns the layers of a piece of a pass of virtual stage v, a part of one where there are Pieces by
// default.
func (s *Spec) PieceLayers(v int) float64 {
	_, layers := s.layers(v)
	return layers / float64(s.Pieces(v))
}

// SyncPieces returns how many parts the gradients of virtual stage v are synchronised in, each by the same calls: a
// bucket each, or with OverlapSync a piece of a pass each, which buckets in the graph are at least.
func (s *Spec) SyncPieces(v int) int {
	switch {
	case s.scattersGradients():
		return 1 // passes have scattered them
	case s.OverlapSync:
		return s.Pieces(v)
	case s.Buckets <= 0:
		return 1
	case s.CallsInGraph():
		return min(s.bucketCount(v), s.Pieces(v))
	}
	return s.bucketCount(v)
}

// Repeats returns how often a replica's virtual stage v makes the calls of a pass in a step: a piece of a pass at a
// time, or with Sync, CopyScatter and CopyGather a part of its gradients or parameters.
func (s *Spec) Repeats(v int, pass Phase) int {
	n := s.Pieces(v) * (s.Microbatches / s.Copies())
	switch {
	case pass == CopyScatter && s.scattersGradients():
		_, n = s.ShardCalls(v, ReduceScatter)
		return n
	case pass == CopyGather && s.gathersParameters():
		_, n = s.ShardCalls(v, AllGather)
		return n
	case pass == CopyScatter || pass == CopyGather:
		return s.SyncPieces(v)
	case pass == Sync:
		return s.SyncPieces(v)
	case pass == Forward && s.Recompute == "full":
		return 2 * n
	}
	return n
}

// StepCall is a call that a virtual stage makes in a step.
type StepCall struct {
	Call
	VirtualStage int
	Replicas     int // that make it apart; those of synchronisation are among all of them, which is 1
	Count        int // each makes it in a step
}

// StepCalls returns all calls of a step.
func (s *Spec) StepCalls() (all []StepCall) {
	for v := range s.VirtualStages() {
		add := func(calls []Call, replicas, times int) {
			for _, c := range calls {
				all = append(all, StepCall{c, v, replicas, times})
			}
		}
		for _, pass := range []Phase{Forward, Backward} {
			add(s.Calls(v, pass), s.Replicas(), s.Repeats(v, pass))
		}
		for _, kind := range []CallKind{AllGather, ReduceScatter} {
			calls, times := s.ShardCalls(v, kind)
			add(calls, 1, times)
		}
		add(s.Calls(v, Sync), 1, s.Repeats(v, Sync))
	}
	return all
}

// Calls returns the calls of a piece of a forward or backward pass of virtual stage v, in order, or with Sync those of
// a part of its gradients (SyncPieces). Groups of one GPU make none.
//
// With sequence parallelism a layer gathers its input over the tensor-parallel group and scatters the sum of its
// output, of attention and of the feed-forward network, and as often in the backward pass; else it sums the output of
// each, and the gradient of its input (Korthikanti et al. 2022, Sec. 4.2.2; Shoeybi et al. 2019, Sec. 3). That inputs
// are gathered once more for the gradients of weights is hidden behind computing, as there. Layers with experts do so
// for attention, and for the feed-forward network where there are shared experts; where attention and network read the
// same input, once for both (Chowdhery et al. 2022, Sec. 2). Ranks that share a sequence gather keys and values, in the
// backward pass again, whose gradients they then scatter (Llama 3, Sec. 3.3.2; as many bytes as ring attention sends,
// Liu et al. 2023). Tokens go to their experts and come back, and so do gradients (Lepikhin et al. 2020). Gradients are
// scattered over all copies of a parameter, and parameters gathered (Rajbhandari et al. 2020, Sec. 5).
func (s *Spec) Calls(v int, pass Phase) []Call {
	switch pass = pass.callPass(); pass {
	case Sync:
		if _, part := s.modelParts(v); part != v {
			return nil // they are those of the other copy, too
		}
		return s.syncCalls(v)
	case CopyScatter, CopyGather:
		return s.copyCalls(v, pass)
	case WeightGradients:
		return nil
	}
	_, layers := s.layers(v)
	pieces := float64(s.Pieces(v))
	experts := s.ExpertLayers(v)
	network := layers // whose feed-forward network is tensor-parallel
	if s.Arch.SharedExperts == 0 {
		network -= experts
	}
	var calls []Call
	add := func(dim Phase, kind CallKind, p Position, bytes, layers float64) {
		if b := int64(math.Ceil(bytes * layers / pieces)); b > 0 {
			calls = append(calls, Call{Dim: dim, Kind: kind, Position: p, Bytes: b})
		}
	}
	activation, kv, token := s.activationBytes(), s.keyValueBytes(), float64(s.ExpertBytes())
	if s.TP == 1 {
		activation = 0
	}
	if s.ContextRanks() == 1 {
		kv = 0
	}
	if s.StageGPUs() == 1 {
		token = 0
	}
	firstLayers, secondLayers := layers, network // layers that have what is computed first
	if pass == Backward {
		firstLayers, secondLayers = network, layers
	}
	between := func(p Position) bool { return p == LayerMiddle && s.Arch.ParallelLayers }
	gather := func(p Position, layers float64) {
		if s.Choices.SequenceParallel && !between(p) {
			add(Tensor, AllGather, p, activation, layers)
		}
	}
	reduce := func(p Position, layers float64) {
		kind := AllReduce
		if s.Choices.SequenceParallel {
			kind = ReduceScatter
		}
		if !between(p) {
			add(Tensor, kind, p, activation, layers)
		}
	}
	gather(LayerStart, firstLayers)
	exchange := func(p Position, back bool) {
		n := len(calls)
		if add(Expert, AllToAll, p, token, experts); len(calls) > n {
			calls[n].Transposed = back
		}
	}
	if pass == Forward {
		add(Context, AllGather, LayerStart, kv, layers)
		reduce(LayerMiddle, firstLayers)
		gather(LayerMiddle, secondLayers)
		exchange(LayerMiddle, false)
		exchange(LayerEnd, true)
	} else {
		exchange(LayerStart, false)
		exchange(LayerMiddle, true)
		reduce(LayerMiddle, firstLayers)
		gather(LayerMiddle, secondLayers)
		add(Context, AllGather, LayerMiddle, kv, layers)
		if s.ContextForm == "ring" { // gradients go round with the blocks that they are of
			add(Context, ReduceScatter, LayerMiddle, kv, layers)
		} else {
			add(Context, ReduceScatter, LayerEnd, kv, layers)
		}
	}
	reduce(LayerEnd, secondLayers)
	return calls
}

// syncCalls returns the calls of a part of the gradients.
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

// ShardCalls returns the calls with which a part of a pass of virtual stage v gathers its parameters or scatters its
// gradients (Sharding), and how often a replica's stage makes them in a step.
func (s *Spec) ShardCalls(v int, kind CallKind) (calls []Call, times int) {
	parts := s.Shards(v)
	if parts == 0 || kind == AllGather && !s.gathersParameters() {
		return nil, 0
	}
	if times = parts * s.Microbatches; kind == AllGather {
		times *= 2 // forward, and backward or what is computed again before that
	}
	return s.replicaCalls(v, kind, parts), times
}

// replicaCalls returns the calls of one of so many parts of the gradients or parameters of virtual stage v among all
// replicas: of what a stage holds one copy of, and of the rest.
func (s *Spec) replicaCalls(v int, kind CallKind, parts int) (calls []Call) {
	number := s.Choices.GradientBytes
	if kind == AllGather {
		number = s.Choices.ParameterBytes
	}
	add := func(parameters float64, copies int, ofExperts bool) {
		if b := int64(math.Round(float64(number) * parameters / float64(parts))); b > 0 && copies > 1 {
			calls = append(calls, Call{Dim: Sync, Kind: kind, Bytes: b, ForExpertWeights: ofExperts})
		}
	}
	experts := s.expertParameters(v)
	rest := (s.Parameters(v) - experts) * float64(s.StageGPUs()) / float64(s.TP)
	add(rest, s.Copies()*s.Replicas()*s.StageGPUs()/s.TP, false)
	add(experts, s.Copies()*s.Replicas(), true)
	return calls
}

// StageCopies returns the number of copies of each non-expert parameter in a stage whose
// synchronisation takes time of its own: one per rank that shares a sequence and per
// tensor-parallel group. It is 1 if InnerSync is false.
func (s *Spec) StageCopies() int {
	if !s.HasCopySync || s.Measured != nil {
		return 1
	}
	return s.StageGPUs() / s.TP
}

// copyCalls returns the call that the copies of the non-expert parameters in a stage make for
// one part of the gradients (CopyScatter) or parameters (CopyGather) of virtual stage v. Before
// replicas synchronise, copies reduce-scatter gradients, so that each GPU holds the sum of its
// share (Parameters). After that they all-gather.
func (s *Spec) copyCalls(v int, pass Phase) []Call {
	copies := s.StageCopies()
	kind, number, parts := ReduceScatter, s.Choices.GradientBytes, s.SyncPieces(v)
	if pass == CopyGather {
		kind = AllGather
		if s.Sharding != ShardNothing {
			number = s.Choices.ParameterBytes
		}
	}
	if pass == CopyScatter && s.scattersGradients() || pass == CopyGather && s.gathersParameters() {
		parts = s.Shards(v)
	}
	bytes := int64(math.Round(float64(number*copies) * (s.Parameters(v) - s.expertParameters(v)) / float64(parts)))
	if copies == 1 || bytes == 0 {
		return nil
	}
	return []Call{{Dim: Sync, Kind: kind, Bytes: bytes, WithinStage: true}}
}

// activationBytes returns the bytes of the activations of a micro-batch between layers, of the tokens of one rank of those
// that share its sequence.
func (s *Spec) activationBytes() float64 {
	return s.microbatchTokens() / float64(s.ContextRanks()) * float64(s.Arch.Hidden*s.Choices.ActivationBytes)
}

// keyValueBytes returns the bytes of the keys and values of a whole micro-batch, of the heads of one tensor-parallel
// rank. Heads that are fewer than these ranks have copies.
func (s *Spec) keyValueBytes() float64 {
	a, tp := &s.Arch, float64(s.TP)
	width := 2 * max(1, float64(a.KVHeads)/tp) * float64(a.HeadDim)
	if a.Attention == "mla" {
		width = max(1, float64(a.Heads)/tp) * float64(a.NopeDim+a.RopeDim+a.ValueDim)
	}
	return s.microbatchTokens() * width * float64(s.Choices.ActivationBytes)
}

func (s *Spec) microbatchTokens() float64 { return float64(s.Sequence) * float64(s.Microbatch) }

// Rank returns the number of a GPU of a stage of a replica: stage after stage, replica after replica.
func (s *Spec) Rank(replica, stage, gpu int) int32 {
	return int32((replica*s.PP+stage)*s.StageGPUs() + gpu)
}

// Groups returns the ranks of each group that makes a call of a stage: of its GPUs in a replica, or with Sync of those
// in all replicas, unless the call is Inside. In a stage tensor-parallel ranks follow each other, and then those that share a sequence.
func (s *Spec) Groups(c Call, replica, stage int) [][]int32 {
	gpus := s.StageGPUs()
	size, step := gpus, 1 // consecutive ranks of a group, and how far apart
	switch {
	case c.Dim == Tensor:
		size = s.TP
	case c.Dim == Context:
		size, step = s.ContextRanks(), s.TP
	case c.Dim == Sync && c.ForExpertWeights:
		size = 1
	case c.Dim == Sync:
		size, step = gpus/s.TP, s.TP
	}
	replicas, stages := []int{replica}, []int{stage}
	if c.Dim == Sync && !c.WithinStage {
		replicas = replicas[:0]
		for r := range s.Replicas() {
			replicas = append(replicas, r)
		}
		if w := s.otherCopy(stage); w != stage {
			stages = append(stages, w%s.PP)
		}
	}
	var groups [][]int32
	for first := range gpus {
		if first/step%size != 0 {
			continue // it is in the group of one before
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
	return groups
}

// CallTime returns how long the calls of a pass of virtual stage v take one after the other. The
// function each returns the time of one call. A pass makes its calls once per piece, a
// CopyScatter or CopyGather once.
func (s *Spec) CallTime(v int, pass Phase, timeOf func(Call) (engine.Time, error)) (engine.Time, error) {
	var sum engine.Time
	pieces := engine.Time(s.Pieces(v))
	if pass == CopyScatter || pass == CopyGather {
		pieces = 1
	}
	for _, c := range s.Calls(v, pass) {
		t, err := timeOf(c)
		if err != nil {
			return 0, err
		}
		if t < 0 || t > (engine.Never-sum)/pieces {
			return 0, fmt.Errorf("training: %d calls of %v are longer than simulated time can hold", pieces, t)
		}
		sum += t * pieces
	}
	return sum, nil
}

// Lengthen lengthens every forward and backward pass of a virtual stage, and every synchronisation among the copies in
// one stage, by what longer returns: the reduced form of collective calls that contend with nothing, such as those
// inside a switched domain (CallTime). It is called before the graph is simulated, for calls of several dimensions once
// each or for all at once. Error: that of longer, or a time beyond what simulated time can hold.
func (it *Iteration) Lengthen(longer func(v int, pass Phase) (engine.Time, error)) error {
	s := &it.Spec
	lengthening := map[Phase][]engine.Time{} // indexed by virtual stage
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
		if t < 0 || *d > engine.Never-t {
			return fmt.Errorf("training: passes of virtual stage %d are longer than simulated time can hold", int(m.Chunk)*s.PP+int(m.Stage))
		}
		*d += t
	}
	return nil
}

// ContractedPasses returns the phases whose tasks Lengthen lengthens.
func (s *Spec) ContractedPasses() []Phase {
	if s.StageCopies() > 1 {
		return []Phase{Forward, Backward, CopyScatter, CopyGather}
	}
	return []Phase{Forward, Backward}
}
