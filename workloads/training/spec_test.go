package training_test

import (
	"math"
	"testing"

	"sim/workloads/training"
)

// sumStages sums f over the virtual stages of s.
func sumStages(s training.Spec, f func(v int) float64) float64 {
	sum := 0.0
	for v := range s.PP * s.Chunks {
		sum += f(v)
	}
	return sum
}

// nearlyEqual reports whether a and b are equal to 12 digits.
func nearlyEqual(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(b) }

// TestVariantsConserve checks that the split of layers into stages does not change total
// work and parameters, and that the embedding adds exactly its own.
func TestVariantsConserve(t *testing.T) {
	for _, model := range training.ModelNames() {
		t.Run(model, func(t *testing.T) {
			s, _ := table1(t, model)
			flops := func(s training.Spec) float64 { return sumStages(s, s.ForwardSeconds) }
			params := func(s training.Spec) float64 { return sumStages(s, s.Parameters) }
			wantF, wantP := flops(s), params(s)
			head := float64(s.Arch.Vocab) * float64(s.Arch.Hidden)
			tokens := float64(s.Sequence * s.Microbatch)
			headSeconds := 2 * head * tokens / (float64(s.StageGPUs()) * s.Choices.EffectiveTFLOPS * 1e12)
			for _, cut := range []struct {
				pp, chunks int
				granular   bool
			}{{s.PP, 1, true}, {s.PP, 2, true}, {s.PP, 2, false}, {1, 1, true}, {3, 1, true}, {2, 5, true}, {7, 1, false}} {
				v := s
				v.PP, v.Chunks, v.Choices.StageSplit = cut.pp, cut.chunks, "even"
				if cut.granular {
					v.Choices.StageSplit = "layers"
				}
				if cut.chunks > 1 {
					v.Schedule = training.Interleaved
				}
				if f, p := flops(v), params(v); !nearlyEqual(f, wantF) || !nearlyEqual(p, wantP) {
					t.Errorf("%+v: %g s and %g parameters, want %g and %g", cut, f, p, wantF, wantP)
				}
				v.Choices.Embedding = true
				if f, p := flops(v), params(v); !nearlyEqual(f, wantF+headSeconds) || !nearlyEqual(p, wantP+2*head/float64(s.StageGPUs())) {
					t.Errorf("%+v with embedding: %g s and %g parameters, want %g and %g more", cut,
						f-wantF, p-wantP, headSeconds, 2*head/float64(s.StageGPUs()))
				}
			}
		})
	}
}

// TestWholeLayers checks the split into whole layers: the first stages have one more. All
// dense layers of DeepSeek are in the first stage, which then has few experts.
func TestWholeLayers(t *testing.T) {
	s, _ := table1(t, "deepseek-671b")
	s.Choices.StageSplit = "layers"
	// 61 layers in 16 stages: 13 stages of 4, 3 of 3.
	for v := range s.PP {
		if v == 0 || v == 13 {
			continue
		}
		if s.ForwardSeconds(v) != s.ForwardSeconds(v-1) && v != 1 {
			t.Errorf("stages %d and %d differ: %g and %g s", v-1, v, s.ForwardSeconds(v-1), s.ForwardSeconds(v))
		}
	}
	if r := s.ForwardSeconds(13) / s.ForwardSeconds(12); !nearlyEqual(r, 0.75) {
		t.Errorf("three layers take %g of four", r)
	}
	if s.Parameters(0) >= s.Parameters(1)/2 {
		t.Errorf("the first stage, 3 of its 4 layers dense, holds %g parameters of %g", s.Parameters(0), s.Parameters(1))
	}
}

// TestTableIParameters checks that models have as many parameters as their names state.
func TestTableIParameters(t *testing.T) {
	for model, want := range map[string]float64{"megatron-177b": 177e9, "megatron-462b": 462e9, "deepseek-671b": 671e9, "mixtral-8x22b": 141e9, "gpt-7b": 7.5e9} {
		s, _ := table1(t, model)
		s.Choices.Embedding = true
		if got := sumStages(s, s.Parameters) * float64(s.StageGPUs()); math.Abs(got/want-1) > 0.02 {
			t.Errorf("%s has %.4g parameters", model, got)
		}
	}
}

// TestPipelineBytes checks that with sequence parallelism, a tensor-parallel group sends
// the activations once; otherwise each GPU sends them all.
func TestPipelineBytes(t *testing.T) {
	s, _ := table1(t, "megatron-177b")
	parallel := s.PipelineBytes() * int64(s.TP)
	s.Choices.SequenceParallel = false
	if s.PipelineBytes() != parallel || parallel != 4096*12288*2 {
		t.Errorf("%d bytes a GPU without, %d a group with sequence parallelism", s.PipelineBytes(), parallel)
	}
}

// TestSyncBytes compares the bytes of synchronisation with a reduce-scatter and an
// all-gather on a ring: 6 (D-1)/D bytes per parameter, and none with one replica.
func TestSyncBytes(t *testing.T) {
	s, _ := table1(t, "megatron-177b")
	for replicas, part := range map[int]float64{1: 0, 2: 0.5, 3: 2. / 3, 8: 7. / 8} {
		s.GPUs = replicas * s.PP * s.StageGPUs()
		if got, want := float64(s.SyncBytes(0)), 6*part*s.Parameters(0); math.Abs(got-want) > 0.5 {
			t.Errorf("%d replicas: %g bytes, want %g", replicas, got, want)
		}
	}
}

// TestSpecFaults checks that jobs without whole stages and replicas are rejected.
func TestSpecFaults(t *testing.T) {
	for name, corrupt := range map[string]func(s *training.Spec){
		"no microbatches":      func(s *training.Spec) { s.Microbatches = 0 },
		"no stages":            func(s *training.Spec) { s.PP = 0 },
		"part of a stage":      func(s *training.Spec) { s.GPUs++ },
		"no replica":           func(s *training.Spec) { s.GPUs = 0 },
		"more stages":          func(s *training.Spec) { s.PP, s.GPUs = 112, 112*8 },
		"no rate":              func(s *training.Spec) { s.Choices.EffectiveTFLOPS = 0 },
		"NaN rate":             func(s *training.Spec) { s.Choices.EffectiveTFLOPS = math.NaN() },
		"negative backward":    func(s *training.Spec) { s.Choices.BackwardRatio = -1 },
		"partial tensor group": func(s *training.Spec) { s.Arch.Experts, s.EP, s.TP, s.GPUs = 8, 4, 8, 4*6 },
	} {
		s, _ := table1(t, "megatron-177b")
		corrupt(&s)
		if _, err := training.Build(s, training.BuildOptions{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
