package training

import (
	"cmp"
	"fmt"
	"math"

	"sim/engine"
	"sim/engine/units"
)

// Choices are the modelling choices that the paper leaves open. A preset sets them all; each may be overridden. The
// preset "calibrated" (docs/model.md) is the set that comes nearest to the paper's figures.
type Choices struct {
	EffectiveTFLOPS        float64 `key:"effective_tflops" doc:"what one GPU achieves, in 1e12 operations a second" else:"the model's" above:"0" max:"1000000"`
	BackwardRatio          float64 `key:"backward_ratio" doc:"backward time over forward time" else:"the preset's" max:"1000"`
	AttentionFLOPs         string  `key:"attention_flops" doc:"whether attention to later tokens is computed" else:"the preset's" choices:"causal|full"`
	StageSplit             string  `key:"stage_split" doc:"whether all stages are identical, or hold whole layers" else:"the preset's" choices:"even|layers"`
	Embedding              bool    `key:"embedding" doc:"count the embedding in the first stage and the output head in the last" else:"the preset's"`
	ConcurrentMicrobatches int     `key:"concurrent_microbatches" doc:"micro-batches whose compute a stage does at a time" else:"the preset's" min:"1" max:"65536"`
	ActivationBytes        int     `key:"activation_bytes" doc:"bytes of a number sent between stages" else:"the preset's" min:"1" max:"16"`
	GradientBytes          int     `key:"gradient_bytes" doc:"bytes of a gradient sent between replicas" else:"the preset's" min:"1" max:"16"`
	ParameterBytes         int     `key:"parameter_bytes" doc:"bytes of a parameter sent between replicas" else:"the preset's" min:"1" max:"16"`
	SequenceParallel       bool    `key:"sequence_parallel" doc:"a GPU sends 1/tp of the activations, not all of them" else:"the preset's"`
	Ring                   string  `key:"ring" doc:"with more than two replicas, whether half of a stage's GPUs send in each direction round" else:"the preset's" choices:"bidirectional|unidirectional"`
	RouterFLOPs            string  `key:"router_flops" doc:"which layers compute a router" else:"the preset's" choices:"all-layers|moe-layers" when:"experts"`
}

