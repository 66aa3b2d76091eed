package flow_test

import (
	"context"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/contexttest"
	"sim/engine/flow"
)

// parallelTransfers returns n transfers of increasing size per link on two links. They start
// together, and each is followed by another one.
func parallelTransfers(t testingT, n int) instance {
	g := &engine.Graph{}
	in := instance{g: g, n: &engine.Network{Nodes: 2, Links: []engine.Link{{From: 0, To: 1, Rate: 8e9}, {From: 0, To: 1, Rate: 8e9}}}, r: &engine.Routes{Start: []int32{0}}}
	for i := range 2 * n {
		g.AddTask(engine.Task{Kind: engine.Transfer, Src: 0, Dst: 1, Flows: 1, Bytes: int64(1000 + 7*(i/2))})
		in.r.Uses = append(in.r.Uses, engine.Use{Resource: int32(i % 2), Weight: 1})
		in.r.Start = append(in.r.Start, int32(i+1))
		if i >= n {
			g.AddEdge(int32(i-n), int32(i), 0)
		}
	}
	if err := g.Freeze(); err != nil {
		t.Fatalf("%v", err)
	}
	return in
}

// TestRunEndsWithContext: under every service a run checks its context every few milliseconds
// and ends after the context was cancelled.
func TestRunEndsWithContext(t *testing.T) {
	for _, s := range []flow.Service{flow.MaxMin, flow.LevelPriority, flow.TailPriority} {
		in := parallelTransfers(t, 1000)
		if s == flow.MaxMin { // its work per event is smaller
			in = switchTraffic(t, 40, true)
		}
		whole := contexttest.After(t.Context(), 0)
		if _, err := flow.Run(whole, in.g, in.n, in.r, flow.Options{Service: s}); err != nil {
			t.Fatal(err)
		}
		if whole.Asked() < 20 {
			t.Errorf("%v: the context is asked %d times", s, whole.Asked())
		}
		for _, n := range []int64{1, 2, 3, whole.Asked() / 2, whole.Asked()} {
			ctx := contexttest.After(t.Context(), n)
			if _, err := flow.Run(ctx, in.g, in.n, in.r, flow.Options{Service: s}); !errors.Is(err, context.Canceled) {
				t.Errorf("%v: %v, want %v", s, err, context.Canceled)
			}
			if more := ctx.Asked() - n; more > 2 {
				t.Errorf("%v: asked %d times more after it had ended", s, more)
			}
		}
	}
}

// TestInterruptedEvaluator: a cancelled run or bound returns no result and does not affect the
// next one.
func TestInterruptedEvaluator(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInstance(t, shape{tasks: 10, changes: rapid.Bool().Draw(t, "changing")})
		for _, s := range []flow.Service{flow.MaxMin, flow.LevelPriority} {
			e, fresh := in.evaluator(t, s), in.evaluator(t, s)
			want, ok := fresh.Makespan(engine.Never)
			bound := fresh.Bound()
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			e.SetContext(ended)
			if _, ok := e.Makespan(engine.Never); ok {
				t.Fatalf("%v: simulated after the end", s)
			}
			if b := e.Bound(); b != 0 && b != bound {
				t.Fatalf("%v: a bound of %v after the end, of %v before", s, b, bound)
			}
			e.SetContext(context.Background())
			if c, again := e.Makespan(engine.Never); c != want || again != ok {
				t.Fatalf("%v: %v, %t after an interrupt, want %v, %t", s, c, again, want, ok)
			}
			if b := e.Bound(); b != bound {
				t.Fatalf("%v: bound %v after an interrupt, want %v", s, b, bound)
			}
		}
	})
}

// TestInterruptedInside: a run that is cancelled while it shares capacity does not affect the
// next one.
func TestInterruptedInside(t *testing.T) {
	in := switchTraffic(t, 28, true)
	e := in.evaluator(t, flow.MaxMin)
	want, _ := e.Makespan(engine.Never)
	for n := int64(1); ; n++ {
		ctx := contexttest.After(t.Context(), n)
		e.SetContext(ctx)
		if _, ok := e.Makespan(engine.Never); ok {
			if n < 4 {
				t.Fatalf("the context was asked %d times: nothing is tested", n-1)
			}
			return
		}
		e.SetContext(context.Background())
		if c, ok := e.Makespan(engine.Never); c != want || !ok {
			t.Fatalf("%v, %t after the interrupt at %d, want %v", c, ok, n, want)
		}
	}
}

// TestWork: the work of runs and bounds depends only on the simulated graph.
func TestWork(t *testing.T) {
	in := parallelTransfers(t, 100)
	var first int64
	for range 2 {
		e := in.evaluator(t, flow.LevelPriority)
		e.Makespan(engine.Never)
		e.Bound()
		if first == 0 {
			first = e.Work()
		}
		if e.Work() != first || first < 1000 {
			t.Errorf("work of %d, then %d", first, e.Work())
		}
	}
}
