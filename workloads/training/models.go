package training

import "slices"

// Architecture describes a transformer: what decides its arithmetic, its
// parameters and the size of what its stages exchange.
type Architecture struct {
	Name   string // for people; of a preset, its name
	Layers int
	Hidden int // width of the residual stream
	Vocab  int // tokens of the vocabulary

	Attention string // "mha", "gqa" or "mla"
	Heads     int    // query heads
	KVHeads   int    // key and value heads; equals Heads unless Attention is "gqa"
	HeadDim   int    // width of a head; 0 with "mla", which has its own widths
	// Multi-head latent attention; all 0 otherwise.
	QRank, KVRank              int // ranks of the compressed queries, and of keys and values
	RopeDim, NopeDim, ValueDim int // widths of a head: with and without rotary embedding, and of its values

	FFN   int  // inner width of the feed-forward network of a dense layer
	Gated bool // SwiGLU: feed-forward networks have three matrices, not two

	// Mixture of experts; all 0 in a dense model.
	Experts       int // routed experts a layer
	TopK          int // routed experts that see a token
	ExpertFFN     int // inner width of an expert
	SharedExperts int // experts that see every token
	DenseLayers   int // first layers, which have a network of width FFN and no experts

	EffectiveTFLOPS float64 // what one GPU achieves on this model, in 1e12 operations a second
}

// models are the presets: Table I of the DELTA paper, and GPT-7B of its Fig. 1.
// Effective rates are those of the preset "calibrated".
var models = []Architecture{
	{
		Name: "megatron-177b", Layers: 96, Hidden: 12288, Vocab: 131072,
		Attention: "mha", Heads: 96, KVHeads: 96, HeadDim: 128,
		FFN: 4 * 12288, EffectiveTFLOPS: 650,
	},
	{
		Name: "mixtral-8x22b", Layers: 56, Hidden: 6144, Vocab: 32768,
		Attention: "gqa", Heads: 48, KVHeads: 8, HeadDim: 128,
		FFN: 16384, Gated: true,
		Experts: 8, TopK: 2, ExpertFFN: 16384, EffectiveTFLOPS: 500,
	},
	{
		Name: "megatron-462b", Layers: 112, Hidden: 18432, Vocab: 131072,
		Attention: "mha", Heads: 128, KVHeads: 128, HeadDim: 144,
		FFN: 4 * 18432, EffectiveTFLOPS: 650,
	},
	{
		Name: "deepseek-671b", Layers: 61, Hidden: 7168, Vocab: 129280,
		Attention: "mla", Heads: 128, KVHeads: 128,
		QRank: 1536, KVRank: 512, RopeDim: 64, NopeDim: 128, ValueDim: 128,
		FFN: 18432, Gated: true,
		Experts: 256, TopK: 8, ExpertFFN: 2048, SharedExperts: 1, DenseLayers: 3, EffectiveTFLOPS: 350,
	},
	{
		Name: "gpt-7b", Layers: 32, Hidden: 4096, Vocab: 131072,
		Attention: "mha", Heads: 32, KVHeads: 32, HeadDim: 128,
		FFN: 4 * 4096, EffectiveTFLOPS: 450,
	},
}

// Model returns the preset called name, and whether there is one.
func Model(name string) (Architecture, bool) {
	i := slices.IndexFunc(models, func(a Architecture) bool { return a.Name == name })
	if i < 0 {
		return Architecture{}, false
	}
	return models[i], true
}

// ModelNames returns the names of the presets, those of Table I first.
func ModelNames() []string {
	names := make([]string, len(models))
	for i := range models {
		names[i] = models[i].Name
	}
	return names
}
