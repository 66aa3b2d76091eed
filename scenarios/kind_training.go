package scenarios

import (
	"sim/engine/units"
	"sim/scenarios/schema"
	"sim/workloads/training"
)

// Training is a workload of kind "training": one training step of a model.
type Training struct {
	TrainingJob
	Modelling
}

// TrainingJob is how a step is spread.
type TrainingJob struct {
	_             string `key:"model" doc:"a preset model" choices:"@models"`
	Sequence      int    `key:"sequence" doc:"tokens a sample" required:"" min:"1" max:"1000000000"`
	Microbatch    int    `key:"microbatch" doc:"samples a micro-batch" default:"1" min:"1" max:"1000000"`
	Microbatches  int    `key:"microbatches" doc:"micro-batches a replica and step" required:"" min:"1" max:"1000000"`
	TP            int    `key:"tp" doc:"GPUs a tensor-parallel group" required:"" min:"1" max:"65536"`
	PP            int    `key:"pp" doc:"pipeline stages" required:"" min:"1" max:"65536"`
	EP            int    `key:"ep" doc:"expert-parallel ranks a stage" default:"1" min:"1" max:"65536" when:"experts"`
	ETP           int    `key:"etp" doc:"GPUs that share an expert" default:"1" min:"1" max:"65536" when:"experts"`
	GPUs          int    `key:"gpus" doc:"GPUs of the job; what pipeline and stages leave over makes replicas" required:"" min:"1" max:"100000000"`
	Schedule      string `key:"schedule" doc:"order of forward and backward passes in a stage" default:"1f1b" choices:"1f1b|gpipe|interleaved-1f1b"`
	VirtualStages int    `key:"virtual_stages" doc:"model chunks that a stage holds" required:"" computed:"" min:"2" max:"65536" when:"schedule=interleaved-1f1b"`
	ReplicaMode   string `key:"replicas" doc:"which replicas are played: one for all, all of them together, or each unlike one by itself" default:"auto" choices:"auto|single|all|decomposed" when:"fabric.kind=ocs-pods|scaleup"`
	Flows         string `key:"flows" doc:"whether the flows of a stage's GPUs are one transfer or each its own" default:"aggregated" choices:"aggregated|per-gpu" when:"fabric.kind=ocs-pods|scaleup"`
}

// Modelling is what of a step is modelled, and how.
type Modelling struct {
	Preset       string                `key:"preset" doc:"modelling choices, for what follows" default:"calibrated" choices:"@presets"`
	Choices      Choices               `inline:""`
	Architecture training.Architecture `table:"architecture" doc:"A model that is no preset. A preset model has these values of its own, and the table is refused beside it."`
}

// Choices are the modelling choices of a training workload. A preset sets them
// all; the scenario may override each.
type Choices struct {
	EffectiveTFLOPS        float64 `key:"effective_tflops" doc:"what one GPU achieves, in 1e12 operations a second" else:"the model's" above:"0" max:"1000000"`
	BackwardRatio          float64 `key:"backward_ratio" doc:"backward time over forward time" else:"the preset's" max:"1000"`
	AttentionFLOPs         string  `key:"attention_flops" doc:"whether attention to later tokens is computed" else:"the preset's" choices:"causal|full"`
	StageSplit             string  `key:"stage_split" doc:"whether all stages are alike, or hold whole layers" else:"the preset's" choices:"even|layers"`
	Embedding              bool    `key:"embedding" doc:"count the embedding in the first stage and the output head in the last" else:"the preset's"`
	ConcurrentMicrobatches int     `key:"concurrent_microbatches" doc:"micro-batches whose compute a stage does at a time" else:"the preset's" min:"1" max:"65536"`
	ActivationBytes        int     `key:"activation_bytes" doc:"bytes of a number sent between stages" else:"the preset's" min:"1" max:"16"`
	GradientBytes          int     `key:"gradient_bytes" doc:"bytes of a gradient sent between replicas" else:"the preset's" min:"1" max:"16"`
	ParameterBytes         int     `key:"parameter_bytes" doc:"bytes of a parameter sent between replicas" else:"the preset's" min:"1" max:"16"`
	SequenceParallel       bool    `key:"sequence_parallel" doc:"a GPU sends 1/tp of the activations, not all of them" else:"the preset's"`
	Ring                   string  `key:"ring" doc:"with more than two replicas, whether half of a stage's GPUs send each way round" else:"the preset's" choices:"bidirectional|unidirectional"`
	RouterFLOPs            string  `key:"router_flops" doc:"which layers compute a router" else:"the preset's" choices:"all-layers|moe-layers" when:"experts"`
}

// trainingPacket is TrafficPacket of a step.
type trainingPacket struct {
	Packet units.Bytes `key:"packet" doc:"size of a packet on the wire" default:"64KB" when:"engine.level=packet & fabric.kind=ocs-pods|torus|graph"`
}

// trainingParts are the tables of the workload "training".
func trainingParts(s *Scenario) []schema.Part {
	return []schema.Part{{
		Path: "workload", Doc: "What is trained, and how it is spread. Give `model`, or describe another model in `[workload.architecture]`.",
		Specs: []any{&s.Workload.WorkloadKind, &s.Workload.TrainingJob, (*trainingPacket)(&s.Workload.TrafficPacket), &s.Workload.Modelling},
		Defaults: func(int) []any {
			d := s.Workload.Training.defaults()
			return []any{&d.TrainingJob, &d.Modelling}
		},
	}}
}

// defaults returns a copy of t with the defaults that follow from other keys.
func (t *Training) defaults() *Training {
	d := *t
	d.VirtualStages = 1
	d.Choices = presetChoices(t)
	a, m := &t.Architecture, &d.Architecture
	d.Choices.EffectiveTFLOPS, m.EffectiveTFLOPS = a.EffectiveTFLOPS, t.Choices.EffectiveTFLOPS
	m.KVHeads, m.FFN, m.HeadDim, m.ExpertFFN = a.Heads, 4*a.Hidden, 0, 0
	if a.Attention != "mla" && a.Heads > 0 {
		m.HeadDim = a.Hidden / a.Heads
	}
	if a.Experts > 0 {
		m.ExpertFFN = a.FFN
	}
	return &d
}
