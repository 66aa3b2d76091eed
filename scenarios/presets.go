package scenarios

// preset is a named set of modelling choices for training.
type preset struct {
	name, doc string
	choices   func(t *Training) Choices
}

// presets are all presets, the default first. None says what a GPU achieves:
// that belongs to the model.
var presets = []preset{
	{
		name: "calibrated",
		doc: "comes nearest to the figures of the DELTA paper. For models with experts it takes the pipeline " +
			"traffic of all tensor-parallel groups of a stage, but the compute time of one micro-batch",
		choices: func(*Training) Choices { return calibrated },
	},
	{
		name: "consistent",
		doc:  "as calibrated, but compute time counts every micro-batch whose traffic counts, and only layers with experts have routers",
		choices: func(t *Training) Choices {
			c := calibrated
			if t.TP > 0 && t.Architecture.Experts > 0 {
				c.ConcurrentMicrobatches = max(1, t.TensorGroups())
			}
			c.RouterFLOPs = "moe-layers"
			return c
		},
	},
	{
		name: "layered",
		doc:  "as calibrated, but stages hold whole layers, and embedding and output head count",
		choices: func(*Training) Choices {
			c := calibrated
			c.StageSplit = "layers"
			c.Embedding = true
			return c
		},
	},
}

var calibrated = Choices{
	BackwardRatio:          2,
	AttentionFLOPs:         "causal",
	StageSplit:             "even",
	Embedding:              false,
	ConcurrentMicrobatches: 1,
	ActivationBytes:        2,
	GradientBytes:          4,
	ParameterBytes:         2,
	SequenceParallel:       true,
	Ring:                   "bidirectional",
	RouterFLOPs:            "all-layers",
}

func presetNames() []string {
	names := make([]string, len(presets))
	for i := range presets {
		names[i] = presets[i].name
	}
	return names
}

// presetChoices returns what t's preset chooses; the first preset stands in
// for an unknown one.
func presetChoices(t *Training) Choices {
	for i := range presets {
		if presets[i].name == t.Preset {
			return presets[i].choices(t)
		}
	}
	return presets[0].choices(t)
}
