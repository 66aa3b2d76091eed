package training_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"sim/engine"
	"sim/fabric"
	"sim/workloads/training"
)

// TestCallTime checks that the calls of a pass are timed once per piece in order, that
// errors are returned, and that overflowing sums are rejected.
func TestCallTime(t *testing.T) {
	s := training.Spec{
		Arch: mustModel(t, "gpt-7b"), Choices: calibrated(450), Sequence: 4096, Microbatch: 1, Microbatches: 8,
		TP: 2, PP: 4, EP: 1, ETP: 1, GPUs: 16, Chunks: 1,
	}
	const pieces = 8
	for _, pass := range []training.Phase{training.Forward, training.Backward, training.Sync} {
		calls := s.Calls(1, pass)
		want := engine.Time(0)
		for k := range calls {
			want += pieces * engine.Time(1000+k)
		}
		k := -1
		got, err := s.CallTime(1, pass, func(c training.Call) (engine.Time, error) {
			if k++; c != calls[k] {
				t.Errorf("%v: call %d is %v, want %v", pass, k, c, calls[k])
			}
			return engine.Time(1000 + k), nil
		})
		if err != nil || got != want || len(calls) == 0 {
			t.Errorf("%v: calls take %v (%v), want %v", pass, got, err, want)
		}
	}
	failed := errors.New("failed")
	if _, err := s.CallTime(1, training.Forward, func(training.Call) (engine.Time, error) { return 1, failed }); err != failed {
		t.Errorf("an error of a call is returned as %v", err)
	}
	for each, fits := range map[engine.Time]bool{engine.Never / pieces / 4: true, engine.Never/pieces/4 + 2: false, -1: false} { // 4 calls per piece
		_, err := s.CallTime(1, training.Forward, func(training.Call) (engine.Time, error) { return each, nil })
		if (err == nil) != fits || err != nil && !strings.Contains(err.Error(), "exceed the range of simulated time") {
			t.Errorf("calls of %v each: %v", each, err)
		}
	}
}

// TestStepCalls checks that a step has the calls of all passes of all virtual stages,
// with their number of pieces and repetitions.
func TestStepCalls(t *testing.T) {
	s := training.Spec{
		Arch: mustModel(t, "gpt-7b"), Choices: calibrated(450), Sequence: 4096, Microbatch: 1, Microbatches: 6,
		TP: 2, PP: 4, EP: 1, ETP: 1, GPUs: 16, Chunks: 1,
	}
	for recompute, forwards := range map[string]int{"": 1, "full": 2} {
		s.Recompute = recompute
		count := map[string]int{}
		for _, c := range s.StepCalls() {
			replicas := s.Replicas()
			if c.Dim == training.Sync {
				replicas = 1
			}
			if c.Replicas != replicas {
				t.Errorf("%v is made by %d replicas apart, want %d", c, c.Replicas, replicas)
			}
			count[fmt.Sprint(c.VirtualStage, " ", c.Dim)] += c.Count
		}
		for v := range 4 {
			// 6 micro-batches of 8 layers with 4 calls per direction; two calls for all
			// gradients
			if got, want := count[fmt.Sprint(v, " ", training.Tensor)], 6*8*4*(forwards+1); got != want {
				t.Errorf("recomputing %q: stage %d makes %d calls, want %d", recompute, v, got, want)
			}
			if got := count[fmt.Sprint(v, " ", training.Sync)]; got != 2 {
				t.Errorf("stage %d synchronises in %d calls, want 2", v, got)
			}
		}
	}
	if got := s.PieceLayers(0); got != 1 {
		t.Errorf("a piece has %v layers, want 1", got)
	}
	if s.PassPieces = 2; s.PieceLayers(0) != 4 {
		t.Errorf("half a pass has %v layers, want 4", s.PieceLayers(0))
	}
}

// TestNeighbours checks that stages exchange data with the next stage. With chunks the
// last stage also exchanges with the first, and under DualPipe stages with the same
// layers do.
func TestNeighbours(t *testing.T) {
	for _, c := range []struct {
		schedule string
		chunks   int
		want     [][2]int
	}{
		{"1f1b", 1, [][2]int{{0, 1}, {1, 2}, {2, 3}}},
		{"interleaved-1f1b", 2, [][2]int{{0, 1}, {0, 3}, {1, 2}, {2, 3}}},
		{"dualpipe", 2, [][2]int{{0, 1}, {0, 3}, {1, 2}, {2, 3}}},
	} {
		s := training.Spec{
			Arch: mustModel(t, "gpt-7b"), Choices: calibrated(450), Sequence: 4096, Microbatch: 1, Microbatches: 8,
			TP: 1, PP: 4, EP: 1, ETP: 1, GPUs: 4, Chunks: c.chunks, Schedule: c.schedule,
		}
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", c.schedule, err)
			continue
		}
		if got := s.Neighbours(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.schedule, got, c.want)
		}
	}
}

// TestNCT checks the definition: exposed communication divided by that on the ideal
// fabric.
func TestNCT(t *testing.T) {
	for _, c := range []struct {
		times    training.ReferenceTimes
		makespan engine.Time
		want     float64
		ok       bool
	}{
		{training.ReferenceTimes{Compute: 10, Ideal: 14}, 14, 1, true},
		{training.ReferenceTimes{Compute: 10, Ideal: 14}, 20, 2.5, true},
		{training.ReferenceTimes{Compute: 10, Ideal: 14}, 10, 0, true},
		{training.ReferenceTimes{Compute: 10, Ideal: 10}, 10, 1, true},
		{training.ReferenceTimes{Compute: 10, Ideal: 10}, 11, 1, false},
	} {
		if got, ok := c.times.NCT(c.makespan); got != c.want || ok != c.ok {
			t.Errorf("%+v of %v: %v (%v), want %v (%v)", c.times, c.makespan, got, ok, c.want, c.ok)
		}
	}
}

