package accuracy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sim/fabric/machine"
)

// Parts of the model of kernels.
const (
	gemmWaves     = "gemm-waves"     // tiles, waves and launches of matrix products, instead of a roofline
	attentionRate = "attention-rate" // a rate of attention of its own, instead of the rate of matrix products
)

// bestShape is the rate of the best of many shapes of matrix products, measured in short runs, over
// the rate of large products of any shape under constant load. Both were measured on A100
// (K-MAMF-bf16-002 and K-AZ-GEMM-A100_v4-*).
const bestShape = 1 / 0.9

// linkEfficiency is the share of the rate of a link to the host that copies reach: payloads of 256
// bytes, headers and acknowledgements.
const linkEfficiency = 0.86

// precisionOf returns the precision that the text of a row names, such as fp8_e4m3, or "".
func precisionOf(text string) machine.Precision {
	contains := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(strings.ToLower(text), part) })
	}
	switch {
	case contains("fp4", "e2m1"):
		return machine.NVFP4
	case contains("mxfp8"):
		return machine.MXFP8
	case contains("fp8", "f8", "float8", "e4m3", "e5m2"):
		return machine.FP8
	case contains("fp16", "bf16", "float16", "half"):
		return machine.BF16
	}
	return ""
}

// predictGEMM predicts the rate or the time of a matrix product.
func predictGEMM(_ context.Context, r *Row, name string, opt *Options) (float64, error) {
	p, err := opt.profile(name)
	if err != nil {
		return 0, err
	}
	var x machine.Product
	for _, size := range []struct {
		name  string
		value *float64
	}{{"m", &x.M}, {"n", &x.N}, {"k", &x.K}} {
		if *size.value, err = r.Parameters.Number(size.name); err != nil {
			return 0, err
		}
	}
	count, err := r.Parameters.Count("batch", 1)
	if err != nil {
		return 0, err
	}
	x.Count = float64(count)
	format := precisionOf(r.Parameters["dtype"])
	if format == "" {
		return 0, fmt.Errorf("the number format %q has no rate in profiles", r.Parameters["dtype"])
	}
	x.Precision = format
	if err := p.CheckKernels(format); err != nil {
		return 0, err
	}

	seconds := p.GPU.GEMMTime(x)
	if opt.Omits(gemmWaves) {
		seconds = max(x.FLOPs()/p.GPU.GEMMRate(format), p.GPU.MemoryTime(x.Bytes())-p.GPU.Launch.Seconds())
	}
	if r.Metric == "max_rate" {
		seconds /= bestShape
	}
	return inUnit(r, seconds, x.FLOPs(), x.Bytes())
}

// inUnit returns a time in the unit of the row, or the rate of operations or bytes in this time.
func inUnit(r *Row, seconds, flops, bytes float64) (float64, error) {
	switch r.Unit {
	case "s":
		return seconds, nil
	case "ms":
		return seconds * 1e3, nil
	case "us":
		return seconds * 1e6, nil
	case "TFLOP/s":
		return flops / seconds / 1e12, nil
	case "TB/s":
		return bytes / seconds / 1e12, nil
	case "GB/s":
		return bytes / seconds / 1e9, nil
	}
	return 0, fmt.Errorf("the unit %q is no time and no rate of a kernel", r.Unit)
}

// largeCopy is the size of copies and streams whose rows do not state it, in bytes. Launches then do
// not count.
const largeCopy = 1e12

// predictKernel predicts attention, streams through memory, and copies to the host and between GPUs.
func predictKernel(_ context.Context, r *Row, name string, opt *Options) (float64, error) {
	p, err := opt.profile(name)
	if err != nil {
		return 0, err
	}
	g := &p.GPU
	switch op := r.Parameters["op"]; {
	case strings.HasPrefix(op, "attention"):
		return predictAttention(r, p, opt)
	case strings.HasPrefix(op, "stream_"):
		if err := p.CheckKernels(); err != nil {
			return 0, err
		}
		return inUnit(r, g.MemoryTime(largeCopy), 0, largeCopy)
	case op == "copy_host_to_device" || op == "copy_device_to_host":
		if g.Host == 0 {
			return 0, p.Missing("gpu.host_bandwidth", "the rate of copies to the host")
		}
		return inUnit(r, largeCopy*8/(float64(g.Host)*linkEfficiency), 0, largeCopy)
	case strings.HasPrefix(op, "copy_device_to_device"):
		// The benchmark copies in both directions at the same time and adds both rates.
		return inUnit(r, largeCopy*8/(2*float64(p.HostBandwidth())), 0, largeCopy)
	}
	return 0, fmt.Errorf("the operator %q has no model", r.Parameters["op"])
}

// Sizes of attention whose rows do not state them: the width of the model and the tokens in the
// benchmark of FlashAttention.
const (
	defaultAttentionWidth  = 2048
	defaultAttentionTokens = 16384
)

// predictAttention predicts the rate or the time of attention. The backward pass counts 2.5 times
// the operations of the forward pass.
func predictAttention(r *Row, p *machine.Profile, opt *Options) (float64, error) {
	if err := p.CheckKernels(machine.BF16); err != nil {
		return 0, err
	}
	var err error
	count := func(name string, missing int) float64 {
		n, errCount := r.Parameters.Count(name, missing)
		if errCount != nil {
			err = errCount
		}
		return float64(n)
	}
	width := count("head_dim", 128)
	heads, tokens := count("heads", max(1, defaultAttentionWidth/int(width))), count("seq", 8192)
	batch := count("batch", max(1, defaultAttentionTokens/int(tokens)))
	if err != nil {
		return 0, err
	}
	s := machine.Scores{Pairs: batch * heads * tokens * tokens, Bytes: 2 * 4 * batch * heads * tokens * width}
	if causal := r.Parameters["causal"]; causal == "true" || causal == "yes" || causal == "1" {
		s.Pairs /= 2
	}
	s.FLOPs = 4 * s.Pairs * width

	// A kernel that is not fused writes the scores to memory, and reads and writes them for the
	// exponentials.
	g, flops := p.GPU, s.FLOPs
	kernel := strings.ToLower(r.Parameters["kernel"])
	backward := strings.Contains(r.Parameters["op"], "backward")
	if opt.Omits(attentionRate) {
		g.Attention.Forward, g.Attention.Backward, g.Attention.Flash2 = g.Efficiency.BF16, g.Efficiency.BF16, g.Efficiency.BF16
		g.Attention.Exponentials = 1e6
	}
	switch {
	case strings.Contains(kernel, "standard") && !backward:
		scores := machine.Product{M: tokens, N: tokens, K: width, Count: batch * heads, Precision: machine.BF16}
		values := machine.Product{M: tokens, N: width, K: tokens, Count: batch * heads, Precision: machine.BF16}
		return inUnit(r, g.GEMMTime(scores)+g.MemoryTime(2*2*s.Pairs)+g.GEMMTime(values), flops, s.Bytes)
	case strings.Contains(kernel, "standard"):
		return 0, fmt.Errorf("the backward pass of attention that is not fused has no model")
	case strings.Contains(kernel, "flash") && strings.Contains(kernel, "2") && !backward:
		g.Attention.Forward = g.Attention.Flash2
		if g.Attention.Forward == 0 {
			return 0, p.Missing("gpu.attention.flash2", "rates of FlashAttention 2")
		}
	}
	if backward {
		flops *= machine.BackwardProducts
	}
	return inUnit(r, g.AttentionTime(s, backward), flops, s.Bytes)
}
