package scenarios

import (
	"slices"

	"sim/engine/units"
	"sim/workloads/training"
)

// trainingKind describes the workload "training".
func trainingKind() *kind {
	return &kind{
		section: "workload",
		name:    "training",
		like:    "training",
		doc:     "One training step of a model under pipeline, tensor, expert and data parallelism.",
		tables: []table{
			{
				path: "workload",
				doc:  "What is trained, and how it is spread. Give `model`, or describe another model in `[workload.architecture]`.",
				keys: append(trainingKeys(), choiceKeys()...),
			},
			{
				path: "workload.architecture",
				doc:  "A model that is no preset. A preset model has these values of its own, and the table is refused beside it.",
				keys: architectureKeys(),
			},
		},
		prepare: prepareTraining,
		check:   checkTraining,
	}
}

// withExperts is the condition of keys that a dense model does not use.
var withExperts = &condition{
	keys: []string{"workload.model", "workload.architecture.experts"},
	ok:   func(s *Scenario) bool { return s.Workload.Architecture.Experts > 0 },
	by:   func(*Scenario) string { return "a dense model" },
	want: "choose a model with experts",
}

// onFabric is the condition of keys that a workload has on some fabrics.
func onFabric(names ...string) *condition {
	return &condition{
		keys: []string{"fabric.kind"},
		ok:   func(s *Scenario) bool { return slices.Contains(names, s.Fabric.Kind) },
		by:   func(s *Scenario) string { return "fabric " + quote(s.Fabric.Kind) },
		want: "set fabric.kind = " + quotedList(names),
	}
}

var interleaved = &condition{
	keys: []string{"workload.schedule"},
	ok:   func(s *Scenario) bool { return s.Workload.Schedule == "interleaved-1f1b" },
	by:   func(s *Scenario) string { return "schedule " + quote(s.Workload.Schedule) },
	want: `set schedule = "interleaved-1f1b"`,
}

func trainingKeys() []key {
	return []key{
		kindKey("workload"),
		{
			name: "model", doc: "a preset model", omit: true, choices: training.ModelNames,
			field: func(s *Scenario, _ int) any { return &s.Workload.Architecture.Name },
		},
		{
			name: "sequence", doc: "tokens a sample", required: true, min: 1, max: 1e9,
			field: func(s *Scenario, _ int) any { return &s.Workload.Sequence },
		},
		defaultsTo(1, key{
			name: "microbatch", doc: "samples a micro-batch", min: 1, max: 1e6,
			field: func(s *Scenario, _ int) any { return &s.Workload.Microbatch },
		}),
		{
			name: "microbatches", doc: "micro-batches a replica and step", required: true, min: 1, max: 1e6,
			field: func(s *Scenario, _ int) any { return &s.Workload.Microbatches },
		},
		{
			name: "tp", doc: "GPUs a tensor-parallel group", required: true, min: 1, max: 65536,
			field: func(s *Scenario, _ int) any { return &s.Workload.TP },
		},
		{
			name: "pp", doc: "pipeline stages", required: true, min: 1, max: 65536,
			field: func(s *Scenario, _ int) any { return &s.Workload.PP },
		},
		defaultsTo(1, key{
			name: "ep", doc: "expert-parallel ranks a stage", min: 1, max: 65536, when: withExperts,
			field: func(s *Scenario, _ int) any { return &s.Workload.EP },
		}),
		defaultsTo(1, key{
			name: "etp", doc: "GPUs that share an expert", min: 1, max: 65536, when: withExperts,
			field: func(s *Scenario, _ int) any { return &s.Workload.ETP },
		}),
		{
			name: "gpus", doc: "GPUs of the job; what pipeline and stages leave over makes replicas", required: true, min: 1, max: 1e8,
			field: func(s *Scenario, _ int) any { return &s.Workload.GPUs },
		},
		defaultsTo("1f1b", key{
			name: "schedule", doc: "order of forward and backward passes in a stage",
			choices: fixed("1f1b", "gpipe", "interleaved-1f1b"),
			field:   func(s *Scenario, _ int) any { return &s.Workload.Schedule },
		}),
		{
			name: "virtual_stages", doc: "model chunks that a stage holds", required: true, min: 2, max: 65536, when: interleaved,
			field: func(s *Scenario, _ int) any { return &s.Workload.VirtualStages },
			fill:  func(s *Scenario, _ int) { s.Workload.VirtualStages = 1 },
		},
		defaultsTo("auto", key{
			name: "replicas", doc: "which replicas are played: one for all, all of them together, or each unlike one by itself",
			choices: fixed("auto", "single", "all", "decomposed"),
			field:   func(s *Scenario, _ int) any { return &s.Workload.ReplicaMode },
		}),
		defaultsTo("aggregated", key{
			name: "flows", doc: "whether the flows of a stage's GPUs are one transfer or each its own",
			choices: fixed("aggregated", "per-gpu"),
			field:   func(s *Scenario, _ int) any { return &s.Workload.Flows },
		}),
		defaultsTo(units.Bytes(64e3), key{
			name: "packet", doc: "size of a packet on the wire", when: both(atLevel("packet"), onFabric("ocs-pods", "torus", "graph")),
			field: func(s *Scenario, _ int) any { return &s.Workload.Packet },
		}),
		defaultsTo(presets[0].name, key{
			name: "preset", doc: "modelling choices, for what follows", choices: presetNames,
			field: func(s *Scenario, _ int) any { return &s.Workload.Preset },
		}),
	}
}