// Spec describes one training iteration.
type Spec struct {
	_              string         `key:"model" doc:"a preset model" choices:"@models"`
	Sequence       int            `key:"sequence" doc:"tokens a sample" required:"" min:"1" max:"1000000000"`
	Microbatch     int            `key:"microbatch" doc:"samples a micro-batch" default:"1" min:"1" max:"1000000"`
	Microbatches   int            `key:"microbatches" doc:"micro-batches a replica and step" required:"" min:"1" max:"1000000"`
	TP             int            `key:"tp" doc:"GPUs a tensor-parallel group" required:"" min:"1" max:"65536"`
	PP             int            `key:"pp" doc:"pipeline stages" required:"" min:"1" max:"65536"`
	CP             int            `key:"cp" doc:"ranks that share the sequence of a micro-batch (context parallelism)" default:"1" min:"1" max:"65536" implicit:""`
	EP             int            `key:"ep" doc:"expert-parallel ranks a stage" default:"1" min:"1" max:"65536" when:"experts"`
	ETP            int            `key:"etp" doc:"GPUs that share an expert" default:"1" min:"1" max:"65536" when:"experts"`
	GPUs           int            `key:"gpus" doc:"GPUs of the job; what pipeline and stages leave over makes replicas" required:"" min:"1" max:"100000000"`
	Schedule       string         `key:"schedule" doc:"order of forward and backward passes in a stage" default:"1f1b" choices:"@schedules"`
	Chunks         int            `key:"virtual_stages" doc:"model chunks that a stage holds" required:"" computed:"" min:"2" max:"65536" when:"schedule=interleaved-1f1b"`
	ReplicaMode    string         `key:"replicas" doc:"which replicas are simulated: one for all, all of them together, or each different one by itself" default:"auto" choices:"auto|single|all|decomposed" when:"reduced"`
	Flows          string         `key:"flows" doc:"whether the flows of a stage's GPUs are one transfer or each its own" default:"aggregated" choices:"aggregated|per-gpu" when:"reduced"`
	Collectives    string         `key:"collectives" doc:"whether the collective calls inside stages are a part of what a GPU achieves, or in the 'graph', as transfers that contend with all others" default:"none" choices:"none|graph" when:"unplanned" implicit:""`
	PassPieces     int            `key:"pieces" doc:"parts that a pass is divided into, each of which calls the collectives of its share of the layers; 0 is one a layer" default:"0" max:"65536" when:"collectives=graph"`
	OverlapCalls   float64        `key:"overlap_calls" doc:"part of the computing after calls that goes on while these are under way, as in loops over the parts of a product (Wang et al. 2023)" default:"0.0" max:"1" when:"collectives=graph" implicit:""`
	Compute        string         `key:"compute" doc:"how long passes take: by their operations at effective_tflops, each operator by a 'roofline' of peak_tflops and memory_bandwidth, or as [workload.operators] says" default:"effective" choices:"effective|roofline|operators" implicit:""`
	Machine        Machine        `inline:""`
	Operators      Operators      `table:"operators" doc:"What a GPU takes for the parts of a forward pass of a micro-batch, by measurement." when:"compute=operators"`
	Sharding       string         `key:"sharding" doc:"what replicas divide among themselves: nothing, the optimizer's state (ZeRO-1), gradients too, which every backward pass then scatters (ZeRO-2), or parameters too, which every pass gathers (ZeRO-3, FSDP)" default:"optimizer" choices:"none|optimizer|gradients|parameters" implicit:""`
	Prefetch       int            `key:"prefetch" doc:"parts of a pass whose parameters are gathered ahead" default:"1" max:"65536" when:"sharding=parameters"`
	Recompute      string         `key:"recompute" doc:"what backward passes compute once more, so that it need not be held: nothing, attention's scores ('selective', Korthikanti et al. 2022), or the whole forward pass with its collective calls ('full')" default:"none" choices:"none|selective|full" implicit:""`
	StoreScores    bool           `key:"store_scores" doc:"hold attention's scores until the backward pass, as attention does that is not computed block by block (FlashAttention): they count in what a stage holds" default:"false" when:"recompute=none" implicit:""`
	Buckets        units.Bytes    `key:"buckets" doc:"gradients of a GPU that are synchronised together as soon as the last backward pass has computed them; 0B is all, after the whole of it" default:"0B" min:"0" implicit:""`
	OptimizerTime  engine.Time    `key:"optimizer_time" doc:"how long the optimizer takes for a stage, after its gradients and parameters are synchronised" default:"0s" min:"0" implicit:""`
	GPUMemory      units.Bytes    `key:"gpu_memory" doc:"of a GPU, into which what a stage holds has to fit; 0B is not checked" default:"0B" min:"0" implicit:""`
	ContextForm    string         `key:"context_form" doc:"how ranks that share a sequence get at its keys and values: by an all-gather before attention, or in a 'ring' that goes on while attention is computed block by block" default:"all-gather" choices:"all-gather|ring" when:"collectives=graph" implicit:""`
	OverlapSync    bool           `key:"overlap_sync" doc:"gradients of a piece are reduced, and its parameters gathered, as soon as the last backward pass has computed them, not after the whole of it" default:"false" when:"collectives=graph" implicit:""`
	ExpertSizes    string         `key:"expert_sizes" doc:"how much the GPUs of a stage send each other's experts: the same, or by a law of Zipf, drawn for every micro-batch and piece of a pass, in inner tiers for each virtual stage; or by the loads of experts in each layer" default:"uniform" choices:"uniform|zipf|loads" when:"experts & expert-calls" implicit:""`
	_              string         `key:"expert_file" doc:"CSV file with a row of loads for each layer with experts, in place of expert_loads" when:"expert_sizes=loads"`
	ExpertLoads    [][]int        `key:"expert_loads" doc:"load of each expert, such as the tokens that it receives, a row for each layer with experts" max:"1125899906842624" when:"expert_sizes=loads"`
	ExpertExponent float64        `key:"expert_exponent" doc:"how fast these sizes fall by rank" default:"0.4" max:"10" when:"expert_sizes=zipf"`
	Preset         string         `key:"preset" doc:"modelling choices, for what follows" default:"calibrated" choices:"@presets"`
	Choices        Choices        `inline:""`
	Arch           Architecture   `table:"architecture" doc:"A model that is no preset. A preset model has these values of its own, and the table is refused beside it."`
	HasCopySync    bool           // the copies of a parameter in a stage take time to synchronise, which Iteration.Lengthen sets
	Measured       *MeasuredStage // in place of what follows from the model; nil is by the model
}

// MeasuredStage is what a stage does, where it is known without a model: all stages do the same.
type MeasuredStage struct {
	GPUs, Microbatches       int         // of a stage, and of a step
	Forward, Backward        engine.Time // of a micro-batch, on average
	Weights                  engine.Time // the part of Backward that computes gradients of weights
	Prologue, Epilogue       engine.Time // before the first forward pass, and after the last backward pass
	PipelineBytes, SyncBytes int64       // as the methods of Spec
	IntraStageBytes          int64       // that a GPU sends others of its stage in a step, which passes take longer for
	// Passes are the times of each micro-batch, nil if all take the average.
	Passes []MeasuredPass
}

// MeasuredPass is how long a stage takes for one micro-batch. Weights is part of Backward.
type MeasuredPass struct{ Forward, Backward, Weights engine.Time }

