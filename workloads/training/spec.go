// Package training builds one training iteration of a large model as a task graph.
//
// A Spec describes the job: the model (Architecture), its parallelism, the schedule of
// the pipeline and the modelling choices (Choices, Preset). Build returns an Iteration: a
// graph of passes, pipeline transfers and synchronisation, with a TaskMeta for each task.
// Iteration.Place assigns its nodes to pods.
//
// Collective calls of tensor, context, expert and data parallelism are described by Call.
// Spec.Calls lists the calls of a pass. A caller either puts them into the graph as
// transfers (BuildOptions.Expand) or lengthens the passes by their duration
// (Iteration.Lengthen).
//
// RecommendationModel is a different workload: a training step of a recommendation model.
//
// Start reading at Spec in spec.go, Build in graph.go and Spec.Program in schedule.go.
// docs/model.md states the model and its assumptions.
package training

// The struct tags of this package declare the keys of scenario files. Package scenarios/schema
// reads them and defines them in its doc.go: for example, "else" describes a default that is
// computed, "implicit" omits a key with its default from resolved scenarios, and a blank field
// (_) is a key that other code reads. Lists of accepted texts ("@models") and conditions of use
// (when:"reduced", when:"unplanned") are defined in scenarios/tag_names.go.

import (
	"cmp"
	"fmt"
	"math"

	"sim/engine"
	"sim/engine/units"
	"sim/fabric/machine"
)

// Choices are the modelling choices that the DELTA paper leaves open. A preset sets all
// of them, and each can be overridden. The preset "calibrated" (docs/model.md) reproduces
// the paper's figures best.
type Choices struct {
	EffectiveTFLOPS        float64 `key:"effective_tflops" doc:"effective rate of one GPU, in 1e12 operations per second" else:"the model's" above:"0" max:"1000000"`
	BackwardRatio          float64 `key:"backward_ratio" doc:"backward time over forward time" else:"the preset's" max:"1000" when:"compute=effective|roofline|operators"`
	AttentionFLOPs         string  `key:"attention_flops" doc:"whether scores of later tokens are computed ('full') or skipped ('causal')" else:"the preset's" choices:"causal|full"`
	StageSplit             string  `key:"stage_split" doc:"whether all stages are identical, or hold whole layers" else:"the preset's" choices:"even|layers"`
	Embedding              bool    `key:"embedding" doc:"whether the first stage has the embedding and the last one the output head" else:"the preset's"`
	ConcurrentMicrobatches int     `key:"concurrent_microbatches" doc:"number of micro-batches that a stage computes at the same time" else:"the preset's" min:"1" max:"65536"`
	ActivationBytes        int     `key:"activation_bytes" doc:"bytes per activation sent between stages" else:"the preset's" min:"1" max:"16"`
	GradientBytes          int     `key:"gradient_bytes" doc:"bytes per gradient sent between replicas" else:"the preset's" min:"1" max:"16"`
	ParameterBytes         int     `key:"parameter_bytes" doc:"bytes per parameter sent between replicas" else:"the preset's" min:"1" max:"16"`
	SequenceParallel       bool    `key:"sequence_parallel" doc:"whether a GPU sends 1/tp of the activations instead of all" else:"the preset's"`
	Ring                   string  `key:"ring" doc:"whether half of a stage's GPUs send in each direction around the ring of replicas, if there are more than two" else:"the preset's" choices:"bidirectional|unidirectional"`
	RouterFLOPs            string  `key:"router_flops" doc:"layers whose router operations are counted" else:"the preset's" choices:"all-layers|moe-layers" when:"experts & compute=effective|roofline|operators"`
}

