package training

import (
	"fmt"
	"strings"
	"testing"

	"sim/engine"
)

// tiny returns a small dense job on whole stages of two GPUs.
func tiny(schedule string, pp, microbatches, chunks int) Spec {
	return Spec{
		Arch:     Architecture{Layers: pp * chunks, Hidden: 256, Attention: "mha", Heads: 2, KVHeads: 2, HeadDim: 128, FFN: 1024, Vocab: 1000},
		Choices:  Choices{EffectiveTFLOPS: 100, BackwardRatio: 2, ConcurrentMicrobatches: 1, ActivationBytes: 2, GradientBytes: 4, ParameterBytes: 2},
		Sequence: 128, Microbatch: 1, Microbatches: microbatches, TP: 2, PP: pp, EP: 1, ETP: 1, GPUs: 4 * pp,
		Schedule: schedule, Chunks: chunks,
	}
}

// programs calls f for many shapes of every schedule.
func programs(f func(s Spec)) {
	for pp := 1; pp <= 6; pp++ {
		for m := 1; m <= 13; m++ {
			f(tiny(OneFOneB, pp, m, 1))
			f(tiny(GPipe, pp, m, 1))
		}
		for chunks := 1; chunks <= 4; chunks++ {
			for rounds := 1; rounds <= 3; rounds++ {
				f(tiny(Interleaved, pp, pp*rounds, chunks))
			}
		}
	}
}

func shapeOf(s Spec) string {
	return fmt.Sprintf("%v PP %d, %d micro-batches, %d chunks", s.Schedule, s.PP, s.Microbatches, s.Chunks)
}

// TestPrograms: every stage does each forward and backward once, no backward before its forward, warms up as the
// schedule says, and holds no more activations than that allows.
func TestPrograms(t *testing.T) {
	programs(func(s Spec) {
		n := s.Microbatches * s.Chunks
		for stage := range s.PP {
			at := map[op]int{}
			warm, open, most := -1, 0, 0
			ops := s.program(stage)
			for k, o := range ops {
				if _, twice := at[o]; twice || o.chunk < 0 || o.chunk >= s.Chunks || o.microbatch < 0 || o.microbatch >= s.Microbatches {
					t.Fatalf("%s, stage %d: %+v twice or out of range", shapeOf(s), stage, o)
				}
				at[o] = k
				if !o.backward {
					open++
				} else {
					if warm < 0 {
						warm = k
					}
					open--
					f, done := at[op{chunk: o.chunk, microbatch: o.microbatch}]
					if !done || f > k {
						t.Fatalf("%s, stage %d: backward %+v before its forward", shapeOf(s), stage, o)
					}
				}
				most = max(most, open)
			}
			if len(ops) != 2*n {
				t.Fatalf("%s, stage %d: %d steps, want %d", shapeOf(s), stage, len(ops), 2*n)
			}
			// forwards before the first backward: the warm-up and one more
			var want int
			switch s.Schedule {
			case OneFOneB:
				want = min(s.PP-stage, n)
			case GPipe:
				want = n
			case Interleaved:
				want = min(2*(s.PP-1-stage)+(s.Chunks-1)*s.PP+1, n)
			}
			if warm != want || most != want {
				t.Fatalf("%s, stage %d: %d forwards first and %d in flight, want %d", shapeOf(s), stage, warm, most, want)
			}
		}
	})
}

// TestProgramByHand is Megatron-LM's interleaved schedule of 2 stages, 2 chunks and 4 micro-batches, the last stage
// (Narayanan et al. 2021, Fig. 4 has the like for 4 stages).
func TestProgramByHand(t *testing.T) {
	s := tiny(Interleaved, 2, 4, 2)
	for stage, want := range []string{
		"F0.0 F0.1 F1.0 F1.1 F0.2 B1.0 F0.3 B1.1 F1.2 B0.0 F1.3 B0.1 B1.2 B1.3 B0.2 B0.3",
		"F0.0 F0.1 F1.0 B1.0 F1.1 B1.1 F0.2 B0.0 F0.3 B0.1 F1.2 B1.2 F1.3 B1.3 B0.2 B0.3",
	} {
		var got []string
		for _, o := range s.program(stage) {
			kind := "F"
			if o.backward {
				kind = "B"
			}
			got = append(got, fmt.Sprintf("%s%d.%d", kind, o.chunk, o.microbatch))
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("stage %d:\n%s, want\n%s", stage, g, want)
		}
	}
}

// TestNoDeadlock: stages in their order of work never wait for each other in a circle, and a pipeline of equal stages
// takes the time known in closed form.
func TestNoDeadlock(t *testing.T) {
	programs(func(s Spec) {
		it, err := Build(s, Extent{})
		if err != nil {
			t.Fatalf("%s: %v", shapeOf(s), err)
		}
		end := make([]engine.Time, len(it.Graph.Tasks))
		last := engine.Time(0)
		for _, id := range it.Graph.Order() {
			start := engine.Time(0)
			for _, e := range it.Graph.In(id) {
				start = max(start, end[e.From]+e.Lag)
			}
			end[id] = start + it.Graph.Tasks[id].Duration // transfers take no time
			last = max(last, end[id])
		}
		f, b, err := s.times(0, 1)
		if err != nil {
			t.Fatal(err)
		}
		// the work of one stage and a bubble of PP - 1, which chunks divide
		n := engine.Time(s.Microbatches*s.Chunks + s.PP - 1)
		if want := n * (f + b); last != want {
			t.Fatalf("%s: %v without transfers, want %v", shapeOf(s), last, want)
		}
	})
}

// TestChunksNeedInterleaving: other schedules have no order for several chunks.
func TestChunksNeedInterleaving(t *testing.T) {
	for _, schedule := range []string{OneFOneB, GPipe} {
		s := tiny(schedule, 2, 3, 2)
		if err := s.Check(); err == nil {
			t.Errorf("%v of 2 chunks: no error", schedule)
		}
	}
	s := tiny(Interleaved, 2, 3, 2)
	if err := s.Check(); err == nil {
		t.Error("3 micro-batches interleaved over 2 stages: no error")
	}
}

// TestUnknownSchedule: a schedule that there is not has no order.
func TestUnknownSchedule(t *testing.T) {
	s := tiny("zero-bubble", 2, 3, 1)
	if err := s.Check(); err == nil {
		t.Error("no error for an unknown schedule")
	}
}
