package machine

import (
	"math"

	"sim/engine"
	"sim/engine/units"
)

// This file computes the time of kernels of one GPU: matrix products, attention, and operators
// that only move data.
//
// Sources:
//
//   - tiles and waves: NVIDIA, "Matrix Multiplication Background User's Guide", Sec. 3 and 4
//   - roofline: Williams et al., "Roofline: An Insightful Visual Performance Model", CACM 2009
//   - attention: Dao, "FlashAttention-2", 2023; Shah et al., "FlashAttention-3", 2024

// GPU describes the speed of one GPU, or of one TPU chip. All peak rates are rates for dense
// matrices.
type GPU struct {
	Multiprocessors  int         `key:"multiprocessors" doc:"multiprocessors, compute units or TensorCores, which compute one tile of a matrix product each" min:"0" max:"65536" default:"0"`
	Launch           engine.Time `key:"launch" doc:"time of a kernel in addition to its work: start and end" default:"0s" min:"0"`
	Memory           units.Rate  `key:"memory_bandwidth" doc:"memory bandwidth by the data sheet" default:"0bps" max:"1e18"`
	MemoryEfficiency float64     `key:"memory_efficiency" doc:"share of the memory bandwidth that kernels reach" default:"0.0" max:"1"`
	// Peak has 1e12 operations per second, Efficiency the reached shares of Peak.
	Peak       Precisions `table:"peak" doc:"Peak rates of matrix products by precision, in 1e12 operations per second."`
	Efficiency Precisions `table:"efficiency" doc:"Shares of the peak rates that large matrix products reach."`
	Attention  Attention  `table:"attention" doc:"Rates of fused attention kernels."`
	Host       units.Rate `key:"host_bandwidth" doc:"rate of the link to the host in each direction by the data sheet" default:"0bps" max:"1e18"`
}

// Precisions holds a number for each precision of matrix products. 0 means that the number is
// not known.
type Precisions struct {
	BF16  float64 `key:"bf16" doc:"BF16 and FP16" default:"0.0" max:"1000000"`
	FP8   float64 `key:"fp8" doc:"FP8 with a scale per tensor" default:"0.0" max:"1000000"`
	MXFP8 float64 `key:"mxfp8" doc:"FP8 with a scale per 32 numbers" default:"0.0" max:"1000000"`
	NVFP4 float64 `key:"nvfp4" doc:"FP4 with a scale per 16 numbers" default:"0.0" max:"1000000"`
}

// Attention describes fused attention kernels. A kernel computes two matrix products and one
// exponential per pair of tokens and head. The two alternate, so their times add up.
type Attention struct {
	Forward      float64 `key:"forward" doc:"share of the BF16 peak rate that the matrix products of a forward pass reach" default:"0.0" max:"1"`
	Backward     float64 `key:"backward" doc:"share of the BF16 peak rate that the matrix products of a backward pass reach" default:"0.0" max:"1"`
	Flash2       float64 `key:"flash2" doc:"share of the BF16 peak rate that the matrix products of a forward pass of FlashAttention 2 reach, which uses the instructions of Ampere" default:"0.0" max:"1"`
	Exponentials float64 `key:"exponentials" doc:"exponentials per second, in 1e12" default:"0.0" max:"1000000"`
}

// Passes of attention without a fused kernel over the scores in memory: the first product writes
// them, softmax and dropout read and write them, and the second product reads them; in the backward pass
// likewise for gradients and stored scores (Korthikanti et al. 2022, Sec. 4.1).
const (
	unfusedForward  = 6
	unfusedBackward = 10
)

// UnfusedAttentionTime returns the seconds of attention whose scores are in memory in BF16, between
// separate kernels. The backward pass has two products for each of the forward pass.
func (g *GPU) UnfusedAttentionTime(s Scores, backward bool) float64 {
	flops, passes := s.FLOPs, float64(unfusedForward)
	if backward {
		flops, passes = 2*flops, unfusedBackward
	}
	const kernels, bytesPerScore = 4, 2
	return kernels*g.Launch.Seconds() + flops/g.GEMMRate(BF16) + g.transfer(passes*bytesPerScore*s.Pairs)
}

// WithFlash2 returns the rates of FlashAttention 2. Its backward pass is slower than the fastest one in
// the same proportion as its forward pass.
func (a Attention) WithFlash2() Attention {
	a.Backward, a.Forward = a.Backward*a.Flash2/a.Forward, a.Flash2
	return a
}

// Precision is the number format of a matrix product.
type Precision string

// The precisions of matrix products.
const (
	BF16  Precision = "bf16"
	FP8   Precision = "fp8"
	MXFP8 Precision = "mxfp8"
	NVFP4 Precision = "nvfp4"
)

// Bytes returns the bytes of a number, with its share of the scales.
func (p Precision) Bytes() float64 {
	switch p {
	case FP8:
		return 1
	case MXFP8:
		return 1 + 1./32
	case NVFP4:
		return 0.5 + 1./16
	}
	return 2
}

// Of returns the number for precision p.
func (x *Precisions) Of(p Precision) float64 {
	switch p {
	case FP8:
		return x.FP8
	case MXFP8:
		return x.MXFP8
	case NVFP4:
		return x.NVFP4
	}
	return x.BF16
}