// Spec describes one training iteration.
//
// A replica holds the model once, divided into PP stages of one or more chunks. A virtual stage is
// one chunk of one stage (VirtualStages). With the schedule DualPipe a replica holds the model
// twice, once per direction of the pipeline (ModelCopies).
type Spec struct {
	_              string       `key:"model" doc:"a preset model" choices:"@models"`
	Sequence       int          `key:"sequence" doc:"tokens per sample" required:"" min:"1" max:"1000000000"`
	Microbatch     int          `key:"microbatch" doc:"samples per micro-batch" default:"1" min:"1" max:"1000000"`
	Microbatches   int          `key:"microbatches" doc:"micro-batches per replica and iteration" required:"" min:"1" max:"1000000"`
	TP             int          `key:"tp" doc:"GPUs per tensor-parallel group" required:"" min:"1" max:"65536"`
	PP             int          `key:"pp" doc:"pipeline stages" required:"" min:"1" max:"65536"`
	CP             int          `key:"cp" doc:"ranks that share the sequence of a micro-batch (context parallelism)" default:"1" min:"1" max:"65536" implicit:""`
	EP             int          `key:"ep" doc:"expert-parallel ranks per stage" default:"1" min:"1" max:"65536" when:"experts"`
	ETP            int          `key:"etp" doc:"GPUs that share an expert" default:"1" min:"1" max:"65536" when:"experts"`
	GPUs           int          `key:"gpus" doc:"number of GPUs of the job; divided by pipeline stages and GPUs per stage, it gives the number of replicas" required:"" min:"1" max:"100000000"`
	Schedule       string       `key:"schedule" doc:"order of forward and backward passes in a stage" default:"1f1b" choices:"@schedules"`
	Chunks         int          `key:"virtual_stages" doc:"number of model chunks per stage" required:"" computed:"" min:"2" max:"65536" when:"schedule=interleaved-1f1b"`
	ReplicaMode    string       `key:"replicas" doc:"simulated replicas: one that represents all ('single'), all together ('all'), or each different one separately ('decomposed')" default:"auto" choices:"auto|single|all|decomposed" when:"reduced"`
	Flows          string       `key:"flows" doc:"whether the flows of a stage's GPUs are one transfer or one transfer each" default:"aggregated" choices:"aggregated|per-gpu" when:"reduced"`
	Collectives    string       `key:"collectives" doc:"whether collective calls inside stages are part of the effective compute rate ('none') or transfers that contend with all others ('graph')" default:"none" choices:"none|graph" when:"unplanned" implicit:""`
	PassPieces     int          `key:"pieces" doc:"number of parts of a pass, each with the collective calls of its share of the layers; 0 means one per layer" default:"0" max:"65536" when:"collectives=graph"`
	OverlapCalls   float64      `key:"overlap_calls" doc:"share of the compute after a call that overlaps with the call, as in decomposed matrix products (Wang et al. 2023)" default:"0.0" max:"1" when:"collectives=graph" implicit:""`
	CallShare      float64      `key:"call_share" doc:"share of a GPU's multiprocessors that calls occupy while they overlap with the compute of another pass, which then takes 1/(1 - call_share) times as long; DeepSeek-V3 uses 20 of 132" default:"0.0" max:"0.9" when:"overlap_passes=pairs|halves" implicit:""`
	HiddenCalls    float64      `key:"hidden_calls" doc:"share of the calls to which overlap_calls applies; computation waits for the others" default:"1.0" above:"0" max:"1" when:"collectives=graph" implicit:""`
	Compute        string       `key:"compute" doc:"compute time of passes: 'effective' is operations at effective_tflops, 'roofline' limits each operator by peak_tflops and memory_bandwidth, 'operators' uses the times in [workload.operators], 'profile' computes kernels on the GPU of the machine" default:"effective" choices:"effective|roofline|operators|profile" implicit:""`
	OverlapPasses  string       `key:"overlap_passes" doc:"passes of a stage that are computed together, so that the calls of one overlap with the compute of the other: 'none'; 'pairs', a forward pass and the next backward pass, before which the stage warms up with one more forward pass; or 'halves', the two halves of a micro-batch" default:"none" choices:"none|pairs|halves" when:"timed-calls" implicit:""`
	Machine        Machine      `inline:""`
	Formats        Formats      `inline:""`
	ContextSplit   string       `key:"context_split" doc:"tokens of a context-parallel rank: two parts of the sequence, one from each end, so that all ranks have equal work ('balanced'), or consecutive tokens, of which the last need most work ('contiguous')" default:"balanced" choices:"balanced|contiguous" when:"compute=profile"`
	Operators      Operators    `table:"operators" doc:"What a GPU takes for the parts of a forward pass of a micro-batch, by measurement." when:"compute=operators"`
	Sharding       string       `key:"sharding" doc:"state that replicas shard: none, the optimizer's (ZeRO-1), also gradients, which every backward pass scatters (ZeRO-2), or also parameters, which every pass gathers (ZeRO-3, FSDP)" default:"optimizer" choices:"none|optimizer|gradients|parameters" implicit:""`
	ShardGroup     int          `key:"shard_group" doc:"number of replicas that shard parameters among themselves; each further group of them holds a copy, whose gradients are reduced over all groups (hybrid sharding); 0 means all replicas" default:"0" max:"1000000" when:"sharding=parameters & collectives=graph" implicit:""`
	Prefetch       int          `key:"prefetch" doc:"number of parts of a pass whose parameters are gathered in advance" default:"1" max:"65536" when:"sharding=parameters"`
	Recompute      string       `key:"recompute" doc:"activations that backward passes compute again instead of storing them: none, attention scores ('selective', Korthikanti et al. 2022), every second matrix product ('products', as TorchTitan does), or the whole forward pass with its collective calls ('full')" default:"none" choices:"none|selective|products|full" implicit:""`
	StoreScores    bool         `key:"store_scores" doc:"whether attention scores are stored until the backward pass and count in the memory of a stage; FlashAttention does not store them" default:"false" when:"recompute=none" implicit:""`
	Buckets        units.Bytes  `key:"buckets" doc:"bytes of gradients per GPU that are synchronised together as soon as the last backward pass has computed them; 0B means all, after the pass" default:"0B" min:"0" implicit:""`
	OptimizerTime  engine.Time  `key:"optimizer_time" doc:"time of the optimizer of a stage, after synchronisation" default:"0s" min:"0" implicit:""`
	GPUMemory      units.Bytes  `key:"gpu_memory" doc:"memory of a GPU that must hold the stage; 0B disables the check" default:"0B" min:"0" implicit:""`
	ContextForm    string       `key:"context_form" doc:"how context-parallel ranks exchange keys and values: by an all-gather before attention, or in a 'ring' during attention, block by block" default:"all-gather" choices:"all-gather|ring" when:"collectives=graph" implicit:""`
	OverlapSync    bool         `key:"overlap_sync" doc:"whether gradients of a piece are reduced, and its parameters gathered, as soon as the last backward pass has computed them, instead of after the pass" default:"false" when:"collectives=graph" implicit:""`
	BlockingSends  bool         `key:"blocking_sends" doc:"whether a stage waits until activations and gradients are sent to other stages before its next pass, instead of computing meanwhile" default:"false" when:"schedule=1f1b|eager-1f1b|gpipe|interleaved-1f1b|zb-h1|zb-h2" implicit:""`
	Frozen         bool         `key:"frozen" doc:"whether the parameters are frozen, as with the small adapters of LoRA: backward passes compute no gradients of weights, and replicas synchronise none" default:"false" when:"collectives=graph" implicit:""`
	Speed          Speed        `inline:""`
	SyncAtEnd      bool         `key:"sync_at_end" doc:"whether the gradients of all chunks of a stage are synchronised after its last pass, instead of those of each chunk after its own" default:"false" when:"schedule=interleaved-1f1b" implicit:""`
	Fold           bool         `key:"fold" doc:"whether one GPU of each stage is simulated for all that do the same at the same time, even if all are few enough to be simulated" default:"false" when:"on-links" implicit:""`
	ExpertSizes    string       `key:"expert_sizes" doc:"amounts that the GPUs of a stage send to each other's experts: 'uniform'; 'zipf', drawn once per micro-batch and piece of a pass, or on a fabric of tiers once per virtual stage; or 'loads', by the loads of experts in each layer" default:"uniform" choices:"uniform|zipf|loads" when:"experts & expert-calls" implicit:""`
	_              string       `key:"expert_file" doc:"CSV file with one row of loads per layer with experts, instead of expert_loads" when:"expert_sizes=loads"`
	ExpertLoads    [][]int      `key:"expert_loads" doc:"load of each expert, such as its number of tokens, one row per layer with experts" max:"1125899906842624" when:"expert_sizes=loads"`
	ExtraExperts   int          `key:"redundant_experts" doc:"copies of experts in addition to one each, of the experts with the largest loads per copy; all copies are placed so that ranks have about equal loads" default:"0" max:"65536" when:"expert_sizes=loads" implicit:""`
	ExpertDrift    float64      `key:"expert_drift" doc:"standard deviation of the change of the logarithm of an expert's load per iteration; loads change at random, the placement of experts stays" default:"0.0" max:"10" when:"expert_sizes=loads" implicit:""`
	ExpertAge      int          `key:"expert_age" doc:"iterations since the loads were measured and the experts placed" default:"1" max:"1000000" when:"expert_sizes=loads" implicit:""`
	ExpertExponent float64      `key:"expert_exponent" doc:"exponent of the Zipf law: in a random order of the pairs of GPUs, the amount of pair r is proportional to 1/r to the power of this exponent" default:"0.4" max:"10" when:"expert_sizes=zipf"`
	ExpertCopies   string       `key:"expert_copies" doc:"copies of a token that are sent: one per 'expert', one per 'gpu' that holds some of its experts, or one per 'node', inside which the GPU with the place of the sender passes it on" default:"expert" choices:"expert|gpu|node" when:"experts & expert-calls" implicit:""`
	ExpertNodes    int          `key:"expert_nodes" doc:"maximum number of nodes that hold a token's experts (node-limited routing); 0 means no limit" default:"0" max:"65536" when:"expert_copies=gpu|node" implicit:""`
	NodeGPUs       int          `key:"node_gpus" doc:"GPUs of a node, of which a stage has one or several" default:"8" min:"1" max:"65536" when:"expert_copies=gpu|node" implicit:""`
	DispatchBytes  float64      `key:"dispatch_bytes" doc:"bytes per number of a token that is sent to its experts, and of its gradient; FP8 with a scale per 128 numbers takes 1.03125; 0.0 means activation_bytes" default:"0.0" max:"16" when:"experts & expert-calls" implicit:""`
	CombineBytes   float64      `key:"combine_bytes" doc:"bytes per number of a result that returns from an expert, and of its gradient; 0.0 means activation_bytes" default:"0.0" max:"16" when:"experts & expert-calls" implicit:""`
	Preset         string       `key:"preset" doc:"set of modelling choices, the defaults of the following keys" default:"calibrated" choices:"@presets"`
	Choices        Choices      `inline:""`
	Arch           Architecture `table:"architecture" doc:"A model that is not a preset. A file has either this table or the key model."`
	// HasCopySync reports whether synchronisation among the copies of a parameter in a stage
	// takes time of its own. Its tasks begin with no duration; Iteration.Lengthen adds their
	// time.
	HasCopySync bool
	// GPU computes kernels if Compute is Profile.
	GPU *machine.GPU
	// Measured replaces the values derived from the model. nil means that the model is
	// used.
	Measured *MeasuredStage
}

