package training

import "slices"

// Architecture describes a transformer. It determines the arithmetic, the number of
// parameters and the size of the messages between stages.
type Architecture struct {
	Name            string  `key:"name" doc:"name of the model"`
	Layers          int     `key:"layers" doc:"transformer layers" required:"" min:"1" max:"65536"`
	Hidden          int     `key:"hidden" doc:"hidden width of the model" required:"" min:"1" max:"16777216"`
	Vocab           int     `key:"vocab" doc:"vocabulary size" required:"" min:"1" max:"16777216"`
	Attention       string  `key:"attention" doc:"kind of attention: multi-head, grouped-query or multi-head latent" default:"mha" choices:"mha|gqa|mla"`
	Heads           int     `key:"heads" doc:"query heads" required:"" min:"1" max:"16777216"`
	KVHeads         int     `key:"kv_heads" doc:"key and value heads" else:"heads" min:"1" max:"16777216" when:"attention=gqa"`
	HeadDim         int     `key:"head_dim" doc:"width of an attention head" else:"hidden / heads" min:"1" max:"16777216" when:"attention=mha|gqa"`
	QRank           int     `key:"q_rank" doc:"rank of the compressed queries" required:"" min:"1" max:"16777216" when:"attention=mla"`
	KVRank          int     `key:"kv_rank" doc:"rank of the compressed keys and values" required:"" min:"1" max:"16777216" when:"attention=mla"`
	RopeDim         int     `key:"rope_dim" doc:"width of a head's part with rotary embedding" required:"" min:"1" max:"16777216" when:"attention=mla"`
	NopeDim         int     `key:"nope_dim" doc:"width of a head's part without rotary embedding" required:"" min:"1" max:"16777216" when:"attention=mla"`
	ValueDim        int     `key:"value_dim" doc:"width of a head's values" required:"" min:"1" max:"16777216" when:"attention=mla"`
	FFN             int     `key:"ffn" doc:"inner width of the feed-forward network of a dense layer" else:"4 x hidden" min:"1" max:"16777216"`
	ParallelLayers  bool    `key:"parallel_layers" doc:"whether attention and feed-forward network of a dense model read the same input, so that tensor parallelism gathers and scatters once" default:"false" when:"dense" implicit:""`
	Gated           bool    `key:"gated" doc:"whether feed-forward networks have three matrices (SwiGLU) instead of two" default:"false"`
	Experts         int     `key:"experts" doc:"routed experts per layer; 0 means a dense model" default:"0" max:"65536"`
	TopK            int     `key:"top_k" doc:"number of routed experts per token" required:"" min:"1" max:"16777216" when:"experts"`
	ExpertFFN       int     `key:"expert_ffn" doc:"inner width of an expert" else:"ffn" min:"1" max:"16777216" when:"experts"`
	SharedExperts   int     `key:"shared_experts" doc:"number of experts that process every token" default:"0" max:"65536" when:"experts"`
	Attended        int     `key:"attended" doc:"number of earlier tokens that a token attends to, in a window or selected by an index; 0 means all" default:"0" max:"1000000000" implicit:""`
	AttendedLayers  int     `key:"attended_layers" doc:"number of layers with limited attention; 0 means all" default:"0" max:"65536" implicit:""`
	IndexHeads      int     `key:"index_heads" doc:"heads of the index that selects attended tokens and examines all tokens" default:"0" max:"65536" implicit:""`
	IndexDim        int     `key:"index_dim" doc:"width of an index head" default:"0" max:"65536" implicit:""`
	DenseLayers     int     `key:"dense_layers" doc:"number of first layers, which have no experts" default:"0" max:"65536" when:"experts"`
	EffectiveTFLOPS float64 `key:"effective_tflops" doc:"effective rate of one GPU on the model, in 1e12 operations per second" else:"workload.effective_tflops; one of the two is required, unless workload.compute says how long operators take" above:"0" max:"1000000"`
}

