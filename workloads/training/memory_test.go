package training

import (
	"math"
	"testing"
)

// TestActivations compares with the formulas of Korthikanti et al. 2022. A layer of
// multi-head attention with a network of four times the width stores 34h bytes per token,
// and 5 bytes per head and pair of tokens if scores are stored. Tensor parallelism
// divides 24h of that; with sequence parallelism it divides all (Eq. 1, 2 and 4). Full
// recomputation stores 2h.
func TestActivations(t *testing.T) {
	s := tinySpec(OneFOneB, 2, 4, 1)
	s.Arch.Layers = 6
	h, scores := float64(s.Arch.Hidden), 5*float64(s.Arch.Heads*s.Sequence)
	for _, c := range []struct {
		tp        int
		sp        bool
		recompute string
		scores    bool
		want      float64 // per token and layer
	}{
		{1, false, "none", true, 34*h + scores},
		{2, false, "none", true, 10*h + 24*h/2 + scores/2},
		{2, true, "none", true, (34*h + scores) / 2},
		{1, false, "none", false, 34 * h},
		{2, false, "none", false, 10*h + 24*h/2},
		{2, true, "none", false, 34 * h / 2},
		{2, true, "selective", false, 34 * h / 2},
		{2, true, "full", false, 2 * h / 2},
	} {
		s.TP, s.Choices.SequenceParallel, s.Recompute, s.StoreScores = c.tp, c.sp, c.recompute, c.scores
		if got, want := s.activationMemory(0), 3*float64(s.Sequence)*c.want; math.Abs(got-want) > 1e-9*want {
			t.Errorf("%+v: %g bytes, want %g", c, got, want)
		}
	}
}

// TestMemory compares with hand counts. A single replica stores 18 bytes per parameter: 6
// of weights and gradients and 12 of the optimizer, which replicas share. The first stage
// stores the activations of one micro-batch per stage.
func TestMemory(t *testing.T) {
	s := tinySpec(OneFOneB, 4, 8, 1)
	s.GPUs = 2 * s.PP
	one := s.Memory(0)
	if want := 18 * s.Parameters(0); math.Abs(one.State-want) > 1 {
		t.Errorf("%g bytes of state, want %g", one.State, want)
	}
	if want := 4 * s.activationMemory(0); one.InFlight != 4 || math.Abs(one.Activations-want) > 1 {
		t.Errorf("%d in flight hold %g bytes, want 4 and %g", one.InFlight, one.Activations, want)
	}
	s.GPUs *= 3
	for sharding, each := range map[string]float64{ShardNothing: 18, "": 6 + 12.0/3, ShardOptimizer: 6 + 12.0/3, ShardGradients: 2 + 16.0/3, ShardParameters: 18.0 / 3} {
		s.Sharding = sharding
		if got, want := s.Memory(0).State, each*s.Parameters(0); math.Abs(got-want) > 1 {
			t.Errorf("%g bytes of state in each of three replicas, sharded %q, want %g", got, sharding, want)
		}
	}
}

// TestExpertActivations compares a layer of multi-head latent attention with experts with
// a count of the numbers that each operator stores per token. It covers four GPUs of two
// tensor-parallel groups, and experts shared by two GPUs.
func TestExpertActivations(t *testing.T) {
	s := tinySpec(OneFOneB, 1, 4, 1)
	s.Arch.Layers, s.Arch.DenseLayers = 1, 0
	s.Arch.Attention, s.Arch.QRank, s.Arch.KVRank, s.Arch.NopeDim, s.Arch.RopeDim, s.Arch.ValueDim = "mla", 96, 64, 32, 16, 24
	s.Arch.Gated, s.Arch.Experts, s.Arch.TopK, s.Arch.SharedExperts, s.Arch.ExpertFFN = true, 8, 3, 1, 512
	h, heads := float64(s.Arch.Hidden), float64(s.Arch.Heads)
	s.TP, s.Choices.SequenceParallel = 2, true
	for _, c := range []struct{ ep, etp int }{{4, 1}, {2, 2}} {
		s.EP, s.ETP, s.GPUs = c.ep, c.etp, 4
		norms := 4*2*h + 2*h // and two 1-byte masks
		latent := 2 * (96 + 64 + 16.0)
		attention := 2 * heads * (2*(32+16) + 24 + 24) // queries, keys, values and outputs
		experts := 3 * (2*h*float64(c.etp) + 3*2*512)  // expert inputs, on each GPU, and three of the expert's width
		shared := 3 * 2 * 512.0
		want := float64(s.Sequence) * (norms + latent + attention + experts + shared) / 2
		if got := s.activationMemory(0); math.Abs(got-want) > 1e-9*want {
			t.Errorf("EP %d, ETP %d: %g bytes, want %g", c.ep, c.etp, got, want)
		}
	}
}

