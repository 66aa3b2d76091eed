package training

// Preset is a named set of modelling choices for training.
type Preset struct {
	Name, Doc string
	choices   func(t *Spec) Choices
}

// Presets are all presets; the first is the default. The effective rate is not part of a
// preset: it belongs to the model.
var Presets = []Preset{
	{
		Name: "calibrated",
		Doc: "is closest to the figures of the DELTA paper. For models with experts it uses the pipeline " +
			"traffic of all tensor-parallel groups of a stage, but the compute time of one micro-batch",
		choices: func(*Spec) Choices { return calibrated },
	},
	{
		Name: "consistent",
		Doc:  "as calibrated, but compute time counts the same micro-batches as traffic, and only layers with experts have routers",
		choices: func(t *Spec) Choices {
			c := calibrated
			if t.TP > 0 && t.Arch.Experts > 0 {
				c.ConcurrentMicrobatches = max(1, t.MicrobatchGroups())
			}
			c.RouterFLOPs = "moe-layers"
			return c
		},
	},
	{
		Name: "layered",
		Doc:  "as calibrated, but with whole layers per stage, embedding and output head",
		choices: func(*Spec) Choices {
			c := calibrated
			c.StageSplit = "layers"
			c.Embedding = true
			return c
		},
	},
}

// calibrated are the choices of the preset of this name.
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

// preset returns the preset of s, or the default if the name is unknown.
func (s *Spec) preset() *Preset {
	for i := range Presets {
		if Presets[i].Name == s.Preset {
			return &Presets[i]
		}
	}
	return &Presets[0]
}

// Defaults returns a copy of s with the defaults that depend on other keys.
func (s *Spec) Defaults() *Spec {
	d := *s
	d.Chunks = s.ModelCopies()
	d.Choices = s.preset().choices(s)
	a, m := &s.Arch, &d.Arch
	// The rate can be set for the job or for the model, and each is the default of the other.
	d.Choices.EffectiveTFLOPS, m.EffectiveTFLOPS = a.EffectiveTFLOPS, s.Choices.EffectiveTFLOPS
	d.Formats.Projections, d.Formats.Experts = s.Formats.Precision, s.Formats.Precision
	m.KVHeads, m.FFN, m.HeadDim, m.ExpertFFN = a.Heads, 4*a.Hidden, 0, 0
	if a.Attention != "mla" && a.Heads > 0 {
		m.HeadDim = a.Hidden / a.Heads
	}
	if a.Experts > 0 {
		m.ExpertFFN = a.FFN
	}
	return &d
}
