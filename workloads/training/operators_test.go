package training

import (
	"math"
	"os"
	"strings"
	"testing"

	"sim/engine"
	"sim/engine/units"
)

const operatorFile = `train_iter:10
Emb:
    time_gpu_max: 857
    time_gpu_avg: 800
layernorm:
    time_gpu_avg: 70
atten_qkv:
    time_gpu_avg: 900.5
atten_flash:
    time_gpu_avg: 500
layernorm2:
    time_gpu_avg: 30
mlp_linear_1:
    time_gpu_avg: 1400
layernorm_post:
    time_gpu_avg: 70
logit_time:
    time_gpu_avg: 12000
param_time:
    time_gpu_avg: 17000
`

// TestReadOperators checks that operator times add up to the parts of a pass. A pass
// takes as long as its layers plus, if they count, embedding and head, independent of the
// effective rate. Malformed files are rejected with the line.
func TestReadOperators(t *testing.T) {
	o, err := ReadOperators([]byte(operatorFile))
	us := engine.Microsecond
	if want := (Operators{Attention: 970*us + us/2, Scores: 500 * us, Network: 1430 * us, Embedding: 800 * us, Head: 12070 * us, Optimizer: 17000 * us}); err != nil || o != want {
		t.Fatalf("%+v, %v; want %+v", o, err, want)
	}
	s := tinySpec(OneFOneB, 2, 4, 1)
	s.Arch.Layers, s.Compute, s.Operators = 6, OperatorTimes, o
	layer := 970.5 + 500 + 1430
	for _, c := range []struct {
		ends  bool
		stage int
		want  float64
	}{{false, 0, 3 * layer}, {false, 1, 3 * layer}, {true, 0, 3*layer + 800}, {true, 1, 3*layer + 12070}} {
		s.Choices.Embedding = c.ends
		if got := s.ForwardSeconds(c.stage) * 1e6; math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%+v: %g us", c, got)
		}
	}
	s.Choices.Embedding = false
	if got, want := s.attentionShare(0, Forward), 1470.5/layer; math.Abs(got-want) > 1e-12 {
		t.Errorf("attention is %g of a pass, want %g", got, want)
	}
	x, err := s.passTimes(0, 0, 1)
	if got, want := x.weights.Seconds()*1e6, 3*(layer-500); err != nil || math.Abs(got-want) > 1e-3 {
		t.Errorf("gradients of weights take %g us, want %g: %v", got, want, err)
	}
	for text, want := range map[string]string{
		"":                          "no times of atten_",
		"time_gpu_avg: 3":           "line 1: a time of no operator",
		"Emb:\n time_gpu_avg: x":    "line 2",
		"Emb:\n time_gpu_avg: -1":   "line 2",
		"Emb:\n time_gpu_avg: 1e30": "line 2",
		"Emb:\n time_gpu_avg: 1\n time_gpu_avg: 1": "line 3: a second time of Emb",
		"conv:": "line 1: the operator is not known",
		"hello": "line 1: neither an operator nor its time",
	} {
		if _, err := ReadOperators([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestReadOperatorsSample reads AICB's own example if SIM_SAMPLES names the directory of
// samples.
func TestReadOperatorsSample(t *testing.T) {
	dir := os.Getenv("SIM_SAMPLES")
	if dir == "" {
		t.Skip("SIM_SAMPLES names no directory")
	}
	data, err := os.ReadFile(dir + "/aicb/workload/aiob_inputs/Example.txt")
	if err != nil {
		t.Skip(err)
	}
	if o, err := ReadOperators(data); err != nil || o.Attention != (70+889+349)*engine.Microsecond {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestRoofline checks the two limits of the roofline. With fast memory, passes take their
// operations at the peak rate. With free arithmetic, they take their memory traffic,
// which for one token is mainly the weights.
func TestRoofline(t *testing.T) {
	s := tinySpec(OneFOneB, 2, 4, 1)
	s.Arch.Layers = 6
	plain := s.ForwardSeconds(0)
	s.Compute, s.Machine = Roofline, Machine{PeakTFLOPS: s.Choices.EffectiveTFLOPS, Memory: units.Rate(1e18)}
	if got := s.ForwardSeconds(0); math.Abs(got-plain) > 1e-3*plain {
		t.Errorf("%g s at the peak rate, want %g", got, plain)
	}
	s.Machine, s.Sequence = Machine{PeakTFLOPS: 1e6, Memory: units.Rate(8e12)}, 1
	weights := 3 * (s.Arch.AttentionParameters() + s.Arch.FFNParameters()) * 2 / 2 // bytes per GPU of two
	if got := s.ForwardSeconds(0) * 1e12; got < weights || got > 1.05*weights {
		t.Errorf("%g bytes at a token, want at least %g of weights", got, weights)
	}
	before := s.ForwardSeconds(0)
	s.Machine.Memory *= 2
	if got := s.ForwardSeconds(0); math.Abs(got-before/2) > 1e-9*before {
		t.Errorf("%g s with twice the bandwidth, %g without", got, before)
	}
}

// TestRooflineOfExperts checks that routed experts take their share of the roofline time
// of all experts of a token.
func TestRooflineOfExperts(t *testing.T) {
	s := tinySpec(OneFOneB, 2, 4, 1)
	s.Arch.Experts, s.Arch.TopK, s.Arch.SharedExperts = 8, 3, 1
	s.EP, s.ETP = 1, 1
	s.Compute, s.Machine = Roofline, Machine{PeakTFLOPS: 100, Memory: units.Rate(1e13)}
	r := s.roofline()
	attention, experts := s.layerSeconds(Forward)
	if want := r.experts * 3 / 4; math.Abs(experts-want) > 1e-12*want || want <= 0 {
		t.Errorf("routed experts take %g s, want %g", experts, want)
	}
	if want := r.attention + r.scores; attention != want {
		t.Errorf("attention takes %g s, want %g", attention, want)
	}
}

// TestRepeats checks that full recomputation doubles the calls of the forward pass and no
// others.
func TestRepeats(t *testing.T) {
	s := tinySpec(OneFOneB, 2, 4, 1)
	forward, backward := s.Repeats(0, Forward), s.Repeats(0, Backward)
	s.Recompute = "full"
	if got := s.Repeats(0, Forward); got != 2*forward || forward == 0 {
		t.Errorf("full recomputation: %d calls of the forward pass, want twice %d", got, forward)
	}
	if got := s.Repeats(0, Backward); got != backward {
		t.Errorf("full recomputation: %d calls of the backward pass, want %d", got, backward)
	}
}

// TestMeasuredLayers checks that measured operator times are multiplied by the number of
// micro-batches computed together.
func TestMeasuredLayers(t *testing.T) {
	s := tinySpec(OneFOneB, 2, 4, 1)
	s.Arch.Experts, s.Arch.TopK = 8, 2
	s.EP, s.ETP = 1, 1
	s.Compute, s.Choices.ConcurrentMicrobatches = OperatorTimes, 2
	s.Operators = Operators{Attention: engine.Millisecond, Scores: 2 * engine.Millisecond, Network: 5 * engine.Millisecond}
	attention, experts := s.layerSeconds(Forward)
	if math.Abs(attention-6e-3) > 1e-12 || math.Abs(experts-10e-3) > 1e-12 {
		t.Errorf("attention and experts of two micro-batches take %g s and %g s, want 0.006 and 0.01", attention, experts)
	}
}