// Speed describes how fast the GPUs of a step compute.
type Speed struct {
	Variation       machine.Variation `inline:""`
	Sustained       float64           `key:"sustained" doc:"share of the speed of single kernels that the step sustains" else:"1, or the machine's" above:"0" max:"1" when:"compute=profile" implicit:""`
	AttentionKernel string            `key:"attention_kernel" doc:"attention: the fastest fused kernel of the machine ('best'), FlashAttention 2 ('flash2'), or separate kernels with the scores in memory ('unfused')" default:"best" choices:"best|flash2|unfused" when:"compute=profile" implicit:""`
}

// MeasuredStage holds measured times and sizes of a stage. All stages are identical.
type MeasuredStage struct {
	GPUs, Microbatches       int         // GPUs per stage, and micro-batches per step
	Forward, Backward        engine.Time // average pass times per micro-batch
	Weights                  engine.Time // part of Backward that computes weight gradients
	Prologue, Epilogue       engine.Time // compute time before the first forward pass, and after the last backward pass
	PipelineBytes, SyncBytes int64       // results of Spec.PipelineBytes and Spec.SyncBytes
	// IntraStageBytes is the number of bytes that a GPU sends to others of its stage per
	// step. The pass times include the time of these transfers.
	IntraStageBytes int64
	Passes          []MeasuredPass // pass times, indexed by micro-batch; nil if all equal the average
}

