package training_test

import (
	"fmt"
	"slices"
	"testing"

	"sim/engine"
	"sim/workloads/training"
)

// callStrings formats calls as "dimension kind position bytes".
func callStrings(calls []training.Call) (out []string) {
	for _, c := range calls {
		of := ""
		if c.ForExpertWeights {
			of = " of experts"
		}
		out = append(out, fmt.Sprintf("%v %v %d %d%s", c.Dim, c.Kind, c.Position, c.Bytes, of))
	}
	return out
}

// sameCalls compares calls with their expected format.
func sameCalls(t *testing.T, what string, got []training.Call, want ...string) {
	t.Helper()
	if g := callStrings(got); !slices.Equal(g, want) {
		t.Errorf("%s: %q, want %q", what, g, want)
	}
}

// TestCalls compares the calls of passes with sizes computed by hand from the formulas of
// the papers that Spec.Calls cites.
func TestCalls(t *testing.T) {
	// GPT-7B, 32 layers in 4 stages: activations of 4096 tokens x 4096 numbers x 2 bytes.
	s := training.Spec{
		Arch: mustModel(t, "gpt-7b"), Choices: calibrated(450), Sequence: 4096, Microbatch: 1, Microbatches: 8,
		TP: 2, PP: 4, EP: 1, ETP: 1, GPUs: 16, Chunks: 1,
	}
	if n := s.Pieces(0); n != 8 {
		t.Errorf("%d pieces, want one for each of 8 layers", n)
	}
	for _, pass := range []training.Phase{training.Forward, training.Backward} {
		sameCalls(t, "with sequence parallelism", s.Calls(0, pass), "tp all-gather 0 33554432", "tp reduce-scatter 1 33554432",
			"tp all-gather 1 33554432", "tp reduce-scatter 2 33554432")
	}
	// 12 h^2 parameters per layer, 8 layers on 2 GPUs; all replicas have a copy.
	sameCalls(t, "synchronisation", s.Calls(0, training.Sync), "dp reduce-scatter 0 3221225472", "dp all-gather 0 1610612736")
	s.PassPieces = 2
	sameCalls(t, "in two pieces", s.Calls(0, training.Forward), "tp all-gather 0 134217728", "tp reduce-scatter 1 134217728",
		"tp all-gather 1 134217728", "tp reduce-scatter 2 134217728")
	s.PassPieces = 0
	s.Choices.SequenceParallel = false
	sameCalls(t, "without it", s.Calls(0, training.Forward), "tp all-reduce 1 33554432", "tp all-reduce 2 33554432")

	// Four ranks share the sequence: a quarter of the activations, and keys and values of
	// 4096 tokens x 16 heads x 128 numbers.
	s.CP, s.TP, s.GPUs, s.Choices.SequenceParallel = 4, 2, 32, true
	if s.StageGPUs() != 8 || s.Replicas() != 1 || s.PipelineBytes() != 4096/4*4096*2/2 {
		t.Errorf("stages of %d GPUs, %d replicas, %d bytes to the next stage", s.StageGPUs(), s.Replicas(), s.PipelineBytes())
	}
	sameCalls(t, "context parallelism", s.Calls(0, training.Forward), "tp all-gather 0 8388608", "cp all-gather 0 33554432",
		"tp reduce-scatter 1 8388608", "tp all-gather 1 8388608", "tp reduce-scatter 2 8388608")
	sameCalls(t, "context parallelism, back", s.Calls(0, training.Backward), "tp all-gather 0 8388608", "tp reduce-scatter 1 8388608",
		"tp all-gather 1 8388608", "cp all-gather 1 33554432", "cp reduce-scatter 2 33554432", "tp reduce-scatter 2 8388608")
	sameCalls(t, "one replica", s.Calls(0, training.Sync), "dp reduce-scatter 0 3221225472", "dp all-gather 0 1610612736")

	// Mixtral-8x22B, 56 layers in 8 stages of 8 GPUs: 2048 / 8 tokens per GPU, 2 experts
	// per token, 6144 numbers x 2 bytes, spread over 8 GPUs. There are no shared experts,
	// so only attention is tensor-parallel. Keys and values have 8 heads.
	m := training.Spec{
		Arch: mustModel(t, "mixtral-8x22b"), Choices: calibrated(500), Sequence: 2048, Microbatch: 1, Microbatches: 8,
		TP: 2, PP: 8, EP: 8, ETP: 1, GPUs: 128, Chunks: 1,
	}
	sameCalls(t, "experts", m.Calls(3, training.Forward), "tp all-gather 0 25165824", "tp reduce-scatter 1 25165824",
		"ep all-to-all 1 786432", "ep all-to-all 2 786432")
	sameCalls(t, "experts, back", m.Calls(3, training.Backward), "ep all-to-all 0 786432", "ep all-to-all 1 786432",
		"tp all-gather 1 25165824", "tp reduce-scatter 2 25165824")
	// 7 layers: attention 2 x 6144 x (6144 + 1024) and router 6144 x 8, divided over 2
	// GPUs; one expert of 3 x 6144 x 16384 parameters per GPU.
	sameCalls(t, "experts, synchronisation", m.Calls(3, training.Sync),
		"dp reduce-scatter 0 1233813504", "dp reduce-scatter 0 8455716864 of experts", "dp all-gather 0 616906752", "dp all-gather 0 4227858432 of experts")
}

