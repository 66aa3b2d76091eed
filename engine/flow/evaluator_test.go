package flow_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
)

// TestMakespanAgainstRun: an evaluator that has simulated other capacities and was cut off
// before returns the same results as Run. With a cut-off it returns true exactly if the makespan
// is below the cut-off.
func TestMakespanAgainstRun(t *testing.T) {
	eachService(t, func(t *testing.T, s flow.Service) {
		rapid.Check(t, func(t *rapid.T) {
			in := drawInstance(t, shape{tasks: 10, changes: rapid.Bool().Draw(t, "changing")})
			e := in.evaluator(t, s)
			want := in.run(t, s)
			disturb(t, in, e, want.Makespan)
			if got, ok := e.Makespan(engine.Never); !ok || got != want.Makespan || e.Events() != want.Events {
				t.Fatalf("makespan %d (%v) of %d events, Run has %d of %d", got, ok, e.Events(), want.Makespan, want.Events)
			}
			cutoffs := []engine.Time{0, 1, want.Makespan - 1, want.Makespan, want.Makespan + 1, engine.Never - 1}
			for range 4 {
				cutoffs = append(cutoffs, engine.Time(rapid.Int64Range(0, int64(want.Makespan)+100).Draw(t, "cutoff")))
			}
			for _, c := range cutoffs {
				got, ok := e.Makespan(max(0, c))
				if ok != (want.Makespan < c) || ok && got != want.Makespan {
					t.Fatalf("cut off at %d: %d (%v), makespan %d", c, got, ok, want.Makespan)
				}
			}
		})
	})
}

// disturb runs and bounds e at other capacities, with cut-offs, and restores the capacities.
func disturb(t *rapid.T, in instance, e *flow.Evaluator, around engine.Time) {
	for range rapid.IntRange(0, 3).Draw(t, "runs before") {
		for r := range int32(in.n.Resources()) {
			e.SetRate(r, rapid.SampledFrom([]float64{0, 50e9, 100e9, 900e9}).Draw(t, "other"))
		}
		e.Makespan(engine.Time(rapid.Int64Range(0, 2*int64(around)).Draw(t, "cut")))
		e.Bound()
	}
	for r := range int32(in.n.Resources()) {
		e.SetRate(r, in.n.Rate(r))
	}
}

// TestBoundHasNoHistory: a bound is bit-identical whatever e computed before. Otherwise results
// would depend on the order in which workers evaluate topologies. Transfers 2 and 3 share a link
// and are ready together, unless one of the links before them is slower. The sums of their times
// are inexact, so a different order would show.
func TestBoundHasNoHistory(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 { // one in a thousand would differ
		in := instance{g: &engine.Graph{}, r: &engine.Routes{Start: []int32{0}}}
		in.n = &engine.Network{Links: []engine.Link{{Rate: 300e9}, {Rate: 300e9}, {Rate: 700e9 / 3}}}
		for i, link := range []int32{0, 1, 2, 2, 2} {
			k := engine.Task{Kind: engine.Transfer, Flows: 1, Bytes: 142857142857}
			if i > 1 {
				k.Bytes = 1e10 + rng.Int64N(1e12)
			}
			in.g.AddTask(k)
			in.r.Uses = append(in.r.Uses, engine.Use{Resource: link, Weight: 1})
			in.r.Start = append(in.r.Start, int32(len(in.r.Uses)))
		}
		in.g.AddEdge(0, 2, 0)
		in.g.AddEdge(1, 3, 0)
		in.g.AddEdge(1, 4, 0)
		if err := in.g.Freeze(); err != nil {
			t.Fatal(err)
		}
		e := in.evaluator(t, flow.LevelPriority)
		want := e.Clone().Bound()
		e.SetRate(0, 200e9)
		e.Bound()
		e.SetRate(0, 300e9)
		if got := e.Bound(); got != want {
			t.Fatalf("bound %d after other runs, %d when fresh", got, want)
		}
	}
}