// MeasuredPass holds the pass times of a stage for one micro-batch. Weights is part of
// Backward.
type MeasuredPass struct{ Forward, Backward, Weights engine.Time }

// passOf returns the pass times of a micro-batch.
func (m *MeasuredStage) passOf(microbatch int) MeasuredPass {
	if m.Passes == nil {
		return MeasuredPass{Forward: m.Forward, Backward: m.Backward, Weights: m.Weights}
	}
	return m.Passes[microbatch]
}

// CollectivesInGraph is the value of Spec.Collectives if collective calls are transfers
// of the graph.
const CollectivesInGraph = "graph"

// CallsInGraph reports whether the collective calls of the step are in its graph.
func (s *Spec) CallsInGraph() bool { return s.Collectives == CollectivesInGraph }

// StageGPUs returns the number of GPUs per pipeline stage: one expert-parallel group in a
// model with experts, otherwise the GPUs of one micro-batch.
func (s *Spec) StageGPUs() int {
	if s.Measured != nil {
		return s.Measured.GPUs
	}
	if s.Arch.Experts > 0 {
		return s.ETP * s.EP
	}
	return s.microbatchGPUs()
}

// microbatchGPUs returns the number of GPUs that share the dense part of a micro-batch:
// the tensor-parallel GPUs of all context-parallel ranks.
func (s *Spec) microbatchGPUs() int { return s.TP * s.ContextRanks() }