// TestPiecesConserve checks that the number of pieces and the split into stages do not
// change the total bytes of the calls, except for rounding up. If a stage holds one copy
// of its parameters, synchronisation calls send as many bytes as the ring of replicas.
func TestPiecesConserve(t *testing.T) {
	for _, model := range training.ModelNames() {
		s, _ := table1(t, model)
		moved := func(s training.Spec, pass training.Phase) (sum float64, pieces int) {
			for v := range s.PP * s.Chunks {
				for _, c := range s.Calls(v, pass) {
					sum += float64(c.Bytes) * float64(s.Pieces(v))
				}
				pieces += s.Pieces(v)
			}
			return sum, pieces
		}
		for _, pass := range []training.Phase{training.Forward, training.Backward} {
			want, wantPieces := moved(s, pass)
			if want == 0 {
				t.Errorf("%s moves nothing in %v passes", model, pass)
			}
			for _, split := range []string{"even", "layers"} {
				for n := range 4 {
					x := s
					x.PassPieces, x.Choices.StageSplit = n, split
					if got, pieces := moved(x, pass); got < want*(1-1e-9)-8*float64(wantPieces) || got > want*(1+1e-9)+8*float64(pieces) {
						t.Errorf("%s, %v, %s, %d pieces: %g bytes, want %g", model, pass, split, n, got, want)
					}
				}
			}
		}
		if s.StageGPUs() != s.TP {
			continue
		}
		d := float64(s.Replicas())
		for v := range s.PP {
			sum := 0.0
			for _, c := range s.Calls(v, training.Sync) {
				sum += float64(c.Bytes) * (d - 1) / d
			}
			if got, want := sum, float64(s.SyncBytes(v)); got < want-2 || got > want+2 {
				t.Errorf("%s, stage %d: a GPU sends %g bytes to synchronise, want %g", model, v, got, want)
			}
		}
	}
}

// TestGroups compares groups with ranks counted by hand: each rank of a stage is in one
// group of each dimension, with strides in the order tensor, context, data.
func TestGroups(t *testing.T) {
	s := training.Spec{TP: 2, CP: 2, PP: 2, EP: 8, ETP: 1, GPUs: 32, Arch: training.Architecture{Experts: 8}}
	for _, c := range []struct {
		call training.Call
		want string
	}{
		{training.Call{Dim: training.Tensor}, "[[8 9] [10 11] [12 13] [14 15]]"},
		{training.Call{Dim: training.Context}, "[[8 10] [9 11] [12 14] [13 15]]"},
		{training.Call{Dim: training.Expert}, "[[8 9 10 11 12 13 14 15]]"},
		{training.Call{Dim: training.Sync}, "[[8 10 12 14 24 26 28 30] [9 11 13 15 25 27 29 31]]"},
		{training.Call{Dim: training.Sync, ForExpertWeights: true}, "[[8 24] [9 25] [10 26] [11 27] [12 28] [13 29] [14 30] [15 31]]"},
	} {
		if got := fmt.Sprint(s.Groups(c.call, 0, 1)); got != c.want {
			t.Errorf("%v: %s, want %s", c.call.Dim, got, c.want)
		}
	}
	if got := fmt.Sprint(s.Groups(training.Call{Dim: training.Tensor}, 1, 0)); got != "[[16 17] [18 19] [20 21] [22 23]]" {
		t.Errorf("replica 1: %s", got)
	}
}