// passOf returns the times of a micro-batch.
func (m *MeasuredStage) passOf(microbatch int) MeasuredPass {
	if m.Passes == nil {
		return MeasuredPass{m.Forward, m.Backward, m.Weights}
	}
	return m.Passes[microbatch]
}

// CollectivesInGraph is Spec.Collectives if collective calls are transfers of the graph.
const CollectivesInGraph = "graph"

// CallsInGraph reports whether the collective calls of the step are in its graph.
func (s *Spec) CallsInGraph() bool { return s.Collectives == CollectivesInGraph }

// StageGPUs returns the number of GPUs of a pipeline stage: an expert-parallel group where there are experts, else a
// micro-batch's.
func (s *Spec) StageGPUs() int {
	if s.Measured != nil {
		return s.Measured.GPUs
	}
	if s.Arch.Experts > 0 {
		return s.ETP * s.EP
	}
	return s.microbatchGPUs()
}

// microbatchGPUs returns the GPUs that share the dense part of a micro-batch: tensor-parallel in each of the ranks that
// share its sequence.
func (s *Spec) microbatchGPUs() int { return s.TP * s.ContextRanks() }

// ContextRanks returns the ranks that share a sequence, of a Spec that says none 1.
func (s *Spec) ContextRanks() int { return max(1, s.CP) }

// Replicas returns the number of data-parallel replicas (for MoE models expert-data-parallel ones).
func (s *Spec) Replicas() int { return s.GPUs / (s.PP * s.StageGPUs()) }

// MicrobatchGroups returns the groups in a stage that each have a micro-batch of their own.
func (s *Spec) MicrobatchGroups() int { return s.StageGPUs() / s.microbatchGPUs() }

// PeerNeighbours returns the neighbouring replicas on the ring: 0, 1 or 2 for one, two or more replicas.
func (s *Spec) PeerNeighbours() int { return min(s.Replicas()-1, 2) }

// Check fails when the parts do not make whole stages and replicas.
func (s *Spec) Check() error {
	switch {
	case s.TP < 1 || s.CP < 0 || s.PP < 1 || s.EP < 1 || s.ETP < 1 || s.Chunks < 1 || s.Microbatches < 1:
		return fmt.Errorf("training: parallelism and micro-batches must be at least 1")
	case s.GPUs%(s.PP*s.StageGPUs()) != 0 || s.Replicas() < 1:
		return fmt.Errorf("training: %d GPUs are not a multiple of %d stages of %d GPUs", s.GPUs, s.PP, s.StageGPUs())
	case s.StageGPUs()%s.microbatchGPUs() != 0:
		return fmt.Errorf("training: stages of %d GPUs do not hold whole groups of TP %d and CP %d", s.StageGPUs(), s.TP, s.ContextRanks())
	case s.Sequence%s.ContextRanks() != 0:
		return fmt.Errorf("training: a sequence of %d tokens is not a multiple of CP %d", s.Sequence, s.ContextRanks())
	case s.VirtualStages()/s.Copies() > s.Arch.Layers && s.Measured == nil:
		return fmt.Errorf("training: %d stages of %d chunks for %d layers", s.PP, s.Chunks, s.Arch.Layers)
	case s.checkSchedule() != nil:
		return s.checkSchedule()
	case s.checkSharding() != nil:
		return s.checkSharding()
	case s.Measured != nil:
	case s.Compute != Roofline && s.Compute != OperatorTimes && !(s.Choices.EffectiveTFLOPS > 0) || !(s.Choices.BackwardRatio >= 0):
		return fmt.Errorf("training: effective TFLOP/s %g, backward ratio %g", s.Choices.EffectiveTFLOPS, s.Choices.BackwardRatio)
	}
	return nil
}

// layers returns the number of layers of virtual stage v (a share of all unless stages are layer-granular), and the
// index of its first.
func (s *Spec) layers(v int) (first, count float64) {
	n, v := s.modelParts(v)
	l := s.Arch.Layers
	if s.Choices.StageSplit != "layers" {
		each := float64(l) / float64(n)
		return float64(v) * each, each
	}
	f := v*(l/n) + min(v, l%n)
	c := l / n
	if v < l%n {
		c++
	}
	return float64(f), float64(c)
}

// denseLayers returns how many of virtual stage v's layers have no experts: its share of them, or those that it holds where
// stages are layer-granular.
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