// ContextRanks returns the number of ranks that share a sequence. It is 1 if CP is not
// set.
func (s *Spec) ContextRanks() int { return max(1, s.CP) }

// Replicas returns the number of data-parallel replicas. In models with experts, these
// are the expert-data-parallel replicas.
func (s *Spec) Replicas() int { return s.GPUs / (s.PP * s.StageGPUs()) }

// MicrobatchGroups returns the number of groups in a stage that process a micro-batch
// each.
func (s *Spec) MicrobatchGroups() int { return s.StageGPUs() / s.microbatchGPUs() }

// PeerNeighbours returns the number of neighbours of a replica on the ring: 0, 1 or 2 for
// one, two or more replicas.
func (s *Spec) PeerNeighbours() int { return min(s.Replicas()-1, 2) }

// Check fails if the GPUs do not form whole stages and replicas, or if the schedule or
// the sharding does not support the job.
func (s *Spec) Check() error {
	switch {
	case s.TP < 1 || s.CP < 0 || s.PP < 1 || s.EP < 1 || s.ETP < 1 || s.Chunks < 1 || s.Microbatches < 1:
		return fmt.Errorf("training: degrees of parallelism, chunks and micro-batches must be at least 1")
	case s.GPUs%(s.PP*s.StageGPUs()) != 0 || s.Replicas() < 1:
		return fmt.Errorf("training: %d GPUs are not a multiple of %d stages of %d GPUs", s.GPUs,
			s.PP, s.StageGPUs())
	case s.StageGPUs()%s.microbatchGPUs() != 0:
		return fmt.Errorf("training: stages of %d GPUs do not hold whole groups of TP %d and CP %d",
			s.StageGPUs(), s.TP, s.ContextRanks())
	case s.Sequence%s.ContextRanks() != 0:
		return fmt.Errorf("training: a sequence of %d tokens is not a multiple of CP %d",
			s.Sequence, s.ContextRanks())
	case s.VirtualStages()/s.ModelCopies() > s.Arch.Layers && s.Measured == nil:
		return fmt.Errorf("training: %d stages of %d chunks for %d layers; want at least one layer per chunk",
			s.PP, s.Chunks, s.Arch.Layers)
	case s.checkSchedule() != nil:
		return s.checkSchedule()
	case s.ShardGroup > 0 && s.Replicas()%s.ShardGroup != 0:
		return fmt.Errorf("training: groups of %d replicas that share parameters do not divide %d replicas", s.ShardGroup, s.Replicas())
	case s.checkSharding() != nil:
		return s.checkSharding()
	case s.Measured != nil:
	case s.Compute == Profile && s.GPU == nil:
		return fmt.Errorf("training: compute times of a profile need a GPU")
	case s.usesEffectiveRate() && !(s.Choices.EffectiveTFLOPS > 0) ||
		!(s.Choices.BackwardRatio >= 0):
		return fmt.Errorf("training: effective TFLOP/s %g, backward ratio %g; want a rate above 0 and a ratio of 0 or more",
			s.Choices.EffectiveTFLOPS, s.Choices.BackwardRatio)
	}
	return nil
}