// TestLengthen checks that Lengthen adds the time of the calls to each forward and
// backward pass, and that AddExchanges is the special case of all-to-alls.
func TestLengthen(t *testing.T) {
	s, _ := table1(t, "deepseek-671b")
	build := func() *training.Iteration {
		it, err := training.Build(s, training.BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return it
	}
	const each = 50 * engine.Microsecond
	bare, long, exchanges := build(), build(), build()
	experts := func(c training.Call) (engine.Time, error) {
		if c.Dim == training.Expert {
			return each, nil
		}
		return 0, nil
	}
	if err := long.Lengthen(func(v int, pass training.Phase) (engine.Time, error) { return s.CallTime(v, pass, experts) }); err != nil {
		t.Fatal(err)
	}
	if err := exchanges.AddExchanges([4]engine.Time{each, each, each, each}); err != nil {
		t.Fatal(err)
	}
	for i := range bare.Graph.Tasks {
		m := bare.Meta[i]
		growth, exchangeGrowth := long.Graph.Tasks[i].Duration-bare.Graph.Tasks[i].Duration, exchanges.Graph.Tasks[i].Duration-bare.Graph.Tasks[i].Duration
		want, exact := engine.Time(0), engine.Time(0)
		if m.Phase == training.Forward || m.Phase == training.Backward { // 61 layers in 16 stages; 58 layers have experts
			want, exact = 2*4*each, engine.Time(2*float64(s.Arch.Layers-s.Arch.DenseLayers)/float64(s.PP)*float64(each))
		}
		if growth != want || exchangeGrowth < exact-1 || exchangeGrowth > exact+1 {
			t.Fatalf("%s grows by %v and %v, want %v and %v", bare.Graph.Name(int32(i)), growth, exchangeGrowth, want, exact)
		}
	}
	never := func(int, training.Phase) (engine.Time, error) { return engine.Never - 1, nil }
	if err := build().Lengthen(never); err == nil {
		t.Error("passes beyond the range of simulated time: no error")
	}
	if _, err := s.CallTime(0, training.Forward, func(training.Call) (engine.Time, error) { return engine.Never / 2, nil }); err == nil {
		t.Error("calls beyond the range of simulated time: no error")
	}
}

// mustModel returns a preset model.
func mustModel(t *testing.T, name string) training.Architecture {
	t.Helper()
	a, ok := training.Model(name)
	if !ok {
		t.Fatal(name)
	}
	return a
}

// TestExchangeGaps compares the compute time before all-to-alls of DeepSeek-671B with a
// count of the experts' operations by hand. Without shared experts it is less than the
// pass. It doubles in the backward pass.
func TestExchangeGaps(t *testing.T) {
	s, _ := table1(t, "deepseek-671b")
	first, second, err := s.ExchangeGaps(training.Forward)
	if err != nil {
		t.Fatal(err)
	}
	tokens := float64(s.Sequence * s.Microbatch * s.Choices.ConcurrentMicrobatches)
	want := 2 * 8 * 3 * 7168 * 2048 * tokens / (float64(s.StageGPUs()) * s.Choices.EffectiveTFLOPS * 1e12)
	if got := second.Seconds(); got < want*(1-1e-9) || got > want*(1+1e-9) {
		t.Errorf("experts compute for %g s, want %g", got, want)
	}
	if layers := s.ExpertLayers(1); first <= 0 || (first+second).Seconds()*layers >= s.ForwardSeconds(1) {
		t.Errorf("%v and %v before the all-to-alls of %g layers in a pass of %g s", first, second, layers, s.ForwardSeconds(1))
	}
	back, again, err := s.ExchangeGaps(training.Backward)
	if off := back - 2*first; err != nil || max(off, -off) > 1 {
		t.Errorf("backward %v, forward %v, %v", back, first, err)
	}
	if off := again - 2*second; max(off, -off) > 1 {
		t.Errorf("backward %v, forward %v", again, second)
	}
}
