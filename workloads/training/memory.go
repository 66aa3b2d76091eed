package training

import (
	"cmp"
	"fmt"
)

// Memory is what a GPU of a stage holds when it holds most, in bytes.
type Memory struct {
	State       float64 // weights, gradients, and the optimizer's copy of weights and two moments, which replicas divide by Sharding
	Activations float64 // of micro-batches whose backward pass has yet to come
	InFlight    int     // how many these are, of all chunks
}

// optimizerBytes is what the optimizer holds of a parameter: a weight and Adam's two moments of 4 bytes each
// (Rajbhandari et al. 2020, Sec. 3.1).
const optimizerBytes = 12

// Memory returns what a GPU of a stage holds.
func (s *Spec) Memory(stage int) (m Memory) {
	gpus, tp := float64(s.StageGPUs()), float64(s.TP)
	// by what is divided among all that synchronise, and what is not
	whole, sharded := float64(s.Choices.ParameterBytes+s.Choices.GradientBytes), float64(optimizerBytes)
	shardIf := func(bytes int, condition bool) {
		if condition {
			whole, sharded = whole-float64(bytes), sharded+float64(bytes)
		}
	}
	shardIf(s.Choices.GradientBytes, s.scattersGradients())
	shardIf(s.Choices.ParameterBytes, s.gathersParameters())
	shardIf(-optimizerBytes, s.Sharding == ShardNothing)
	activations := make([]float64, s.Chunks)
	for c := range s.Chunks {
		v := c*s.PP + stage
		copies := float64(s.Replicas() * s.Copies())
		experts := s.expertParameters(v)
		rest := (s.Parameters(v) - experts) * gpus / tp // in each of the tensor-parallel groups of a stage
		m.State += experts*(whole+sharded/copies) + rest*(whole+sharded/(copies*gpus/tp))
		activations[c] = s.activationMemory(v)
	}
	sum, n := 0.0, 0
	for _, o := range s.Program(stage) {
		switch o.Kind {
		case ForwardPass:
			sum += activations[o.Chunk]
			n++
		case BackwardPass, WeightGradientPass:
			sum -= activations[o.Chunk]
			n--
		}
		m.Activations, m.InFlight = max(m.Activations, sum), max(m.InFlight, n)
	}
	return m
}

// activationMemory returns the bytes that a GPU holds of a micro-batch's forward pass through virtual stage v for its
// backward pass. For numbers of 2 bytes, multi-head attention and a feed-forward network of four times the width h, a
// layer of a whole model holds 34h per token (Korthikanti et al. 2022, Eq. 1 to 4 and Sec. 5). If StoreScores is set it
// also holds 5 bytes per head and pair of tokens, as attention does that is not computed block by block (FlashAttention;
// Dao et al. 2022). A token's copies for its experts are spread over the GPUs of a stage evenly.
func (s *Spec) activationMemory(v int) float64 {
	a, c := &s.Arch, &s.Choices
	_, layers := s.layers(v)
	number, h, tp := float64(c.ActivationBytes), float64(a.Hidden), float64(s.TP)
	tokens := s.microbatchTokens() / float64(s.ContextRanks())
	serial := 1.0 // the part that every tensor-parallel rank holds of what is not divided among them
	if c.SequenceParallel {
		serial = 1 / tp
	}
	if s.Recompute == "full" {
		return layers * tokens * number * h * serial // a layer's input
	}
	// inputs of both norms, of attention and of the network, and two masks of a byte
	each := (4*number + 2) * h * serial
	heads := float64(a.Heads)
	if a.Attention == "mla" {
		each += number * float64(a.QRank+a.KVRank+a.RopeDim) * serial
		each += number * heads * float64(2*(a.NopeDim+a.RopeDim)+2*a.ValueDim) / tp
	} else { // a rank has at least one head of keys and values
		each += number * float64(a.HeadDim) * (2*heads/tp + 2*max(1, float64(a.KVHeads)/tp))
	}
	if s.StoreScores && s.Recompute != "selective" {
		each += (2*number + 1) * heads * s.attendedTokens() / tp
	}
	experts := s.ExpertLayers(v)
	network := (layers - experts) * number * a.ffnMatrices() * float64(a.FFN)
	network += experts * number * (a.ffnMatrices()*float64(a.ExpertFFN)*float64(a.TopK+a.SharedExperts) + h*float64(a.TopK*max(1, s.ETP)))
	return tokens * (layers*each + network/tp)
}

// attendedTokens returns the tokens that a token has scores for, on the mean of all layers: the whole sequence, or those
// that an index selects.
func (s *Spec) attendedTokens() float64 {
	a, tokens := &s.Arch, float64(s.Sequence)
	if a.Attended == 0 {
		return tokens
	}
	part := float64(cmp.Or(a.AttendedLayers, a.Layers)) / float64(a.Layers)
	return (1-part)*tokens + part*min(tokens, float64(a.Attended))
}

// Words says what a GPU of a stage holds, by size, which writes a number of bytes.
func (m Memory) Words(size func(bytes float64) string) string {
	return fmt.Sprintf("%s a GPU: %s of weights, gradients and optimizer, and activations of up to %d forward passes, %s",
		size(m.State+m.Activations), size(m.State), m.InFlight, size(m.Activations))
}