// layers returns the first layer of virtual stage v and its number of layers. Unless
// stages hold whole layers, both may be fractions.
func (s *Spec) layers(v int) (first, count float64) {
	n, v := s.modelParts(v)
	l := s.Arch.Layers
	if s.Choices.StageSplit != "layers" {
		perStage := float64(l) / float64(n)
		return float64(v) * perStage, perStage
	}
	// The first l%n virtual stages have one layer more than the others.
	f := v*(l/n) + min(v, l%n)
	c := l / n
	if v < l%n {
		c++
	}
	return float64(f), float64(c)
}

// denseLayers returns the number of layers of virtual stage v without experts: an equal
// share or, if stages hold whole layers, the actual number.
func (s *Spec) denseLayers(v int) float64 {
	first, count := s.layers(v)
	switch {
	case s.Arch.Experts == 0:
		return count
	case s.Choices.StageSplit != "layers":
		n, _ := s.modelParts(v)
		return float64(s.Arch.DenseLayers) / float64(n)
	}
	return min(count, max(0, float64(s.Arch.DenseLayers)-first))
}

// usesEffectiveRate reports whether passes compute at Choices.EffectiveTFLOPS.
func (s *Spec) usesEffectiveRate() bool { return s.Compute == "" || s.Compute == Effective }

// ForwardSeconds returns the time of the forward pass of one micro-batch through virtual
// stage v.
func (s *Spec) ForwardSeconds(v int) float64 {
	if s.Measured != nil {
		return s.Measured.Forward.Seconds()
	}
	if !s.usesEffectiveRate() {
		return s.operatorSeconds(v)
	}

	a, c := &s.Arch, &s.Choices
	_, layers := s.layers(v)
	dense := s.denseLayers(v)

	active := layers*a.AttentionParameters() + dense*a.FFNParameters()
	if a.Experts > 0 {
		moe := layers - dense
		active += moe * float64(a.TopK+a.SharedExperts) * a.ExpertParameters()
		if c.RouterFLOPs == "all-layers" {
			active += layers * a.RouterParameters()
		} else {
			active += moe * a.RouterParameters()
		}
	}
	if n, part := s.modelParts(v); c.Embedding && part == n-1 {
		active += float64(a.Vocab) * float64(a.Hidden)
	}

	perToken := 2*active + s.scoreFLOPs()*layers
	tokens := float64(s.Sequence * s.Microbatch * c.ConcurrentMicrobatches)
	return perToken * tokens / (float64(s.StageGPUs()) * c.EffectiveTFLOPS * 1e12)
}