// TestKeysAreOnEveryRank checks that keys and values are replicated if there are fewer
// heads than tensor-parallel ranks.
func TestKeysAreOnEveryRank(t *testing.T) {
	s := tinySpec(OneFOneB, 1, 4, 1)
	s.Arch.Layers, s.Arch.KVHeads, s.TP, s.Choices.SequenceParallel = 1, 1, 1, true
	one := s.activationMemory(0)
	s.TP = 4
	keys := 2 * 2 * float64(s.Arch.HeadDim*s.Sequence)
	if got, want := s.activationMemory(0), (one-keys)/4+keys; math.Abs(got-want) > 1e-9*want {
		t.Errorf("%g bytes, want %g", got, want)
	}
}

// TestInFlight compares the number of micro-batches whose activations a stage stores with
// the literature: all under GPipe, one per stage under 1F1B, pp x v + pp - 1 chunks for v
// chunks per stage when interleaved (Korthikanti et al. 2022, Sec. 4.2.3), and pp + 1
// under DualPipe (DeepSeek-V3, Table 2).
func TestInFlight(t *testing.T) {
	for _, c := range []struct {
		schedule      string
		chunks, stage int
		want          int
	}{
		{GPipe, 1, 0, 16}, {OneFOneB, 1, 0, 4}, {OneFOneB, 1, 2, 2}, {Interleaved, 2, 0, 4*2 + 4 - 1}, {DualPipe, 2, 0, 5},
	} {
		s := tinySpec(c.schedule, 4, 16, c.chunks)
		if got := s.Memory(c.stage).InFlight; got != c.want {
			t.Errorf("%s: stage %d holds %d, want %d", c.schedule, c.stage, got, c.want)
		}
	}
}

// TestLoadShares checks that consecutive experts are on one rank, whose GPUs share them,
// and that pieces of a pass map to their layers; dense layers have no experts.
func TestLoadShares(t *testing.T) {
	s := tinySpec(OneFOneB, 2, 4, 1)
	s.Arch.Layers, s.Arch.DenseLayers, s.Arch.Experts, s.Arch.TopK, s.Arch.ExpertFFN = 7, 1, 4, 1, 512
	s.EP, s.ETP, s.GPUs = 2, 2, 16
	s.ExpertLoads = [][]int{{1, 2, 3, 4}, {0, 0, 0, 1}, {1, 1, 1, 1}, {5, 0, 0, 5}, {1, 0, 0, 0}, {9, 9, 9, 9}}
	for layer, want := range [][]float64{{0.15, 0.15, 0.35, 0.35}, {0, 0, 0.5, 0.5}, {0.25, 0.25, 0.25, 0.25}, {0.25, 0.25, 0.25, 0.25}, {0.5, 0.5, 0, 0}} {
		for i, got := range s.LoadShares(layer, 1) {
			if math.Abs(got-want[i]) > 1e-12 {
				t.Errorf("layer %d, GPU %d: %g, want %g", layer, i, got, want[i])
			}
		}
	}
	s.Choices.StageSplit = "layers" // 4 and 3 layers
	for _, c := range [][3]int{{0, 0, 0}, {0, 1, 0}, {0, 2, 1}, {0, 3, 2}, {1, 0, 3}, {1, 2, 5}} {
		if got := s.expertLayer(c[0], c[1], s.Pieces(c[0])); got != c[2] {
			t.Errorf("stage %d, piece %d: layer %d, want %d", c[0], c[1], got, c[2])
		}
	}
}
