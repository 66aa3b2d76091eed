// This file lists the kernels of a pass: the matrix products of layers with their shapes, attention,
// and operators that only move data. Spec.GPU gives their times.
//
// The gradients of a product of an m x k and a k x n matrix are two products: m x n x k for the
// input and k x m x n for the weights.

package training

import (
	"sim/fabric/machine"
)

// gpuTokens returns the number of tokens per micro-batch and GPU of a stage.
func (s *Spec) gpuTokens() float64 {
	return s.microbatchTokens() * float64(s.Choices.ConcurrentMicrobatches) / float64(s.StageGPUs())
}

// vectorWidth returns the total length of the vectors between the matrices of attention, per token:
// queries and outputs of all heads, keys and values of the key-value heads.
func (a *Architecture) vectorWidth() float64 {
	if a.Attention == "mla" {
		return float64(a.Heads) * float64(2*(a.NopeDim+a.RopeDim)+2*a.ValueDim)
	}
	return 2 * float64(a.HeadDim) * float64(a.Heads+a.KVHeads)
}

// projections returns the matrix products of attention in a layer, on one GPU. Tensor-parallel
// GPUs divide the heads; each compresses queries, keys and values (MLA) for its own tokens.
func (s *Spec) projections() (all []machine.Product) {
	a, tp, tokens := &s.Arch, float64(s.TP), s.gpuTokens()
	hidden, heads := float64(a.Hidden), float64(a.Heads)
	add := func(m, n, k float64) {
		all = append(all, machine.Product{M: m, N: n, K: k, Count: 1, Precision: machine.Precision(s.Formats.Projections)})
	}

	indexFrom := hidden // width of the vector from which the queries of the index are computed
	if a.Attention == "mla" {
		q, kv := float64(a.QRank), float64(a.KVRank)
		nope, rope, value := float64(a.NopeDim), float64(a.RopeDim), float64(a.ValueDim)
		add(tokens, q, hidden)
		add(tokens, kv+rope, hidden)
		add(tokens*tp, heads*(nope+rope)/tp, q)
		add(tokens*tp, heads*(nope+value)/tp, kv)
		add(tokens*tp, hidden, heads*value/tp)
		indexFrom = q
	} else {
		d := float64(a.HeadDim)
		add(tokens*tp, (heads+2*float64(a.KVHeads))*d/tp, hidden)
		add(tokens*tp, hidden, heads*d/tp)
	}
	if a.IndexHeads > 0 {
		add(tokens, float64(a.IndexHeads*a.IndexDim), indexFrom)
		add(tokens, float64(a.IndexDim+a.IndexHeads), hidden)
	}
	return all
}

// network returns the matrix products of a feed-forward network of the given inner width that
// tensor-parallel GPUs divide, on one GPU. Both first matrices of a gated network are one.
func (s *Spec) network(width int, format string) []machine.Product {
	inner := float64(width) / float64(s.TP)
	return feedForward(&s.Arch, s.gpuTokens()*float64(s.TP), inner, 1, format)
}

// feedForward returns the matrix products of count feed-forward networks, each for the given tokens.
func feedForward(a *Architecture, tokens, inner, count float64, format string) []machine.Product {
	hidden, first := float64(a.Hidden), a.ffnMatrices()-1 // matrices before the activation
	p := machine.Precision(format)
	return []machine.Product{
		{M: tokens, N: first * inner, K: hidden, Count: count, Precision: p},
		{M: tokens, N: hidden, K: inner, Count: count, Precision: p},
	}
}

// experts returns the matrix products of a layer with experts, on one GPU: the router, the routed
// experts of the GPU, with an equal share of the tokens each, and the shared experts.
func (s *Spec) experts() []machine.Product {
	a := &s.Arch
	all := []machine.Product{{M: s.gpuTokens(), N: float64(a.Experts), K: float64(a.Hidden), Count: 1, Precision: machine.BF16}}
	perExpert := s.gpuTokens() * float64(s.StageGPUs()*a.TopK) / float64(a.Experts)
	all = append(all, feedForward(a, perExpert, float64(a.ExpertFFN)/float64(max(1, s.ETP)),
		float64(a.Experts)/float64(s.EP), s.Formats.Experts)...)
	if a.SharedExperts > 0 {
		all = append(all, s.network(a.SharedExperts*a.ExpertFFN, s.Formats.Experts)...)
	}
	return all
}

// head returns the matrix product of the output head, on one GPU.
func (s *Spec) head() []machine.Product {
	tp := float64(s.TP)
	return []machine.Product{{M: s.gpuTokens() * tp, N: float64(s.Arch.Vocab) / tp, K: float64(s.Arch.Hidden),
		Count: 1, Precision: machine.Precision(s.Formats.HeadPrecision)}}
}