// TestDefaults checks the defaults that depend on other keys.
func TestDefaults(t *testing.T) {
	defaults := func(preset, attention string, experts, heads int) *training.Spec {
		return (&training.Spec{
			Arch:   training.Architecture{Hidden: 1024, Heads: heads, FFN: 3000, Attention: attention, Experts: experts},
			Preset: preset, TP: 2, PP: 2, EP: 4, ETP: 1, GPUs: 16, Choices: training.Choices{EffectiveTFLOPS: 7},
		}).Defaults()
	}
	a := defaults("calibrated", "", 0, 16).Arch
	if a.KVHeads != 16 || a.FFN != 4096 || a.HeadDim != 64 || a.ExpertFFN != 0 || a.EffectiveTFLOPS != 7 {
		t.Errorf("a dense model has %+v", a)
	}
	if a := defaults("calibrated", "mla", 8, 16).Arch; a.HeadDim != 0 || a.ExpertFFN != 3000 {
		t.Errorf("a model with experts and latent attention has %+v", a)
	}
	if a := defaults("calibrated", "", 0, 0).Arch; a.HeadDim != 0 {
		t.Errorf("a model without heads has %+v", a)
	}
	plain, consistent, layered := defaults("", "", 8, 16).Choices, defaults("consistent", "", 8, 16).Choices, defaults("layered", "", 8, 16).Choices
	if plain != defaults("calibrated", "", 8, 16).Choices || plain.Embedding {
		t.Errorf("without a preset choices are %+v", plain)
	}
	if layered.StageSplit != "layers" || !layered.Embedding || layered.RouterFLOPs != plain.RouterFLOPs {
		t.Errorf("layered choices are %+v", layered)
	}
	if consistent.RouterFLOPs != "moe-layers" || consistent.ConcurrentMicrobatches != 4/2 || plain.ConcurrentMicrobatches != 1 || defaults("consistent", "", 0, 16).Choices.ConcurrentMicrobatches != plain.ConcurrentMicrobatches {
		t.Errorf("consistent choices are %+v", consistent)
	}
}

// TestExtentRefused checks that options and layouts that do not fit the job are rejected.
func TestExtentRefused(t *testing.T) {
	s, _ := table1(t, "megatron-177b")
	for want, x := range map[string]training.BuildOptions{
		"3 compute scales":      {ComputeScale: make([]float64, 3)},
		"synchronisation times": {EarliestSync: make([][]engine.Time, s.VirtualStages()+1)},
	} {
		if _, err := training.Build(s, x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", x, err, want)
		}
	}
	it, err := training.Build(s, training.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stage := s.StageGPUs()
	for _, c := range []struct {
		want    string
		corrupt func(l *training.Layout)
	}{
		{"", func(*training.Layout) {}},
		{"do not fill pods of", func(l *training.Layout) { l.GPUsPerPod = stage + 1 }},
		{"do not fill pods of 0", func(l *training.Layout) { l.GPUsPerPod = 0 }},
		{"do not fill pods of", func(l *training.Layout) { l.GPUsPerPod = stage * s.PP * 2 }},
		{"layout of 0 replicas for an iteration of 1", func(l *training.Layout) { l.Replicas = nil }},
		{"layout of 2 replicas for an iteration of 1", func(l *training.Layout) { l.Replicas = append(l.Replicas, l.Replicas[0]) }},
		{"StagePods has 1 entries for", func(l *training.Layout) { l.StagePods = []int32{0} }},
		{"is not a permutation of", func(l *training.Layout) { l.Replicas[0].PodMap = []int{0} }},
		{"is not a permutation of", func(l *training.Layout) { l.Replicas[0].PodMap = slices.Repeat([]int{math.MaxInt32}, s.PP) }},
		{"is not a permutation of", func(l *training.Layout) { l.Replicas[0].PodMap = slices.Repeat([]int{-1}, s.PP) }},
	} {
		l := training.Layout{GPUsPerPod: stage, Replicas: []training.ReplicaLayout{{Pod: fabric.Pod{Rate: 1}, NIC: 1}}}
		c.corrupt(&l)
		if _, err := it.Place(l); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// TestShardedStepCalls checks that replicas gather and scatter sharded state together,
// not separately.
func TestShardedStepCalls(t *testing.T) {
	s := training.Spec{
		Arch: mustModel(t, "gpt-7b"), Choices: calibrated(450), Sequence: 4096, Microbatch: 1, Microbatches: 6,
		TP: 2, PP: 4, EP: 1, ETP: 1, GPUs: 16, Chunks: 1, Sharding: training.ShardParameters,
	}
	gathers := 0
	for _, c := range s.StepCalls() {
		if c.Dim != training.Sync {
			continue
		}
		if c.Kind == training.AllGather {
			gathers += c.Count
		}
		if c.Replicas != 1 {
			t.Errorf("%v is made by %d replicas apart, want by all together", c, c.Replicas)
		}
	}
	if gathers == 0 {
		t.Error("no parameters are gathered")
	}
}
