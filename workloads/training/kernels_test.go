package training

import (
	"math"
	"testing"

	"sim/engine"
	"sim/fabric/machine"
)

// plainGPU computes 100 TFLOP/s without tiles, launches, exponentials and transfers.
func plainGPU() *machine.GPU {
	all := func(x float64) machine.Precisions { return machine.Precisions{BF16: x, FP8: x, MXFP8: x, NVFP4: x} }
	return &machine.GPU{
		Multiprocessors: 1, Memory: 1e30, MemoryEfficiency: 1, Peak: all(100), Efficiency: all(1),
		Attention: machine.Attention{Forward: 1, Backward: 1, Exponentials: 1e12},
	}
}

// kernelModels are jobs whose matrix products have sizes that are multiples of a tile.
func kernelModels() map[string]Spec {
	dense := tinySpec(OneFOneB, 2, 4, 2)
	dense.Sequence, dense.Choices.AttentionFLOPs = 4096, "causal"
	dense.Choices.Embedding, dense.Choices.StageSplit = true, "layers"
	dense.Compute, dense.GPU = Profile, plainGPU()
	dense.Arch = Architecture{Layers: 4, Hidden: 1024, Vocab: 8192, Attention: "gqa", Heads: 16, KVHeads: 4, HeadDim: 128, FFN: 4096, Gated: true}
	plain := dense
	plain.Arch.Gated = false
	latent := dense
	latent.Arch = Architecture{Layers: 4, Hidden: 1024, Vocab: 8192, Attention: "mla", Heads: 16, KVHeads: 16, QRank: 512, KVRank: 256,
		RopeDim: 128, NopeDim: 128, ValueDim: 128, FFN: 4096, Gated: true, IndexHeads: 64, IndexDim: 64, Attended: 1024}
	experts := dense
	experts.Arch.Experts, experts.Arch.TopK, experts.Arch.SharedExperts, experts.Arch.ExpertFFN, experts.Arch.DenseLayers = 128, 4, 1, 2048, 1
	experts.EP, experts.ETP, experts.GPUs, experts.Choices.RouterFLOPs = 8, 2, 32, "moe-layers"
	return map[string]Spec{"dense": dense, "without gate": plain, "latent": latent, "experts": experts}
}

// TestKernelFLOPs: without losses, kernels take as long as the operations of the model at the peak
// rate. A backward pass has two products for each of the forward pass, and attention 2.5.
func TestKernelFLOPs(t *testing.T) {
	for name, s := range kernelModels() {
		for v := range s.VirtualStages() {
			effective := s
			effective.Compute, effective.Choices.EffectiveTFLOPS = Effective, 100
			_, scores, forward := effective.attentionTime(v, Forward)
			near := func(what string, got, want float64) {
				if math.Abs(got-want) > 1e-9*want {
					t.Errorf("%s, stage %d: %s takes %g s, want %g s", name, v, what, got, want)
				}
			}
			near("forward", s.ForwardSeconds(v), forward)
			near("backward", s.BackwardSeconds(v), 2*(forward-scores)+2.5*scores)
			near("weights", s.sum(v, s.profileParts(WeightGradients)), forward-scores)
		}
	}
}