// BackwardSeconds returns the time of the backward pass of one micro-batch through virtual stage v,
// without recomputation.
func (s *Spec) BackwardSeconds(v int) float64 {
	if s.Measured == nil && s.Compute == Profile {
		return s.sum(v, s.profileParts(Backward))
	}
	return s.ForwardSeconds(v) * s.Choices.BackwardRatio
}

// attentionShare returns the fraction of a pass of virtual stage v that computes
// attention. The rest computes feed-forward networks and the output head.
func (s *Spec) attentionShare(v int, pass Phase) float64 {
	all, _, whole := s.attentionTime(v, pass)
	return all / whole
}

// scoreSpan returns the start and end of the computation of attention scores in a pass of
// virtual stage v, relative to the start of attention, as fractions of the pass. A
// forward pass projects queries, keys and values before the scores and the output after
// them. In a backward pass the order is reversed.
func (s *Spec) scoreSpan(v int, pass Phase) (span [2]float64) {
	all, scores, whole := s.attentionTime(v, pass)
	before := (all - scores) * (1 - s.Arch.outputParameters()/s.Arch.AttentionParameters())
	if pass == Backward {
		before = all - scores - before
	}
	return [2]float64{before / whole, (before + scores) / whole}
}

// scoreFLOPs returns the operations per token and layer of the parts of attention without
// weights: the attention scores, the values weighted by them, and the scores of the index. The
// index is a second, cheaper attention, whose scores select the attended tokens
// (Architecture.IndexHeads). If only some layers attend to fewer tokens, the result is the
// average over all layers.
//
// Per attended token and unit of AttentionWidth, the scores and the weighted values take a
// multiplication and an addition each: 4 operations. The index has no values: 2 operations. With
// causal attention a token attends to the tokens before it, half of them on average.
func (s *Spec) scoreFLOPs() float64 {
	a, tokens := &s.Arch, float64(s.Sequence)
	n := 4 * tokens * a.AttentionWidth()
	if s.Choices.AttentionFLOPs == "causal" {
		n /= 2
	}
	if a.Attended == 0 {
		return n
	}

	// A token attends to `attended` earlier tokens, or to all earlier tokens if there are fewer.
	// With causal attention, the first `attended` tokens of the sequence have fewer: half as many
	// on average. This lowers the average over all tokens by attended/2 * attended/tokens.
	attended := min(tokens, float64(a.Attended))
	index := 2 * tokens * float64(a.IndexHeads*a.IndexDim)
	if s.Choices.AttentionFLOPs == "causal" {
		attended -= attended * attended / (2 * tokens)
		index /= 2
	}
	part := float64(cmp.Or(a.AttendedLayers, a.Layers)) / float64(a.Layers)
	return (1-part)*n + part*(4*attended*a.AttentionWidth()+index)
}

// PipelineBytes returns the bytes that one GPU sends to the next stage per micro-batch.
func (s *Spec) PipelineBytes() int64 {
	if s.Measured != nil {
		return s.Measured.PipelineBytes
	}
	b := int64(s.Sequence/s.ContextRanks()) * int64(s.Microbatch) * int64(s.Arch.Hidden) * int64(s.Choices.ActivationBytes)
	if s.Choices.SequenceParallel {
		b /= int64(s.TP)
	}
	return b
}

// Parameters returns the number of parameters per GPU of virtual stage v. Copies within
// the stage count once, as if each GPU held an equal share.
func (s *Spec) Parameters(v int) float64 {
	a := &s.Arch
	_, layers := s.layers(v)
	dense := s.denseLayers(v)
	gpus := float64(s.StageGPUs())
	// All GPUs of a stage divide these parameters: each group of TP GPUs has a copy, and
	// copies count once.
	parameters := (layers*a.AttentionParameters() + dense*a.FFNParameters()) / gpus

	if a.Experts > 0 {
		moe := layers - dense
		parameters += moe * (a.RouterParameters() + float64(a.SharedExperts)*a.ExpertParameters()) / gpus
		parameters += moe * float64(a.Experts) * a.ExpertParameters() / gpus
	}

	if table := float64(a.Vocab) * float64(a.Hidden) / gpus; s.Choices.Embedding {
		n, part := s.modelParts(v)
		if part == 0 {
			parameters += table
		}
		if part == n-1 {
			parameters += table // output head
		}
	}
	return parameters
}