// ForwardSeconds returns the time of the forward pass of one micro-batch through virtual stage v.
func (s *Spec) ForwardSeconds(v int) float64 {
	if s.Measured != nil {
		return s.Measured.Forward.Seconds()
	}
	if s.Compute == OperatorTimes || s.Compute == Roofline {
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

// attentionShare returns the part of a pass of virtual stage v that computes attention; the rest is feed-forward
// networks, and the output head.
func (s *Spec) attentionShare(v int) float64 {
	all, _ := s.attentionTime(v)
	return all / s.ForwardSeconds(v)
}

// scoreSpan returns which part of a pass of virtual stage v computes attention's scores, from when
// to when after attention begins. In a forward pass queries, keys and values are projected before,
// and what comes out of attention after; in a backward pass it is the other way round.
func (s *Spec) scoreSpan(v int, pass Phase) (span [2]float64) {
	all, scores := s.attentionTime(v)
	before := (all - scores) * (1 - s.Arch.outputParameters()/s.Arch.AttentionParameters())
	if pass == Backward {
		before = all - scores - before
	}
	forward := s.ForwardSeconds(v)
	return [2]float64{before / forward, (before + scores) / forward}
}

// scoreFLOPs returns the operations a token and layer of attention's scores and of the values weighted by them, which
// have no weights of their own, and of the scores of an index. Where but some layers attend to fewer tokens it is the
// mean of all.
func (s *Spec) scoreFLOPs() float64 {
	a, tokens := &s.Arch, float64(s.Sequence)
	n := 4 * tokens * a.AttentionWidth()
	if s.Choices.AttentionFLOPs == "causal" {
		n /= 2
	}
	if a.Attended == 0 {
		return n
	}
	// of its last tokens each sees as many as that, of the first ones those before it
	attended := min(tokens, float64(a.Attended))
	index := 2 * tokens * float64(a.IndexHeads*a.IndexDim)
	if s.Choices.AttentionFLOPs == "causal" {
		attended -= attended * attended / (2 * tokens)
		index /= 2
	}
	part := float64(cmp.Or(a.AttendedLayers, a.Layers)) / float64(a.Layers)
	return (1-part)*n + part*(4*attended*a.AttentionWidth()+index)
}

// PipelineBytes returns what one GPU sends to the next stage a micro-batch.
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

// Parameters returns the parameters that one GPU of virtual stage v holds.
func (s *Spec) Parameters(v int) float64 {
	a := &s.Arch
	_, layers := s.layers(v)
	dense := s.denseLayers(v)
	gpus := float64(s.StageGPUs())
	// attention, dense layers, router and shared experts are divided over the tensor-parallel groups of the stage too
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
			parameters += table // of the LM head
		}
	}
	return parameters
}

// expertParameters returns those of them that are of experts, of which a stage holds one copy.
func (s *Spec) expertParameters(v int) float64 {
	return s.ExpertLayers(v) * float64(s.Arch.Experts) * s.Arch.ExpertParameters() / float64(s.StageGPUs())
}

// SyncBytes returns what one GPU of virtual stage v sends to its neighbour on the ring of replicas an iteration:
// gradients reduce-scattered, parameters all-gathered, less what passes do of that themselves (Sharding).
func (s *Spec) SyncBytes(v int) int64 {
	if s.Measured != nil {
		return s.Measured.SyncBytes
	}
	d := float64(s.Replicas())
	each := s.Choices.GradientBytes + s.Choices.ParameterBytes
	switch s.Sharding {
	case ShardNothing:
		each = 2 * s.Choices.GradientBytes
	case ShardGradients:
		each = s.Choices.ParameterBytes
	case ShardParameters:
		return 0
	}
	b := float64(each) * (d - 1) / d * s.Parameters(v) / float64(s.Copies())
	return int64(math.Round(b))
}

// CopyBytes returns what one GPU of virtual stage v sends, of so many bytes a parameter, to that with the other copy of
// what it holds: each of the two reduces, and synchronises with other replicas, one half.
func (s *Spec) CopyBytes(v, each int) int64 {
	if s.Copies() == 1 {
		return 0
	}
	return int64(math.Round(float64(each) * s.Parameters(v) / 2))
}

// passTimes is how long a stage computes for a micro-batch.
type passTimes struct {
	forward, backward engine.Time // backward without what is computed once more
	weights           engine.Time // the part of backward that computes gradients of weights
	recompute         engine.Time // of the forward pass, before backward
}

// passTimes returns how long virtual stage v computes for a micro-batch on GPUs that take scale times as long. The gradients of weights take
// as long as the products with them do forward, which is all of a forward pass but attention's scores.
func (s *Spec) passTimes(v, microbatch int, scale float64) (t passTimes, err error) {
	f := s.ForwardSeconds(v) * scale
	b, weights, recompute := 0.0, 0.0, 0.0
	if m := s.Measured; m != nil {
		p := m.passOf(microbatch)
		f, b, weights = p.Forward.Seconds()*scale, p.Backward.Seconds()*scale, p.Weights.Seconds()*scale
	} else {
		_, scores := s.attentionTime(v)
		scores /= s.ForwardSeconds(v)
		b = f * s.Choices.BackwardRatio
		weights = min(b, f*(1-scores))
		switch s.Recompute {
		case "full":
			recompute = f
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
