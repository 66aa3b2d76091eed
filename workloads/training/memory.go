// This file computes the memory that a GPU of a stage needs. Activations follow Korthikanti et
// al., "Reducing Activation Recomputation in Large Transformer Models", 2022. The state of
// the optimizer and its sharding follow Rajbhandari et al., "ZeRO: Memory Optimizations
// Toward Training Trillion Parameter Models", 2020.

package training

import (
	"cmp"
	"fmt"
)

// Memory is the peak memory use of a GPU of a stage, in bytes.
type Memory struct {
	// State is the memory of weights, gradients and optimizer: a copy of the weights and
	// two moments. Spec.Sharding divides parts of it among replicas.
	State       float64
	Activations float64 // activations of forward passes whose backward pass has not ended
	InFlight    int     // maximum number of these forward passes, summed over all chunks
}

// optimizerBytes is the optimizer state per parameter: a weight and Adam's two moments of
// 4 bytes each (Rajbhandari et al. 2020, Sec. 3.1).
const optimizerBytes = 12

// Memory returns the peak memory use of a GPU of a stage.
func (s *Spec) Memory(stage int) (m Memory) {
	gpus, tp := float64(s.StageGPUs()), float64(s.TP)

	// Bytes per parameter that each copy of the parameter has, and bytes per parameter that
	// are divided among all copies.
	replicated, sharded := float64(s.Choices.ParameterBytes+s.Choices.GradientBytes), float64(optimizerBytes)
	shardIf := func(bytes int, condition bool) { // a negative number of bytes becomes replicated
		if condition {
			replicated, sharded = replicated-float64(bytes), sharded+float64(bytes)
		}
	}

	shardIf(s.Choices.GradientBytes, s.scattersGradients())
	shardIf(s.Choices.ParameterBytes, s.gathersParameters())
	shardIf(-optimizerBytes, s.Sharding == ShardNothing)

	// Sum the state over the chunks of the stage.
	activations := make([]float64, s.Chunks)
	for c := range s.Chunks {
		v := c*s.PP + stage
		copies := float64(s.Replicas() * s.ModelCopies())
		experts := s.expertParameters(v)
		rest := (s.Parameters(v) - experts) * gpus / tp // copied in each tensor-parallel group
		if s.ExtraExperts > 0 {
			experts *= 1 + float64(s.ExtraExperts)/float64(s.Arch.Experts)
		}
		m.State += experts*(replicated+sharded/copies) + rest*(replicated+sharded/(copies*gpus/tp))
		activations[c] = s.activationMemory(v)
	}

	// Follow the stage's program and record the maximum of the activations.
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

// activationMemory returns the bytes that a GPU stores from one micro-batch's forward
// pass through virtual stage v until its backward pass.
//
// With 2-byte numbers, multi-head attention and a feed-forward network of width 4h, one
// layer stores 34h bytes per token in total (Korthikanti et al. 2022, Eq. 1 to 4 and Sec.
// 5). With StoreScores it stores 5 more bytes per head and pair of tokens, as attention
// does that is not computed block by block (unlike FlashAttention; Dao et al. 2022). The
// copies of a token for its experts are assumed to be spread evenly over the GPUs of a
// stage.
func (s *Spec) activationMemory(v int) float64 {
	a, c := &s.Arch, &s.Choices
	_, layers := s.layers(v)
	number, h, tp := float64(c.ActivationBytes), float64(a.Hidden), float64(s.TP)
	tokens := s.microbatchTokens() / float64(s.ContextRanks())

	serial := 1.0 // fraction of the serial activations per tensor-parallel rank
	if c.SequenceParallel {
		serial = 1 / tp
	}
	if s.Recompute == "full" {
		return layers * tokens * number * h * serial // only the input of each layer
	}

	// The inputs of both norms, of attention and of the network, and two masks of one byte
	// per number.
	perToken := (4*number + 2) * h * serial

	// Queries, keys, values and the output of attention.
	heads := float64(a.Heads)
	if a.Attention == "mla" {
		perToken += number * float64(a.QRank+a.KVRank+a.RopeDim) * serial
		perToken += number * heads * float64(2*(a.NopeDim+a.RopeDim)+2*a.ValueDim) / tp
	} else { // each rank has at least one head of keys and values
		perToken += number * float64(a.HeadDim) * (2*heads/tp + 2*max(1, float64(a.KVHeads)/tp))
	}
	if s.StoreScores && s.Recompute != "selective" {
		perToken += (2*number + 1) * heads * s.attendedTokens() / tp
	}

	experts := s.ExpertLayers(v)
	network := (layers - experts) * number * a.ffnMatrices() * float64(a.FFN)
	network += experts * number * (a.ffnMatrices()*float64(a.ExpertFFN)*float64(a.TopK+a.SharedExperts) +
		h*float64(a.TopK*max(1, s.ETP)))
	return tokens * (layers*perToken + network/tp)
}

// attendedTokens returns the number of tokens to which a token attends, averaged over all
// layers: the whole sequence, or the tokens in a window or selected by an index.
func (s *Spec) attendedTokens() float64 {
	a, tokens := &s.Arch, float64(s.Sequence)
	if a.Attended == 0 {
		return tokens
	}
	part := float64(cmp.Or(a.AttendedLayers, a.Layers)) / float64(a.Layers)
	return (1-part)*tokens + part*min(tokens, float64(a.Attended))
}

// Words describes the memory of a GPU in one line. The function size formats a number of
// bytes.
func (m Memory) Words(size func(bytes float64) string) string {
	return fmt.Sprintf("%s a GPU: %s of weights, gradients and optimizer, and activations of up to %d forward passes, %s",
		size(m.State+m.Activations), size(m.State), m.InFlight, size(m.Activations))
}