// choiceKeys are the keys that a preset fills.
func choiceKeys() []key {
	return []key{
		{
			name: "effective_tflops", doc: "what one GPU achieves, in 1e12 operations a second", above: true, max: 1e6,
			field:   func(s *Scenario, _ int) any { return &s.Workload.Choices.EffectiveTFLOPS },
			fillDoc: "the model's",
			fill: func(s *Scenario, _ int) {
				s.Workload.Choices.EffectiveTFLOPS = s.Workload.Architecture.EffectiveTFLOPS
			},
		},
		choice(func(c *Choices) any { return &c.BackwardRatio },
			key{name: "backward_ratio", doc: "backward time over forward time", max: 1000}),
		choice(func(c *Choices) any { return &c.AttentionFLOPs },
			key{name: "attention_flops", doc: "whether attention to later tokens is computed", choices: fixed("causal", "full")}),
		choice(func(c *Choices) any { return &c.StageSplit },
			key{name: "stage_split", doc: "whether all stages are alike, or hold whole layers", choices: fixed("even", "layers")}),
		choice(func(c *Choices) any { return &c.Embedding },
			key{name: "embedding", doc: "count the embedding in the first stage and the output head in the last"}),
		choice(func(c *Choices) any { return &c.ConcurrentMicrobatches },
			key{name: "concurrent_microbatches", doc: "micro-batches whose compute a stage does at a time", min: 1, max: 65536}),
		choice(func(c *Choices) any { return &c.ActivationBytes },
			key{name: "activation_bytes", doc: "bytes of a number sent between stages", min: 1, max: 16}),
		choice(func(c *Choices) any { return &c.GradientBytes },
			key{name: "gradient_bytes", doc: "bytes of a gradient sent between replicas", min: 1, max: 16}),
		choice(func(c *Choices) any { return &c.ParameterBytes },
			key{name: "parameter_bytes", doc: "bytes of a parameter sent between replicas", min: 1, max: 16}),
		choice(func(c *Choices) any { return &c.SequenceParallel },
			key{name: "sequence_parallel", doc: "a GPU sends 1/tp of the activations, not all of them"}),
		choice(func(c *Choices) any { return &c.Ring },
			key{
				name: "ring", doc: "with more than two replicas, whether half of a stage's GPUs send each way round",
				choices: fixed("bidirectional", "unidirectional"),
			}),
		choice(func(c *Choices) any { return &c.RouterFLOPs },
			key{
				name: "router_flops", doc: "which layers compute a router", choices: fixed("all-layers", "moe-layers"),
				when: withExperts,
			}),
	}
}

// choice makes the key of a modelling choice, whose default is the preset's.
func choice(of func(c *Choices) any, k key) key {
	k.field = func(s *Scenario, _ int) any { return of(&s.Workload.Choices) }
	k.fillDoc = "the preset's"
	k.fill = func(s *Scenario, _ int) {
		c := presetChoices(&s.Workload.Training)
		assignFrom(of(&s.Workload.Choices), of(&c))
	}
	return k
}
