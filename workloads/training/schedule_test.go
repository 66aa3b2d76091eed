package training

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sim/engine"
)

// tinySpec returns a small dense job with stages of two GPUs.
func tinySpec(schedule string, pp, microbatches, chunks int) Spec {
	return Spec{
		Arch:     Architecture{Layers: pp * chunks, Hidden: 256, Attention: "mha", Heads: 2, KVHeads: 2, HeadDim: 128, FFN: 1024, Vocab: 1000},
		Choices:  Choices{EffectiveTFLOPS: 100, BackwardRatio: 2, ConcurrentMicrobatches: 1, ActivationBytes: 2, GradientBytes: 4, ParameterBytes: 2},
		Sequence: 128, Microbatch: 1, Microbatches: microbatches, TP: 2, PP: pp, EP: 1, ETP: 1, GPUs: 4 * pp,
		Schedule: schedule, Chunks: chunks,
	}
}

// forEachProgram calls f for many shapes of every schedule.
func forEachProgram(f func(s Spec)) {
	for pp := 1; pp <= 6; pp++ {
		for m := 1; m <= 13; m++ {
			for _, schedule := range []string{OneFOneB, Eager, GPipe, ZBH1, ZBH2} {
				f(tinySpec(schedule, pp, m, 1))
			}
		}
		for chunks := 1; chunks <= 4; chunks++ {
			for rounds := 1; rounds <= 3; rounds++ {
				f(tinySpec(Interleaved, pp, pp*rounds, chunks))
			}
		}
		for m := 2 * pp; pp%2 == 0 && m <= 5*pp; m += 2 {
			f(tinySpec(DualPipe, pp, m, 2))
		}
	}
}

// shapeOf describes a job in failures.
func shapeOf(s Spec) string {
	return fmt.Sprintf("%v PP %d, %d micro-batches, %d chunks", s.Schedule, s.PP, s.Microbatches, s.Chunks)
}

// TestPrograms checks the program of every stage. Each micro-batch passes forward and
// backward once, whole or divided. No backward pass precedes its forward pass, and no
// weight gradients precede their input gradients. The warm-up and the number of stored
// activations equal the schedule's.
func TestPrograms(t *testing.T) {
	forEachProgram(func(s Spec) {
		n := s.Microbatches * s.Chunks / s.ModelCopies()
		for stage := range s.PP {
			position := map[Pass]int{}
			warm, open, maxOpen := -1, 0, 0
			for k, o := range s.Program(stage) {
				o.OverlapsNext = false
				if _, twice := position[o]; twice || o.Chunk < 0 || o.Chunk >= s.Chunks || o.Microbatch < 0 || o.Microbatch >= s.Microbatches {
					t.Fatalf("%s, stage %d: %+v twice or out of range", shapeOf(s), stage, o)
				}
				position[o] = k
				before := ForwardPass
				switch o.Kind {
				case ForwardPass:
					open++
				case WeightGradientPass:
					before = InputGradientPass
					open--
				case BackwardPass:
					open--
				}
				if o.Kind != ForwardPass {
					if warm < 0 {
						warm = k
					}
					if f, done := position[Pass{Kind: before, Chunk: o.Chunk, Microbatch: o.Microbatch}]; !done || f > k {
						t.Fatalf("%s, stage %d: %+v before what it needs", shapeOf(s), stage, o)
					}
				}
				maxOpen = max(maxOpen, open)
			}
			passed := [4]int{}
			for o := range position {
				passed[o.Kind]++
			}
			if passed[ForwardPass] != n || passed[BackwardPass]+passed[InputGradientPass] != n || passed[InputGradientPass] != passed[WeightGradientPass] || maxOpen != s.Memory(stage).InFlight {
				t.Fatalf("%s, stage %d: %v passes, want %d forward and backward; %d in flight, said to be %d", shapeOf(s), stage, passed, n, maxOpen, s.Memory(stage).InFlight)
			}
			// forward passes before the first backward pass: the warm-up and one more
			after := s.PP - 1 - stage
			var want, maxHeld int
			switch s.Schedule {
			case OneFOneB:
				want = min(after+1, n)
				maxHeld = want
			case Eager:
				want = min(2*after+1, n)
				maxHeld = want
			case GPipe:
				want, maxHeld = n, n
			case Interleaved:
				want = min(2*after+(s.Chunks-1)*s.PP+1, n)
				maxHeld = want
			case ZBH1:
				want, maxHeld = min(after+1, n), min(s.PP, n)
			case ZBH2:
				want, maxHeld = min(2*after+1, n), min(2*s.PP-1, n)
			case DualPipe: // DeepSeek-V3, Table 2: PP + 1
				depth := min(stage, after)
				want, maxHeld = 2*(s.PP/2-1-depth)+2*(depth+1), s.PP+1
				if s.PP/2-1-depth == 0 {
					// in the middle stages, another forward pass precedes the first
					// backward pass
					want++
				}
			}
			if warm != want || maxOpen > maxHeld {
				t.Fatalf("%s, stage %d: %d forwards first and %d in flight, want %d and at most %d", shapeOf(s), stage, warm, maxOpen, want, maxHeld)
			}
		}
	})
}