// TestSetRate: SetRate is equivalent to building the network with that capacity.
func TestSetRate(t *testing.T) {
	eachService(t, func(t *testing.T, s flow.Service) {
		rapid.Check(t, func(t *rapid.T) {
			in := drawInstance(t, shape{tasks: 8})
			e := in.evaluator(t, s)
			other := *in.n
			other.Links, other.Groups = slices.Clone(in.n.Links), slices.Clone(in.n.Groups)
			for r := range int32(other.Resources()) {
				rate := rapid.SampledFrom([]float64{50e9, 100e9, 900e9}).Draw(t, "rate")
				e.SetRate(r, rate)
				if int(r) < len(other.Links) {
					other.Links[r].Rate = rate
				} else {
					other.Groups[int(r)-len(other.Links)].Rate = rate
				}
			}
			want := instance{in.g, &other, in.r}.run(t, s).Makespan
			if got, ok := e.Makespan(engine.Never); !ok || got != want {
				t.Fatalf("makespan %d (%v), want %d", got, ok, want)
			}
		})
	})
}

// TestCloneIsIndependent: a clone has the capacities of its origin, and later changes to one do
// not affect the other.
func TestCloneIsIndependent(t *testing.T) {
	in := twoTransfers(800e9, 1_000_000, 500_000)
	e := in.evaluator(t, flow.MaxMin)
	e.SetRate(0, 400e9)
	c := e.Clone()
	e.SetRate(0, 200e9)
	c.SetService(flow.TailPriority)
	for _, w := range []struct {
		e    *flow.Evaluator
		want engine.Time
	}{{c, 30 * engine.Microsecond}, {e, 60 * engine.Microsecond}, {c, 30 * engine.Microsecond}} {
		if got, ok := w.e.Makespan(engine.Never); !ok || got != w.want {
			t.Errorf("makespan %v (%v), want %v", got, ok, w.want)
		}
	}
}

// TestClonesInParallel runs clones concurrently for the race detector.
func TestClonesInParallel(t *testing.T) {
	in := twoTransfers(800e9, 1_000_000, 500_000).withComputes(0, engine.Microsecond)
	e := in.evaluator(t, flow.LevelPriority)
	results := make(chan engine.Time, 4)
	for k := range 4 {
		c := e.Clone()
		go func() {
			last := engine.Time(0)
			for i := range 100 {
				c.SetRate(0, float64(1+(i+k)%4)*200e9)
				c.Makespan(engine.Never)
				c.Bound()
			}
			c.SetRate(0, 800e9)
			last, _ = c.Makespan(engine.Never)
			results <- last
		}()
	}
	want, _ := e.Makespan(engine.Never)
	for range 4 {
		if got := <-results; got != want {
			t.Errorf("a clone got %v, want %v", got, want)
		}
	}
}

// TestRunsAllocateNothing: repeated runs and bounds allocate no memory.
func TestRunsAllocateNothing(t *testing.T) {
	in := rapid.Custom(func(t *rapid.T) instance { return drawInstance(t, shape{tasks: 40, changes: true}) }).Example(7)
	eachService(t, func(t *testing.T, s flow.Service) {
		e := in.evaluator(t, s)
		k := 0
		run := func() {
			k++
			e.SetRate(0, float64(1+k%3)*100e9)
			if _, ok := e.Makespan(engine.Never); !ok {
				t.Fatal("stalled")
			}
			e.Makespan(engine.Microsecond)
		}
		for range 3 {
			run()
		}
		if n := testing.AllocsPerRun(50, run); n != 0 {
			t.Errorf("%v allocations a run", n)
		}
	})
}

// TestSameTraceAgain: two runs return identical traces, including all rate steps.
func TestSameTraceAgain(t *testing.T) {
	eachService(t, func(t *testing.T, s flow.Service) {
		rapid.Check(t, func(t *rapid.T) {
			in := drawInstance(t, shape{tasks: 10, changes: true})
			a, b := in.run(t, s), in.run(t, s)
			if !slices.Equal(a.Start, b.Start) || !slices.Equal(a.End, b.End) || !slices.Equal(a.Steps, b.Steps) ||
				!slices.Equal(a.StepStart, b.StepStart) || a.Makespan != b.Makespan || a.Events != b.Events {
				t.Fatal("the second run differs")
			}
		})
	})
}

func TestServiceNames(t *testing.T) {
	for _, s := range services {
		if got, err := flow.ParseService(s.String()); err != nil || got != s {
			t.Errorf("%v parses as %v, %v", s, got, err)
		}
	}
	if _, err := flow.ParseService("fair"); err == nil {
		t.Error("no error for an unknown service")
	}
}