// TestKernelKeys: each number of a GPU and each choice changes the time of a pass in its direction.
func TestKernelKeys(t *testing.T) {
	base := kernelModels()["experts"]
	base.CP = 2
	base.GPU.Launch, base.GPU.Memory, base.GPU.Attention.Exponentials = engine.Microsecond, 8e12, 1
	base.Choices.SequenceParallel = true
	step := func(s Spec) (sum float64) {
		for v := range s.VirtualStages() {
			sum += s.ForwardSeconds(v) + s.BackwardSeconds(v)
		}
		return sum + s.optimizerSeconds(1)
	}
	for name, slower := range map[string]func(*Spec){
		"multiprocessors": func(s *Spec) { s.GPU.Multiprocessors = 100_000 }, "launch": func(s *Spec) { s.GPU.Launch *= 2 },
		"memory bandwidth": func(s *Spec) { s.GPU.Memory /= 2 }, "memory efficiency": func(s *Spec) { s.GPU.MemoryEfficiency /= 2 },
		"peak": func(s *Spec) { s.GPU.Peak.BF16 /= 2 }, "efficiency": func(s *Spec) { s.GPU.Efficiency.BF16 /= 2 },
		"forward": func(s *Spec) { s.GPU.Attention.Forward /= 2 }, "backward": func(s *Spec) { s.GPU.Attention.Backward /= 2 },
		"exponentials": func(s *Spec) { s.GPU.Attention.Exponentials /= 2 }, "split": func(s *Spec) { s.ContextSplit = ContiguousSplit },
		"full attention": func(s *Spec) { s.Choices.AttentionFLOPs = "full" }, "sequence": func(s *Spec) { s.Sequence *= 2 },
		"repeated norms": func(s *Spec) { s.Choices.SequenceParallel = false },
	} {
		s, gpu := base, *base.GPU
		s.GPU = &gpu
		slower(&s)
		if got, want := step(s), step(base); got <= want {
			t.Errorf("%s: got %g s, want more than %g s", name, got, want)
		}
	}

	// A format of half the bytes at the same rate costs conversions and saves transfers of weights.
	for name, change := range map[string]func(*Formats){
		"layers": func(f *Formats) { f.Precision = "fp8" }, "projections": func(f *Formats) { f.Projections = "mxfp8" },
		"experts": func(f *Formats) { f.Experts = "nvfp4" }, "head": func(f *Formats) { f.HeadPrecision = "fp8" },
	} {
		s := base
		change(&s.Formats)
		plain := s
		plain.Formats = Formats{}
		if step(s) == step(plain) {
			t.Errorf("%s: the format has no effect on %g s", name, step(s))
		}
	}
}

// TestKernelPasses: passes of a graph take the times of their kernels, and weight gradients are the
// rest of a divided backward pass.
func TestKernelPasses(t *testing.T) {
	for name, s := range kernelModels() {
		whole, err := s.passTimes(1, 0, 2)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := whole.forward.Seconds(), 2*s.ForwardSeconds(1); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: forward takes %g s, want %g s", name, got, want)
		}
		if got, want := whole.backward.Seconds(), 2*s.BackwardSeconds(1); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: backward takes %g s, want %g s", name, got, want)
		}
		if whole.weights <= 0 || whole.weights >= whole.backward {
			t.Errorf("%s: weight gradients take %v of %v", name, whole.weights, whole.backward)
		}
		s.Recompute = "selective"
		selective, err := s.passTimes(1, 0, 2)
		if _, scores, _ := s.attentionTime(1, Forward); err != nil || math.Abs(selective.recompute.Seconds()-2*scores) > 1e-9 {
			t.Errorf("%s: recomputation takes %v (%v), want %g s", name, selective.recompute, err, 2*scores)
		}
	}
}

// TestOptimizedParameters: all GPUs together update each parameter once, or without shards each copy.
func TestOptimizedParameters(t *testing.T) {
	s := kernelModels()["experts"]
	total := func() (sum float64) {
		for v := range s.VirtualStages() {
			sum += s.optimizedParameters(v) * float64(s.GPUs/s.PP)
		}
		return sum
	}
	want := s.Arch.Parameters() + 2*float64(s.Arch.Vocab*s.Arch.Hidden)
	if got := total(); math.Abs(got-want) > 1e-9*want {
		t.Errorf("got %g parameters, want %g", got, want)
	}
	s.Sharding = ShardNothing
	experts := 3 * 128 * s.Arch.ExpertParameters()
	want = experts*float64(s.Replicas()) + (want-experts)*float64(s.GPUs/s.PP/s.TP)
	if got := total(); math.Abs(got-want) > 1e-9*want {
		t.Errorf("without shards: got %g parameters, want %g", got, want)
	}
}

// TestAttentionKernels: FlashAttention 2 is slower than the fastest kernel, and separate kernels are
// slower than both; without memory traffic their backward pass has two products for each of the forward
// pass instead of 2.5.
func TestAttentionKernels(t *testing.T) {
	s := kernelModels()["dense"]
	s.GPU.Attention.Flash2, s.GPU.Memory = 0.5, 8e12
	times := map[string]float64{}
	for _, kernel := range []string{"best", "flash2", "unfused"} {
		s.Speed.AttentionKernel = kernel
		times[kernel] = s.profileParts(Forward).scores
	}
	if times["flash2"] < 1.9*times["best"] || times["unfused"] <= times["flash2"] {
		t.Errorf("got %v, want flash2 to take twice as long as best, and unfused longer", times)
	}
	s.GPU.Memory = 1e30
	forward, backward := s.profileParts(Forward).scores, s.profileParts(Backward).scores
	if math.Abs(backward-2*forward) > 1e-9*forward {
		t.Errorf("without traffic: got %g s backward, want twice the %g s forward", backward, forward)
	}
}