// TestProgramByHand compares with Megatron-LM's interleaved schedule of 2 stages, 2
// chunks and 4 micro-batches (Narayanan et al. 2021, Fig. 4 shows 4 stages).
func TestProgramByHand(t *testing.T) {
	s := tinySpec(Interleaved, 2, 4, 2)
	for stage, want := range []string{
		"F0.0 F0.1 F1.0 F1.1 F0.2 B1.0 F0.3 B1.1 F1.2 B0.0 F1.3 B0.1 B1.2 B1.3 B0.2 B0.3",
		"F0.0 F0.1 F1.0 B1.0 F1.1 B1.1 F0.2 B0.0 F0.3 B0.1 F1.2 B1.2 F1.3 B1.3 B0.2 B0.3",
	} {
		var got []string
		for _, o := range s.Program(stage) {
			got = append(got, fmt.Sprintf("%c%d.%d", "FB"[o.Kind], o.Chunk, o.Microbatch))
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("stage %d:\n%s, want\n%s", stage, g, want)
		}
	}
}

// idleTimes returns the idle time of each stage between its first and last pass if
// transfers take no time.
func idleTimes(t *testing.T, s Spec) []engine.Time {
	t.Helper()
	it, err := Build(s, BuildOptions{})
	if err != nil {
		t.Fatalf("%s: %v", shapeOf(s), err)
	}
	end := make([]engine.Time, len(it.Graph.Tasks))
	from, to, busy := make([]engine.Time, s.PP), make([]engine.Time, s.PP), make([]engine.Time, s.PP)
	for i := range from {
		from[i] = engine.Never
	}
	for _, id := range it.Graph.Order() {
		start := engine.Time(0)
		for _, e := range it.Graph.In(id) {
			start = max(start, end[e.From]+e.Lag)
		}
		m, d := it.Meta[id], it.Graph.Tasks[id].Duration
		if end[id] = start + d; m.Phase.Computes() {
			from[m.Stage], to[m.Stage], busy[m.Stage] = min(from[m.Stage], start), max(to[m.Stage], end[id]), busy[m.Stage]+d
		}
	}
	for i := range busy {
		busy[i] = to[i] - from[i] - busy[i]
	}
	return busy
}

// TestNoDeadlock checks that the programs of the stages never wait for each other in a
// cycle.
func TestNoDeadlock(t *testing.T) {
	forEachProgram(func(s Spec) { idleTimes(t, s) })
}

// TestBubbles compares the maximum idle time of a stage with the schedule's paper. f, b
// and w are the times of a forward pass and of input and weight gradients.
//
//	(p-1)(f+b+w)            1F1B; with chunks it is divided among them (Narayanan et al. 2021, Sec. 2.2)
//	(p-1)(f+b-w)            ZB-H1 (Qi et al. 2024, Table 1)
//	(p-1)(f+b-2w)           ZB-H2, with enough micro-batches to fill the pipeline (ditto)
//	(p/2-1)(f+b+w+b+w-3w)   DualPipe, if f = b = w (DeepSeek-V3, Table 2)
func TestBubbles(t *testing.T) {
	for _, times := range [][3]engine.Time{{12, 12, 12}, {12, 15, 9}, {12, 20, 4}} {
		f, b, w := times[0], times[1], times[2]
		measured := &MeasuredStage{GPUs: 2, Forward: f * engine.Millisecond, Backward: (b + w) * engine.Millisecond, Weights: w * engine.Millisecond}
		check := func(schedule string, p, m, chunks int, want engine.Time) {
			s := tinySpec(schedule, p, m, chunks)
			measured.Microbatches = m
			s.Measured = measured
			if got := slices.Max(idleTimes(t, s)); got != want*engine.Millisecond {
				t.Fatalf("%s of %v, %v and %v ms: %v idle, want %d ms", shapeOf(s), f, b, w, got, want)
			}
		}
		for p := 4; p <= 16; p++ {
			step := p
			if testing.Short() {
				step = 3*p + 1
			}
			for m := p; m <= 8*p; m += step {
				n := engine.Time(p - 1)
				check(OneFOneB, p, m, 1, n*(f+b+w))
				check(Eager, p, m, 1, n*(f+b+w))
				check(GPipe, p, m, 1, n*(f+b+w))
				check(ZBH1, p, m, 1, n*(f+b-w))
				if m >= 2*p-1 {
					check(ZBH2, p, m, 1, n*(f+b-2*w))
				}
				if m%p == 0 {
					check(Interleaved, p, m, 2, n*(f+b+w))
				}
				if p%2 == 0 && m%2 == 0 && m >= 2*p && b == w {
					check(DualPipe, p, m, 2, (engine.Time(p)/2-1)*(f+b+w+b+w-3*w))
				}
			}
		}
	}
}

// TestChunksNeedInterleaving checks that other schedules reject several chunks per stage.
func TestChunksNeedInterleaving(t *testing.T) {
	for _, schedule := range []string{OneFOneB, Eager, GPipe, ZBH1, ZBH2} {
		s := tinySpec(schedule, 2, 3, 2)
		if err := s.Check(); err == nil {
			t.Errorf("%v of 2 chunks: no error", schedule)
		}
	}
	s := tinySpec(Interleaved, 2, 3, 2)
	if err := s.Check(); err == nil {
		t.Error("3 micro-batches interleaved over 2 stages: no error")
	}
	for _, s := range []Spec{tinySpec(DualPipe, 3, 12, 2), tinySpec(DualPipe, 4, 9, 2), tinySpec(DualPipe, 4, 6, 2), tinySpec(DualPipe, 4, 8, 1)} {
		if err := s.Check(); err == nil {
			t.Errorf("%s: no error", shapeOf(s))
		}
	}
}

// TestUnknownSchedule checks that an unknown schedule is rejected.
func TestUnknownSchedule(t *testing.T) {
	s := tinySpec("two-forward", 2, 3, 1)
	if err := s.Check(); err == nil {
		t.Error("no error for an unknown schedule")
	}
}
