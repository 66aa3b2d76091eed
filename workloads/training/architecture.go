// This file counts the parameters of a model, layer by layer, and describes it in words.

package training

import (
	"cmp"
	"fmt"
)

// AttentionParameters returns the number of parameters of the attention of one layer. An
// attention index adds its own: the projections of its query heads, its shared key and
// one weight per head (DeepSeek-V3.2-Exp, Sec. 2.1).
func (a *Architecture) AttentionParameters() float64 {
	n := a.attentionParameters()
	if a.IndexHeads > 0 {
		from := float64(a.Hidden)
		if a.Attention == "mla" {
			from = float64(a.QRank)
		}
		// MLA computes the index queries from the compressed queries.
		n += from*float64(a.IndexHeads*a.IndexDim) + float64(a.Hidden)*float64(a.IndexDim+a.IndexHeads)
	}
	return n
}

// attentionParameters returns the parameters of attention without an index.
func (a *Architecture) attentionParameters() float64 {
	h, heads := float64(a.Hidden), float64(a.Heads)
	if a.Attention == "mla" {
		// DeepSeek-V2, Sec. 2.1: low-rank queries, low-rank keys and values with a
		// decoupled rotary key, and the output projection.
		q, kv := float64(a.QRank), float64(a.KVRank)
		nope, rope, value := float64(a.NopeDim), float64(a.RopeDim), float64(a.ValueDim)
		return h*q + q*heads*(nope+rope) + h*(kv+rope) + kv*heads*(nope+value) + heads*value*h
	}
	d := float64(a.HeadDim)
	return 2*h*heads*d + 2*h*float64(a.KVHeads)*d
}

// AttentionWidth returns the width of the score and value computations, summed over all
// heads: heads x (query-key dimension + value dimension) / 2.
func (a *Architecture) AttentionWidth() float64 {
	if a.Attention == "mla" {
		return float64(a.Heads) * float64(a.NopeDim+a.RopeDim+a.ValueDim) / 2
	}
	return float64(a.Heads) * float64(a.HeadDim)
}

// outputParameters returns the parameters of the output projection of attention of one
// layer.
func (a *Architecture) outputParameters() float64 {
	width := float64(a.Heads) * float64(a.HeadDim)
	if a.Attention == "mla" {
		width = float64(a.Heads) * float64(a.ValueDim)
	}
	return width * float64(a.Hidden)
}

// ffnMatrices returns the number of weight matrices of a feed-forward network.
func (a *Architecture) ffnMatrices() float64 {
	if a.Gated {
		return 3
	}
	return 2
}

// FFNParameters returns the number of parameters of a dense feed-forward network.
func (a *Architecture) FFNParameters() float64 {
	return a.ffnMatrices() * float64(a.Hidden) * float64(a.FFN)
}

// ExpertParameters returns the number of parameters of one expert.
func (a *Architecture) ExpertParameters() float64 {
	return a.ffnMatrices() * float64(a.Hidden) * float64(a.ExpertFFN)
}

// RouterParameters returns the number of parameters of the router of one layer.
func (a *Architecture) RouterParameters() float64 {
	return float64(a.Hidden) * float64(a.Experts)
}

// Parameters returns the number of parameters of the whole model without embeddings.
func (a *Architecture) Parameters() float64 {
	n := float64(a.Layers) * a.AttentionParameters()
	if a.Experts == 0 {
		return n + float64(a.Layers)*a.FFNParameters()
	}
	moe := float64(a.Layers - a.DenseLayers)
	return n + float64(a.DenseLayers)*a.FFNParameters() +
		moe*(a.RouterParameters()+float64(a.Experts+a.SharedExperts)*a.ExpertParameters())
}

// Words describes the model in one line: layers, width, parameters and experts.
func (a *Architecture) Words() string {
	// Numbers with more than three digits would be rounded to 1e+03 billion or million.
	size := fmt.Sprintf("%.3g billion", a.Parameters()/1e9)
	if a.Parameters() >= 999.5e9 {
		size = fmt.Sprintf("%.0f billion", a.Parameters()/1e9)
	} else if a.Parameters() < 999.5e6 {
		size = fmt.Sprintf("%.3g million", a.Parameters()/1e6)
	}
	s := fmt.Sprintf("%d layers of width %d, %s parameters", a.Layers, a.Hidden, size)
	if a.Experts > 0 {
		s += fmt.Sprintf(", %d experts, top %d", a.Experts, a.TopK)
	}
	return s
}

// Words describes the job in one line: model, GPUs, parallelism, micro-batches and
// schedule. A non-empty title replaces the name of the model.
func (s *Spec) Words(title string) string {
	parallel := fmt.Sprintf("TP %d, PP %d", s.TP, s.PP)
	if c := s.ContextRanks(); s.Measured != nil {
		parallel += fmt.Sprintf(", stages of %d GPUs", s.StageGPUs())
	} else if c > 1 {
		parallel += fmt.Sprintf(", CP %d", c)
	}
	if s.Arch.Experts > 0 {
		parallel += fmt.Sprintf(", EP %d", s.EP)
	}
	replicas := "1 replica"
	if d := s.Replicas(); d != 1 {
		replicas = fmt.Sprintf("%d replicas", d)
	}
	if m := s.Measured; m != nil {
		return fmt.Sprintf("%s on %d GPUs: %s, %s, %d micro-batches, %s",
			cmp.Or(title, s.Arch.Name), s.GPUs, parallel, replicas, s.Microbatches, s.Schedule)
	}
	return fmt.Sprintf("%s on %d GPUs: %s, %s, %d micro-batches of %d tokens, %s",
		cmp.Or(title, s.Arch.Name), s.GPUs, parallel, replicas,
		s.Microbatches, s.Sequence*s.Microbatch, s.Schedule)
}