// profileParts returns the times of the parts of a pass on the GPU of a profile. A backward pass
// computes both gradients, the pass WeightGradients only the gradients of weights.
func (s *Spec) profileParts(pass Phase) (p passParts) {
	a, tp, tokens := &s.Arch, float64(s.TP), s.gpuTokens()
	hidden, tensorTokens := float64(a.Hidden), tokens*tp

	// moves returns the time of kernels that together move the given numbers in a forward and
	// in a backward pass.
	moves := func(kernels int, forward, backward float64) float64 {
		numbers := forward
		switch pass {
		case Backward:
			numbers = backward
		case WeightGradients:
			return 0
		}
		return s.GPU.MemoryTime(numbers*float64(s.Choices.ActivationBytes)) + float64(kernels-1)*s.GPU.Launch.Seconds()
	}

	// A normalisation reads and writes a vector per token, its gradient reads the vector and
	// the gradient of the output and writes the gradient of the input. A residual addition reads
	// two vectors and writes one.
	norm := tokens
	if !s.Choices.SequenceParallel {
		norm = tensorTokens
	}
	p.norms = moves(4, hidden*(2*2*norm+2*3*tokens), hidden*(2*3*norm+2*3*tokens))

	// Queries and keys are rotated: read and written.
	rotated := 2 * a.vectorWidth() / 2 * tensorTokens / tp
	p.attention = s.products(s.projections(), pass) + moves(1, rotated, rotated)
	if pass != WeightGradients {
		gpu, work := *s.GPU, s.scoreWork()
		switch s.Speed.AttentionKernel {
		case "unfused":
			p.scores = gpu.UnfusedAttentionTime(work, pass == Backward)
		case "flash2":
			gpu.Attention = gpu.Attention.WithFlash2()
			fallthrough
		default:
			p.scores = gpu.AttentionTime(work, pass == Backward)
		}
	}

	// The activation of a network reads the results of its first matrices and writes their
	// product. Its gradient reads the results and the gradient of the product, and writes the
	// gradients of the results.
	activation := func(innerNumbers float64) float64 {
		first := a.ffnMatrices() - 1
		return moves(1, (first+1)*innerNumbers, (2*first+1)*innerNumbers)
	}
	p.network = s.products(s.network(a.FFN, s.Formats.Precision), pass) + activation(tokens*float64(a.FFN))

	// Copies of a token for its experts are written before the dispatch, sorted by expert after it,
	// and likewise after the experts.
	if a.Experts > 0 {
		copies, inner := float64(a.TopK), float64(a.TopK+a.SharedExperts)*float64(a.ExpertFFN)
		sorted := hidden * tokens * (2*(1+copies) + 4*copies)
		p.experts = s.products(s.experts(), pass) + activation(tokens*inner) + moves(4, sorted, sorted)
	}

	// The loss reads a number per word of the vocabulary and writes its gradient, in FP32.
	p.embedding = moves(1, 2*hidden*tokens, 2*hidden*tokens)
	logits := tokens * float64(a.Vocab)
	p.head = s.products(s.head(), pass) + moves(1, 3*logits, 3*logits)
	return p
}

// products returns the time of the matrix products of a forward pass, or of their gradients.
// Gradients of weights are added to a sum in FP32. Numbers in other formats than BF16 are converted
// by kernels of their own, which read BF16 and write both the matrix and its transpose.
func (s *Spec) products(forward []machine.Product, pass Phase) (sum float64) {
	for _, p := range forward {
		converted := 0.0 // numbers: inputs in a forward pass, gradients of outputs in a backward pass
		switch pass {
		case Forward:
			sum += s.GPU.GEMMTime(p)
			converted = p.M * p.K
		case Backward:
			input := p
			input.N, input.K = p.K, p.N
			sum += s.GPU.GEMMTime(input)
			converted = p.M * p.N
			fallthrough
		case WeightGradients:
			weights := p
			weights.M, weights.N, weights.K, weights.Accumulates = p.K, p.N, p.M, true
			sum += s.GPU.GEMMTime(weights)
		}
		if p.Precision.Bytes() < machine.BF16.Bytes() && converted > 0 {
			sum += s.GPU.MemoryTime(p.Count * converted * (machine.BF16.Bytes() + 2*p.Precision.Bytes()))
		}
	}
	return sum
}

// scoreWork returns the attention of a layer, on one GPU.
//
// With a contiguous split of the sequence and causal attention, the GPU with the last of c parts has
// the largest number of pairs: its tokens attend to c-1/2 parts on average, and all tokens to c/2.
func (s *Spec) scoreWork() machine.Scores {
	a, tokens := &s.Arch, s.gpuTokens()
	flops := s.scoreFLOPs() * tokens
	if c := float64(s.ContextRanks()); s.ContextSplit == ContiguousSplit && s.Choices.AttentionFLOPs == "causal" {
		flops *= (2*c - 1) / c
	}
	return machine.Scores{
		FLOPs: flops,
		// A pair takes 4 operations per unit of the width of a head (scoreFLOPs).
		Pairs: flops * float64(a.Heads) / (4 * a.AttentionWidth()),
		Bytes: tokens * a.vectorWidth() * float64(s.Choices.ActivationBytes),
	}
}

// ContiguousSplit is the value of Spec.ContextSplit if each context-parallel rank has consecutive
// tokens.
const ContiguousSplit = "contiguous"

// optimizerSeconds returns the time of the optimizer of a stage on the GPU of a profile. Per
// parameter, Adam reads gradient, weight and two moments of 4 bytes each and writes weight and moments
// and the parameter. The norm of the gradients reads each gradient once.
func (s *Spec) optimizerSeconds(stage int) float64 {
	if s.Frozen {
		return 0
	}
	perParameter := float64(4*4 + 3*4 + s.Choices.ParameterBytes + 4)
	sum := 0.0
	for c := range s.Chunks {
		sum += s.optimizedParameters(c*s.PP + stage)
	}
	return s.GPU.MemoryTime(sum * perParameter)
}

// optimizedParameters returns the number of parameters of virtual stage v that the optimizer of a GPU
// updates: all that the GPU holds, or its shard.
func (s *Spec) optimizedParameters(v int) float64 {
	experts := s.expertParameters(v)
	stageCopies := float64(s.StageGPUs()) / float64(s.TP)
	rest := (s.Parameters(v) - experts) * stageCopies
	if s.Sharding == ShardNothing {
		return experts + rest
	}
	copies := float64(s.Replicas() * s.ModelCopies())
	return experts/copies + rest/(copies*stageCopies)
}
