package flow_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
)

// TestControlledRun: two transfers of 1 ms each, one after the other on two links. The second
// link has no capacity until a delay after the end of the first transfer. The result equals the
// value computed by hand and a run with the same changes at known times, also when the evaluator
// is used again.
func TestControlledRun(t *testing.T) {
	const rate, bytes = 8e9, 1_000_000
	g := &engine.Graph{}
	a := g.AddTask(engine.Task{Kind: engine.Transfer, Dst: 1, Flows: 1, Bytes: bytes})
	b := g.AddTask(engine.Task{Kind: engine.Transfer, Src: 1, Dst: 2, Flows: 1, Bytes: bytes})
	g.AddEdge(a, b, 0)
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	n := &engine.Network{Nodes: 3, Links: []engine.Link{{To: 1, Rate: rate}, {From: 1, To: 2}}}
	r := &engine.Routes{Start: []int32{0, 1, 2}, Uses: []engine.Use{{Resource: 0, Weight: 1}, {Resource: 1, Weight: 1}}}
	e, err := flow.NewEvaluator(g, n, r, flow.LevelPriority)
	if err != nil {
		t.Fatal(err)
	}
	const ms = engine.Millisecond
	e.PrepareControl([]int32{0, 1}, 2)
	e.SetPeak(0, rate)
	e.SetPeak(1, rate)
	run := func(delay engine.Time) (engine.Time, bool) {
		if !e.Begin(engine.Never) {
			t.Fatal("the run does not begin")
		}
		if now, ok := e.Await(0, 1); !ok || now != ms {
			t.Fatalf("the first transfer ends at %v (%v), want 1 ms", now, ok)
		}
		e.ChangeNow(0, 0)
		e.CancelChange(e.ChangeLater(ms+delay/2, 1, rate/2)) // cancelled, so it has no effect
		if delay < engine.Never/2 {
			e.ChangeLater(ms+delay, 1, rate)
		}
		return e.Finish()
	}
	for range 2 {
		for _, delay := range []engine.Time{0, 3 * ms} {
			if c, ok := run(delay); !ok || c != 2*ms+delay {
				t.Errorf("delay %v: %v (%v), want %v", delay, c, ok, 2*ms+delay)
			}
			later := *n
			later.Changes = []engine.Change{{At: ms, Link: 0}, {At: ms + delay, Link: 1, Rate: rate}}
			if tr, err := flow.Run(t.Context(), g, &later, r, flow.Options{Service: flow.LevelPriority}); err != nil || tr.Makespan != 2*ms+delay {
				t.Errorf("delay %v, at known times: %v, %v", delay, tr, err)
			}
		}
		if c, ok := run(engine.Never); ok {
			t.Errorf("without the change it ends at %v", c)
		}
		if now, ok := e.Makespan(engine.Never); ok {
			t.Errorf("on a link that stays down it ends at %v", now)
		}
	}
}

// TestRecord: a controlled run that awaits transfers in any order returns the times at which
// they end, or the current time if they have ended before. It records the same trace as Run.
func TestRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInstance(t, shape{tasks: 8})
		service := rapid.SampledFrom([]flow.Service{flow.MaxMin, flow.TailPriority, flow.LevelPriority}).Draw(t, "service")
		want, err := flow.Run(t.Context(), in.g, in.n, in.r, flow.Options{Service: service, Rates: true})
		if err != nil {
			t.Fatal(err)
		}
		e, err := flow.NewEvaluator(in.g, in.n, in.r, service)
		if err != nil {
			t.Fatal(err)
		}
		e.PrepareControl(slices.Repeat([]int32{-1}, len(in.g.Tasks)), 0)
		for r := range int32(in.n.Resources()) {
			e.SetPeak(r, in.n.Rate(r))
		}
		e.Record(true)
		if !e.Begin(engine.Never) {
			t.Fatal("the run does not begin")
		}
		latest := engine.Time(0)
		for _, id := range rapid.Permutation(taskIDs(len(in.g.Tasks))).Draw(t, "awaited") {
			k := &in.g.Tasks[id]
			if k.Kind != engine.Transfer || k.Bytes == 0 || len(in.r.Of(id)) == 0 || rapid.Bool().Draw(t, "not this") {
				continue
			}
			latest = max(latest, want.End[id])
			if now, ok := e.AwaitTask(id); !ok || now != latest {
				t.Fatalf("%s ends at %v (%v), want %v", in.g.Name(id), now, ok, latest)
			}
		}
		if c, ok := e.Finish(); !ok || c != want.Makespan {
			t.Fatalf("it ends at %v (%v), want %v", c, ok, want.Makespan)
		}
		got := e.Trace()
		if !slices.Equal(got.Start, want.Start) || !slices.Equal(got.End, want.End) || !slices.Equal(got.Steps, want.Steps) || !slices.Equal(got.StepStart, want.StepStart) {
			t.Fatalf("the trace is %+v, want %+v", got, want)
		}
	})
}

// taskIDs returns the task numbers 0..n-1.
func taskIDs(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}
