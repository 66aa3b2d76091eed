package training_test

import (
	"math"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/workloads/training"

	"pgregory.net/rapid"
)

// TestOverlapPasses checks steps with random sizes and calls in the graph. A GPU never computes two
// tasks at once and computes as long as without overlap. With calls that take nearly no time,
// nothing changes but the order of passes; with one micro-batch in a single stage, overlap never
// takes longer than without.
func TestOverlapPasses(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := training.Spec{
			Arch: mustModel(t, "deepseek-671b"), Choices: calibrated(float64(rapid.IntRange(20, 2000).Draw(rt, "TFLOP/s"))),
			Sequence: 512, Microbatch: 1, TP: 1, EP: 4, ETP: 1, Chunks: 1, Collectives: training.CollectivesInGraph,
			PassPieces: rapid.IntRange(1, 4).Draw(rt, "pieces"),
		}
		s.PP = rapid.SampledFrom([]int{1, 2, 4}).Draw(rt, "stages")
		s.Schedule = rapid.SampledFrom([]string{training.Eager, training.Interleaved, training.DualPipe}).Draw(rt, "schedule")
		s.Microbatches = s.PP * rapid.IntRange(1, 3).Draw(rt, "micro-batches per stage")
		switch s.Schedule {
		case training.Interleaved:
			s.Chunks = 2
		case training.DualPipe:
			s.PP, s.Chunks, s.Microbatches = max(2, s.PP), 2, 2*max(2, s.PP)
		}
		s.Recompute = rapid.SampledFrom([]string{"none", "full"}).Draw(rt, "recompute")
		s.GPUs = s.PP * s.EP
		run := func(overlap string) (makespan engine.Time, compute []engine.Time) {
			s := s
			s.OverlapPasses = overlap
			it, err := training.Build(s, training.BuildOptions{All: true, PerGPU: true, Expand: expandDirect})
			if err != nil {
				rt.Fatal(err)
			}
			n, r := mesh(it.Graph, s.GPUs)
			trace := simulate(t, it.Graph, n, r, flow.MaxMin)
			compute = make([]engine.Time, s.PP)
			spans := make([][][2]engine.Time, s.PP)
			for i, m := range it.Meta {
				if d := it.Graph.Tasks[i].Duration; m.Phase.Computes() && d > 0 {
					compute[m.Stage] += d
					spans[m.Stage] = append(spans[m.Stage], [2]engine.Time{trace.Start[i], trace.End[i]})
				}
			}
			for stage := range spans {
				slices.SortFunc(spans[stage], func(a, b [2]engine.Time) int { return int(a[0] - b[0]) })
				for i := 1; i < len(spans[stage]); i++ {
					if spans[stage][i][0] < spans[stage][i-1][1] {
						rt.Fatalf("%s: stage %d computes two tasks from %v on", overlap, stage, spans[stage][i][0])
					}
				}
			}
			return trace.Makespan, compute
		}

		alone, compute := run("none")
		for _, overlap := range []string{training.OverlapPairs, training.OverlapHalves} {
			got, sum := run(overlap)
			for stage := range sum {
				if d := sum[stage] - compute[stage]; d < -1000 || d > 1000 { // parts are rounded to ticks
					rt.Fatalf("%s: stage %d computes for %v, want %v", overlap, stage, sum[stage], compute[stage])
				}
			}
			if s.PP == 1 && s.Chunks == 1 && got > alone+1000 {
				rt.Fatalf("%s takes %v in a single stage, want at most the %v without overlap", overlap, got, alone)
			}
			if got < slices.Max(compute) {
				rt.Fatalf("%s takes %v, want at least the %v of compute", overlap, got, slices.Max(compute))
			}
		}
	})
}

// TestHiddenCalls checks Lengthen if calls overlap with compute. Calls of half of the compute are
// hidden, except in the first and the last pass of pairs. Longer calls show by what exceeds it.
func TestHiddenCalls(t *testing.T) {
	s := training.Spec{
		Arch: mustModel(t, "deepseek-671b"), Choices: calibrated(300), Sequence: 4096, Microbatch: 1, Microbatches: 5,
		TP: 1, PP: 1, EP: 8, ETP: 1, GPUs: 8, Chunks: 1, Schedule: training.Eager,
	}
	forward := engine.Time(s.ForwardSeconds(0) * float64(engine.Second))
	for overlap, want := range map[string][2]engine.Time{ // with calls of half and of 3 times the forward pass
		"none": {5 * forward, 30 * forward},
		// The first forward pass and the last backward pass are alone. In each of 4 pairs, the
		// calls of the forward pass exceed the backward pass by one forward pass, and the calls of
		// the backward pass exceed the forward pass by two.
		training.OverlapPairs: {forward, 3*forward + 3*forward + 4*(forward+2*forward)},
		// The calls of a forward pass exceed it by two, of a backward pass by one.
		training.OverlapHalves: {0, 5 * (2*forward + forward)},
	} {
		s.OverlapPasses = overlap
		makespan := func(call engine.Time) engine.Time {
			it, err := training.Build(s, training.BuildOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := it.Lengthen(func(int, training.Phase) (engine.Time, error) { return call, nil }); err != nil {
				t.Fatal(err)
			}
			n, r := mesh(it.Graph, 1)
			return simulate(t, it.Graph, n, r, flow.MaxMin).Makespan
		}
		alone := makespan(0)
		for i, call := range []engine.Time{forward / 2, 3 * forward} {
			if got, d := makespan(call)-alone, engine.Time(1000); got < want[i]-d || got > want[i]+d {
				t.Errorf("%s: calls of %v lengthen the step by %v, want %v", overlap, call, got, want[i])
			}
		}
	}
}

// TestCallShare checks that overlapped passes take longer if calls occupy a part of the GPU: all
// but the first forward and the last backward pass of pairs, or all passes of halves.
func TestCallShare(t *testing.T) {
	s := training.Spec{
		Arch: mustModel(t, "deepseek-671b"), Choices: calibrated(300), Sequence: 4096, Microbatch: 1, Microbatches: 5,
		TP: 1, PP: 1, EP: 8, ETP: 1, GPUs: 8, Chunks: 1, Schedule: training.Eager,
	}
	forward := s.ForwardSeconds(0)
	for overlap, want := range map[string]float64{
		"none": 15 * forward, training.OverlapPairs: (12/0.8 + 3) * forward, training.OverlapHalves: 15 / 0.8 * forward,
	} {
		s.OverlapPasses, s.CallShare = overlap, 0.2
		it, err := training.Build(s, training.BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		n, r := mesh(it.Graph, 1)
		if got := simulate(t, it.Graph, n, r, flow.MaxMin).Makespan.Seconds(); math.Abs(got-want) > 1e-6*want {
			t.Errorf("%s: got %v s, want %v s", overlap, got, want)
		}
	}
}
