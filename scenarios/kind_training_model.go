package scenarios

import "sim/workloads/training"

// maxWidth bounds widths and counts of a model.
const maxWidth = 1 << 24

// latent is the condition of keys of multi-head latent attention.
var latent = attention("mla")

// attention is the condition of keys that only some sorts of attention use.
func attention(name string, more ...string) *condition {
	names := append([]string{name}, more...)
	return &condition{
		keys: []string{"workload.architecture.attention"},
		ok: func(s *Scenario) bool {
			for _, n := range names {
				if s.Workload.Architecture.Attention == n {
					return true
				}
			}
			return false
		},
		by:   func(s *Scenario) string { return "attention " + quote(s.Workload.Architecture.Attention) },
		want: "set attention = " + quotedList(names),
	}
}

func architectureKeys() []key {
	arch := func(of func(a *training.Architecture) any) func(*Scenario, int) any {
		return func(s *Scenario, _ int) any { return of(&s.Workload.Architecture) }
	}
	// fill words and makes a default that follows from other keys.
	fill := func(k key, doc string, of func(a *training.Architecture) int) key {
		k.fillDoc = doc
		k.fill = func(s *Scenario, _ int) { assign(k.field(s, 0), of(&s.Workload.Architecture)) }
		return k
	}
	width := func(name, doc string, of func(a *training.Architecture) any) key {
		return key{name: name, doc: doc, field: arch(of), min: 1, max: maxWidth}
	}
	needed := func(when *condition, k key) key {
		k.required, k.when = true, when
		return k
	}
	when := func(w *condition, k key) key {
		k.when = w
		return k
	}
	return []key{
		{name: "name", doc: "name of the model, for people", field: arch(func(a *training.Architecture) any { return &a.Name })},
		needed(nil, key{
			name: "layers", doc: "transformer layers", min: 1, max: 65536,
			field: arch(func(a *training.Architecture) any { return &a.Layers }),
		}),
		needed(nil, width("hidden", "width of the residual stream", func(a *training.Architecture) any { return &a.Hidden })),
		needed(nil, width("vocab", "tokens of the vocabulary", func(a *training.Architecture) any { return &a.Vocab })),
		defaultsTo("mha", key{
			name: "attention", doc: "multi-head, grouped-query or multi-head latent attention", choices: fixed("mha", "gqa", "mla"),
			field: arch(func(a *training.Architecture) any { return &a.Attention }),
		}),
		needed(nil, width("heads", "query heads", func(a *training.Architecture) any { return &a.Heads })),
		fill(when(attention("gqa"), width("kv_heads", "key and value heads", func(a *training.Architecture) any { return &a.KVHeads })),
			"heads", func(a *training.Architecture) int { return a.Heads }),
		fill(when(attention("mha", "gqa"), width("head_dim", "width of a head", func(a *training.Architecture) any { return &a.HeadDim })),
			"hidden / heads", func(a *training.Architecture) int {
				if a.Attention == "mla" || a.Heads == 0 {
					return 0
				}
				return a.Hidden / a.Heads
			}),
		needed(latent, width("q_rank", "rank of the compressed queries", func(a *training.Architecture) any { return &a.QRank })),
		needed(latent, width("kv_rank", "rank of the compressed keys and values", func(a *training.Architecture) any { return &a.KVRank })),
		needed(latent, width("rope_dim", "width of a head's part with rotary embedding", func(a *training.Architecture) any { return &a.RopeDim })),
		needed(latent, width("nope_dim", "width of a head's part without", func(a *training.Architecture) any { return &a.NopeDim })),
		needed(latent, width("value_dim", "width of a head's values", func(a *training.Architecture) any { return &a.ValueDim })),
		fill(width("ffn", "inner width of the feed-forward network of a dense layer", func(a *training.Architecture) any { return &a.FFN }),
			"4 x hidden", func(a *training.Architecture) int { return 4 * a.Hidden }),
		defaultsTo(false, key{
			name: "gated", doc: "feed-forward networks have three matrices (SwiGLU), not two",
			field: arch(func(a *training.Architecture) any { return &a.Gated }),
		}),
		defaultsTo(0, key{
			name: "experts", doc: "routed experts a layer; 0 is a dense model", max: 65536,
			field: arch(func(a *training.Architecture) any { return &a.Experts }),
		}),
		needed(withExperts, width("top_k", "routed experts that see a token", func(a *training.Architecture) any { return &a.TopK })),
		fill(when(withExperts, width("expert_ffn", "inner width of an expert", func(a *training.Architecture) any { return &a.ExpertFFN })),
			"ffn", func(a *training.Architecture) int {
				if a.Experts == 0 {
					return 0
				}
				return a.FFN
			}),
		when(withExperts, defaultsTo(0, key{
			name: "shared_experts", doc: "experts that see every token", max: 65536,
			field: arch(func(a *training.Architecture) any { return &a.SharedExperts }),
		})),
		when(withExperts, defaultsTo(0, key{
			name: "dense_layers", doc: "first layers, which have no experts", max: 65536,
			field: arch(func(a *training.Architecture) any { return &a.DenseLayers }),
		})),
		{
			name: "effective_tflops", doc: "what one GPU achieves on the model, in 1e12 operations a second", above: true, max: 1e6,
			field:   arch(func(a *training.Architecture) any { return &a.EffectiveTFLOPS }),
			fillDoc: "workload.effective_tflops; one of the two is required",
			fill: func(s *Scenario, _ int) {
				s.Workload.Architecture.EffectiveTFLOPS = s.Workload.Choices.EffectiveTFLOPS
			},
		},
	}
}
