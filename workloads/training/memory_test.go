package training

import (
	"math"
	"testing"
)

// TestActivations: of multi-head attention and a network of four times the width a layer holds 34h a token and 5 a head
// and token of scores; tensor parallelism divides 24h of that, and with sequence parallelism all (Korthikanti et al.
// 2022, Eq. 1, 2 and 4); without scores 34h, and recomputed in full 2h.
func TestActivations(t *testing.T) {
	s := tiny(OneFOneB, 2, 4, 1)
	s.Arch.Layers = 6
	h, scores := float64(s.Arch.Hidden), 5*float64(s.Arch.Heads*s.Sequence)
	for _, c := range []struct {
		tp        int
		sp        bool
		recompute string
		want      float64 // a token and layer
	}{
		{1, false, "none", 34*h + scores},
		{2, false, "none", 10*h + 24*h/2 + scores/2},
		{2, true, "none", (34*h + scores) / 2},
		{2, true, "selective", 34 * h / 2},
		{2, true, "full", 2 * h / 2},
	} {
		s.TP, s.Choices.SequenceParallel, s.Recompute = c.tp, c.sp, c.recompute
		if got, want := s.activations(0), 3*float64(s.Sequence)*c.want; math.Abs(got-want) > 1e-9*want {
			t.Errorf("%+v: %g bytes, want %g", c, got, want)
		}
	}
}

// TestMemory: a replica alone holds 18 bytes a parameter (6 of them of weights and gradients, 12 of the optimizer), of
// which replicas share the last; and the first stage holds activations of as many micro-batches as there are stages.
func TestMemory(t *testing.T) {
	s := tiny(OneFOneB, 4, 8, 1)
	s.GPUs = 2 * s.PP
	one := s.Memory(0)
	if want := 18 * s.Parameters(0); math.Abs(one.State-want) > 1 {
		t.Errorf("%g bytes of state, want %g", one.State, want)
	}
	if want := 4 * s.activations(0); one.InFlight != 4 || math.Abs(one.Activations-want) > 1 {
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

// TestLoadShares: consecutive experts are on a rank, whose GPUs share them; pieces meet the layers that they are of, of
// which dense ones have no experts.
func TestLoadShares(t *testing.T) {
	s := tiny(OneFOneB, 2, 4, 1)
	s.Arch.Layers, s.Arch.DenseLayers, s.Arch.Experts, s.Arch.TopK, s.Arch.ExpertFFN = 7, 1, 4, 1, 512
	s.EP, s.ETP, s.GPUs = 2, 2, 16
	s.ExpertLoads = [][]int{{1, 2, 3, 4}, {0, 0, 0, 1}, {1, 1, 1, 1}, {5, 0, 0, 5}, {1, 0, 0, 0}, {9, 9, 9, 9}}
	for layer, want := range [][]float64{{0.15, 0.15, 0.35, 0.35}, {0, 0, 0.5, 0.5}, {0.25, 0.25, 0.25, 0.25}, {0.25, 0.25, 0.25, 0.25}, {0.5, 0.5, 0, 0}} {
		for i, got := range s.LoadShares(layer) {
			if math.Abs(got-want[i]) > 1e-12 {
				t.Errorf("layer %d, GPU %d: %g, want %g", layer, i, got, want[i])
			}
		}
	}
	s.Choices.StageSplit = "layers" // 4 and 3
	for _, c := range [][3]int{{0, 0, 0}, {0, 1, 0}, {0, 2, 1}, {0, 3, 2}, {1, 0, 3}, {1, 2, 5}} {
		if got := s.expertLayer(c[0], c[1], s.Pieces(c[0])); got != c[2] {
			t.Errorf("stage %d, piece %d: layer %d, want %d", c[0], c[1], got, c[2])
		}
	}
}