// CheckKernels returns the error of Missing for the first number that the kernels of a training
// step with matrix products of the given precisions need and the profile does not have.
func (p *Profile) CheckKernels(precisions ...Precision) error {
	g, a := &p.GPU, &p.GPU.Attention
	const products, memory, attention = "rates of matrix products", "the memory bandwidth of kernels", "rates of attention"
	type number struct {
		value             float64
		key, measurements string
	}
	numbers := []number{
		{float64(g.Multiprocessors), "multiprocessors", products},
		{float64(g.Memory), "memory_bandwidth", memory},
		{g.MemoryEfficiency, "memory_efficiency", memory},
		{a.Forward, "attention.forward", attention},
		{a.Backward, "attention.backward", attention},
		{a.Exponentials, "attention.exponentials", attention},
	}
	for _, precision := range precisions {
		numbers = append(numbers, number{g.Peak.Of(precision), "peak." + string(precision), products},
			number{g.Efficiency.Of(precision), "efficiency." + string(precision), products})
	}
	for _, n := range numbers {
		if n.value == 0 {
			return p.Missing("gpu."+n.key, n.measurements)
		}
	}
	return nil
}

// tile is the width and height of the part of a matrix product that a multiprocessor computes at
// a time.
const tile = 128

// Bytes of a number of the result of a matrix product: written in BF16, or added to a sum in FP32.
const (
	outputBytes      = 2
	accumulatedBytes = 4 + 4
)

// Product is a matrix product of an m x k and a k x n matrix, computed Count times by one kernel.
// The sizes may be fractions: averages of several products.
type Product struct {
	M, N, K, Count float64
	Precision      Precision
	Accumulates    bool // adds the result to a sum in FP32
}

// FLOPs returns the operations of the product: a multiplication and an addition for each number
// of the first matrix and column of the second.
func (p *Product) FLOPs() float64 { return 2 * p.M * p.N * p.K * p.Count }

// Bytes returns the bytes of both factors and the result.
func (p *Product) Bytes() float64 {
	output := float64(outputBytes)
	if p.Accumulates {
		output = accumulatedBytes
	}
	return p.Count * (p.Precision.Bytes()*(p.M*p.K+p.K*p.N) + output*p.M*p.N)
}

// GEMMTime returns the seconds of a matrix product.
//
// The result is divided into tiles of 128 x 128 numbers. In each wave, every multiprocessor
// computes one tile, at its share of the reached rate. A tile at the edge, and a last wave with
// few tiles, take as long as complete ones. At the same time, both factors are read and the
// result is written.
func (g *GPU) GEMMTime(p Product) float64 {
	tiles := math.Ceil(p.M/tile) * math.Ceil(p.N/tile) * math.Ceil(p.Count)
	waves := math.Ceil(tiles / float64(g.Multiprocessors))
	perTile := 2 * tile * tile * p.K / (g.GEMMRate(p.Precision) / float64(g.Multiprocessors))
	return g.kernel(waves*perTile, p.Bytes())
}

// GEMMRate returns the operations per second that large matrix products reach.
func (g *GPU) GEMMRate(p Precision) float64 { return g.Peak.Of(p) * 1e12 * g.Efficiency.Of(p) }

// kernel returns the seconds of a kernel that computes for the given seconds and moves the given
// bytes. Arithmetic and transfers overlap only in part: the time is the root of the sum of the
// squares of both times, between their maximum (complete overlap) and their sum (none).
func (g *GPU) kernel(arithmetic, bytes float64) float64 {
	return g.Launch.Seconds() + math.Hypot(arithmetic, g.transfer(bytes))
}

// transfer returns the seconds in which the memory moves the given bytes.
func (g *GPU) transfer(bytes float64) float64 {
	return 8 * bytes / (float64(g.Memory) * g.MemoryEfficiency)
}

// MemoryTime returns the seconds of a kernel that only moves data.
func (g *GPU) MemoryTime(bytes float64) float64 { return g.Launch.Seconds() + g.transfer(bytes) }

// Scores describes the attention of one or more sequences: pairs of tokens, summed over heads, and
// the bytes of queries, keys, values and outputs.
type Scores struct {
	Pairs float64 // pairs of a query and a key, for each head
	FLOPs float64 // operations of both matrix products of the forward pass
	Bytes float64
}

// BackwardProducts is the number of matrix products of the backward pass of attention, per product
// of the forward pass: five for two (Dao 2023, Sec. 2.3).
const BackwardProducts = 2.5

// AttentionTime returns the seconds of a fused attention kernel. The backward pass computes the
// exponentials again.
func (g *GPU) AttentionTime(s Scores, backward bool) float64 {
	flops, share, bytes := s.FLOPs, g.Attention.Forward, s.Bytes
	if backward { // it also reads the gradients of the outputs and writes the gradients of the inputs
		flops, share, bytes = flops*BackwardProducts, g.Attention.Backward, 2*bytes
	}
	matrix := flops / (g.Peak.BF16 * 1e12 * share)
	return g.kernel(matrix+s.Pairs/(g.Attention.Exponentials*1e12), bytes)
}