// expertParameters returns the number of expert parameters per GPU of virtual stage v. A
// stage holds one copy of them.
func (s *Spec) expertParameters(v int) float64 {
	return s.ExpertLayers(v) * float64(s.Arch.Experts) * s.Arch.ExpertParameters() / float64(s.StageGPUs())
}

// SyncBytes returns the bytes that one GPU of virtual stage v sends to its neighbour on
// the ring of replicas per iteration, for the reduce-scatter of gradients and the
// all-gather of parameters. It excludes the collectives that passes make themselves
// (Sharding).
func (s *Spec) SyncBytes(v int) int64 {
	if s.Measured != nil {
		return s.Measured.SyncBytes
	}
	d := float64(s.Replicas())

	bytesPerParameter := s.Choices.GradientBytes + s.Choices.ParameterBytes
	switch s.Sharding {
	case ShardNothing:
		bytesPerParameter = 2 * s.Choices.GradientBytes
	case ShardGradients:
		bytesPerParameter = s.Choices.ParameterBytes
	case ShardParameters:
		return 0
	}

	b := float64(bytesPerParameter) * (d - 1) / d * s.Parameters(v) / float64(s.ModelCopies())
	return int64(math.Round(b))
}

// ModelCopyBytes returns the bytes that one GPU of virtual stage v sends to the GPU with the
// other copy of its parameters (DualPipe), with bytesPerParameter bytes each. Each of the
// two reduces one half and synchronises it with other replicas.
func (s *Spec) ModelCopyBytes(v, bytesPerParameter int) int64 {
	if s.ModelCopies() == 1 {
		return 0
	}
	return int64(math.Round(float64(bytesPerParameter) * s.Parameters(v) / 2))
}

// passTimes are the compute times of a stage for one micro-batch.
type passTimes struct {
	forward, backward engine.Time // backward does not include the recomputation
	weights           engine.Time // part of backward that computes weight gradients
	recompute         engine.Time // recomputation of the forward pass before backward
}

// passTimes returns the compute times of virtual stage v for a micro-batch, multiplied by
// scale and by the slowdown of the slowest GPU. Without a profile, weight gradients take as long as
// the corresponding products of the forward pass: the whole pass except attention scores.
func (s *Spec) passTimes(v, microbatch int, scale float64) (t passTimes, err error) {
	scale *= s.Speed.Variation.Slowdown(s.GPUs)
	if s.Compute == Profile {
		scale /= cmp.Or(s.Speed.Sustained, 1)
	}
	f := s.ForwardSeconds(v) * scale
	b, weights, recompute := 0.0, 0.0, 0.0
	if m := s.Measured; m != nil {
		p := m.passOf(microbatch)
		f, b, weights = p.Forward.Seconds()*scale, p.Backward.Seconds()*scale, p.Weights.Seconds()*scale
	} else {
		_, scores, _ := s.attentionTime(v, Forward)
		scores /= s.ForwardSeconds(v)
		if s.Compute == Profile {
			b = s.BackwardSeconds(v) * scale
			weights = s.sum(v, s.profileParts(WeightGradients)) * scale
		} else {
			b = f * s.Choices.BackwardRatio
			weights = min(b, f*(1-scores))
		}
		if s.Frozen {
			b, weights = b-weights, 0
		}
		switch s.Recompute {
		case "full":
			recompute = f
		case "products":
			recompute = f * (1 - scores) / 2
		case "selective":
			recompute = f * scores
		}
	}

	for _, x := range []struct {
		to      *engine.Time
		seconds float64
	}{{&t.forward, f}, {&t.backward, b}, {&t.weights, weights}, {&t.recompute, recompute}} {
		if *x.to, err = engine.FromSeconds(x.seconds); err != nil {
			return t, err
		}
	}
	return t, nil
}