// models are the preset models, with the sources of their effective rates:
//
//   - Table I of the DELTA paper and GPT-7B of its Fig. 1: the rates of preset "calibrated".
//   - PaLM (Chowdhery et al. 2022, Table 1 and Sec. 2) and BERT-large (Devlin et al. 2019, Sec.
//     3), trained on TPU v4: 46.2 % of the peak of 275 TFLOP/s, as achieved by PaLM-540B. For
//     BERT-large this is an assumption.
//   - Llama 3: 400 TFLOP/s on 16,384 H100 (Llama 3, Table 4).
//   - ViT-22B: 54.9 % of the peak of a TPU v4 (Dehghani et al. 2023, Sec. 4).
//   - Llama 2 and the smaller Llama 3: the rate of Llama 3; Mixtral 8x7B: the rate of 8x22B. Both are
//     assumptions.
//   - Other models have public configurations but no published rate. They have the rate of
//     DeepSeek-671B, which is an assumption.
//
// TestPublished compares their numbers of parameters with published ones.
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
	{
		Name: "palm-8b", Layers: 32, Hidden: 4096, Vocab: 256000,
		Attention: "gqa", Heads: 16, KVHeads: 1, HeadDim: 256,
		FFN: 4 * 4096, Gated: true, ParallelLayers: true, EffectiveTFLOPS: 127,
	},
	{
		Name: "palm-62b", Layers: 64, Hidden: 8192, Vocab: 256000,
		Attention: "gqa", Heads: 32, KVHeads: 1, HeadDim: 256,
		FFN: 4 * 8192, Gated: true, ParallelLayers: true, EffectiveTFLOPS: 127,
	},
	{
		Name: "bert-large", Layers: 24, Hidden: 1024, Vocab: 30522,
		Attention: "mha", Heads: 16, KVHeads: 16, HeadDim: 64,
		FFN: 4 * 1024, EffectiveTFLOPS: 127,
	},
	{
		Name: "llama3-70b", Layers: 80, Hidden: 8192, Vocab: 128256,
		Attention: "gqa", Heads: 64, KVHeads: 8, HeadDim: 128,
		FFN: 28672, Gated: true, EffectiveTFLOPS: 400,
	},
	{
		Name: "llama3-405b", Layers: 126, Hidden: 16384, Vocab: 128256,
		Attention: "gqa", Heads: 128, KVHeads: 8, HeadDim: 128,
		FFN: 53248, Gated: true, EffectiveTFLOPS: 400,
	},
	{
		Name: "qwen3-235b-a22b", Layers: 94, Hidden: 4096, Vocab: 151936,
		Attention: "gqa", Heads: 64, KVHeads: 4, HeadDim: 128,
		FFN: 12288, Gated: true,
		Experts: 128, TopK: 8, ExpertFFN: 1536, EffectiveTFLOPS: 350,
	},
	{
		// the attention of DeepSeek-671B, restricted to tokens chosen by an index
		// (DeepSeek-V3.2-Exp, Sec. 2.1)
		Name: "deepseek-v3.2", Layers: 61, Hidden: 7168, Vocab: 129280,
		Attention: "mla", Heads: 128, KVHeads: 128,
		QRank: 1536, KVRank: 512, RopeDim: 64, NopeDim: 128, ValueDim: 128,
		Attended: 2048, IndexHeads: 64, IndexDim: 128,
		FFN: 18432, Gated: true,
		Experts: 256, TopK: 8, ExpertFFN: 2048, SharedExperts: 1, DenseLayers: 3, EffectiveTFLOPS: 350,
	},
	{
		Name: "kimi-k2", Layers: 61, Hidden: 7168, Vocab: 163840,
		Attention: "mla", Heads: 64, KVHeads: 64,
		QRank: 1536, KVRank: 512, RopeDim: 64, NopeDim: 128, ValueDim: 128,
		FFN: 18432, Gated: true,
		Experts: 384, TopK: 8, ExpertFFN: 2048, SharedExperts: 1, DenseLayers: 1, EffectiveTFLOPS: 350,
	},
	{
		// every other layer attends to a window of 128 tokens
		Name: "gpt-oss-120b", Layers: 36, Hidden: 2880, Vocab: 201088,
		Attention: "gqa", Heads: 64, KVHeads: 8, HeadDim: 64, Attended: 128, AttendedLayers: 18,
		FFN: 2880, Gated: true,
		Experts: 128, TopK: 4, ExpertFFN: 2880, EffectiveTFLOPS: 350,
	},
	{
		// An image model without vocabulary. Its attention needs attention_flops =
		// "full".
		Name: "vit-22b", Layers: 48, Hidden: 6144, Vocab: 1,
		Attention: "mha", Heads: 48, KVHeads: 48, HeadDim: 128,
		FFN: 4 * 6144, ParallelLayers: true, EffectiveTFLOPS: 151,
	},
	{
		Name: "llama3-8b", Layers: 32, Hidden: 4096, Vocab: 128256,
		Attention: "gqa", Heads: 32, KVHeads: 8, HeadDim: 128,
		FFN: 14336, Gated: true, EffectiveTFLOPS: 400,
	},
	{
		Name: "llama2-7b", Layers: 32, Hidden: 4096, Vocab: 32000,
		Attention: "mha", Heads: 32, KVHeads: 32, HeadDim: 128,
		FFN: 11008, Gated: true, EffectiveTFLOPS: 400,
	},
	{
		Name: "llama2-13b", Layers: 40, Hidden: 5120, Vocab: 32000,
		Attention: "mha", Heads: 40, KVHeads: 40, HeadDim: 128,
		FFN: 13824, Gated: true, EffectiveTFLOPS: 400,
	},
	{
		Name: "llama2-70b", Layers: 80, Hidden: 8192, Vocab: 32000,
		Attention: "gqa", Heads: 64, KVHeads: 8, HeadDim: 128,
		FFN: 28672, Gated: true, EffectiveTFLOPS: 400,
	},
	{
		Name: "gpt3-175b", Layers: 96, Hidden: 12288, Vocab: 51200,
		Attention: "mha", Heads: 96, KVHeads: 96, HeadDim: 128,
		FFN: 4 * 12288, EffectiveTFLOPS: 350,
	},
	{
		Name: "qwen3-30b-a3b", Layers: 48, Hidden: 2048, Vocab: 151936,
		Attention: "gqa", Heads: 32, KVHeads: 4, HeadDim: 128,
		FFN: 6144, Gated: true,
		Experts: 128, TopK: 8, ExpertFFN: 768, EffectiveTFLOPS: 350,
	},
	{
		// every other layer attends to a window of 128 tokens
		Name: "gpt-oss-20b", Layers: 24, Hidden: 2880, Vocab: 201088,
		Attention: "gqa", Heads: 64, KVHeads: 8, HeadDim: 64, Attended: 128, AttendedLayers: 12,
		FFN: 2880, Gated: true,
		Experts: 32, TopK: 4, ExpertFFN: 2880, EffectiveTFLOPS: 350,
	},
	{
		Name: "mixtral-8x7b", Layers: 32, Hidden: 4096, Vocab: 32000,
		Attention: "gqa", Heads: 32, KVHeads: 8, HeadDim: 128,
		FFN: 14336, Gated: true,
		Experts: 8, TopK: 2, ExpertFFN: 14336, EffectiveTFLOPS: 500,
	},
	{
		Name: "qwen3-8b", Layers: 36, Hidden: 4096, Vocab: 151936,
		Attention: "gqa", Heads: 32, KVHeads: 8, HeadDim: 128,
		FFN: 12288, Gated: true, EffectiveTFLOPS: 350,
	},
	{
		Name: "qwen3-32b", Layers: 64, Hidden: 5120, Vocab: 151936,
		Attention: "gqa", Heads: 64, KVHeads: 8, HeadDim: 128,
		FFN: 25600, Gated: true, EffectiveTFLOPS: 350,
	},
}

// Model returns the preset model with the given name, and whether it exists.
func Model(name string) (Architecture, bool) {
	i := slices.IndexFunc(models, func(a Architecture) bool { return a.Name == name })
	if i < 0 {
		return Architecture{}, false
	}
	return models[i], true
}

// ModelNames returns the names of the preset models. The models of Table I come first.
func ModelNames() []string {
	names := make([]string, len(models))
	for i := range models {
		names[i] = models[i].Name
	}
	return names
}
